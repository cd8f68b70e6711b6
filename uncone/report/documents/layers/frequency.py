"""Word frequency: how norms, neighbors and logits depend on it, and the words in the plane."""

from __future__ import annotations

from uncone.analysis.layers.deep_results import Deep, Frequency, HeadFrequency
from uncone.analysis.number_format import cosine, count
from uncone.report.charts.model import Cloud, CloudView, Coloring
from uncone.report.document import Block, Column, Fold, Section, Sentences, Table
from uncone.report.documents.layers.neighbors import table_title
from uncone.report.documents.layers.values import columns, number_text, text_row, with_interval
from uncone.report.text import printable

__all__ = ["frequency_section"]


def frequency_section(deep: Deep, study: str, row: str, title: str, suffix: str) -> Section | None:
    """Words by frequency: clouds, then the model's table and every layer; `suffix` keeps chart names unique."""
    spaces = [(f"Layer {layer.number}", layer.frequency) for layer in deep.layers]
    known = [(name, one) for name, one in spaces if one is not None]
    clouds = [("layer", name.lower(), one) for name, one in known if len(one.points)][-1:]
    if deep.table is not None and deep.table.frequency is not None:
        known.insert(0, (table_title(deep.table.name), deep.table.frequency))
        if len(deep.table.frequency.points):
            clouds.insert(0, ("table", printable(deep.table.name), deep.table.frequency))
    blocks: list[Block] = [_cloud(f"frequency_{kind}{suffix}", name, study, one) for kind, name, one in clouds]
    blocks += [_fold(name, one, is_open=place in (0, len(known) - 1)) for place, (name, one) in enumerate(known)]
    if deep.head is not None:
        sentences = Sentences([deep.head.sentence, _head_numbers(deep.head)])
        blocks.append(Fold("The language-model head", [sentences], open=True))
    if not blocks:
        return None
    intro = (
        f"The mean vectors of {row}s by the rank of their frequency: mean norm, mean distance to the 3, 5 and 7 "
        f"nearest neighbors, and mean dot product with the 3, 5 and 7 largest. Ranges with more than 150 {row}s use a "
        "seeded sample of 150."
    )
    return Section(title, blocks, intro=intro if known else "")


def _norm_correlation(frequency: Frequency) -> str:
    return with_interval(frequency.norm_r, frequency.norm_low, frequency.norm_high, cosine)


def _fold(name: str, frequency: Frequency, *, is_open: bool) -> Fold:
    """The sentence, and norm, distance and dot product to the nearest words by bins of frequency rank."""
    ks = sorted({k for one in frequency.bins for k in (*one.distance, *one.dot)})
    near = [Column(kind, f"k = {k}") for kind in ("distance", "dot product") for k in ks]
    rows = []
    for one in frequency.bins:
        numbers = (one.norm, *map(one.distance.get, ks), *map(one.dot.get, ks))
        rows.append(text_row(one.name, f"{one.words:,}", *map(number_text, numbers)))
    heads = [*columns("rank", f"{frequency.unit}s", "norm"), *near]
    table = Table(heads, rows, remarks=[_correlations(frequency)], compact=True)
    summary = f"mean norm and log-frequency: r = {_norm_correlation(frequency)} · n = {frequency.n:,}"
    return Fold(name, [Sentences([frequency.sentence]), table], open=is_open, summary=summary)


def _correlations(frequency: Frequency) -> str:
    """Of log-frequency with the norm and the principal components."""
    first = ", ".join(number_text(None if one is None else abs(one), cosine) for one in frequency.components_r[:3])
    vector = with_interval(frequency.vector_norm_r, frequency.vector_norm_low, frequency.vector_norm_high, cosine)
    rank = number_text(frequency.norm_rho, cosine)
    parts = [f"mean norm of its vectors r = {_norm_correlation(frequency)}, by rank {rank}"]
    parts += [] if frequency.vector_norm_r == frequency.norm_r else [f"norm of its mean vector r = {vector}"]
    parts += [f"first components |r| = {first}"] if first else []
    if frequency.explained is not None:
        components = count(len(frequency.components_r), "component")
        parts.append(f"norm and {components} together R² = {cosine(frequency.explained)}, adjusted for their number")
    left_out = f" ({frequency.unknown:,} of unknown frequency left out)" if frequency.unknown else ""
    n = count(frequency.n, frequency.unit)
    return f"Log-frequency ({frequency.source}) with {'; '.join(parts)}; n = {n}{left_out}."


def _head_numbers(head: HeadFrequency) -> str:
    r2 = with_interval(head.r2, head.low, head.high, cosine)
    return (
        f"Mean logit on log-frequency: R² = {r2}, slope {number_text(head.slope)}, over {count(head.tokens, 'token')}. "
        f"The rest with PMI: r = {number_text(head.pmi_r, cosine)}, by rank {number_text(head.pmi_rho, cosine)}, over "
        f"{count(head.pairs, 'pair')} that occur together at least {head.least} times. Measured on "
        f"{count(head.read, 'token')} of the corpus."
    )


def _cloud(name: str, title: str, study: str, frequency: Frequency) -> Cloud:
    """The words on two singular directions."""
    shown, n = len(frequency.points), frequency.n
    words = f"{count(shown, 'word')} of {n:,}" if shown < n else count(n, "word")
    caption = f"{words} on the first two singular directions. Color: how often a word occurs ({frequency.source})."
    if frequency.norm_r is not None:
        caption += f" Correlation of log-frequency with the mean norm: {_norm_correlation(frequency)}."
    return Cloud(
        name,
        f"Words by frequency: {title}",
        caption,
        [CloudView("words", frequency.points)],
        [Coloring("log₁₀ frequency", values=frequency.logs)],
        [printable(word) for word in frequency.shown],
        ("direction 1", "direction 2"),
        group=study,
    )
