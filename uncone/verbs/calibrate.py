"""The meaning of scores: `calibrate`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.storage.path import path_of
from uncone.data.writing.manifest import versions
from uncone.errors import OptionError
from uncone.verbs.options.calibrate import CalibrateOptions
from uncone.verbs.spaces.encoding import Progress, gather_rows, row_count
from uncone.verbs.spaces.labeled_pairs import LabeledResults, score_labeled
from uncone.verbs.spaces.opener import SpaceOpener, last_part
from uncone.verbs.spaces.verb import verb

if TYPE_CHECKING:
    from uncone.analysis.calibration.background import BackgroundSurvey
    from uncone.analysis.calibration.calibration import CalibratedScore, Calibration, LabeledScores
    from uncone.analysis.calibration.results import Threshold
    from uncone.analysis.measures.finding import Finding
    from uncone.data.source import Source
    from uncone.data.tasks.pair_file import PairFile
    from uncone.report.documents.calibrate import Calibrated

__all__ = ["calibrate"]


@verb(CalibrateOptions)
def calibrate(source: Any = None, *, options: CalibrateOptions) -> Calibrated:  # noqa: ANN401 - vectors or texts
    """Find out what a score means: how many unrelated pairs reach it, and which threshold to use.

    `source` holds vectors, or texts with `model`; its random pairs are the unrelated ones. `queries` and `documents`
    take its place where they differ.

    >>> rng = np.random.default_rng(0)
    >>> result = calibrate(rng.normal(size=(1_000, 32)) + 1.0, scores=[0.5], fpr=[0.05])
    >>> result.scores[0].rate > 0.4, 0.6 < result.calibration.threshold(fpr=0.05).value < 0.8
    (True, True)
    """
    from uncone.analysis.calibration.calibration import FOLDER
    from uncone.report.documents.calibrate import Calibrated

    options.check_source(source)
    if options.save is not None:
        FOLDER.check(path_of(options.save))
    before, labels = _load_old(options.old), _pairs(options)
    opening = SpaceOpener(options, options.repair, options.query_prompt)
    sides = _sides(opening, source, options)
    groups, notes = opening.documents(source, options.document)
    own = _survey(
        sides, sides.documents, options, name=options.name or sides.name, **({"groups": groups} if groups else {})
    )
    beside = _background(sides, options)
    pairs = LabeledResults()
    if labels is not None:
        cosines = sides.cosines(labels, options.ids, by_rows=options.ids is not None, progress=options.progress)
        pairs = score_labeled(labels, cosines, own.background, options)
    calibration = _calibration(sides, own, beside, options, pairs)
    calibration = replace(calibration, notes=[*notes, *calibration.notes, *pairs.notes])
    if options.translate is not None and before is not None:
        calibration = _translate(calibration, options.translate, before, options.old)
    if options.save is not None:
        calibration.save(options.save)
    inputs = {"limit": options.limit, "labeled": options.pairs, "document": options.document}
    provenance = _provenance(calibration, sides, {"precision": "float64" if options.float64 else "float32", **inputs})
    saved = None if options.save is None else os.fspath(options.save)
    topic = _topic(sides, own, options)
    return Calibrated(calibration, _meanings(calibration, options.scores, pairs.truth), provenance, saved, topic)


def _topic(sides: _Sides, own: BackgroundSurvey, options: CalibrateOptions) -> dict[str, Finding]:
    """The model's baseline on diverse text and the topic's share of that of the texts; empty for vectors."""
    from uncone.analysis.advice.topic import topic_findings
    from uncone.analysis.measures.finding import Finding
    from uncone.verbs.spaces.evidence import diverse_baseline

    if sides.queries is not None:  # their scores are those of two sides
        return {}
    diverse = diverse_baseline(sides.documents, options.diverse, options.plan, options.seed)
    of = own.background
    baseline = Finding("baseline", of.mean, of.rows, "", low=of.mean_low, high=of.mean_high)
    findings = [] if diverse is None else topic_findings(baseline, diverse)
    return {finding.name: finding for finding in findings}


def _load_old(old: str | os.PathLike[str] | Calibration | None) -> Calibration | None:
    from uncone.analysis.calibration.calibration import Calibration as Saved

    return old if old is None or isinstance(old, Saved) else Saved.load(old)


def _pairs(options: CalibrateOptions) -> PairFile | None:
    """The labeled pairs: of texts if a model can encode them, unless they name rows by ids."""
    from uncone.data.tasks.pair_file import PairFile, open_pair_file

    if options.pairs is None or isinstance(options.pairs, PairFile):
        return options.pairs
    columns = None if options.left is None or options.right is None else (options.left, options.right)
    by_text = options.model is not None and options.ids is None
    keywords = {"text": columns} if by_text else {"ids": columns}
    return open_pair_file(options.pairs, **keywords, label=options.label, data=options.data)


def _sides(opening: SpaceOpener, source: Any, options: CalibrateOptions) -> _Sides:  # noqa: ANN401 - as for calibrate
    if options.queries is None:
        vectors, identity = opening.space(source)
        return _Sides(opening, vectors, None, identity, (source, source))
    queries, _ = opening.space(options.queries, query=True, least=1)
    documents, identity = opening.space(options.documents, least=1)
    if queries.dim != documents.dim:
        raise OptionError(
            f"Queries have {queries.dim} dimensions and documents {documents.dim}, so they can't be compared. Were "
            "they made by the same encoder?"
        )
    return _Sides(opening, documents, queries, identity, (options.queries, options.documents))


def _survey(sides: _Sides, documents: Source, options: CalibrateOptions, **keywords: Any) -> BackgroundSurvey:  # noqa: ANN401
    """The unrelated pairs of a corpus, or of the queries with it."""
    from uncone.analysis.calibration.background import survey, survey_between

    single_hit = [1 / options.corpus_size] if options.corpus_size and options.corpus_size > 1 else []
    rates = [*dict.fromkeys(options.fpr), *single_hit]
    keywords |= {"rates": rates, "plan": options.plan, "seed": options.seed, "progress": options.progress}
    if sides.queries is not None:
        return survey_between(sides.queries, documents, **keywords)
    return survey(documents, **keywords)


def _background(sides: _Sides, options: CalibrateOptions) -> BackgroundSurvey | None:
    if options.background is None:
        return None
    source, _ = sides.opening.space(options.background)
    if source.dim != sides.documents.dim:
        n = sides.documents.dim
        raise OptionError(
            f"--background has {source.dim} dimensions, but the source has {n}. Use the same encoder for both."
        )
    return _survey(sides, source, options, name=source.name)


def _translate(
    calibration: Calibration, score: float, before: Calibration, old: str | os.PathLike[str] | Calibration | None
) -> Calibration:
    from uncone.analysis.calibration.thresholds import translate

    name = os.fspath(old) if isinstance(old, str | os.PathLike) else str(before.source.get("name"))
    return replace(calibration, translation=translate(score, before.backgrounds[0], calibration.backgrounds[0], name))


def _meanings(calibration: Calibration, scores: Sequence[float], truth: LabeledScores | None) -> list[CalibratedScore]:
    """The scores of the user, or the thresholds that people guess."""
    from uncone.analysis.calibration.calibration import GUESSES, score_meanings

    return score_meanings(calibration, list(dict.fromkeys(scores)) or GUESSES, truth, guessed=not len(scores))


def _calibration(
    sides: _Sides,
    own: BackgroundSurvey,
    beside: BackgroundSurvey | None,
    options: CalibrateOptions,
    pairs: LabeledResults,
) -> Calibration:
    from uncone.analysis.calibration.calibration import Calibration as Made
    from uncone.analysis.calibration.quantization import hints
    from uncone.analysis.calibration.thresholds import threshold

    first, identity = own.background, sides.identity
    encoder = {key: identity.get(key) for key in ("encoder", "encoder_content", "layer", "pooling", "prompt")}
    folder, corpus_size = options.repair, options.corpus_size
    source = {"name": first.name, "rows": first.rows, "dim": sides.documents.dim, **encoder}
    if options.query_prompt is not None:
        source["query_prompt"] = options.query_prompt
    return Made(
        source={**source, "repair": None if folder is None else os.fspath(folder)},
        backgrounds=[first, *([] if beside is None else [beside.background])],
        thresholds=[threshold(first, rate, corpus_size) for rate in dict.fromkeys(options.fpr)],
        corpus_size=corpus_size,
        one_hit=None if corpus_size is None else _one_hit(own, corpus_size),
        labeled=pairs.labeled,
        guarantees=pairs.guarantees,
        translation=None,
        hints=hints(own.documents or own.units),
        notes=_notes(sides, own, beside),
        seed=options.seed,
        versions=versions("scipy", "scikit-learn", "torch", "transformers"),
    )


def _one_hit(own: BackgroundSurvey, corpus_size: int) -> Threshold:
    """The threshold that leaves one unrelated hit per query on average, and how unevenly the hits are spread."""
    from uncone.analysis.calibration.thresholds import hit_spread, one_hit

    threshold = one_hit(own.background, corpus_size)
    if threshold.value is None or corpus_size == 1:
        return threshold
    return replace(threshold, spread=hit_spread(own.background, own.sides, own.base, corpus_size))


def _provenance(calibration: Calibration, sides: _Sides, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs and versions needed to reproduce the calibration."""
    reading = {source.note for source in (sides.queries, sides.documents) if source is not None and source.note}
    origin = {key: value for key, value in calibration.source.items() if value not in (None, "")}
    paths = {key: os.fspath(value) if isinstance(value, os.PathLike) else value for key, value in inputs.items()}
    plain = {key: value for key, value in paths.items() if isinstance(value, str | int)}
    return {
        **origin,
        **plain,
        **({"reading": ", ".join(sorted(reading))} if reading else {}),
        "seed": calibration.seed,
        **calibration.versions,
    }


def _notes(sides: _Sides, own: BackgroundSurvey, beside: BackgroundSurvey | None) -> list[str]:
    """Notes on vectors that were left out, and on problems while reading."""
    texts = sides.opening.options.model is not None
    noun = "texts" if texts else "vectors"
    bad = "are empty or have no finite vector" if texts else "hold NaN, infinity or huge numbers"
    zero = "have a vector of zeros" if texts else "are zero"
    owners = [""] if sides.queries is None else [" of the queries", " of the documents"]
    corpora = list(zip(own.unusable, owners, strict=True))
    if beside is not None:
        corpora.append((beside.unusable[-1], f" of {last_part(beside.background.name)}"))
    notes = []
    for counts, owner in corpora:
        for number, reason in ((counts.bad, bad), (counts.zero, zero)):
            notes += [f"{number:,} of {counts.n_read:,} {noun}{owner} {reason} and were left out."] if number else []
    for source in (sides.queries, sides.documents):
        notes += getattr(source, "notes", ())
        notes += _fitted_here(sides.opening, source) if source is not None else []
    return notes


def _fitted_here(opening: SpaceOpener, source: Source) -> list[str]:
    """A warning if the repair was fitted on these very vectors."""
    if opening.saved is None or opening.saved.provenance.get("fitted_on") != source.name:
        return []
    return [
        f"The repair was fitted on {source.name} itself, so it suits these vectors better than new ones. A threshold "
        "may let more new pairs through than its false-positive rate says, above all with few vectors per dimension. "
        "Calibrate on vectors that the repair was not fitted on."
    ]


@dataclass
class _Sides:
    """The two sides of a score. `queries` is None where both are rows of `documents`.

    `identity` describes the encoder; `origins` are what the user named, first that of the queries.
    """

    opening: SpaceOpener
    documents: Source
    queries: Source | None = None
    identity: Mapping[str, Any] = field(default_factory=dict)
    origins: tuple[Any, Any] = (None, None)

    @property
    def name(self) -> str:
        """The names of both sides."""
        if self.queries is None:
            return self.documents.name
        return " with ".join(last_part(source.name) for source in (self.queries, self.documents))

    def cosines(
        self, pairs: PairFile, ids: str | None = None, by_rows: bool = False, progress: Progress | None = None
    ) -> NDArray[np.float64]:
        """The score of each labeled pair; NaN where a vector has no direction.

        Raises:
            OptionError: pairs of texts, and no model to encode them.
            FormatError: the pairs name rows that are not there.
        """
        from uncone.analysis.cosine.units import pair_cosines

        if self.opening.encoding is not None and pairs.texts is not None and not by_rows:
            left, right = pairs.texts
            if self.queries is not None:
                return pair_cosines(self.opening.vectors(left, query=True), self.opening.vectors(right))
            both = self.opening.vectors([*left, *right])
            return pair_cosines(both[: len(left)], both[len(left) :])
        if pairs.ids is None:
            raise OptionError(
                f"{pairs.name} holds pairs of texts, but the source holds vectors: name a model with --model, or two "
                "columns of row numbers with --left and --right."
            )
        if self.queries is None:
            rows = pairs.rows(row_count(self.documents), self.opening.names(self.origins[1], ids))
            vectors = gather_rows(self.documents, np.concatenate(rows), progress)
            return pair_cosines(vectors[: len(pairs)], vectors[len(pairs) :])
        sides = []
        for place, source in enumerate((self.queries, self.documents)):
            side = replace(pairs, ids=(pairs.ids[place], pairs.ids[place]))
            own, _ = side.rows(row_count(source), self.opening.names(self.origins[place], ids))
            sides.append(gather_rows(source, own, progress))
        return pair_cosines(*sides)
