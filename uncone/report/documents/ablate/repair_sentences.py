"""Sentences of `ablate repair`: isotropy and accuracy, dependence on the batch, the label, and what stays open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from uncone.analysis.number_format import cosine, count, percent
from uncone.report.documents.evaluate.scores import points, trend
from uncone.report.text import listed

if TYPE_CHECKING:
    from uncone.tuning.ablation.repair import RepairRow, TaskAblation

__all__ = [
    "clusters_in", "counterexample", "dependence_sentence", "explanation", "gain_of", "isotropy_sentence",
    "isotropy_text", "limits", "mean_sentence", "published_sentence",
]  # fmt: skip

_FOLLOWS = 0.05
"""Adjusted mutual information from which clusters follow the classes."""
_LOST = 0.05
"""Share of the texts whose class a probe no longer finds, from which part of the label is gone."""
_ZERO_MEAN = 0.1
"""|mean| over the rms norm below which vectors are about zero-mean."""
_STORED = ("running", "frozen", "offline")


def gain_of(row: RepairRow) -> float:
    """The accuracy gained over no repair; 0 if it is unknown."""
    return 0.0 if row.difference is None or row.difference.value is None else row.difference.value


def isotropy_text(log10: float | None) -> str:
    """I(W), short.

    >>> isotropy_text(-0.05), isotropy_text(-6.64), isotropy_text(-400.0), isotropy_text(None)
    ('0.89', '2e-07', '1e-400', '–')
    """
    if log10 is None:
        return "–"
    return f"{10**log10:.2f}" if log10 >= -2 else f"{10**log10:.0e}" if log10 > -300 else f"1e{log10:.0f}"


def isotropy_sentence(task: TaskAblation) -> str:
    """The most isotropic method beside none: did the accuracy follow?"""
    none, *others = task.rows
    if not others:
        return ""
    best = max(others, key=lambda row: row.log10_isotropy)
    before, after = isotropy_text(none.log10_isotropy), isotropy_text(best.log10_isotropy)
    if best.log10_isotropy <= none.log10_isotropy:
        return f"{task.task}: no repair makes what the head sees more isotropic than without one (I(W) {before})."
    scores = f"{points(none.accuracy.value)} to {points(best.accuracy.value)}"
    change = {
        1: f"accuracy rises from {scores}, proven",
        -1: f"accuracy falls from {scores}, proven",
        0: f"accuracy goes from {scores}, which is not proven to be a change",
    }[trend(best.difference)]
    return f"{task.task}: {best.method} raises the isotropy I(W) at the head from {before} to {after}, and {change}."


def published_sentence(task: TaskAblation) -> str:
    """The published accuracies, and whether ours go the same way; empty if there are none."""
    if len(task.published) < 2:
        return ""
    none, repaired = task.published
    own = [row for row in task.rows if row.method.startswith("batch/") and row.method != "batch/1/0"]
    figures = f"{none.accuracy:.1f} to {repaired.accuracy:.1f}"
    start = f"Published for BERT-base on {task.task}: accuracy from {figures}, with batch statistics"
    if not own:
        return f"{start}."
    same = all(gain_of(row) < 0 for row in own)
    return f"{start}; {'every batch repair here goes the same way' if same else 'not every batch repair here does so'}."


def dependence_sentence(rows: Sequence[tuple[TaskAblation, RepairRow]]) -> str:
    """How many predictions depend on the batch, by where the statistics come from."""
    batch, stored = (
        [row for _, row in rows if row.method.partition("/")[0] in modes] for modes in (("batch",), _STORED)
    )
    sentences = []
    if batch:
        other, alone = (_range([getattr(row, name) for row in batch]) for name in ("moved", "moved_alone"))
        sentences.append(
            f"With batch statistics, {other} of the predictions change when the same texts come in other batches, and "
            f"{alone} when a text comes alone: such a model can't be used on single texts."
        )
    if stored:
        most = max(max(row.moved, row.moved_alone) for row in stored)
        modes = listed([mode for mode in _STORED if any(row.method.startswith(mode) for row in stored)])
        changes = "no prediction changes" if most == 0 else f"at most {percent(most)} change"
        sentences.append(f"With {modes} statistics, {changes}.")
    return " ".join(sentences)


def _range(shares: Sequence[float]) -> str:
    low, high = percent(min(shares)), percent(max(shares))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def explanation(task: TaskAblation) -> str:
    """Whether a repair with several clusters that lost accuracy took the label away, by the probe and its control."""
    rows = [row for row in task.rows if clusters_in(row) > 1 and row.label is not None]
    losses = [row for row in rows if trend(row.difference) < 0]
    if not losses:
        return ""
    worst = min(losses, key=lambda row: (row.label is None or row.label.control is None, gain_of(row)))
    label, own = worst.label, worst.agreement(clusters_in(worst))
    assert label is not None
    figures = f"a linear probe finds the class of {percent(label.before)} of the texts in CLS, and of "
    figures += f"{percent(label.after)} in what the head sees"
    start = f"{task.task}: {worst.method} lost accuracy, and {figures}"
    if label.before - label.after < _LOST:
        return f"{start}. The label is still there, so its removal does not explain the loss."
    if label.control is None:
        return f"{start}: the repair removes part of the label."
    control = f"after the same repair with random clusters of the same sizes, of {percent(label.control)}"
    if label.control - label.after < _LOST:
        return f"{start}; {control}. So it is the repair that removes the label, whatever the clusters are."
    purity = "" if own is None else f" ({percent(own.purity)} of the texts are in the majority class of their cluster, "
    purity += "" if own is None else f"{percent(own.chance)} by chance)"
    return f"{start}; {control}. So the clusters follow the classes{purity}, and subtracting them removes the label."


def counterexample(task: TaskAblation) -> str:
    """Methods whose clusters follow the classes and that keep the label: agreement alone is no loss."""
    names = [
        row.method
        for row in task.rows
        if row.method != "none"
        and (own := row.agreement(clusters_in(row))) is not None
        and own.ami >= _FOLLOWS
        and row.label is not None
        and row.label.before - row.label.after < _LOST
        and trend(row.difference) >= 0
    ]
    if not names or not explanation(task):
        return ""
    return f"{task.task}: clusters that follow the classes need not cost the label: with {listed(names)}, it stays."


def mean_sentence(task: TaskAblation) -> str:
    """Whether CLS is zero-mean after training without a repair."""
    geometry = task.rows[0].geometry(task.settings.epochs)
    if geometry is None:
        return ""
    last = geometry.offset[-1]
    state = "close to zero-mean" if last < _ZERO_MEAN else "not zero-mean"
    return (
        f"{task.task}: CLS is {state} after training without a repair. In the last layer, the length of its mean is "
        f"{cosine(last)} of the rms norm ({cosine(geometry.offset[0])} in the embeddings)."
    )


def limits(tasks: Sequence[TaskAblation]) -> str:
    """What cannot be concluded."""
    reaches = []
    for task in tasks:
        gaps = [row.difference for row in task.rows if row.difference is not None]
        widths = [gap.high - gap.low for gap in gaps if gap.high is not None and gap.low is not None]
        reaches += [(task, max(widths) / 2)] if widths else []
    if not reaches:
        return ""
    texts = listed([f"{points(reach)} points on {task.task} ({count(task.n_test, 'text')})" for task, reach in reaches])
    seeds = min(len(row.runs) for task in tasks for row in task.rows)
    end = " One seed was trained: another may differ by a point or two. Use --seeds 3." if seeds == 1 else ""
    return f"Differences smaller than about {texts} can't be told from chance.{end}"


def clusters_in(row: RepairRow) -> int:
    """The number of clusters of a method."""
    return int(row.method.split("/")[1]) if "/" in row.method else 1
