"""Layer studies: from an encoder and texts to the findings of every layer, with notes on how they were made."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from uncone.analysis.advice.topic import DiverseBaseline
from uncone.analysis.context.matched import matched_intrasim
from uncone.analysis.context.mev import mev_of_words
from uncone.analysis.layers.deep_results import Deep
from uncone.analysis.layers.layer import Layer, SentenceTable, WordTable
from uncone.analysis.layers.settings import StudySettings
from uncone.analysis.measures.finding import Finding, failures
from uncone.analysis.measures.measure import Family, StatisticSettings, Verb
from uncone.analysis.measures.registry import families, needed_statistics
from uncone.analysis.number_format import count
from uncone.analysis.space.geometry import LayerGeometry
from uncone.data.batch import Matrix
from uncone.data.texts.selection import Selection
from uncone.data.writing.manifest import versions
from uncone.encoders.encoder import Encoder
from uncone.encoders.rows.segmentation import Kind, identity
from uncone.encoders.survey import Survey, Vocabulary, survey
from uncone.errors import ShapeError
from uncone.run.checkpoint import Checkpoint
from uncone.run.layers import LayerPass, LayerResult
from uncone.run.measure import step_progress
from uncone.run.memory import GIB, Room, share_out
from uncone.run.parts import Cluster
from uncone.run.threads import on_all_cores
from uncone.stats.moments import Moments
from uncone.stats.norms import Norms
from uncone.stats.occurrences import Occurrences
from uncone.stats.row_sample import RowSample, cutoff_for
from uncone.stats.sentence_similarity import SentenceSimilarity
from uncone.stats.statistic import Bundle, Statistic
from uncone.stats.unit_vectors import GroupedUnitSum
from uncone.stats.unusable import Unusable
from uncone.stats.word_sums import WordSums

__all__ = ["Checkpoints", "LayerRun", "examine_layers", "notes_of", "provenance_of", "study"]

Progress = Callable[[str, int, int | None], None]
Checkpoints = Callable[[dict[str, Any], dict[str, Any]], Checkpoint]
_READ = ("units", "unusable")
"""Statistics that a run reads itself, to count vectors."""
_OF_WORDS = {"words", "sentences", "occurrences"}
_KINDS = {kind: "special token" if kind == Kind.SPECIAL else kind.name.lower() for kind in Kind}


@dataclass(frozen=True)
class LayerRun:
    """The findings of every layer, the tables, and what was met on the way.

    `vocabulary` is the number of words that occur twice or more, `mev_requested` that of words to measure MEV of:
    --memory may have had room for fewer.
    """

    layers: Sequence[Layer]
    words: WordTable | None
    sentences: SentenceTable | None
    survey: Survey
    result: LayerResult
    room: Room
    vocabulary: int
    mev_requested: int
    checkpoint: Checkpoint | None = None
    deep: Deep | None = None


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from walking through torch and the model again and again: nothing there goes away."""
    if gc.get_freeze_count():  # another study is around this one
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@_no_collection()
def study(
    encoder: Encoder,
    selection: Selection,
    settings: StudySettings,
    *,
    checkpoints: Checkpoints | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    threads: int = 0,
    cluster: Cluster | None = None,
    diverse: Callable[[], Sequence[DiverseBaseline]] | None = None,
) -> LayerRun:
    """Survey the texts, encode them once, in `threads` or on a cluster, measure every layer, and examine it.

    `diverse` measures the baseline of every layer on texts on many subjects, once it is clear that the run can begin.

    Raises:
        ShapeError: too few texts, or no word in enough of them.
    """
    rule = settings.rule
    encoder.prepare(unit.text for unit in selection.read())
    if settings.deep:
        from uncone.analysis.layers.deep import check_frequency, deep_study

        check_frequency(settings, encoder)
    surveyed = survey(selection, rule, encoder, settings.window, step_progress(progress, "reading", None))
    _check_texts(selection, surveyed, settings)
    baselines = diverse() if diverse is not None else ()
    identities = [identity(word, rule.cased) for word in settings.words]
    everything = Vocabulary(surveyed, len(surveyed.counts), identities, settings.seed)
    followed = [*everything.user_word_numbers(), *everything.sample(settings.mev_words, settings.least, settings.seed)]
    occurrences = [everything.occurrences(number) for number in followed]
    deep_sample = settings.deep_sample if settings.deep else 0
    room = share_out(encoder, settings.memory, len(everything), occurrences, deep_sample)
    words = Vocabulary(surveyed, room.words, identities, settings.seed) if room.words < len(everything) else everything
    numbers = words.user_word_numbers()
    mev_words = words.sample(max(room.mev_words - len(numbers), 0), settings.least, settings.seed)
    checkpoint = None
    if checkpoints is not None:
        content = {**room.to_dict(), "corpus_content": surveyed.tally.digest}
        checkpoint = checkpoints(settings.to_dict(), content)
    batches = settings.batch_size, settings.no_sinks, surveyed.repeated, surveyed.edges, threads
    run = LayerPass(encoder, selection, rule, settings.window, room, words.number, *batches)
    result = run.run(
        _statistics(encoder.dim, len(words), sorted({*numbers, *mev_words}), surveyed, settings, room),
        checkpoint,
        checkpoint.load() if checkpoint is not None and resume else None,
        step_progress(progress, "encoding", surveyed.tally.n_texts),
        cluster,
    )
    _check_rows(selection, result)
    layers = _layers(result, settings, mev_words, room, surveyed)
    for layer, baseline in zip(layers, baselines, strict=False):
        layer.diverse = baseline
    examined = examine_layers(layers)
    deep = None
    if settings.deep:
        step = step_progress(progress, "looking behind the cone", encoder.layers)
        deep, findings = deep_study(layers, run, surveyed.counts, settings, step)
        examined = [layer.with_findings(more) for layer, more in zip(examined, findings, strict=True)]
    sentences = _sentence_table(selection, result, layers, examined) if settings.keep_sentences else None
    table = _word_table(result, layers, examined, words) if "words" in result.layers[0].members else None
    sizes = len(everything), len(followed)
    return LayerRun(examined, table, sentences, surveyed, result, room, *sizes, checkpoint, deep)


def examine_layers(layers: Sequence[LayerGeometry]) -> list[Layer]:
    """Every finding of every layer by name, on all cores: halves of a layer at a time, so that no core is left over.

    One half is how the rows lie in their space, the other what words are to their sentences and to each other. The
    families of a half stand on the same intermediates.
    """
    every = families("layers")
    shape = [family for family in every if not _OF_WORDS & {*family.needs}]
    context = [family for family in every if _OF_WORDS & {*family.needs}]
    with on_all_cores() as threads:
        # A sample is put in order when it is first asked for: before two threads ask for the same.
        list(threads.map(lambda layer: layer.sample.order, [layer for layer in layers if "rows" in layer.statistics]))
        shapes = [threads.submit(_findings, layer, shape) for layer in layers]
        contexts = [threads.submit(_findings, layer, context) for layer in layers]
        halves = [left.result() | right.result() for left, right in zip(shapes, contexts, strict=True)]
    return [
        Layer(layer.number, {}).with_findings(finding for family in every for finding in half.get(family, ()))
        for layer, half in zip(layers, halves, strict=True)
    ]


def _findings(layer: LayerGeometry, members: Sequence[Family]) -> dict[Family, list[Finding]]:
    """What the statistics of a layer allow."""
    names = layer.statistics.keys()
    return {family: family.findings(layer) for family in members if family.statistic_names <= names}


def _statistics(
    dim: int, words: int, followed: Sequence[int], surveyed: Survey, settings: StudySettings, room: Room
) -> Bundle:
    seed = settings.seed
    # Rows are numbered before words that no token covers are dropped, so there may be a few less than counted.
    rows = surveyed.distinct_rows if settings.rule.has_words else surveyed.distinct
    size = room.deep or room.sample
    makers: dict[str, Callable[[], Statistic]] = {
        "moments": lambda: Moments(dim),
        "units": lambda: GroupedUnitSum(dim, seed=seed),
        "norms": Norms,
        "unusable": Unusable,
        "rows": lambda: RowSample(dim, size, seed=seed, cutoff=cutoff_for(size, rows, seed), keep_texts=False),
    }
    if settings.rule.has_words:
        makers |= {
            "words": lambda: WordSums(dim, words, copied=surveyed.repeated is not None),
            "sentences": lambda: SentenceSimilarity(seed=seed, keep=settings.keep_sentences),
            "occurrences": lambda: Occurrences(dim, followed=followed, most=room.occurrences, seed=seed),
        }
    verbs: tuple[Verb, ...] = ("layers", "deep") if settings.deep else ("layers",)
    return needed_statistics(verbs, makers, StatisticSettings(dim, seed), _READ)


def _layers(
    result: LayerResult, settings: StudySettings, mev_words: Sequence[int], room: Room, surveyed: Survey
) -> list[LayerGeometry]:
    shared: dict[Any, Any] = {}
    return [
        LayerGeometry(
            bundle.members,
            number,
            tuple(mev_words),
            settings.least,
            settings.seed,
            int(result.sinks[number]),
            shared,
            room.sample if room.deep else None,
            surveyed.distinct / surveyed.tally.n_texts,
        )
        for number, bundle in enumerate(result.layers)
    ]


def _word_table(
    result: LayerResult, layers: Sequence[LayerGeometry], examined: Sequence[Layer], words: Vocabulary
) -> WordTable:
    first = result.layers[0]["words"]
    met = np.flatnonzero(first.counts)
    shape = (len(words), len(layers))
    mev = np.full(shape, np.nan)
    sizes = np.zeros(len(words), np.int64)
    for place, (geometry, layer) in enumerate(zip(layers, examined, strict=True)):
        if "mev" not in layer.findings or layer["mev"].failed:
            continue
        word_mev = geometry.derived(mev_of_words)
        mev[word_mev.words, place] = word_mev.values
        if place == 0:
            sizes[word_mev.words] = word_mev.sizes
    selfsim: Matrix = np.stack([bundle["words"].selfsim() for bundle in result.layers], axis=1)
    return WordTable(
        [words.words[i] for i in met.tolist()],
        first.counts[met],
        first.contexts[met],
        selfsim.reshape(shape)[met],
        mev[met],
        sizes[met],
        tuple(word for word in words.user_words if first.counts[words.number(word)]),
        [words.kind(words.words[i]) for i in met.tolist()],
    )


def _sentence_table(
    selection: Selection, result: LayerResult, layers: Sequence[LayerGeometry], examined: Sequence[Layer]
) -> SentenceTable | None:
    if "sentences" not in result.layers[0].members:
        return None
    tables = [bundle["sentences"].values for bundle in result.layers]
    groups, lengths = tables[0][:, :2].astype(np.int64).T
    texts = {unit.number: unit.text for unit in selection.read()}
    intrasim = np.full((len(groups), len(tables)), np.nan)
    expected = np.full(intrasim.shape, np.nan)
    for place, (values, geometry, layer) in enumerate(zip(tables, layers, examined, strict=True)):
        common, rows, places = np.intersect1d(groups, values[:, 0].astype(np.int64), return_indices=True)
        intrasim[rows, place] = values[places, 2]
        matched = None if layer["intrasim"].failed else geometry.derived(matched_intrasim)
        if matched is not None and len(common):
            expected[:, place] = matched.at(lengths)
    return SentenceTable(groups, [texts[i] for i in groups.tolist()], lengths, intrasim, expected)


def _check_texts(selection: Selection, surveyed: Survey, settings: StudySettings) -> None:
    name, tally = selection.source.name, surveyed.tally
    if surveyed.distinct < 2:
        copies = f" ({tally.duplicates:,} duplicates were left out)" if tally.duplicates else ""
        raise ShapeError(f"{name} holds {surveyed.distinct} text{copies}; we need at least 2 different ones. Add some.")
    if not settings.rule.has_words:
        return
    most = max(surveyed.contexts.values(), default=0)
    if most < settings.least:
        raise ShapeError(
            f"No word of {name} stands in {settings.least} different texts (the most is {most}), so self-similarity "
            "cannot be measured. Add texts, or lower --min-contexts."
        )


def _check_rows(selection: Selection, result: LayerResult) -> None:
    fewest = min(bundle["units"].n for bundle in result.layers)
    if fewest < 3:
        raise ShapeError(f"{selection.source.name} gave {fewest} rows; we need at least 3. Add texts.")


def notes_of(run: LayerRun, encoder: Encoder, settings: StudySettings) -> list[str]:
    """Everything that could not be measured, was left out, cut or sampled, each in a sentence."""
    survey, tally, result, words = run.survey.tally, run.result.tally, run.result, run.words
    window = _window(encoder, settings)
    counts = [
        (survey.blank, "{} left out.", "blank text"),
        (survey.duplicates, "{} left out: repeated contexts would fake stability.", "exact duplicate"),
        (survey.passed_over, "{} not in the sample.", "text"),
        (tally.windowed, f"{{}} longer than {window} tokens, cut into windows.", "text"),
        (tally.truncated, f"{{}} longer than {window} tokens, truncated.", "text"),
        (tally.cut_words, "{} cut in two by the end of a window left out.", "word"),
        (tally.empty, "{} without any vector left out.", "passage"),
    ]
    notes = failures(finding for layer in run.layers for finding in layer.findings.values())
    if run.survey.rows_of:
        kinds = sorted(run.survey.rows_of.items())
        notes.append(f"Vectors by kind: {', '.join(count(n, _KINDS[kind]) for kind, n in kinds)}.")
    notes += [sentence.format(count(n, noun)) for n, sentence, noun in counts if n]
    notes += [f"Sinks left out: {_by_layer(result.sinks.tolist())}."] if result.sinks.any() else []
    if words is not None:
        unit = "vector" if encoder.kind == "static vectors" else "token"
        uncovered = count(result.uncovered, "word")
        notes += [f"{uncovered} that the model has no {unit} for left out."] if result.uncovered else []
        if words.n < run.vocabulary:
            notes.append(
                f"--memory has room for {words.n:,} of the {run.vocabulary:,} words that occur twice or more, so a "
                "seeded sample of them is followed."
            )
        missing = [word for word in settings.words if identity(word, settings.rule.cased) not in words.user_words]
        notes += [f"Not in the texts: {', '.join(missing)}."] if missing else []
        if (words.mev_n < words.counts)[words.mev_n > 0].any():
            most = f"{run.room.occurrences:,}"
            notes.append(f"MEV of a word that occurs more than {most} times is measured on a seeded {most} of them.")
        if run.room.mev_words < run.mev_requested:
            notes.append(f"--memory has room for {run.room.mev_words} of {run.mev_requested} words for MEV.")
    zero = [bundle["unusable"].zero for bundle in result.layers]
    notes += [f"Left out zero vectors, which have no direction: {_by_layer(zero)}."] if any(zero) else []
    problem = None if run.checkpoint is None else run.checkpoint.problem
    return [*notes, *filter(None, (encoder.note, problem))]


def _by_layer(counts: Sequence[int]) -> str:
    return ", ".join(f"{n:,} at layer {i}" for i, n in enumerate(counts) if n)


def _window(encoder: Encoder, settings: StudySettings) -> str:
    sizes = [size for size in (settings.window.size, encoder.window) if size]
    return f"{min(sizes):,}" if sizes else "any number of"


def provenance_of(run: LayerRun, selection: Selection, encoder: Encoder, settings: StudySettings) -> dict[str, Any]:
    """How it was made, so that it can be made again."""
    values = {
        key: ", ".join(map(str, value)) if isinstance(value, list) else value
        for key, value in settings.to_dict().items()
    }
    return {
        **versions("torch", "transformers"),
        "model_content": encoder.fingerprint(),
        "corpus_content": run.survey.tally.digest,
        "split_into_sentences": selection.split,
        "duplicates": "kept" if selection.keep_duplicates else "left out",
        "limit": selection.limit,
        "sample": selection.sample,
        **{key: value for key, value in values.items() if value is not None and value is not False and value != ""},
        "memory": f"{settings.memory / GIB:.1f} GiB allowed, {run.room.planned / GIB:.1f} planned",
        "batch_tokens": run.room.tokens,
        "sampled_rows": run.room.sample,
        "words_followed": 0 if run.words is None else run.words.n,
    }
