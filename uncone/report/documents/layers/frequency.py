"""Word frequency: how norms, neighbors and logits depend on it, and the words in the plane."""

from __future__ import annotations

from uncone.analysis.layers.deep_results import Deep, Frequency, HeadFrequency
from uncone.analysis.number_format import cosine, count
from uncone.report.charts.model import Cloud, CloudView, Coloring
from uncone.report.document import Block, Cell, Column, Fold, Row, Section, Sentences, Table
from uncone.report.documents.layers.neighbors import table_title
from uncone.report.documents.layers.values import number_text, with_interval
from uncone.report.text import printable

__all__ = ["frequency_section"]


def frequency_section(deep: Deep, study: str, unit: str, title: str, suffix: str) -> Section | None:
    """Words by frequency: clouds, then the model's table and every layer; `suffix` keeps chart names unique."""
    found = [(f"Layer {layer.number}", layer.frequency) for layer in deep.layers]
    if deep.table is not None:
        found.insert(0, (table_title(deep.table.name), deep.table.frequency))
    known = [(name, one) for name, one in found if one is not None]
    blocks: list[Block] = [*_clouds(deep, study, suffix)]
    blocks += [_fold(name, one, is_open=place in (0, len(known) - 1)) for place, (name, one) in enumerate(known)]
    if deep.head is not None:
        sentences = Sentences([deep.head.sentence, _head_numbers(deep.head)])
        blocks.append(Fold("The language-model head", [sentences], open=True))
    if not blocks:
        return None
    return Section(
        title,
        blocks,
        intro=f"The mean vectors of {unit}s by the rank of their frequency: mean norm, mean distance to the 3, 5 and 7 "
        "nearest neighbors, and mean dot product with the 3, 5 and 7 largest. Ranges with more than 150 "
        f"{unit}s use a seeded sample of 150."
        if known
        else "",
    )


def _fold(name: str, found: Frequency, *, is_open: bool) -> Fold:
    r = with_interval(found.norm_r, found.norm_low, found.norm_high, cosine)
    return Fold(
        name,
        [Sentences([found.sentence]), _bin_table(found)],
        open=is_open,
        summary=f"mean norm and log-frequency: r = {r} · n = {found.n:,}",
    )


def _bin_table(found: Frequency) -> Table:
    """Norm, distance and dot product to the nearest words, by bins of frequency rank."""
    ks = sorted({k for one in found.bins for k in (*one.distance, *one.dot)})
    near = [Column(kind, f"k = {k}") for kind in ("distance", "dot product") for k in ks]
    rows = [
        Row(
            [
                Cell(one.name),
                Cell(f"{one.words:,}"),
                *(Cell(number_text(value)) for value in (one.norm, *map(one.distance.get, ks), *map(one.dot.get, ks))),
            ]
        )
        for one in found.bins
    ]
    columns = [Column("rank", align="left"), Column(f"{found.unit}s"), Column("norm"), *near]
    return Table(columns, rows, remarks=[_correlations(found)], compact=True)


def _correlations(found: Frequency) -> str:
    """Of log-frequency with the norm and the principal components."""
    norm = with_interval(found.norm_r, found.norm_low, found.norm_high, cosine)
    first = ", ".join(number_text(None if one is None else abs(one), cosine) for one in found.components_r[:3])
    vector = with_interval(found.vector_norm_r, found.vector_norm_low, found.vector_norm_high, cosine)
    parts = [f"mean norm of its vectors r = {norm}, by rank {number_text(found.norm_rho, cosine)}"]
    parts += [] if found.vector_norm_r == found.norm_r else [f"norm of its mean vector r = {vector}"]
    parts += [f"first components |r| = {first}"] if first else []
    if found.explained is not None:
        components = count(len(found.components_r), "component")
        parts.append(f"norm and {components} together R² = {cosine(found.explained)}, adjusted for their number")
    left_out = f" ({found.unknown:,} of unknown frequency left out)" if found.unknown else ""
    return f"Log-frequency ({found.source}) with {'; '.join(parts)}; n = {count(found.n, found.unit)}{left_out}."


def _head_numbers(head: HeadFrequency) -> str:
    r2 = with_interval(head.r2, head.low, head.high, cosine)
    return (
        f"Mean logit on log-frequency: R² = {r2}, slope {number_text(head.slope)}, over {count(head.tokens, 'token')}. "
        f"The rest with PMI: r = {number_text(head.pmi_r, cosine)}, by rank {number_text(head.pmi_rho, cosine)}, over "
        f"{count(head.pairs, 'pair')} that occur together at least {head.least} times. Measured on "
        f"{count(head.read, 'token')} of the corpus."
    )


def _clouds(deep: Deep, study: str, suffix: str) -> list[Cloud]:
    """The words of the input table and of the last layer on two singular directions."""
    clouds = []
    table = None if deep.table is None else deep.table.frequency
    if deep.table is not None and table is not None and len(table.points):
        title = f"Words by frequency: {printable(deep.table.name)}"
        clouds.append(_cloud(f"frequency_table{suffix}", title, study, table))
    with_points = [layer for layer in deep.layers if layer.frequency is not None and len(layer.frequency.points)]
    for layer in with_points[-1:]:
        assert layer.frequency is not None
        title = f"Words by frequency: layer {layer.number}"
        clouds.append(_cloud(f"frequency_layer{suffix}", title, study, layer.frequency))
    return clouds


def _cloud(name: str, title: str, study: str, found: Frequency) -> Cloud:
    shown = len(found.points)
    words = f"{count(shown, 'word')} of {found.n:,}" if shown < found.n else count(found.n, "word")
    caption = f"{words} on the first two singular directions. The color shows how often a word occurs ({found.source})."
    if found.norm_r is not None:
        r = with_interval(found.norm_r, found.norm_low, found.norm_high, cosine)
        caption += f" Correlation of log-frequency with the mean norm: {r}."
    return Cloud(
        name,
        title,
        caption,
        [CloudView("words", found.points)],
        [Coloring("log₁₀ frequency", values=found.logs)],
        [printable(word) for word in found.shown],
        ("direction 1", "direction 2"),
        group=study,
    )
