"""What a reader of a study has to know beside the curves: what was left out, cut or sampled, and how it was made."""

from __future__ import annotations

from typing import Any

from uncone.analysis.layers.settings import StudySettings
from uncone.analysis.layers.study import Studied
from uncone.analysis.measures.finding import failures
from uncone.analysis.number_format import count
from uncone.data.texts.selection import Selection
from uncone.encoders.encoder import Encoder
from uncone.encoders.segmentation import Kind, identity
from uncone.extras import versions
from uncone.run.memory import GIB

__all__ = ["notes_of", "provenance_of"]

_KINDS = {kind: "special token" if kind == Kind.SPECIAL else kind.name.lower() for kind in Kind}


def notes_of(studied: Studied, selection: Selection, encoder: Encoder, settings: StudySettings) -> list[str]:
    """Everything that could not be measured, was left out, cut or sampled, each in a sentence."""
    found, tally, met = studied.survey.tally, studied.result.tally, studied.result
    told = [
        (found.blank, "{} left out.", "blank text"),
        (found.duplicates, "{} left out, so that repeated contexts do not fake stability.", "exact duplicate"),
        (found.passed_over, "{} not in the sample.", "text"),
        (tally.windowed, f"{{}} longer than {_window(encoder, settings)} tokens, cut into windows.", "text"),
        (tally.truncated, f"{{}} longer than {_window(encoder, settings)} tokens, truncated.", "text"),
        (tally.cut_words, "{} cut in two by the end of a window left out.", "word"),
        (tally.empty, "{} without any row left out.", "passage"),
    ]
    notes = [sentence.format(count(n, noun)) for n, sentence, noun in told if n]
    if studied.survey.rows_of:
        of = sorted(studied.survey.rows_of.items())
        notes.insert(0, f"Rows by kind: {', '.join(count(n, _KINDS[kind]) for kind, n in of)}.")
    notes = failures(one for layer in studied.layers for one in layer.findings.values()) + notes
    if met.sinks.any():
        layers = ", ".join(f"{n:,} at layer {i}" for i, n in enumerate(met.sinks.tolist()) if n)
        notes.append(f"Sinks left out: {layers}.")
    if studied.words is not None:
        if met.uncovered:
            why = "has no vector for" if encoder.kind == "static vectors" else "has no token for"
            notes.append(f"{count(met.uncovered, 'word')} that the model {why} left out.")
        if studied.words.n < studied.wanted:
            notes.append(
                f"--memory has room for {studied.words.n:,} of the {studied.wanted:,} words that occur twice or more: "
                "a seeded sample of them is followed."
            )
        missing = [word for word in settings.words if identity(word, settings.rule.cased) not in studied.words.asked]
        if missing:
            notes.append(f"Not in the texts: {', '.join(missing)}.")
        measured = studied.words.mev_n > 0
        if (studied.words.mev_n < studied.words.counts)[measured].any():
            most = f"{studied.room.occurrences:,}"
            notes.append(f"MEV of a word that occurs more than {most} times is measured on a seeded {most} of them.")
        if studied.room.mev_words < studied.mev_wanted:
            notes.append(f"--memory has room for {studied.room.mev_words} of {studied.mev_wanted} words for MEV.")
    zero = [bundle["unusable"].zero for bundle in met.layers]
    if any(zero):
        shown = ", ".join(f"{n:,} at layer {i}" for i, n in enumerate(zero) if n)
        notes.append(f"Rows of zeros, which have no direction, left out: {shown}.")
    notes += [encoder.note] if encoder.note else []
    problem = None if studied.checkpoint is None else studied.checkpoint.problem
    notes += [problem] if problem else []
    return notes


def _window(encoder: Encoder, settings: StudySettings) -> str:
    sizes = [size for size in (settings.window.size, encoder.window) if size]
    return f"{min(sizes):,}" if sizes else "any number of"


def provenance_of(studied: Studied, selection: Selection, encoder: Encoder, settings: StudySettings) -> dict[str, Any]:
    """How it was made, so that it can be made again."""
    plain = settings.to_dict()
    shown = {key: ", ".join(map(str, value)) if isinstance(value, list) else value for key, value in plain.items()}
    return {
        **versions("torch", "transformers"),
        "model_content": encoder.fingerprint(),
        "corpus_content": studied.survey.tally.digest,
        "split_into_sentences": selection.split,
        "duplicates": "kept" if selection.keep_duplicates else "left out",
        "limit": selection.limit,
        "sample": selection.sample,
        **{key: value for key, value in shown.items() if value is not None and value is not False and value != ""},
        "memory": f"{settings.memory / GIB:.1f} GiB allowed, {studied.room.planned / GIB:.1f} planned",
        "batch_tokens": studied.room.tokens,
        "sampled_rows": studied.room.sample,
        "words_followed": 0 if studied.words is None else studied.words.n,
    }
