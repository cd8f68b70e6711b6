"""The findings of the suite in sentences written from its numbers, beside the published ones."""

from __future__ import annotations

from collections.abc import Iterator

from uncone.analysis.number_format import count
from uncone.evaluation.papers.layouts import CLUSTERS, LAYOUTS, NLI, OWN_RECIPE, TARGET, TWO_LAYERS
from uncone.evaluation.papers.published import BERT
from uncone.report.documents.evaluate.papers.figures import Figures, dataset_title
from uncone.report.documents.evaluate.papers.tables import isotropy_text
from uncone.report.documents.evaluate.scores import points, signed_points, trend
from uncone.report.text import last_name, listed

__all__ = ["headline", "sentences"]

_ABLATION, _SEVEN, _CLASSES = LAYOUTS[:3]
_RAW, _REPAIRED = ("tokens", CLUSTERS[0], ""), ("tokens", CLUSTERS[1], TARGET)


def headline(figures: Figures) -> str:
    """What the cluster-based repair does on average, beside what was published."""
    gain = figures.gain(_REPAIRED, _RAW, "spearman", _SEVEN.datasets)
    if gain is None:
        return "Some datasets have no score: the tables say which."
    before, after = _SEVEN.published()
    published = signed_points((after.average or 0.0) - (before.average or 0.0))
    verb = "gains" if gain >= 0 else "loses"
    return (
        f"The cluster-based repair {verb} {points(abs(gain))} points of Spearman on average over "
        f"{count(len(_SEVEN.datasets), 'dataset')} (published for {BERT}: {published})."
    )


def sentences(figures: Figures) -> list[str]:
    """The findings, table by table."""
    return [
        *_proven(figures),
        *_best_rows(figures),
        *_accuracy(figures),
        *_sentence_gains(figures),
        *_isotropies(figures),
    ]


def _proven(figures: Figures) -> Iterator[str]:
    """On which datasets the repair gains and loses: an average hides it."""
    own = [figures.figure(_REPAIRED, dataset) for dataset in _SEVEN.datasets]
    trends = [(dataset_title(each.dataset), trend(each.difference)) for each in own if each is not None]
    if trends:
        gains, losses = (listed([name for name, way in trends if way == sign], 7) or "none" for sign in (1, -1))
        yield f"Proven gains: {gains}. Proven losses: {losses}."


def _best_rows(figures: Figures) -> Iterator[str]:
    for dataset in _ABLATION.datasets:
        scores = [(figures.value(key, dataset, "spearman"), key[1]) for key in figures.rows(_ABLATION)]
        defined = {label: value for value, label in scores if value is not None}
        if len(defined) < len(_ABLATION.labels):
            continue
        best = max(defined, key=lambda label: defined[label])
        published = {row.label: row.values[dataset].get("spearman") for row in _ABLATION.published()}
        values = {label: value for label, value in published.items() if value is not None}
        paper = ""
        if len(values) == len(_ABLATION.labels):
            top = max(values, key=lambda label: values[label])
            paper = f" Published for {BERT}: {top} with {points(values[top], 2)}."
        raw = points(defined[CLUSTERS[0]], 2)
        yield f"{dataset_title(dataset)}: {best} scores best with {points(defined[best], 2)}, raw has {raw}.{paper}"


def _accuracy(figures: Figures) -> Iterator[str]:
    before, after = (figures.figure(("classes", *key), "sst2") for key in zip(CLUSTERS, ("", TARGET), strict=True))
    if before is None or after is None or None in (before.values["accuracy"], after.values["accuracy"]):
        return
    sure = {1: "a proven gain", -1: "a proven loss", 0: "not a proven difference"}[trend(after.difference)]
    published = " and ".join(points(row.values["sst2"]["accuracy"], 2) for row in _CLASSES.published())
    scores = " and ".join(points(each.values["accuracy"], 2) for each in (before, after))
    yield f"SST-2: accuracy {scores} before and after the repair, {sure}. Published for {BERT}: {published}."


def _sentence_gains(figures: Figures) -> Iterator[str]:
    for layout, part, raw in ((LAYOUTS[3], "sentences", TWO_LAYERS), (LAYOUTS[5], "supervised", OWN_RECIPE)):
        published = {(row.label, row.fit): row.average for row in layout.published()}
        base, texts = published.get((raw, "")), []
        for row in ("flow", "whiten"):
            for fit, title in ((NLI, NLI), (TARGET, "the target")):
                gain = figures.gain((part, row, fit), (part, raw, ""), "wmean", layout.datasets)
                average = published.get((row, fit))
                paper = "" if None in (base, average) else f" (published {signed_points(average - base)})"  # type: ignore[operator]
                texts += [] if gain is None else [f"{row} fitted on {title} {signed_points(gain)}{paper}"]
        model = figures.model_of(layout)
        if texts and model is not None:
            title = "with NLI supervision" if part == "supervised" else "without supervision"
            yield f"{last_name(model)}, {title}, gains over raw on average (wmean): {', '.join(texts)}."


def _isotropies(figures: Figures) -> Iterator[str]:
    means = [figures.average(key, "both_signs", _SEVEN.datasets) for key in (_RAW, _REPAIRED)]
    if means[0] is not None and means[1] is not None:
        yield (
            f"The safe I(W) of the tokens moves from {isotropy_text(means[0])} to {isotropy_text(means[1])} (geometric "
            "mean over the datasets). A rounder space isn't a better one: compare the scores."
        )
    pairs = [(each.values.get("published"), each.values.get("both_signs")) for each in figures.all]
    gaps = [abs(first - second) for first, second in pairs if first is not None and second is not None]
    if gaps and max(gaps) >= 1:
        yield f"I(W) as published and in the safe form differ by up to {max(gaps):.1f} powers of ten here."
