"""The labeled pairs of `calibrate`: which of them are similar, what their scores show, and promised thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from uncone.analysis.calibration.calibration import LabeledScores
    from uncone.analysis.calibration.results import Background, Guarantee, LabeledPairs
    from uncone.analysis.intervals.pair_units import Texts
    from uncone.data.tasks.pair_file import PairFile
    from uncone.verbs.options.calibrate import CalibrateOptions

__all__ = ["LabeledResults", "score_labeled"]

_RELEVANT = 1.0
"""The smallest grade of a relevant document in qrels, as TREC and BEIR have it."""


@dataclass(frozen=True)
class LabeledResults:
    """The figures of labeled pairs, guaranteed thresholds, and the pairs with their scores, as far as there are any."""

    labeled: LabeledPairs | None = None
    guarantees: Sequence[Guarantee] = ()
    truth: LabeledScores | None = None
    notes: Sequence[str] = ()


def score_labeled(
    pairs: PairFile, cosines: NDArray[np.float64], background: Background, options: CalibrateOptions
) -> LabeledResults:
    """The results of the labeled pairs, and which of those with a score are similar.

    Judgments that name relevant documents only are enough for a guarantee on misses, and for nothing else.

    Raises:
        ShapeError: too few labeled pairs.
        FormatError: all labels are the same, and there is more to find out than misses.
        OptionError: the least grade leaves all pairs on one side.
    """
    from uncone.analysis.calibration.calibration import LabeledScores
    from uncone.analysis.calibration.guarantee import check_units, guarantees
    from uncone.analysis.calibration.labeled import label_pairs
    from uncone.analysis.intervals.pair_units import pair_units

    finite = np.isfinite(cosines)
    texts, grades = _names(pairs, options), pairs.labels[finite]
    rows = np.flatnonzero(finite).tolist()
    names = None if texts is None else ([texts[0][row] for row in rows], [texts[1][row] for row in rows])
    units, cut, notes = pair_units(len(rows), names), _least_grade(pairs, options), list(pairs.notes)
    if options.promises:
        check_units(units, pairs.name)
    result = None
    if list(options.promises) == ["miss"] and (grades >= (_RELEVANT if cut is None else cut)).all():
        similar = np.ones(len(grades))
        notes.append(f"All {len(grades):,} pairs of {pairs.name} are similar, so they show nothing but misses.")
    else:
        result = label_pairs(
            pairs.labels,
            cosines,
            name=pairs.name,
            background=background,
            texts=texts,
            cut=cut,
            precisions=options.precisions,
            recalls=options.recalls,
            replicates=options.replicates,
            seed=options.seed,
        )
        notes += _judgment_note(pairs, result.cut, options)
        result = replace(result, notes=[*notes, *result.notes])
        similar = (grades >= (grades.max() if result.cut is None else result.cut)).astype(np.float64)
    truth = LabeledScores(similar, cosines[finite], units, options.replicates, options.seed)
    promised = guarantees(truth, options.promises, background)
    return LabeledResults(result, promised, truth if result is not None else None, [] if result is not None else notes)


def _names(pairs: PairFile, options: CalibrateOptions) -> Texts | None:
    """What names the two texts of each pair; the ids of a query and of a document are never of one text."""
    if pairs.texts is not None or pairs.ids is None or options.queries is None:
        return pairs.texts or pairs.ids
    return [("query", name) for name in pairs.ids[0]], [("document", name) for name in pairs.ids[1]]


def _least_grade(pairs: PairFile, options: CalibrateOptions) -> float | None:
    """The least grade of a similar pair, if it is known: that of judgments is 1 unless the user names another."""
    if options.cut is not None:
        return options.cut
    return _RELEVANT if options.relevant is None and pairs.has_judgments else options.relevant


def _judgment_note(pairs: PairFile, cut: float | None, options: CalibrateOptions) -> list[str]:
    """What counts as relevant, if the user did not say so."""
    if not pairs.has_judgments or cut is None or options.is_given("cut") or options.is_given("relevant"):
        return []
    grades = f"Judgments go from {pairs.labels.min():g} to {pairs.labels.max():g}"
    return [f"{grades}: {cut:g} or more counts as relevant. --relevant sets another least grade."]
