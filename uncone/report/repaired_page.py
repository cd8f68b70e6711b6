"""Before and after a repair as one page that works offline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from uncone.diagnosis.finding import finite
from uncone.diagnosis.measures.registry import measures
from uncone.diagnosis.words import cosine
from uncone.report.diagnosis import Diagnosis
from uncone.report.diagnosis_charts import Figure, cosines, eigenvalues
from uncone.report.lines import MARKS, interval, number, title
from uncone.report.page import environment, plotly_script, today
from uncone.report.repaired import Repaired
from uncone.report.repaired_lines import NEGATIVE, changes, learning, sentences, shape, taken
from uncone.report.text import provenance_facts

__all__ = ["charts", "render"]


def render(result: Repaired) -> str:
    """The whole page, with the JSON that it offers for download."""
    return (
        environment()
        .get_template("repaired.html")
        .render(
            result=result,
            first=result.before,
            spaces=_judged(result.spaces),
            name=title(result.before),
            shapes=[shape(space) for space in (result.before, result.after)],
            lines=sentences(result),
            changes=changes(result, quantiles=True),
            charts=charts(result),
            provenance=_provenance(result),
            plotly=plotly_script(),
            summary=result.to_json(),
            today=today(),
            catalogue=measures("check"),
            marks=MARKS,
            number=number,
            interval=interval,
            title=title,
        )
    )


def charts(result: Repaired) -> list[Figure]:
    """Cosines and eigenvalues of both, and the learning curve where there is one."""
    pair = eigenvalues(result.spaces)
    if not result.history:
        return [_cosines(result), pair]
    return [_cosines(result), {**pair, "wide": False}, _curve(result)]


def _cosines(result: Repaired) -> Figure:
    """The two histograms, with the means as dotted lines."""
    figure = cosines(result.spaces)
    shapes, means = list(figure["layout"]["shapes"]), []
    for bars, space in zip(figure["data"], result.spaces, strict=True):
        mean = space["baseline"].magnitude or 0.0
        means.append(f"{cosine(mean)} {title(space)}")
        line = {"color": bars["marker"]["color"], "width": 2, "dash": "dot"}
        shapes.append({"type": "line", "x0": mean, "x1": mean, "yref": "paper", "y0": 0, "y1": 1, "line": line})
    told = f"Dotted, the means: {' and '.join(means)}. Read a score against the histogram of its own space."
    return {**figure, "alt": told, "layout": {**figure["layout"], "shapes": shapes}}


def _curve(result: Repaired) -> Figure:
    """Bits per dimension by epoch; a ring around the epoch that was taken."""
    epochs = [epoch for epoch, _, _ in result.history]
    series = {
        "trained on": ([finite(train) for _, train, _ in result.history], "muted", "dash"),
        "held out": ([finite(held) for _, _, held in result.history], "second", "solid"),
    }
    data: list[Figure] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": epochs,
            "y": y,
            "name": name,
            "line": {"color": colour, "width": 2, "dash": dash},
            "marker": {"color": colour, "size": 6},
            "hovertemplate": f"epoch %{{x}}, {name}: %{{y:.3f}}<extra></extra>",
        }
        for name, (y, colour, dash) in series.items()
        if any(value is not None for value in y)
    ]
    place = taken(result)
    ring = {
        "type": "scatter",
        "mode": "markers+text",
        "text": ["taken"],
        "textposition": "top center",
        "x": [epochs[place]],
        "y": [data[-1]["y"][place]] if data else [None],
        "showlegend": False,
        "marker": {"symbol": "circle-open", "color": "ink", "size": 14, "line": {"width": 2, "color": "ink"}},
        "hoverinfo": "skip",
    }
    few = {"dtick": 1} if len(epochs) <= 12 else {}
    layout = {
        "xaxis": {"title": {"text": "epoch"}, "zeroline": False, **few},
        "yaxis": {"title": {"text": "bits per dimension"}, "zeroline": False},
        "showlegend": True,
    }
    alt = f"{learning(result)} {NEGATIVE}"
    return {
        "id": "learning",
        "title": "Learning curve",
        "alt": alt,
        "data": [*data, ring],
        "layout": layout,
        "wide": False,
        "lazy": False,
    }


def _judged(spaces: Sequence[Diagnosis]) -> list[Diagnosis]:
    """Without advice that the repair has overtaken."""
    before, after = spaces
    return [replace(before, verdict=replace(before.verdict, todo="")), after]


def _provenance(result: Repaired) -> dict[str, list[tuple[str, str]]]:
    """The repair, and how both spaces were measured."""
    made = [("method", result.method), ("repair", str(result.repair).replace("\n", " "))]
    places = [("saved to", result.saved), ("repaired vectors", result.written)]
    known = [(key, value) for key, value in provenance_facts(result.provenance) if key != "method"]
    source = result.before.source
    return {
        "The repair": [*made, *known, *((key, where) for key, where in places if where)],
        "The measurement": [
            ("source", f"{source['name']} ({source['kind']}, {source['dtype']})"),
            *provenance_facts(result.before.provenance),
        ],
    }
