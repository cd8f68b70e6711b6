"""Behind the cone: neighborhoods, clusters, frequency shells and manifolds of every layer, on a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

import numpy as np

from uncone.analysis.clusters.clusters import clusters_of
from uncone.analysis.frequency.frequency import frequency_of, word_means
from uncone.analysis.frequency.head import head_frequency
from uncone.analysis.frequency.word_counts import (
    Frequencies,
    corpus_frequencies,
    token_frequencies,
    tokenizer_frequencies,
    wordfreq_frequencies,
)
from uncone.analysis.layers.deep_results import (
    Clusters,
    Deep,
    DeepLayer,
    Dimension,
    Frequency,
    Hubness,
    Manifold,
    TableDeep,
    WordSpace,
)
from uncone.analysis.layers.settings import StudySettings
from uncone.analysis.layers.story import deep_story
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.registry import families
from uncone.analysis.neighbors.dimension import dimensions_of
from uncone.analysis.neighbors.manifold import manifold_of
from uncone.analysis.neighbors.neighborhood import hubness_of
from uncone.analysis.number_format import count
from uncone.analysis.space.geometry import LayerGeometry
from uncone.data.batch import IntVector, Matrix
from uncone.data.lazy_property import once
from uncone.encoders.encoder import Encoder
from uncone.encoders.rows.row_facts import RowFacts
from uncone.errors import ModelError, OptionError, require
from uncone.run.layers import LayerPass
from uncone.run.threads import on_all_cores
from uncone.stats.row_sample import SampledRows

__all__ = ["check_frequency", "deep_study", "table_deep"]

P = ParamSpec("P")
T = TypeVar("T")


def deep_study(
    layers: Sequence[LayerGeometry],
    run: LayerPass,
    counts: Mapping[str, int],
    settings: StudySettings,
    progress: Callable[[int], None] | None = None,
) -> tuple[Deep, list[list[Finding]]]:
    """What lies behind every layer, and the findings that are drawn from it, layer by layer."""
    samples = [layer.rows.sampled.at_most(settings.deep_sample) for layer in layers]
    facts = run.facts(_union([sample.rows for sample in samples]))
    frequencies = _frequencies(settings, run.encoder, counts) if settings.rule.has_words else None
    study = _Study(facts, frequencies, settings)

    def examine(place: int) -> tuple[DeepLayer, list[Finding]]:
        result = study.examine(layers[place].number, samples[place])
        if progress is not None:
            progress(1)
        return result

    with on_all_cores() as threads:
        results = list(threads.map(examine, range(len(layers))))
    table = head = None
    attempt, seed = _Attempts(), settings.seed
    if frequencies is not None:
        table = attempt("The input embeddings", None, _table, run, frequencies, settings)
        texts = run.selection, settings.window
        head = attempt("The language-model head", None, head_frequency, run.encoder, *texts, seed=seed)
    deep = [layer for layer, _ in results]
    notes = [_sample_note(deep, layers, settings), "" if table is None else table.note, run.encoder.head_note]
    notes += [f"{name} could not be measured, because {error}." for name, error in attempt.failures.items()]
    return (
        Deep(
            deep,
            [sample.rows for sample in samples],
            facts,
            table,
            head,
            "" if frequencies is None else frequencies.name,
            deep_story(deep, table, head),
            [note for note in notes if note],
            _word_spaces(study, samples[-1], run) if settings.keep_vectors else (),
        ),
        [findings for _, findings in results],
    )


class _Attempts:
    """Parts that are measured one by one; one that fails costs no report. `failures` has the reasons by part."""

    def __init__(self) -> None:
        self.failures: dict[str, Exception] = {}

    def __call__(self, part: str, fallback: T, compute: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What `compute` returns, or the fallback if it fails."""
        try:
            return compute(*args, **kwargs)
        except OptionError:
            raise
        except Exception as error:  # whatever a part does, the others are reported
            self.failures[part] = error
            return fallback


@dataclass(frozen=True)
class _Study:
    """What all layers share: which word every sampled vector is, and how often that occurs."""

    facts: RowFacts
    frequencies: Frequencies | None
    settings: StudySettings

    @once
    def types(self) -> IntVector:
        """The number of the word of every vector; a whole text is a type of its own."""
        if not self.settings.rule.has_words:
            return np.arange(self.facts.n, dtype=np.int64)
        return np.unique(np.array(self.facts.words, object), return_inverse=True)[1].astype(np.int64)

    @once
    def bins(self) -> list[str] | None:
        """The bin of frequency ranks of every vector."""
        return None if self.frequencies is None else list(self.frequencies.bins(self.facts.words))

    def examine(self, number: int, sample: SampledRows) -> tuple[DeepLayer, list[Finding]]:
        """One layer and its findings; a part that cannot be measured leaves the others alone."""
        seed, attempt = self.settings.seed, _Attempts()
        places = np.searchsorted(self.facts.rows, sample.rows).astype(np.int64)
        facts, vectors = self.facts.take(places), sample.vectors
        groups = sample.rows if sample.groups is None else sample.groups
        bins = None if self.bins is None else [self.bins[i] for i in places.tolist()]
        types = self.types[places]
        unknown = {metric: Dimension(metric) for metric in ("euclidean", "cosine")}
        dimensions = attempt("dimensions", unknown, dimensions_of, vectors, seed=seed, units=sample.groups)
        name, keys = facts.excerpt, sample.origins
        hubness = attempt(
            "hubness", Hubness(), hubness_of, vectors, seed=seed, name=name, numbers=sample.rows, keys=keys
        )
        one_cluster = Clusters(n=sample.n, labels=np.zeros(sample.n, np.int64))
        k = self.settings.k
        clusters = attempt("clusters", one_cluster, clusters_of, vectors, types, groups, facts, bins, k=k, seed=seed)
        frequency = attempt("frequency", None, self._frequency, sample, facts)
        manifold = attempt(
            "manifold",
            Manifold(n=sample.n),
            manifold_of,
            vectors,
            sample.norms,
            facts.positions if self.settings.rule.has_words else None,
            clusters.labels,
            words=types,
            lid=dimensions["euclidean"],
            seed=seed,
        )
        if sample.copies is not None:
            share = 1 / float(sample.copies.mean())
            dimensions = {
                name: replace(lid, duplicates=1 - share * (1 - lid.duplicates)) for name, lid in dimensions.items()
            }
        layer = DeepLayer(number, sample.n, dimensions, hubness, clusters, frequency, manifold)
        return layer, _findings(layer, attempt.failures)

    def _frequency(self, sample: SampledRows, facts: RowFacts) -> Frequency | None:
        if self.frequencies is None:
            return None
        words, means, norms = word_means(sample.vectors, sample.norms, facts.words)
        unit = "token" if self.settings.rule.rows == "tokens" else "word"
        return frequency_of(means, words, self.frequencies, norms=norms, unit=unit, seed=self.settings.seed)


def _findings(layer: DeepLayer, failures: Mapping[str, Exception]) -> list[Finding]:
    """The findings of every family; of one that needs a part that failed, why it could not be measured."""
    findings: list[Finding] = []
    for family in families("deep"):
        errors = [failures[part] for part in family.parts if part in failures]
        findings += family.failures(errors[0], layer.n) if errors else family.findings(layer)
    return findings


def _union(rows: Sequence[IntVector]) -> IntVector:
    """The vectors of all samples in order; layers differ only where vectors were left out of some."""
    first = rows[0]
    same = all(np.array_equal(first, sample) for sample in rows[1:])
    return first if same else np.unique(np.concatenate(rows))


def _frequencies(settings: StudySettings, encoder: Encoder, counts: Mapping[str, int]) -> Frequencies:
    if settings.frequency == "corpus":
        return corpus_frequencies(counts)
    if settings.frequency == "wordfreq":
        return wordfreq_frequencies()
    return tokenizer_frequencies(_token_order(settings, encoder))


def _token_order(settings: StudySettings, encoder: Encoder) -> Sequence[str]:
    """The tokens in the order of the encoder's table."""
    table = encoder.input_table(marked=settings.rule.rows == "tokens")
    if table is None:
        raise ModelError(f"{encoder.name} has no table of tokens with an order. Try --frequency corpus.")
    return table[0]


def check_frequency(settings: StudySettings, encoder: Encoder) -> None:
    """Refuse frequencies that cannot be had before a long run, not after it.

    Raises:
        MissingPackageError: wordfreq is not installed; the message has the line that installs it.
        ModelError: the model has no order of tokens.
    """
    if settings.frequency == "wordfreq":
        require("wordfreq", extra="frequency")
    if settings.frequency == "tokenizer":
        _token_order(settings, encoder)


def _table(run: LayerPass, frequencies: Frequencies, settings: StudySettings) -> TableDeep | None:
    return table_deep(run.encoder, _table_frequencies(run, frequencies, settings), settings.seed)


def _table_frequencies(run: LayerPass, frequencies: Frequencies, settings: StudySettings) -> Frequencies:
    """The frequencies of the input table. Its vectors are those of tokens, whatever a row of the study is."""
    table = run.encoder.input_table()
    if settings.frequency == "tokenizer" and table is not None:
        return tokenizer_frequencies(table[0])
    if settings.frequency == "corpus" and run.encoder.kind != "static vectors":
        return token_frequencies(run.encoder, run.selection, settings.window)
    return frequencies


def _word_spaces(study: _Study, last: SampledRows, run: LayerPass) -> list[WordSpace]:
    """The input embeddings and the sampled vectors of the last layer, each with its word; none without words."""
    frequencies, settings = study.frequencies, study.settings
    if frequencies is None:
        return []
    spaces = []
    usable, unit, name = _usable_table(run.encoder), *_table_names(run.encoder)
    if usable is not None:
        names, vectors, _ = usable
        spaces.append(WordSpace(name, vectors, names, _table_frequencies(run, frequencies, settings), unit))
    if run.encoder.layers > 1:
        words = study.facts.at(last.rows).words
        unit = "token" if settings.rule.rows == "tokens" else "word"
        spaces.append(WordSpace(f"layer {run.encoder.layers - 1}", last.vectors, words, frequencies, unit))
    return spaces


def table_deep(encoder: Encoder, frequencies: Frequencies | None, seed: int = 0) -> TableDeep | None:
    """The table in which an encoder looks up its tokens, measured; None if it has none, or only one vector.

    The same measures as for a layer, so that static and contextual vectors can be compared: mind that the local
    dimension grows with the number of vectors. Vectors are tokens, so `frequencies` should be `token_frequencies`; with
    any other, a vector is as frequent as the word that it is. Vectors of zeros and vectors that are no numbers are left
    out.
    """
    usable = _usable_table(encoder)
    if usable is None:
        return None
    names, vectors, bad = usable
    left_out = f"{count(bad, 'row')} of zeros or without numbers {'was' if bad == 1 else 'were'} left out."
    unit, name = _table_names(encoder)
    return TableDeep(
        name=name,
        n=len(names),
        dim=vectors.shape[1],
        dimensions=dimensions_of(vectors, seed=seed),
        hubness=hubness_of(vectors, seed=seed, name=lambda row: names[row]),
        frequency=frequency_of(vectors, names, frequencies, unit=unit, seed=seed) if frequencies is not None else None,
        note=" ".join(filter(None, (encoder.table_note, left_out if bad else ""))),
    )


def _usable_table(encoder: Encoder) -> tuple[list[str], Matrix, int] | None:
    """The names and vectors of the input table, and how many were left out; None if fewer than two are usable."""
    table = encoder.input_table()
    if table is None:
        return None
    names, vectors = table
    usable = np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)
    bad = int((~usable).sum())
    if bad:
        names, vectors = [names[i] for i in np.flatnonzero(usable).tolist()], vectors[usable]
    return None if len(names) < 2 else (list(names), vectors, bad)


def _table_names(encoder: Encoder) -> tuple[str, str]:
    """What a row of the input table is, and what the table is called."""
    return ("word", "word vectors") if encoder.layers == 1 else ("token", "input embeddings")


def _sample_note(deep: Sequence[DeepLayer], layers: Sequence[LayerGeometry], settings: StudySettings) -> str:
    most, rows = max(layer.n for layer in deep), max(layer.n for layer in layers)
    if most == rows:
        return f"Behind the cone: measured on all {count(rows, 'vector')} of every layer."
    room = "" if most >= settings.deep_sample else "; --memory has no room for more"
    return f"Behind the cone: measured on a seeded sample of {most:,} of {count(rows, 'vector')} of every layer{room}."
