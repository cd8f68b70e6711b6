"""What a score means: `calibrate`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from uncone.errors import OptionError
from uncone.extras import versions
from uncone.run.measure import Plan
from uncone.verbs.calibrate.notes import last_part, notes_of
from uncone.verbs.calibrate.validation import check_numbers, check_pair_options, check_read_once, check_together
from uncone.verbs.check import check_options
from uncone.verbs.encoding import Encoding, Progress

if TYPE_CHECKING:
    from uncone.analysis.calibration.background import Surveyed
    from uncone.analysis.calibration.calibration import Calibration
    from uncone.analysis.calibration.results import Background, Labelled, Threshold
    from uncone.analysis.calibration.score_meaning import Asked, LabelledScores
    from uncone.data.tasks.pair_file import PairFile
    from uncone.encoders.open import Loading
    from uncone.report.results.calibrate import Calibrated
    from uncone.verbs.sides import Opening, Sides

__all__ = ["calibrate"]


def calibrate(
    source: Any = None,  # noqa: ANN401 - a path or whatever holds vectors or texts
    *,
    scores: Sequence[float] = (),
    rates: Sequence[float] = (0.01,),
    corpus_size: int | None = None,
    background: Any = None,  # noqa: ANN401 - as source
    pairs: str | os.PathLike[str] | PairFile | None = None,
    pair_columns: tuple[str | None, str | None, str | None] = (None, None, None),
    ids: str | None = None,
    cut: float | None = None,
    precisions: Sequence[float] = (),
    recalls: Sequence[float] = (),
    translate: float | None = None,
    old: str | os.PathLike[str] | Calibration | None = None,
    queries: Any = None,  # noqa: ANN401 - as source
    documents: Any = None,  # noqa: ANN401 - as source
    query_prompt: str | None = None,
    document: str | None = None,
    repair: str | os.PathLike[str] | None = None,
    save: str | os.PathLike[str] | None = None,
    name: str | None = None,
    column: str | None = None,
    tensor: str | None = None,
    text: str | Sequence[str] | None = None,
    model: Any = None,  # noqa: ANN401 - a name, a path or an encoder
    layer: str | int | None = None,
    pooling: str | None = None,
    prompt: str = "",
    batch_size: int | None = None,
    limit: int | None = None,
    data: str | os.PathLike[str] | None = None,
    loading: Loading | None = None,
    cache: bool = True,
    float64: bool = False,
    workers: int = 0,
    replicates: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Calibrated:
    """Tell what a score means in a space: how many unrelated pairs reach it, where to cut, and how sure that is.

    Args:
        source: vectors, as for `check`; with `model`, texts. Their random pairs are the unrelated ones.
        scores: cosines to explain; by default the thresholds that people guess.
        rates: shares of unrelated pairs that a threshold may let through.
        corpus_size: size of the corpus that a query searches: counts unrelated hits, and adds the threshold that leaves
            one per query on average.
        background: a diverse corpus beside the source, of the same kind.
        pairs: labelled pairs: a table of two texts, or of two rows, and a label 0/1 or a grade, or a set such as
            stsb:dev.
        pair_columns: the names of its columns, where they are not plain: first, second, label.
        ids: the column of the source with the ids that the pairs name rows by; else they are numbers from 0 on.
        cut: graded pairs of this grade or more are alike.
        precisions: wanted ones; each gives a threshold.
        recalls: likewise.
        translate: a threshold of the space that `old` is of, to be found here.
        old: the folder of a saved calibration, or one.
        queries: with `documents`, in place of `source`: the side of queries.
        documents: the side of documents.
        query_prompt: put before every query, where it is another than `prompt`.
        document: the column (or file of lines) with the document of each row; pairs of one document are left out.
        repair: the folder of a repair; the repaired space is calibrated.
        save: a folder for the calibration.
        name: what to call the source in the report.
        column: the column, field or array that holds the vectors, where there are several.
        tensor: the tensor of a .safetensors file.
        text: the column or columns with texts.
        model: encode texts with this model.
        layer: the layer of the model, -1 is the last; "1,-1" averages two.
        pooling: how the tokens of a text become one vector: mean, cls, max or last.
        prompt: put before every text, for models that want one.
        batch_size: texts encoded at once, at most.
        limit: take the first texts only.
        data: the folder with named corpora and sets.
        loading: revision, device, precision, and what a stranger's model may do.
        cache: keep the vectors of texts on disk, and take those that are there.
        float64: products in double precision.
        workers: processes to measure with; 0 uses threads.
        replicates: how often labelled pairs are drawn again for the intervals.
        seed: chooses every sample.
        progress: called with the step, the rows done since the last call, and the rows there are.

    >>> rng = np.random.default_rng(0)
    >>> found = calibrate(rng.normal(size=(1_000, 32)) + 1.0, scores=[0.5], rates=[0.05])
    >>> found.asked[0].rate > 0.4, 0.6 < found.calibration.threshold(fpr=0.05).value < 0.8
    (True, True)
    """
    from uncone.analysis.calibration.saving import check_folder
    from uncone.report.results.calibrate import Calibrated
    from uncone.verbs.sides import Opening

    check_options([*scores, *([] if translate is None else [translate])], workers, 2, seed)
    check_numbers(rates, precisions, recalls, corpus_size, replicates)
    check_together(source, queries, documents, translate, old, document)
    rows = pairs if model is None else None  # labelled pairs of texts are encoded by themselves
    check_read_once([source, queries, documents, background], document=document, id=ids, pairs=rows)
    if query_prompt is not None and queries is None:
        raise OptionError("--query-prompt is for queries: name them with --queries, and the rest with --documents.")
    check_pair_options(pairs, pair_columns, ids, cut, precisions, recalls)
    if save is not None:
        check_folder(Path(save).resolve())
    columns = [] if text is None else [text] if isinstance(text, str) else list(text)
    asked = None if model is None else Encoding(model, layer, pooling, prompt, batch_size, limit, loading, cache)
    opening = Opening(column, tensor, columns, data, asked, _loaded(repair), repair, query_prompt)
    before, labels = _old(old), _pairs(pairs, pair_columns, ids, asked is not None, data)
    sides = _sides(opening, source, queries, documents)
    plan = Plan(workers=workers, dtype=np.float64 if float64 else np.float32)
    given: dict[str, Any] = {"rates": _rates(rates, corpus_size), "plan": plan, "seed": seed, "progress": progress}
    groups, notes = opening.documents(source, document)
    own = _surveyed(sides, name, groups, given)
    beside = None if background is None else _beside(sides, background, given)
    judged, truth = None, None
    if labels is not None:
        cosines = sides.cosines(labels, ids, by_rows=ids is not None, progress=progress)
        more: dict[str, Any] = {"cut": cut, "precisions": precisions, "recalls": recalls, "replicates": replicates}
        judged, truth = _judged(labels, cosines, own.background, {**more, "seed": seed})
    made = _calibration(sides, own, beside, rates, corpus_size, judged, seed)
    made = replace(made, notes=[*notes, *made.notes])
    if translate is not None and before is not None:
        made = _translated(made, translate, before, old)
    if save is not None:
        made.save(save)
    told = {"precision": np.dtype(plan.dtype).name, "limit": limit, "labelled": pairs, "document": document}
    asked_scores = _asked(made, scores, truth)
    return Calibrated(made, asked_scores, _provenance(made, sides, told), None if save is None else os.fspath(save))


def _loaded(repair: str | os.PathLike[str] | None) -> Any:  # noqa: ANN401 - a saved repair or nothing
    if repair is None:
        return None
    from uncone.repairs.saving import load

    return load(repair)


def _old(old: str | os.PathLike[str] | Calibration | None) -> Calibration | None:
    from uncone.analysis.calibration.calibration import Calibration as Saved

    return old if old is None or isinstance(old, Saved) else Saved.load(old)


def _pairs(
    pairs: str | os.PathLike[str] | PairFile | None,
    columns: tuple[str | None, str | None, str | None],
    ids: str | None,
    texts: bool,
    data: str | os.PathLike[str] | None,
) -> PairFile | None:
    """The labelled pairs: of texts where a model is there to encode them, unless ids of rows are asked for."""
    from uncone.data.tasks.pair_file import PairFile, open_pair_file

    if pairs is None or isinstance(pairs, PairFile):
        return pairs
    left, right, label = columns
    two = None if left is None or right is None else (left, right)
    by_text = texts and ids is None
    return open_pair_file(pairs, text=two if by_text else None, ids=None if by_text else two, label=label, data=data)


def _sides(opening: Opening, source: Any, queries: Any, documents: Any) -> Sides:  # noqa: ANN401 - as for calibrate
    from uncone.verbs.sides import Sides

    if queries is None:
        opened, known = opening.space(source)
        return Sides(opening, opened, None, known, (source, source))
    asking, _ = opening.space(queries, query=True, least=1)
    opened, known = opening.space(documents, least=1)
    if asking.dim != opened.dim:
        raise OptionError(
            f"Queries of {asking.dim} dimensions and documents of {opened.dim} have no cosine. Were they made by the "
            "same encoder?"
        )
    return Sides(opening, opened, asking, known, (queries, documents))


def _rates(rates: Sequence[float], corpus_size: int | None) -> list[float]:
    """The tails that the sample of pairs has to reach: also the one of a single hit."""
    return [*dict.fromkeys(rates), *([1 / corpus_size] if corpus_size and corpus_size > 1 else [])]


def _surveyed(sides: Sides, name: str | None, groups: Sequence[str] | None, given: Mapping[str, Any]) -> Surveyed:
    from uncone.analysis.calibration.background import survey, survey_between

    if sides.queries is not None:
        named = name or " with ".join(last_part(one.name) for one in (sides.queries, sides.documents))
        return survey_between(sides.queries, sides.documents, name=named, **given)
    return survey(sides.documents, name=name or sides.documents.name, groups=groups, **given)


def _beside(sides: Sides, other: Any, given: Mapping[str, Any]) -> Surveyed:  # noqa: ANN401 - as for calibrate
    """The unrelated pairs of a diverse corpus; queries are paired with its rows."""
    from uncone.analysis.calibration.background import survey, survey_between

    opened, _ = sides.opening.space(other)
    if opened.dim != sides.documents.dim:
        raise OptionError(
            f"--background has {opened.dim} dimensions, and the source {sides.documents.dim}: it is no background of "
            "this space. Make it with the same encoder."
        )
    if sides.queries is not None:
        return survey_between(sides.queries, opened, name=opened.name, **given)
    return survey(opened, name=opened.name, **given)


def _judged(
    pairs: PairFile, cosines: NDArray[np.float64], background: Background, options: Mapping[str, Any]
) -> tuple[Labelled, LabelledScores]:
    """What the labelled pairs say, and which of those that have a score are similar."""
    from uncone.analysis.calibration.labels.labeled import label_pairs
    from uncone.analysis.calibration.score_meaning import LabelledScores
    from uncone.analysis.intervals.pair_units import pair_units

    texts = pairs.texts or pairs.ids
    found = label_pairs(pairs.labels, cosines, name=pairs.name, background=background, texts=texts, **options)
    found = replace(found, notes=[*pairs.notes, *found.notes])
    known = np.isfinite(cosines)
    labels = pairs.labels[known]
    alike = labels >= (labels.max() if found.cut is None else found.cut)
    rows = np.flatnonzero(known).tolist()
    named = None if texts is None else ([texts[0][row] for row in rows], [texts[1][row] for row in rows])
    units = pair_units(len(rows), named)
    drawing = options["replicates"], options["seed"]
    return found, LabelledScores(alike.astype(np.float64), cosines[known], units, *drawing)


def _translated(
    made: Calibration, score: float, before: Calibration, old: str | os.PathLike[str] | Calibration | None
) -> Calibration:
    from uncone.analysis.calibration.thresholds import translate

    name = os.fspath(old) if isinstance(old, str | os.PathLike) else str(before.source.get("name"))
    return replace(made, translation=translate(score, before.backgrounds[0], made.backgrounds[0], name))


def _asked(made: Calibration, scores: Sequence[float], truth: LabelledScores | None) -> list[Asked]:
    """The scores of the user, or the thresholds that people guess."""
    from uncone.analysis.calibration.score_meaning import GUESSES, ask

    return ask(made, list(dict.fromkeys(scores)) or GUESSES, truth, guessed=not len(scores))


def _calibration(
    sides: Sides,
    own: Surveyed,
    beside: Surveyed | None,
    rates: Sequence[float],
    corpus_size: int | None,
    labelled: Labelled | None,
    seed: int,
) -> Calibration:
    from uncone.analysis.calibration.calibration import Calibration as Made
    from uncone.analysis.calibration.quantization import hints
    from uncone.analysis.calibration.thresholds import threshold

    first, known = own.background, sides.known
    kept = {key: known.get(key) for key in ("encoder", "encoder_content", "layer", "pooling", "prompt")}
    folder = sides.opening.folder
    source = {"name": first.name, "rows": first.rows, "dim": sides.documents.dim, **kept}
    if sides.opening.query_prompt is not None:
        source["query_prompt"] = sides.opening.query_prompt
    return Made(
        source={**source, "repair": None if folder is None else os.fspath(folder)},
        backgrounds=[first, *([] if beside is None else [beside.background])],
        thresholds=[threshold(first, rate, corpus_size) for rate in dict.fromkeys(rates)],
        corpus_size=corpus_size,
        one_hit=None if corpus_size is None else _one_hit(own, corpus_size),
        labelled=labelled,
        translation=None,
        hints=hints(own.documents or own.units),
        notes=notes_of(sides, own, beside),
        seed=seed,
        versions=versions("scipy", "scikit-learn", "torch", "transformers"),
    )


def _one_hit(own: Surveyed, corpus_size: int) -> Threshold:
    """The threshold that leaves one unrelated hit per query on average, and how unevenly the hits are spread."""
    from uncone.analysis.calibration.hits import hit_spread
    from uncone.analysis.calibration.thresholds import one_hit

    found = one_hit(own.background, corpus_size)
    if found.value is None or corpus_size == 1:
        return found
    return replace(found, spread=hit_spread(own.background, own.sides, own.base, corpus_size))


def _provenance(made: Calibration, sides: Sides, told: Mapping[str, Any]) -> dict[str, Any]:
    """How the calibration came to be, so that it can be made again."""
    reading = {source.note for source in (sides.queries, sides.documents) if source is not None and source.note}
    kept = {key: value for key, value in made.source.items() if value not in (None, "")}
    asked = {key: os.fspath(one) if isinstance(one, os.PathLike) else one for key, one in told.items()}
    plain = {key: one for key, one in asked.items() if isinstance(one, str | int)}
    return {
        **kept,
        **plain,
        **({"reading": ", ".join(sorted(reading))} if reading else {}),
        "seed": made.seed,
        **made.versions,
    }
