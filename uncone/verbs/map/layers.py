"""Words, tokens or texts of some layers of a model, sampled in one pass: the same rows at every layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from uncone.analysis.layers.settings import StudySettings, settings_from
from uncone.analysis.number_format import count
from uncone.analysis.projections.pictures import Space
from uncone.analysis.projections.results import Texts
from uncone.analysis.projections.selected_layers import ChosenLayers
from uncone.analysis.projections.word_list import OF_EACH, WordList, bare
from uncone.data.batch import IntVector, Matrix
from uncone.data.texts.selection import Selection
from uncone.encoders.batching import TOKENS
from uncone.encoders.encoder import Encoder
from uncone.encoders.row_facts import RowFacts
from uncone.encoders.rows import IGNORED
from uncone.encoders.survey import Survey, survey
from uncone.errors import OptionError, ShapeError
from uncone.run.layers import LayerPass, LayerResult
from uncone.run.memory import GIB, Room
from uncone.stats.occurrences import Occurrences
from uncone.stats.row_sample import RowSample, cutoff_for
from uncone.stats.statistic import Bundle
from uncone.stats.unusable import Unusable
from uncone.verbs.encoding import Progress
from uncone.verbs.map.rows import Gathered, beside_note

__all__ = ["Layered", "layered_rows"]

_MOST_BYTES = 4 * GIB
"""Memory that the vectors of a map may take."""


@dataclass(frozen=True)
class Layered:
    """What a row is, how many are wanted, and the words whose occurrences are shown beside them."""

    rows: str
    pooling: str
    points: int
    seed: int = 0
    words: WordList = field(default_factory=WordList)
    batch_size: int | None = None


def layered_rows(
    encoder: Encoder,
    layers: Sequence[tuple[int, ...]],
    selection: Selection,
    how: Layered,
    progress: Progress | None = None,
) -> Gathered:
    """The rows of `layers`, each the mean of some of the encoder's, and all that is known of them.

    Raises:
        OptionError: none of the words stands in the texts, or so many points need too much memory.
        ShapeError: the texts have no rows.
    """
    given = {"rows": how.rows, "pooling": how.pooling, "seed": how.seed, "batch_size": how.batch_size}
    settings = settings_from(given)
    _check_room(encoder, len(layers), how.points)
    view = ChosenLayers(encoder, layers)
    view.prepare(unit.text for unit in selection.read())
    told = None if progress is None else lambda done: progress("reading", done, None)
    found = survey(selection, settings.rule, view, settings.window, told)
    words, notes = how.words.known({bare(name) for name in found.counts}, selection.source.name)
    run = LayerPass(
        view,
        selection,
        settings.rule,
        settings.window,
        Room(TOKENS, how.points, 0, 0, 0, 0),
        lambda name: words.places.get(bare(name), IGNORED),
        how.batch_size,
    )
    going = None if progress is None else lambda done: progress("encoding", done, found.tally.taken)
    result = run.run(_statistics(view.dim, found, settings, how, len(words)), progress=going)
    return _gathered(run, result, found, layers, words, notes)


def _check_room(encoder: Encoder, layers: int, points: int) -> None:
    size = 4 * points * layers * encoder.dim
    if size > _MOST_BYTES:
        raise OptionError(
            f"{points:,} points of {count(layers, 'layer')} with {encoder.dim} dimensions take {size / GIB:.0f} GiB. "
            "Ask for fewer --points, or for one --layer."
        )


def _statistics(dim: int, found: Survey, settings: StudySettings, how: Layered, words: int) -> Bundle:
    # Rows are numbered before words that no token covers are dropped, so there may be a few less than counted.
    rows = found.rows if settings.rule.has_words else found.tally.taken
    cutoff = cutoff_for(how.points, rows, how.seed)
    sample = RowSample(dim, how.points, seed=how.seed, cutoff=cutoff, named=False)
    if not words:
        return Bundle(rows=sample, unusable=Unusable())
    kept = Occurrences(dim, chosen=range(words), most=OF_EACH, seed=how.seed)
    return Bundle(rows=sample, unusable=Unusable(), occurrences=kept)


def _gathered(
    run: LayerPass,
    result: LayerResult,
    found: Survey,
    layers: Sequence[tuple[int, ...]],
    words: WordList,
    notes: Sequence[str],
) -> Gathered:
    by_layer = [_rows_of(bundle) for bundle in result.layers]
    rows = np.unique(np.concatenate([numbers for numbers, _ in by_layer]))
    if not len(rows):
        raise ShapeError(f"{run.selection.source.name} gave no rows. Add texts.")
    spaces = [
        Space(_called(chosen), vectors, np.searchsorted(rows, numbers), chosen[0] if len(chosen) == 1 else None)
        for chosen, (numbers, vectors) in zip(layers, by_layer, strict=True)
    ]
    counts = result.layers[0]["unusable"]
    total = counts.seen - counts.bad - counts.zero
    told = [*notes, *beside_note(result.layers[0]["rows"].sampled.n, len(by_layer[0][0]))]
    tally = result.tally
    if tally.truncated:
        were = "was" if tally.truncated == 1 else "were"
        told.append(f"{count(tally.truncated, 'text')} {were} cut to the {run.encoder.window} tokens the model takes.")
    if not run.rule.has_words:
        # A text is a row: its number among those read is that of its unit.
        return Gathered({}, result.units[rows], spaces, total, notes=told)
    facts = run.facts(rows)
    texts = Texts(facts.sentences, facts.sentence, facts.starts, facts.ends)
    labels = _labels(run, facts)
    return Gathered({}, rows, spaces, total, texts, labels, facts, found.counts, words=words, notes=told)


def _rows_of(bundle: Bundle) -> tuple[IntVector, Matrix]:
    """The numbers and vectors of the sample and of the words beside it, in the order of the rows, each once."""
    sampled = bundle["rows"].sampled
    kept = bundle.get("occurrences")
    if kept is None:
        return sampled.rows, sampled.vectors
    state = kept.state()
    new = ~np.isin(state["rows"], sampled.rows)
    rows = np.concatenate([sampled.rows, state["rows"][new]])
    order = np.argsort(rows, kind="stable")
    return rows[order], np.concatenate([sampled.vectors, state["vectors"][new]])[order]


def _called(layers: tuple[int, ...]) -> str:
    return f"layer {layers[0]}" if len(layers) == 1 else f"mean of layers {', '.join(str(one) for one in layers)}"


def _labels(run: LayerPass, facts: RowFacts) -> list[str] | None:
    """The label of the text that each row stands in."""
    by_text: dict[str, str] = {}
    for unit in run.selection.read():
        if unit.label is not None:
            by_text.setdefault(unit.text, unit.label)
    if not by_text:
        return None
    own = [by_text.get(text, "") for text in facts.sentences]
    return [own[i] for i in facts.sentence.tolist()]
