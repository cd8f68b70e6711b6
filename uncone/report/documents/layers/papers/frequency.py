"""Word frequency as the flow paper tables it (Li et al. 2020), and what repairs change of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from uncone.analysis.frequency.bias import RANKS, Association, FrequencyBias, Outcome, is_small
from uncone.analysis.frequency.frequency import NEAREST
from uncone.analysis.layers.contrast import is_model
from uncone.analysis.layers.published import PUBLISHED_BIAS
from uncone.analysis.number_format import cosine, count
from uncone.evaluation.frequency import RepairedBias, SpaceBias
from uncone.report.charts.model import Axis, Chart, Cloud, CloudView, Coloring, Forest
from uncone.report.charts.theme import series_color
from uncone.report.document import Block, Cell, Column, Fold, Row, Table
from uncone.report.documents.layers.papers.context import NOT_RUN
from uncone.report.text import between, listed, number_text, printable, signed

if TYPE_CHECKING:
    from uncone.report.documents.layers import LayerStudy

__all__ = ["bias_folds", "bias_table", "frequency_story", "outcome_tables"]

_TIES = {
    "norm": "norm, r",
    "distance": "distance to the 3 nearest, r",
    "explained": "norm and components, R²",
}
"""What goes with log-frequency."""
_BRIEF = {"norm": "norm, r", "distance": "distance, r", "explained": "R²"}
_WORDS: Mapping[Outcome, str] = {
    "removed": "removed",
    "reduced": "reduced",
    "unchanged": "unproven",
    "reversed": "reversed",
    "grown": "grown",
    "absent": "none before",
    "unknown": "not known",
}
_SUBJECTS = {
    "norm": "norm (r = {})",
    "distance": "distance to the nearest (r = {})",
    "explained": "norm and components together (R² = {})",
}


def _title(space: SpaceBias) -> str:
    return f"{space.study}, {printable(space.space)}"


def bias_table(spaces: Sequence[SpaceBias], studies: Sequence[LayerStudy]) -> Table:
    """The table of the paper for every space as it is, the published one below."""
    rows: list[Row] = []
    for space in spaces:
        if space.raw is not None:
            rows += _bias_rows(_title(space), space.raw, space.unit)
    published = PUBLISHED_BIAS
    rows.append(Row([Cell(f"{published.model}, word embeddings, frequency in Wikipedia: published")]))
    listed_rows = [(_norm_label(), published.norm)]
    listed_rows += [(_near_label("L2 distance", k), values) for k, values in published.distance.items()]
    listed_rows += [(_near_label("dot product", k), values) for k, values in published.dot.items()]
    rows += [Row([Cell(label), *(Cell(f"{v:.2f}") for v in values)], muted=True) for label, values in listed_rows]
    if not any(is_model(str(study.source["model"]), published.model) for study in studies):
        rows.append(Row([Cell(f"{published.model}, here"), Cell(NOT_RUN), *[Cell("")] * (len(RANKS) - 1)]))
    remark = (
        "Neighbors are searched among all vectors of a space, for up to 1,000 words of each bin. A small corpus has "
        "few words or none in the last bin."
    )
    return Table(_columns(), rows, title="Norms and neighbors by word frequency", remarks=[remark], name="bins")


def _columns() -> list[Column]:
    return [Column("rank of word frequency", align="left"), *(Column(name) for name in RANKS)]


def _norm_label() -> str:
    return "Mean L2 norm"


def _near_label(kind: str, k: int) -> str:
    return f"Mean k-NN {kind} (k = {k})"


def _bias_rows(title: str, bias: FrequencyBias, unit: str) -> list[Row]:
    rows = [Row([Cell(title)]), Row([Cell(f"{unit}s"), *(Cell(f"{each.words:,}") for each in bias.bins)])]
    rows.append(Row([Cell(_norm_label()), *(_mean_cell(each.norm) for each in bias.bins)]))
    for kind, name in (("distance", "L2 distance"), ("dot", "dot product")):
        for k in NEAREST:
            cells = [_mean_cell(getattr(each, kind)[k]) for each in bias.bins]
            rows.append(Row([Cell(_near_label(name, k)), *cells]))
    return rows


def _mean_cell(mean: Association) -> Cell:
    return Cell(number_text(mean.value), between(mean.low, mean.high))


def outcome_tables(spaces: Sequence[SpaceBias], *, brief: bool = False) -> list[Table]:
    """Does a repair remove the bias? Each tie to frequency after every repair, its change, and the outcome."""
    tables = []
    for place, space in enumerate(spaces, 1):
        columns = [Column("repair", align="left")]
        for name, title in _TIES.items():
            change = [Column("change", "of its size"), Column("outcome", align="left")]
            columns += [Column(_BRIEF[name])] if brief else [Column(title, divider=True), *change]
        rows = [(_brief_row if brief else _outcome_row)(row) for row in space.repairs]
        remark = (
            "removed: the whole interval is within ±0.1 (R²: at most 0.05). reduced, grown: a proven change of the "
            "size; unproven: it may be chance. reversed: the sign has turned, and the interval excludes zero. R² is "
            f"adjusted for the number of components. Frequency from {space.frequencies}; n = {_n(space)}."
        )
        title = f"Does a repair remove the bias? {_title(space)}"
        tables.append(Table(columns, rows, title=title, remarks=[] if brief else [remark], name=f"repairs-{place}"))
    return tables


def _n(space: SpaceBias) -> str:
    return "0" if space.raw is None else count(space.raw.n, space.unit)


def _outcome_row(row: RepairedBias) -> Row:
    if row.bias is None:
        return Row([Cell(row.method), Cell("not measured", row.reason), *[Cell("")] * (3 * len(_TIES) - 1)])
    cells = [Cell(row.method)]
    for name in _TIES:
        tie, change = row.bias.ties[name], row.changes.get(name, Association())
        cells.append(Cell(_tie_text(name, tie), between(tie.low, tie.high, cosine)))
        if name not in row.outcomes:
            cells += [Cell(""), Cell("")]
            continue
        cells.append(Cell(number_text(change.value, _signed), between(change.low, change.high, _signed)))
        cells.append(Cell(_WORDS[row.outcomes[name]], strong=row.outcomes[name] == "removed"))
    return Row(cells)


def _brief_row(row: RepairedBias) -> Row:
    """A row for a screen: each tie with its outcome in a cell."""
    if row.bias is None:
        return Row([Cell(row.method), Cell("not measured"), *[Cell("")] * (len(_TIES) - 1)])
    cells = [Cell(row.method)]
    for name in _TIES:
        outcome = f" {_WORDS[row.outcomes[name]]}" if name in row.outcomes else ""
        cells.append(Cell(f"{_tie_text(name, row.bias.ties[name])}{outcome}"))
    return Row(cells)


def _tie_text(name: str, tie: Association) -> str:
    return number_text(tie.value, cosine if name == "explained" else _signed)


def _signed(value: float) -> str:
    return signed(cosine(value))


def bias_folds(spaces: Sequence[SpaceBias]) -> list[Block]:
    """For every space the ties with their intervals, the SVD scatter, and the table of the paper after each repair."""
    blocks: list[Block] = []
    for place, space in enumerate(spaces, 1):
        if space.raw is None:
            continue
        blocks.append(_forest(space, f"frequency-ties-{place}"))
        if len(space.raw.points):
            blocks.append(_scatter(space, space.raw, f"frequency-scatter-{place}"))
        tables: list[Block] = []
        for row in space.repairs[1:]:
            if row.bias is not None:
                title = f"{_title(space)}: {row.method}"
                own = _bias_rows(row.method, row.bias, space.unit)[1:]
                tables.append(Table(_columns(), own, title=title, name=f"bins-{place}-{row.method}", compact=True))
        if tables:
            blocks.append(Fold(f"Norms and neighbors after each repair: {_title(space)}", tables))
    return blocks


def _forest(space: SpaceBias, name: str) -> Chart:
    rows = [row for row in space.repairs if row.bias is not None]
    forests = []
    for place, (tie, label) in enumerate(_TIES.items()):
        ties = [row.bias.ties[tie] for row in rows if row.bias is not None]
        values, low, high = ([getattr(each, part) for each in ties] for part in ("value", "low", "high"))
        n = [row.bias.n for row in rows if row.bias is not None]
        forests.append(Forest(list(map(float, range(len(rows)))), values, low, high, label, series_color(place), n=n))
    caption = (
        "How log-frequency goes with the norm of a vector, with its mean distance to the three nearest, and with norm "
        "and ten principal components together, raw and after each repair, with 95 % intervals. At zero there is no "
        "bias."
    )
    y = Axis(name="repair", categories=[row.method for row in rows])
    x = Axis("correlation, r; share explained, R²", "value", zero=True, zero_line=True)
    return Chart(name, f"Ties to word frequency: {_title(space)}", caption, forests, x, y, wide=True)


def _scatter(space: SpaceBias, raw: FrequencyBias, name: str) -> Cloud:
    biases = [(row.method, row.bias) for row in space.repairs if row.bias is not None]
    views = [CloudView(method, bias.points) for method, bias in biases if len(bias.points) == len(raw.points)]
    texts, colorings = [printable(word) for word in raw.point_words], [Coloring("log₁₀ frequency", values=raw.logs)]
    caption = (
        f"{count(len(raw.points), space.unit)} on the first two singular directions, raw and after each repair. Color: "
        f"how often a {space.unit} occurs ({space.frequencies})."
    )
    axes = ("direction 1", "direction 2")
    return Cloud(name, f"SVD by frequency: {_title(space)}", caption, views, colorings, texts, axes, group=space.study)


def frequency_story(spaces: Sequence[SpaceBias]) -> list[str]:
    """A sentence for each space: what goes with frequency, and which repairs remove that."""
    sentences = []
    for space in spaces:
        raw, repaired = space.raw, [row for row in space.repairs[1:] if row.outcomes]
        if raw is None or not repaired:
            continue
        parts = []
        for name, subject in _SUBJECTS.items():
            tie = raw.ties[name]
            if tie.value is None or is_small(name, tie):
                continue
            by = {
                outcome: [row.method for row in repaired if row.outcomes.get(name) == outcome]
                for outcome in ("removed", "reversed")
            }
            results = [f"{outcome} by {listed(names)}" for outcome, names in by.items() if names]
            parts.append(f"{subject.format(_tie_text(name, tie))}: {', '.join(results) or 'removed by none'}")
        text = f"Frequency goes with {'; '.join(parts)}." if parts else "Frequency goes with neither norm nor distance."
        sentences.append(f"{_title(space)}: {text}")
    return sentences
