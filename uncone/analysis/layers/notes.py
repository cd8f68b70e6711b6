"""What a reader of a study has to know beside the curves: what was left out, cut or sampled, and how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uncone.analysis.layers.settings import StudySettings
from uncone.analysis.layers.study import LayerRun
from uncone.analysis.measures.finding import failures
from uncone.analysis.number_format import count
from uncone.data.texts.selection import Selection
from uncone.encoders.encoder import Encoder
from uncone.encoders.segmentation import Kind, identity
from uncone.extras import versions
from uncone.run.memory import GIB

__all__ = ["notes_of", "provenance_of"]

_KINDS = {kind: "special token" if kind == Kind.SPECIAL else kind.name.lower() for kind in Kind}


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
    notes = failures(one for layer in run.layers for one in layer.findings.values())
    if run.survey.rows_of:
        kinds = sorted(run.survey.rows_of.items())
        notes.append(f"Vectors by kind: {', '.join(count(n, _KINDS[kind]) for kind, n in kinds)}.")
    notes += [sentence.format(count(n, noun)) for n, sentence, noun in counts if n]
    notes += [f"Sinks left out: {_by_layer(result.sinks.tolist())}."] if result.sinks.any() else []
    if words is not None:
        why = "vector" if encoder.kind == "static vectors" else "token"
        uncovered = count(result.uncovered, "word")
        notes += [f"{uncovered} that the model has no {why} for left out."] if result.uncovered else []
        if words.n < run.vocabulary:
            notes.append(
                f"--memory has room for {words.n:,} of the {run.vocabulary:,} words that occur twice or more, so a "
                "seeded sample of them is followed."
            )
        missing = [word for word in settings.words if identity(word, settings.rule.cased) not in words.named]
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
