"""Sentences about the layers of a model, written from the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from uncone.analysis.cosine.baseline import COLLAPSED, CROWDED
from uncone.analysis.layers.layer import Layer, WordTable
from uncone.analysis.measures.finding import Finding
from uncone.analysis.number_format import cosine, count, percent

__all__ = ["contextual_words", "tell"]

_HEAVY = 0.5
_STEPS = 2
_NAMED = 5


def tell(layers: Sequence[Layer], words: WordTable | None, row: str = "words", least: int = 5) -> list[str]:
    """What the curves show, the most important first; nothing is said that the intervals do not carry."""
    found = [_crowding(layers, row)]
    if "selfsim_adjusted" in layers[0].findings and len(layers) > 1:
        found += [*_context(layers), *_steps(layers), *_explained(layers)]
    found += [*_rogue(layers), *_sinks(layers)]
    if words is not None and len(layers) > 1:
        found += _words(words, least)
    return found


def _crowding(layers: Sequence[Layer], row: str) -> str:
    things = {"words": "words", "tokens": "tokens", "cls": "CLS vectors", "sentences": "texts"}[row]
    known = {layer.number: value for layer in layers if math.isfinite(value := layer.value("baseline"))}
    if not known:
        return f"How alike two random {things} are could not be measured."
    first, last, top = min(known), max(known), max(known, key=known.__getitem__)
    if len(known) == 1:
        return f"{_verdict(known[top])}: two random {things} score {cosine(known[top])}."
    ends = (
        f"two random {things} score {cosine(known[first])} at layer {first} and {cosine(known[last])} at layer {last}"
    )
    where = "" if top in (first, last) else f"; the most, {cosine(known[top])}, at layer {top}"
    return f"{_verdict(known[top])}: {ends}{where}."


def _verdict(value: float) -> str:
    return "Collapsed" if value >= COLLAPSED else "Crowded" if value >= CROWDED else "Healthy"


def _context(layers: Sequence[Layer]) -> list[str]:
    found = []
    for name, what, low, high in (
        ("selfsim_adjusted", "two occurrences of a word score", "most contextual", "least contextual"),
        ("intrasim_adjusted_matched", "the words of a sentence score", "least alike", "most alike"),
    ):
        values = np.array([layer.value(name) for layer in layers])
        if not np.isfinite(values).all():
            continue
        bottom, top, last = int(values.argmin()), int(values.argmax()), len(values) - 1
        parts = [f"{_signed(values[0])} at layer 0", f"{_signed(values[-1])} at layer {last}"]
        parts += [f"{_signed(values[bottom])} at layer {bottom} ({low})"] if bottom not in (0, last) else []
        parts += [f"{_signed(values[top])} at layer {top} ({high})"] if top not in (0, last) else []
        chance = "random words" if name.startswith("selfsim") else "as many unrelated words"
        found.append(f"Against {chance}, {what} {_listed(parts)}.")
    return found


def _steps(layers: Sequence[Layer]) -> list[str]:
    """The steps from layer to layer in which both measures change by more than their intervals."""
    changes = []
    for before, after in pairwise(layers):
        pairs = [(before[name], after[name]) for name in ("selfsim_adjusted", "intrasim_adjusted_matched")]
        if all(_apart(a, b) for a, b in pairs):
            word, sentence = (float(b.value) - float(a.value) for a, b in pairs)  # type: ignore[arg-type]
            changes.append((abs(word) + abs(sentence), before.number, word, sentence))
    told = sorted(sorted(changes, reverse=True)[:_STEPS], key=lambda change: change[1])
    return [_step(number, word, sentence) for _, number, word, sentence in told]


def _step(number: int, word: float, sentence: float) -> str:
    verbs = ["rises" if value > 0 else "falls" for value in (word, sentence)]
    if verbs[0] == verbs[1]:
        change = f"both SelfSim and IntraSim {'rise' if word > 0 else 'fall'}"
    else:
        change = f"SelfSim {verbs[0]} and IntraSim {verbs[1]}"
    meaning = f"words become {'less' if word > 0 else 'more'} contextual"
    alike = f"the words of a sentence {'more' if sentence > 0 else 'less'} alike"
    joined = f"{meaning} and {alike}"
    return f"From layer {number} to {number + 1} {change} ({_signed(word)}, {_signed(sentence)}): {joined}."


def _explained(layers: Sequence[Layer]) -> list[str]:
    values = np.array([layer.value("mev_adjusted") for layer in layers])
    if not np.isfinite(values).all():
        return []
    least = int(values.argmin())
    raw = layers[least].value("mev")
    return [
        f"One vector explains {percent(raw)} of a word's occurrences at layer {least}, where it explains least against "
        f"chance ({_signed(float(values[least]))} over as many different words)."
    ]


def _rogue(layers: Sequence[Layer]) -> list[str]:
    heavy = [layer for layer in layers if (layer.value("rogue_share_3") or 0) >= _HEAVY]
    if not heavy:
        return []
    most = max(heavy, key=lambda layer: layer.value("rogue_share_3"))
    named = most["rogue_dimensions"].value
    which = f" ({', '.join(map(str, named[:3]))})" if isinstance(named, list) and named else ""
    share = percent(min(most.value("rogue_share_3"), 1.0))
    where = _ranges([layer.number for layer in heavy])
    return [f"Three dimensions carry over half of every similarity at {where}: {share} at layer {most.number}{which}."]


def _sinks(layers: Sequence[Layer]) -> list[str]:
    having = [layer for layer in layers if layer.value("sinks") > 0]
    if not having:
        return []
    most = max(having, key=lambda layer: layer.value("sinks"))
    first = most["sinks"].rows[0] if most["sinks"].rows else None
    example = f", such as {first['text']}" if first and first.get("text") else ""
    number = count(int(most.value("sinks")), "row")
    where = _ranges([layer.number for layer in having])
    return [f"Sinks at {where}: up to {number} over ten times the median norm{example}. --no-sinks leaves them out."]


def contextual_words(words: WordTable, least: int, keep: int) -> tuple[list[int], list[int]]:
    """The places of the words whose vectors depend most, and least, on their context in the last layer."""
    last = words.selfsim[:, -1]
    letters = np.array([word[:1].isalpha() for word in words.words], np.bool_)
    enough = np.flatnonzero((words.contexts >= least) & np.isfinite(last) & letters)
    order = enough[np.argsort(last[enough], kind="stable")]
    return order[:keep].tolist(), order[::-1][:keep].tolist()


def _words(words: WordTable, least: int) -> list[str]:
    most, fewest = contextual_words(words, least, _NAMED)
    if len(most) < 2 * _NAMED and set(most) & set(fewest):
        return []
    named = [", ".join(words.words[i] for i in places) for places in (most, fewest)]
    return [f"Most contextual words of the last layer: {named[0]}; least: {named[1]}."]


def _apart(a: Finding, b: Finding) -> bool:
    """Whether two findings differ by more than their intervals together."""
    if None in (a.value, b.value, a.low, b.low):
        return False
    reach = math.hypot((a.high - a.low) / 2, (b.high - b.low) / 2)
    return bool(abs(float(b.value) - float(a.value)) > reach)  # type: ignore[arg-type]


def _signed(value: float) -> str:
    """A difference with its sign.

    >>> _signed(0.041), _signed(-0.2), _signed(0.0001)
    ('+0.04', '-0.20', '0.00')
    """
    shown = f"{value:+.2f}"
    return "0.00" if shown in ("+0.00", "-0.00") else shown


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _ranges(numbers: Sequence[int]) -> str:
    """Layer numbers in words.

    >>> _ranges([3, 4, 5, 7]), _ranges([2])
    ('layers 3-5, 7', 'layer 2')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"layer{'s' if len(numbers) > 1 else ''} {', '.join(shown)}"
