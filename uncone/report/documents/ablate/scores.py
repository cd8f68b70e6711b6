"""Accuracies of trained variants: cells, sentences and the forest chart that all ablations share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from uncone.analysis.measures.finding import Level
from uncone.report.charts.model import Axis, Chart, Forest
from uncone.report.document import Cell
from uncone.report.documents.evaluate.scores import MARKS, points, signed_points, trend
from uncone.report.text import between

if TYPE_CHECKING:
    from uncone.analysis.intervals.bootstrap import Difference
    from uncone.analysis.intervals.resampling import Score
    from uncone.tuning.ablation.pairing import PairedAccuracy

__all__ = ["ONE_SEED", "STARS", "accuracy_cell", "difference_cell", "difference_text", "forest"]

STARS = (
    "Accuracy x 100 with 95 % intervals over test items and seeds. A star marks a proven difference, ↓* a proven loss, "
    "corrected for the number of variants."
)

ONE_SEED = "One seed: the intervals don't cover the spread between trainings, so use --seeds 3 before you conclude."


def accuracy_cell(score: Score) -> Cell:
    """An accuracy with its interval."""
    return Cell(points(score.value), between(score.low, score.high, points))


def difference_cell(difference: Difference | None) -> Cell:
    """A difference with its interval and its mark."""
    if difference is None or difference.value is None:
        return Cell("")
    way = trend(difference)
    bounds = between(difference.low, difference.high, signed_points)
    return Cell(signed_points(difference.value), bounds, Level.CROWDED if way < 0 else Level.NOTE, mark=MARKS[way])


def difference_text(difference: Difference) -> str:
    """A difference in a sentence: `−3.2 points (−5.0 to −1.4)`."""
    return f"{signed_points(difference.value)} points ({between(difference.low, difference.high, signed_points)})"


def forest(name: str, title: str, base: str, rows: Sequence[tuple[str, PairedAccuracy]]) -> Chart:
    """The differences of variants from the base, with their intervals."""
    gains = [(label, row.difference) for label, row in rows if row.difference is not None]
    usable = [(label, gain) for label, gain in gains if gain.value is not None]
    values, low, high = (
        [None if (end := getattr(gain, side)) is None else 100 * end for _, gain in usable]
        for side in ("value", "low", "high")
    )
    n, is_open = [gain.units for _, gain in usable], [not trend(gain) for _, gain in usable]
    mark = Forest(list(range(len(usable))), values, low, high, "difference", open=is_open, n=n)
    x = Axis(f"difference from {base} (points of accuracy)", "difference", zero=True, zero_line=True)
    caption = "95 % intervals over test items and seeds. A filled mark is proven, an open one is not."
    y = Axis(categories=[label for label, _ in usable], name="variant")
    return Chart(name, title, caption, [mark], x, y, wide=True)
