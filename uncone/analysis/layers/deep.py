"""Behind the cone: the neighbourhoods, clusters, frequency shells and manifolds of every layer, on a sample of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

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
from uncone.analysis.layers.deep_results import Deep, DeepLayer, Frequency, Manifold, TableDeep
from uncone.analysis.layers.deep_story import tell_deep
from uncone.analysis.layers.geometry import LayerGeometry
from uncone.analysis.layers.settings import StudySettings
from uncone.analysis.layers.static_table import table_deep
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.registry import families
from uncone.analysis.neighbors.dimension import dimensions_of
from uncone.analysis.neighbors.hubness import hubness_of
from uncone.analysis.neighbors.manifold.manifold import manifold_of
from uncone.analysis.number_format import count
from uncone.data.batch import IntVector
from uncone.data.lazy_property import once
from uncone.encoders.encoder import Encoder
from uncone.encoders.rows.facts import RowFacts
from uncone.errors import ModelError
from uncone.extras import require
from uncone.run.blas_threads import on_all_cores
from uncone.run.layers import LayerPass
from uncone.stats.samples.row_sample import SampledRows

__all__ = ["check_frequency", "deep_study"]

Found = tuple[DeepLayer, list[Finding]]


def deep_study(
    layers: Sequence[LayerGeometry],
    run: LayerPass,
    counts: Mapping[str, int],
    settings: StudySettings,
    progress: Callable[[int], None] | None = None,
) -> tuple[Deep, list[list[Finding]]]:
    """What lies behind every layer, and the findings that are drawn from it, layer by layer."""
    samples = [layer.rows.sampled.at_most(settings.deep_sample) for layer in layers]
    known = run.facts(_union([sample.rows for sample in samples]))
    frequencies = _frequencies(settings, run.encoder, counts) if settings.rule.has_words else None
    look = _Look(known, frequencies, settings, run.copies is not None)

    def one(place: int) -> Found:
        found = look.at(layers[place].number, samples[place])
        if progress is not None:
            progress(1)
        return found

    with on_all_cores() as threads:
        found = list(threads.map(one, range(len(layers))))
    table = _table(run, frequencies, settings) if frequencies is not None else None
    head = None
    if settings.rule.has_words:
        head = head_frequency(run.encoder, run.selection, settings.window, seed=settings.seed)
    deep = [layer for layer, _ in found]
    return (
        Deep(
            deep,
            [sample.rows for sample in samples],
            known,
            table,
            head,
            frequencies.name if frequencies is not None else "",
            tell_deep(deep, table, head),
            [*_notes(deep, layers, settings), *_told(run.encoder, table)],
        ),
        [findings for _, findings in found],
    )


@dataclass(frozen=True)
class _Look:
    """What all layers share: which word every sampled row is, and how often that occurs."""

    facts: RowFacts
    frequencies: Frequencies | None
    settings: StudySettings
    repeated: bool = False
    """Whether identical texts are among them."""

    @once
    def types(self) -> IntVector:
        """The number of the word of every row; a whole text is a type of its own."""
        if not self.settings.rule.has_words:
            return np.arange(self.facts.n, dtype=np.int64)
        return np.unique(np.array(self.facts.words, object), return_inverse=True)[1].astype(np.int64)

    @once
    def bins(self) -> list[str] | None:
        """The bin of frequency ranks of every row."""
        return None if self.frequencies is None else list(self.frequencies.bins(self.facts.words))

    def at(self, number: int, sample: SampledRows) -> Found:
        """One layer."""
        seed = self.settings.seed
        places = np.searchsorted(self.facts.rows, sample.rows).astype(np.int64)
        facts, vectors = self.facts.take(places), sample.vectors
        # Copies of a text are encoded in other batches, so that their rows may differ by rounding.
        own = facts.originals if self.repeated else np.arange(sample.n, dtype=np.int64)
        first, known = (vectors[own], facts.take(own)) if len(own) < sample.n else (vectors, facts)
        units = None if sample.groups is None else sample.groups[own]
        dimensions = dimensions_of(first, seed=seed, units=units)
        hubness = hubness_of(first, seed=seed, name=known.shown, numbers=sample.rows[own])
        clusters = clusters_of(
            vectors,
            self.types[places],
            sample.rows if sample.groups is None else sample.groups,
            facts,
            None if self.bins is None else [self.bins[i] for i in places.tolist()],
            k=self.settings.k,
            seed=seed,
        )
        frequency = self._frequency(sample, facts)
        positions = known.positions if self.settings.rule.has_words else None
        manifold = manifold_of(
            first,
            sample.norms[own],
            positions,
            clusters.labels[own],
            words=self.types[places[own]],
            lid=dimensions["euclidean"],
            seed=seed,
        )
        if len(own) < sample.n:
            manifold = _placed(manifold, own)
            share = 1 - len(own) / sample.n
            dimensions = {
                name: replace(one, duplicates=1 - (1 - share) * (1 - one.duplicates))
                for name, one in dimensions.items()
            }
        layer = DeepLayer(number, sample.n, dimensions, hubness, clusters, frequency, manifold)
        return layer, [one for family in families("deep") for one in family.findings(layer)]

    def _frequency(self, sample: SampledRows, facts: RowFacts) -> Frequency | None:
        if self.frequencies is None:
            return None
        words, means, norms = word_means(sample.vectors, sample.norms, facts.words)
        unit = "token" if self.settings.rule.rows == "tokens" else "word"
        return frequency_of(means, words, self.frequencies, norms=norms, unit=unit, seed=self.settings.seed)


def _placed(manifold: Manifold, places: IntVector) -> Manifold:
    """The same with the places of the rows among all of the sample, of which those at `places` were looked at."""
    rest = None if manifold.without_sinks is None else _placed(manifold.without_sinks, places)
    return replace(manifold, points_rows=places[manifold.points_rows], without_sinks=rest)


def _union(rows: Sequence[IntVector]) -> IntVector:
    """The rows of all samples in order; layers differ only where rows were left out of some."""
    first = rows[0]
    same = all(np.array_equal(first, one) for one in rows[1:])
    return first if same else np.unique(np.concatenate(rows))


def _frequencies(settings: StudySettings, encoder: Encoder, counts: Mapping[str, int]) -> Frequencies:
    if settings.frequency == "corpus":
        return corpus_frequencies(counts)
    if settings.frequency == "wordfreq":
        return wordfreq_frequencies()
    return tokenizer_frequencies(_order(settings, encoder))


def _order(settings: StudySettings, encoder: Encoder) -> Sequence[str]:
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
        _order(settings, encoder)


def _table(run: LayerPass, frequencies: Frequencies, settings: StudySettings) -> TableDeep | None:
    """The input table; its rows are tokens, so they have the frequencies of tokens, whatever a row of the study is."""
    table = run.encoder.input_table()
    if settings.frequency == "tokenizer" and table is not None:
        frequencies = tokenizer_frequencies(table[0])
    elif settings.frequency == "corpus" and run.encoder.kind != "static vectors":
        frequencies = token_frequencies(run.encoder, run.selection, settings.window)
    return table_deep(run.encoder, frequencies, settings.seed)


def _told(encoder: Encoder, table: TableDeep | None) -> list[str]:
    """What has to be known of the table and of the head."""
    return [note for note in (table.note if table is not None else "", encoder.head_note) if note]


def _notes(deep: Sequence[DeepLayer], layers: Sequence[LayerGeometry], settings: StudySettings) -> list[str]:
    most, rows = max(one.n for one in deep), max(layer.n for layer in layers)
    if most == rows:
        return [f"Behind the cone: measured on all {count(rows, 'row')} of every layer."]
    room = "" if most >= settings.deep_sample else "; --memory has no room for more"
    return [f"Behind the cone: measured on a seeded sample of {most:,} of {count(rows, 'row')} of every layer{room}."]
