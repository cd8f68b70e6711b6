"""One chart for every mark, as documents declare them."""

import numpy as np
import pytest

from uncone.report.charts.model import (
    Axis,
    Bars,
    Chart,
    Cloud,
    CloudView,
    Coloring,
    Forest,
    Heatmap,
    Histogram,
    Line,
    Note,
    Points,
    Reference,
)


def every_chart() -> list[Chart]:
    """Every mark, references, notes, bands, direct labels and both kinds of axes."""
    layers = [float(layer) for layer in range(13)]
    curve = [0.1 + 0.05 * layer for layer in layers]
    low, high = [y - 0.04 for y in curve], [y + 0.04 for y in curve]
    known = [None if i == 3 else y for i, y in enumerate(low)]
    layer_axis = Axis("layer (0 = embeddings)", name="layer", whole=True)
    lines = Chart(
        "lines",
        "Curves with bands",
        "Direct labels stand apart.",
        [
            Line(layers, curve, "baseline <b>", "accent", known, high, n=[100] * 13, group="bert"),
            Line(layers, [y + 0.01 for y in curve], "adjusted", "second"),
            Line(layers, [y * 0.98 for y in curve], "published", "muted", dash="dash", weight="thin"),
            Line(layers, [0.3 - y / 3 for y in curve], "light & far", "#009E73", weight="light"),
            Points([2.0, 7.0], [0.2, 0.45], color="second", size=12, ring=True, texts=["308", "381, 92"]),
        ],
        x=layer_axis,
        y=Axis("mean cosine, SelfSim", name="value", zero=True, zero_line=True),
        direct=True,
    )
    scores = np.linspace(0.2, 0.95, 200)
    tails = 10 ** (-6 * (scores - 0.2))
    reach = Chart(
        "reach",
        "Unrelated pairs that reach a score",
        "A logarithmic axis without exponents.",
        [
            Line(
                scores.tolist(), tails.tolist(), "unrelated pairs", "accent",
                (scores - 0.01).tolist(), (scores + 0.01).tolist(), sideways=True,
            ),
            Line(scores.tolist(), (tails / 2).tolist(), "another file", "muted", dash="dash"),
        ],
        x=Axis("score s", name="score"),
        y=Axis("unrelated pairs ≥ s", name="share", log=True, percent=True),
        wide=True,
    )  # fmt: skip
    edges = np.linspace(0, 0.8, 41)
    middles = (edges[:-1] + edges[1:]) / 2
    histogram = Chart(
        "histogram",
        "Scores of unrelated pairs",
        "Bars, an outline and labeled lines.",
        [
            Histogram(edges.tolist(), (3 * np.exp(-(((middles - 0.3) / 0.1) ** 2))).tolist(), "unrelated pairs"),
            Histogram(
                edges.tolist(), (2 * np.exp(-(((middles - 0.5) / 0.1) ** 2))).tolist(), "alike pairs", "accent",
                filled=False, shaded=True, unit="% of pairs per 0.01",
            ),
        ],
        x=Axis("score s = cos(x, y)", name="score"),
        y=Axis("% of pairs per 0.01", name="density"),
        references=[
            Reference(0.31, "mean: 0.31", "muted", "dot"),
            Reference(0.5, "1 %: 0.50"),
            Reference(0.52, "0.1 %: 0.52"),
            Reference(0.75, "0.75", "second", "dash"),
        ],
        wide=True,
    )  # fmt: skip
    bars = Chart(
        "bars",
        "Bars of categories",
        "Two series side by side.",
        [Bars([0, 1, 2], [0.4, 0.6, 0.3], "before", "muted"), Bars([0, 1, 2], [0.5, 0.7, None], "after")],
        x=Axis(categories=["cosine", "dot", "a < b"]),
        y=Axis("score", name="score"),
    )
    contributions = Chart(
        "contributions",
        "Contribution per dimension",
        "Dense bars with notes.",
        [Bars(list(range(64)), [0.2 if j in (9, 33) else 0.004 * (j % 5 - 1) for j in range(64)])],
        x=Axis("dimension j", name="dimension"),
        y=Axis("contribution to the mean cosine", name="part", zero_line=True),
        notes=[Note(9, 0.2, "9"), Note(33, 0.2, "33")],
    )
    points = Chart(
        "points",
        "Isotropy vs. score",
        "Names where there is room.",
        [
            Points([0.1, 0.3, 0.31], [60, 64, 64.2], "inductive", "accent", 10, texts=["raw mean", "abtt", "whitened"]),
            Points([0.5, 0.8], [66, 61.5], "transductive", "second", 10, symbol="diamond", texts=["flow", "zca"]),
        ],
        x=Axis("IsoScore (1: all directions alike)", name="isoscore"),
        y=Axis("Spearman x 100", name="spearman"),
        references=[Reference(63, "raw", "muted", "dot", horizontal=True)],
        wide=True,
    )  # fmt: skip
    forest = Chart(
        "forest",
        "Differences from raw vectors",
        "Two series share the rows.",
        [
            Forest([0, 1, 2], [1.2, 0.4, -0.3], [0.8, -0.1, None], [1.6, 0.9, None], "STS-B", open=[False, True, True]),
            Forest([0, 1, 2], [0.9, 0.1, -0.5], [0.5, -0.3, -0.9], [1.3, 0.5, -0.1], "SICK-R", "second", n=[9, 9, 9]),
        ],
        x=Axis("difference from raw (points)", name="difference", zero_line=True),
        y=Axis(
            categories=["abtt-2", "whitening with a rather long name in brackets", "standard & poor"],
            name="method",
            strong=[0],
        ),
        references=[Reference(0.7, "goal")],
        wide=True,
    )
    heatmap = Chart(
        "heatmap",
        "Layers and methods",
        "Cells with their texts.",
        [
            Heatmap(
                [[60.1, 62.0, None], [64.0, 66.1, 58.0]],
                texts=[["60.1", "62.0", ""], ["64.0*", "66.1*", "58.0"]],
                bar="Spearman x 100",
            )
        ],
        x=Axis("layer", name="layer", categories=["0", "6", "12"]),
        y=Axis(categories=["raw", "abtt-2"], name="method"),
        wide=True,
    )
    diverging = Chart(
        "diverging",
        "Above the background",
        "Around zero.",
        [Heatmap([[0.2, -0.05], [-0.05, 0.1]], scale="diverging", texts=[["+0.20", "-0.05"], ["-0.05", "+0.10"]])],
        x=Axis(categories=["sport", "business"], name="label"),
        y=Axis(categories=["sport", "business"], name="other label"),
    )  # fmt: skip
    relative = Chart(
        "intervals",
        "Points with intervals, and a guide",
        "Nothing is known between them.",
        [
            Line([0, 1], [0, 1], color="muted", dash="dash", weight="thin", guide=True),
            Line([0.1, 0.5, 0.9], [0.1, 0.4, 0.95], "said", low=[0.1, 0.3, 0.9], high=[0.2, 0.5, 1.0], error_bars=True),
        ],
        x=Axis("probability that was said", name="said", range=(-0.02, 1.02)),
        y=Axis("share that was alike", name="share", range=(-0.02, 1.02)),
    )  # fmt: skip
    return [lines, diverging, reach, histogram, bars, contributions, relative, points, forest, heatmap]


def a_cloud(dims: int = 3, n: int = 600) -> Cloud:
    """Two views of a cloud, colored by category or by a number, with a path."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, dims)).astype(np.float32)
    turn = np.linspace(0, 6, 40)
    path = np.stack([np.cos(turn), np.sin(turn), turn / 6][:dims], axis=1).astype(np.float32)
    codes = np.arange(n) % 3
    codes[:5] = -1
    values = points[:, 0].astype(float) ** 2
    values[7] = np.nan
    rows = np.arange(0, n, 2)
    return Cloud(
        f"cloud-{dims}d",
        "A cloud",
        "Points with their texts.",
        [CloudView("all", points, path=path), CloudView("every second", points[rows], rows=rows)],
        [Coloring("label", codes=codes, names=["a <b>", "b", "c"]), Coloring("position", values=values)],
        [f"<i>row</i> {i} & more" for i in range(n)],
        ["first direction", "second direction", "third direction"][:dims],
    )


@pytest.fixture(scope="module")
def charts() -> dict[str, Chart]:
    """Every sample by its name."""
    return {chart.name: chart for chart in every_chart()}


@pytest.fixture(scope="module")
def clouds() -> dict[int, Cloud]:
    """A cloud in the plane and one in space, by dimensions."""
    return {dims: a_cloud(dims) for dims in (2, 3)}
