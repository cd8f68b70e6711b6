"""Sentences about the layers of a model and what lies behind the cone, written from the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np

from uncone.analysis.clusters.story import above_chance, is_sliced
from uncone.analysis.cosine.baseline import COLLAPSED, CROWDED
from uncone.analysis.layers.deep_results import DeepLayer, HeadFrequency, TableDeep
from uncone.analysis.layers.layer import Layer, WordTable
from uncone.analysis.measures.finding import Finding
from uncone.analysis.neighbors.neighborhood import UNEVEN, has_hubs
from uncone.analysis.number_format import clipped, cosine, count, percent, plain

__all__ = ["contextual_words", "deep_story", "layer_story", "most_curved"]

_HEAVY = 0.5
_STEPS = 2
_EXAMPLES = 5
_MANY_COPIES = 0.2


def layer_story(layers: Sequence[Layer], words: WordTable | None, row: str = "words", least: int = 5) -> list[str]:
    """What the curves show, the most important first; nothing is said that the intervals do not carry."""
    sentences = [_crowding(layers, row), *_topic(layers)]
    if "selfsim_adjusted" in layers[0].findings and len(layers) > 1:
        sentences += [*_self_similarity(layers), *_sentence_similarity(layers), *_steps(layers), *_mev(layers)]
    sentences += [*_rogue(layers), *_sinks(layers)]
    if words is not None and len(layers) > 1:
        sentences += _words(words, least)
    return sentences


def _crowding(layers: Sequence[Layer], row: str) -> str:
    noun = {"words": "words", "tokens": "tokens", "cls": "CLS vectors", "sentences": "texts"}[row]
    baselines = {layer.number: value for layer in layers if math.isfinite(value := layer.value("baseline"))}
    if not baselines:
        return f"How similar two random {noun} are could not be measured."
    first, last, top = min(baselines), max(baselines), max(baselines, key=baselines.__getitem__)
    most = baselines[top]
    verdict = "Collapsed" if most >= COLLAPSED else "Crowded" if most >= CROWDED else "Healthy"
    if len(baselines) == 1:
        return f"{verdict}: two random {noun} score {cosine(most)}."
    ends = f"{cosine(baselines[first])} at layer {first} and {cosine(baselines[last])} at layer {last}"
    peak = "" if top in (first, last) else f", with a peak of {cosine(most)} at layer {top}"
    return f"{verdict}: two random {noun} score {ends}{peak}."


def _topic(layers: Sequence[Layer]) -> list[str]:
    """Whose the crowding is at the most crowded layer, if the model was measured on diverse text; or why it was not."""
    findings = layers[0].findings
    if "diverse_baseline" not in findings:
        return []
    if not any(math.isfinite(layer.value("diverse_baseline")) for layer in layers):
        return [findings["diverse_baseline"].meaning]
    shares = [layer for layer in layers if math.isfinite(layer.value("topic_share"))]
    if not shares:
        return []
    top = max(shares, key=lambda layer: layer.value("baseline"))
    where = f"At layer {top.number}: " if len(layers) > 1 else ""
    meaning = top["topic_share"].meaning
    return [f"{where}{_lower(meaning) if where else meaning}"]


def _self_similarity(layers: Sequence[Layer]) -> list[str]:
    values = np.array([layer.value("selfsim_adjusted") for layer in layers])
    if not np.isfinite(values).all():
        return []
    falls = values.argmin() > 0
    place, last = int(values.argmin() if falls else values.argmax()), len(values) - 1
    verb, extreme = ("falls", "most") if falls else ("rises", "least")
    text = f"Self-similarity (above the random baseline) {verb} from {cosine(values[0])} at layer 0 to "
    text += f"{cosine(values[place])} at layer {place}, the {extreme} contextual layer"
    return [f"{text}." if place == last else f"{text}. It is {cosine(values[last])} at layer {last}."]


def _sentence_similarity(layers: Sequence[Layer]) -> list[str]:
    values = np.array([layer.value("intrasim_adjusted_matched") for layer in layers])
    if not np.isfinite(values).all():
        return []
    top = int(values.argmax())
    others = [f"{cosine(values[place])} at layer {place}" for place in sorted({0, len(values) - 1} - {top})]
    more = f"{cosine(values[top])} more" if values[top] >= 0.005 else "no more"
    return [f"Words in the same sentence are {more} similar than unrelated words at layer {top} ({', '.join(others)})."]


def _steps(layers: Sequence[Layer]) -> list[str]:
    """The steps from layer to layer in which both measures change by more than their intervals."""
    names, changes = ("selfsim_adjusted", "intrasim_adjusted_matched"), []
    for before, after in pairwise(layers if all(name in layers[0].findings for name in names) else ()):
        pairs = [(before[name], after[name]) for name in names]
        if all(_apart(a, b) for a, b in pairs):
            word, sentence = (float(b.value) - float(a.value) for a, b in pairs)  # type: ignore[arg-type]
            changes.append((abs(word) + abs(sentence), before.number, word, sentence))
    largest = sorted(sorted(changes, reverse=True)[:_STEPS], key=lambda change: change[1])
    return [_step(number, word, sentence) for _, number, word, sentence in largest]


def _step(number: int, word: float, sentence: float) -> str:
    verbs = ["rises" if value > 0 else "falls" for value in (word, sentence)]
    second = "" if verbs[0] == verbs[1] else f" {verbs[1]}"
    return (
        f"From layer {number} to {number + 1}, SelfSim {verbs[0]} by {cosine(abs(word))} and IntraSim{second} by "
        f"{cosine(abs(sentence))}: words become {'less' if word > 0 else 'more'} contextual, and words in the same "
        f"sentence {'more' if sentence > 0 else 'less'} similar."
    )


def _mev(layers: Sequence[Layer]) -> list[str]:
    values = np.array([layer.value("mev_adjusted") for layer in layers])
    if not np.isfinite(values).all():
        return []
    least = int(values.argmin())
    return [
        f"At layer {least}, one vector explains {percent(layers[least].value('mev'))} of a word's occurrences. That is "
        f"{cosine(values[least])} more than of as many different words, the smallest difference of all layers."
    ]


def _rogue(layers: Sequence[Layer]) -> list[str]:
    heavy = [layer for layer in layers if (layer.value("rogue_share_3") or 0) >= _HEAVY]
    if not heavy:
        return []
    most = max(heavy, key=lambda layer: layer.value("rogue_share_3"))
    rogue = most["rogue_dimensions"].value
    names = f" ({', '.join(map(str, rogue[:3]))})" if isinstance(rogue, list) and rogue else ""
    share = percent(min(most.value("rogue_share_3"), 1.0))
    where = _ranges([layer.number for layer in heavy])
    return [
        f"Three dimensions carry more than half of the mean cosine at {where}: {share} at layer {most.number}{names}."
    ]


def _sinks(layers: Sequence[Layer]) -> list[str]:
    layers = [layer for layer in layers if layer.value("sinks") > 0]
    if not layers:
        return []
    most = max(layers, key=lambda layer: layer.value("sinks"))
    first = most["sinks"].rows[0] if most["sinks"].rows else {}
    example = f", such as {first['text']}" if first.get("text") else ""
    vectors = count(int(most.value("sinks")), "vector")
    where = _ranges([layer.number for layer in layers])
    return [f"Sinks at {where}: up to {vectors} over 10 times the median norm{example}. --no-sinks leaves them out."]


def contextual_words(words: WordTable, least: int, keep: int) -> tuple[list[int], list[int]]:
    """The places of the words whose vectors depend most, and least, on their context in the last layer."""
    last = words.selfsim[:, -1]
    letters = np.array([word[:1].isalpha() for word in words.words], np.bool_)
    enough = np.flatnonzero((words.contexts >= least) & np.isfinite(last) & letters)
    order = enough[np.argsort(last[enough], kind="stable")]
    return order[:keep].tolist(), order[::-1][:keep].tolist()


def _words(words: WordTable, least: int) -> list[str]:
    most, fewest = contextual_words(words, least, _EXAMPLES)
    if len(most) < 2 * _EXAMPLES and set(most) & set(fewest):
        return []
    examples = [", ".join(words.words[i] for i in places) for places in (most, fewest)]
    return [f"Most contextual words in the last layer: {examples[0]}. Least contextual: {examples[1]}."]


def _apart(a: Finding, b: Finding) -> bool:
    """Whether two findings differ by more than their intervals together."""
    if None in (a.value, b.value, a.low, b.low):
        return False
    reach = math.hypot((a.high - a.low) / 2, (b.high - b.low) / 2)
    return bool(abs(float(b.value) - float(a.value)) > reach)  # type: ignore[arg-type]


def _ranges(numbers: Sequence[int]) -> str:
    """Layer numbers in words.

    >>> _ranges([3, 4, 5, 7]), _ranges([2])
    ('layers 3-5, 7', 'layer 2')
    """
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"layer{'s' if len(numbers) > 1 else ''} {', '.join(texts)}"


def deep_story(layers: Sequence[DeepLayer], table: TableDeep | None, head: HeadFrequency | None) -> list[str]:
    """What lies behind the cone, the most important first; nothing where nothing is known."""
    sentences = [*_dimension(layers, table), _clusters(layers), _hubs(layers), *_frequency(layers, table)]
    return [text for text in (*sentences, "" if head is None else head.sentence, _manifold(layers)) if text]


def _dimension(layers: Sequence[DeepLayer], table: TableDeep | None) -> list[str]:
    estimates = [(lid.value, layer.number, lid) for layer in layers if (lid := layer.dimensions["euclidean"]).value]
    if not estimates:
        return []
    value, number, last = estimates[-1]
    text = f"The local dimension is {plain(value)} {f'at layer {number}' if len(layers) > 1 else 'here'}"
    if len(estimates) > 1:
        ordered = sorted(estimates, key=lambda triple: triple[0])
        extremes = [("lowest", *ordered[0][:2]), ("highest", *ordered[-1][:2])]
        text += "".join(f", the {extreme} of all layers" for extreme, _, at in extremes if at == number)
        others = [f"the {extreme} is {plain(bound)} at layer {at}" for extreme, bound, at in extremes if at != number]
        text += f"; {' and '.join(others)}"
    bases = sorted({lid.base for _, _, lid in estimates})
    base = f"{bases[0]:,}" if len(bases) == 1 else f"{bases[0]:,} to {bases[-1]:,}"
    sentences = f"{text} (from the {last.k} nearest of {base} distinct vectors)."
    if table is not None and (static := table.dimensions["euclidean"]).value is not None:
        sentences += f" In the {table.name} it is {plain(static.value)} (of {static.base:,} distinct vectors)."
    return [sentences]


def _clusters(layers: Sequence[DeepLayer]) -> str:
    """Of the layer whose clusters stand out most from slices of one cloud; or that none has clusters."""
    if len(layers) == 1:
        copies, sentence = _copies(layers[0]), layers[0].clusters.sentence
        return f"{copies}. {sentence}" if copies else sentence
    several = [layer for layer in layers if layer.clusters.k > 1]
    clear = [layer for layer in several if not is_sliced(layer.clusters)]
    if clear:
        clearest = max(clear, key=lambda layer: above_chance(layer.clusters) or 0.0)
        where = f", where {copies}" if (copies := _copies(clearest)) else ""
        return f"Clusters are clearest at layer {clearest.number}{where}: {_lower(clearest.clusters.sentence)}"
    if several:
        best_layer = max(several, key=lambda layer: layer.clusters.silhouette or 0.0)
        return f"No layer has clusters. Layer {best_layer.number}: {best_layer.clusters.sentence}"
    tried = [(value, layer.number) for layer in layers for value in layer.clusters.tried.values()]
    if not tried:
        return ""
    best, number = max(tried)
    return f"No layer has clusters (the best silhouette is {cosine(best)}, at layer {number})."


def _copies(layer: DeepLayer) -> str:
    """That many vectors repeat others: the copies of one are a cluster, however even the space is."""
    share = layer.dimensions["euclidean"].duplicates
    if layer.clusters.k == 1 or share < _MANY_COPIES:
        return ""
    return f"{percent(share)} of the vectors are copies of others, which form clusters"


def _hubs(layers: Sequence[DeepLayer]) -> str:
    candidates = [layer for layer in layers if layer.hubness.skew is not None]
    if not candidates:
        return ""
    proven = [layer for layer in candidates if has_hubs(layer.hubness)]
    unsure = [layer for layer in candidates if max(layer.hubness.skew or 0.0, layer.hubness.high or 0.0) > UNEVEN]
    if proven or not unsure:
        worst = max(proven or candidates, key=lambda layer: layer.hubness.skew or 0.0)
    else:
        worst = max(unsure, key=lambda layer: layer.hubness.high or layer.hubness.skew or 0.0)
    hubs, where = worst.hubness, f"at layer {worst.number}, " if len(layers) > 1 else ""
    skew, over = plain(hubs.skew or 0.0), f"over {count(hubs.n, 'vector')}"
    if proven:
        example = f", most of all “{clipped(hubs.hubs[0].text, 80)}” ({hubs.hubs[0].count:,})" if hubs.hubs else ""
        lonely = "" if hubs.antihubs is None else f" {percent(hubs.antihubs)} of the vectors are a neighbor of none."
        return (
            f"Hubs: {where}a few vectors are among the {hubs.k} nearest neighbors of very many (skewness {skew}, "
            f"{over}){example}.{lonely}"
        )
    if unsure:
        bounds = "" if hubs.low is None or hubs.high is None else f" ({plain(hubs.low)} to {plain(hubs.high)})"
        return (
            f"There may be hubs: {where}the skewness of neighbor counts is {skew}{bounds}, {over}, and hubs begin at "
            f"{UNEVEN}. Add texts to find out."
        )
    none, most = ("No layer has", "at most ") if len(layers) > 1 else ("There are no", "")
    return f"{none} hubs: the skewness of neighbor counts is {most}{skew}, {over}."


def _frequency(layers: Sequence[DeepLayer], table: TableDeep | None) -> list[str]:
    spaces = [] if table is None else [(f"In the {table.name}", table.frequency)]
    spaces.append((f"At layer {layers[-1].number}", layers[-1].frequency))
    return [f"{where}: {_lower(frequency.sentence)}" for where, frequency in spaces if frequency is not None]


def _manifold(layers: Sequence[DeepLayer]) -> str:
    curved = [layer for layer in layers if layer.manifold.visible]
    clearest = most_curved(curved) if curved else layers[-1]
    sentence = clearest.manifold.sentence
    if not sentence or len(layers) == 1:
        return sentence
    if len(curved) < 2:
        return f"At layer {clearest.number}: {_lower(sentence)}"
    numbers = ", ".join(str(layer.number) for layer in curved)
    return f"Layers {numbers} are curved, most clearly {clearest.number}: {_lower(sentence)}"


def most_curved(layers: Sequence[DeepLayer]) -> DeepLayer:
    """The one whose local dimension is farthest below that of a flat cloud; one where that is not known comes last."""
    return min(layers, key=lambda layer: layer.manifold.ratio if layer.manifold.ratio is not None else math.inf)


def _lower(sentence: str) -> str:
    """As it goes on after a colon; a name in capitals stays as it is."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
