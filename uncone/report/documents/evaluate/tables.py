"""Tables of an evaluation: methods by datasets, averages, differences to raw vectors, isotropy and other tasks.

With `brief` a table is as narrow as a terminal needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from uncone.analysis.intervals.bootstrap import Aggregation, Difference
from uncone.analysis.intervals.correlation import Kind
from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import cosine, count
from uncone.evaluation.table import EvaluationTable, TaskRow
from uncone.evaluation.table import Row as ScoreRow
from uncone.evaluation.tasks.tasks import LINEAR
from uncone.report.document import Cell, Column, Row, Table
from uncone.report.documents.evaluate.scores import (
    AGGREGATIONS,
    MEASURES,
    Gain,
    aggregations,
    average,
    cell_of,
    certainty,
    correlation,
    gain,
    grouped_rows,
    independent_pairs,
    interval,
    labels,
    mean_isoscore,
    pairs,
    points,
    protocol,
    repaired_rows,
    signed,
    trend,
)
from uncone.report.text import fitted, printable

__all__ = ["average_table", "difference_cell", "difference_table", "isotropy_table", "score_table", "task_table"]

_MARKS = {1: "*", -1: "↓*", 0: ""}
_METHOD = Column("method", align="left", wrap=True)
_PUBLISHED = "published, not measured here"
_SHORT_NAME = 14
"""Letters that the name of a dataset may have on a terminal."""
_STARS = (
    "A star marks a proven difference to the raw vectors of the same layer and pooling, ↓* a proven loss: the interval "
    "excludes zero, on at least 30 independent pairs (pairs that share no text), corrected for the number of methods."
)


def score_table(
    table: EvaluationTable,
    aggregation: Aggregation = "all",
    kind: Kind = "spearman",
    digits: int = 1,
    *,
    brief: bool = False,
) -> Table:
    """Methods by datasets, and their average, under one aggregation; published rows below."""
    tested = kind == "spearman" and aggregation == "all"
    places = _places(table)
    best = [_best([_score(table, row, at, kind, aggregation, digits) for row in table.rows]) for at in places]
    rows = [_size_row(table, "pairs", pairs)] if brief else []
    rows += [_size_row(table, "independent pairs", independent_pairs)] if tested and repaired_rows(table) else []
    for title, members in grouped_rows(table):
        rows.append(Row([Cell(title)]))
        for row in members:
            texts = [_score(table, row, at, kind, aggregation, digits) for at in places]
            cells = [
                _score_cell(table, row, at, text, text == top, digits, brief=brief)
                if tested
                else Cell(text, strong=text == top)
                for at, text, top in zip(places, texts, best, strict=True)
            ]
            rows.append(Row([_name_cell(row, brief=brief), *cells]))
    way = _published_under(table, kind, aggregation, others=brief)
    literature = _published(table, kind, way)
    if literature:
        rows.append(Row([Cell(_PUBLISHED if way == aggregation else f"{_PUBLISHED}; aggregation {way}")]))
        for row in literature:
            scores = [Cell(_score(table, row, at, kind, way, digits)) for at in places]
            rows.append(Row([_name_cell(row, brief=brief), *scores], muted=True))
    several = len(aggregations(table)) > 1
    return Table(
        [_METHOD, *_dataset_columns(table, brief=brief)],
        rows,
        title=f"{kind.capitalize()} x 100{f', {aggregation}: {AGGREGATIONS[aggregation]}' if several else ''}",
        remarks=_remarks(table, len(table.published) - len(literature), tested=tested, brief=brief),
        name=f"{kind}-{aggregation}",
    )


def _places(table: EvaluationTable) -> list[str | None]:
    """The datasets, and None for their average if there are several."""
    return [*table.datasets, *([None] if len(table.datasets) > 1 else [])]


def _score(
    table: EvaluationTable, row: ScoreRow, place: str | None, kind: Kind, aggregation: Aggregation, digits: int
) -> str:
    if place is None:
        return points(average(table, row, kind, aggregation), digits)
    return points(correlation(cell_of(row, place), kind, aggregation), digits)


def _best(texts: Sequence[str]) -> str:
    """The best score as it is printed: what looks the same is best too. The best of one is nothing to point at."""
    known = [text for text in texts if text != "–"]
    return max(known, key=float) if len(known) > 1 else ""


def _name_cell(row: ScoreRow, *, brief: bool) -> Cell:
    seeds = count(row.seeds, "seed") if row.seeds > 1 else ""
    return Cell(row.method.name, small="" if brief else "; ".join(filter(None, (seeds, row.note))))


def _score_cell(
    table: EvaluationTable, row: ScoreRow, place: str | None, text: str, best: bool, digits: int, *, brief: bool
) -> Cell:
    """A score with its spread over seeds, and whether its difference to raw vectors is proven."""
    cell = None if place is None else cell_of(row, place)
    difference = gain(table, row) if place is None else None if cell is None else cell.difference
    way = 0 if text == "–" else trend(difference)
    spread = "" if cell is None or cell.spread is None else f"± {points(cell.spread, digits)}"
    return Cell(
        text,
        small="" if brief else spread,
        level=_loss_level(way),
        strong=best,
        mark=(spread.replace(" ", "") if brief else "") + _MARKS[way],
        hover="" if difference is None or difference.value is None else _in_words(difference),
    )


def _in_words(difference: Difference | Gain) -> str:
    between = interval(difference.low, difference.high)
    between = f" (95 % interval {between})" if between else ""
    return f"{signed(difference.value)} to raw{between}, {certainty(bool(trend(difference)), difference.units)}"


def _loss_level(way: int) -> Level:
    return Level.CROWDED if way < 0 else Level.NOTE


def _dataset_columns(table: EvaluationTable, *, brief: bool = False, sizes: bool = True) -> list[Column]:
    names, smalls = list(table.datasets), [""] * len(table.datasets)
    if brief:
        names = [fitted(printable(name), _SHORT_NAME) for name in names]
        if len(set(names)) < len(names):
            names = [f"{at} {fitted(printable(name), _SHORT_NAME - 4)}" for at, name in enumerate(table.datasets, 1)]
    elif sizes:
        smalls = [count(n, "pair") if (n := pairs(table, dataset)) else "" for dataset in table.datasets]
    columns = [Column(name, small) for name, small in zip(names, smalls, strict=True)]
    return [*columns, Column("average", divider=True)] if len(columns) > 1 else columns


def _size_row(table: EvaluationTable, title: str, size: Callable[[EvaluationTable, str], int]) -> Row:
    """How many pairs the datasets have; the average rests on the independent ones of all."""
    sizes = [size(table, dataset) for dataset in table.datasets]
    if len(sizes) > 1:
        joint = max((gained.units for row in table.rows if (gained := gain(table, row)) is not None), default=0)
        sizes.append(0 if size is pairs else joint)
    return Row([Cell(title), *(Cell(f"{n:,}" if n else "") for n in sizes)], muted=True)


def _published(table: EvaluationTable, kind: Kind, aggregation: Aggregation) -> list[ScoreRow]:
    """The rows of the literature that have a score under an aggregation."""
    return [
        row
        for row in table.published
        if any(correlation(cell_of(row, dataset), kind, aggregation) is not None for dataset in table.datasets)
    ]


def _published_under(table: EvaluationTable, kind: Kind, aggregation: Aggregation, *, others: bool) -> Aggregation:
    """The aggregation that published rows are shown under: with `others`, any that has some."""
    ways: tuple[Aggregation, ...] = (aggregation, "wmean", "mean") if others else (aggregation,)
    return next((way for way in ways if _published(table, kind, way)), aggregation)


def _remarks(table: EvaluationTable, hidden: int, *, tested: bool, brief: bool) -> list[str]:
    if brief:
        return [_STARS] if repaired_rows(table) else []
    legend = ["Best in bold."] if len(table.rows) > 1 else []
    if repaired_rows(table):
        legend.append(_STARS if tested else "Differences are tested for Spearman under all: there are no stars here.")
    remarks = [" ".join(legend)]
    if len(aggregations(table)) == 1:
        remarks.append("No dataset has subsets, so the aggregations all, mean and wmean give the same scores.")
    if hidden:
        remarks.append(f"{count(hidden, 'published row')} without such a score: see the other tables.")
    return [remark for remark in remarks if remark]


def average_table(table: EvaluationTable, *, brief: bool = False) -> Table:
    """Every method under all aggregations, its isotropy, and what it gains over raw vectors."""
    ways, many = aggregations(table), len(table.datasets) > 1 and not brief
    if brief:
        columns = [_METHOD, *map(Column, ways), Column("Pearson"), Column("iso")]
    else:
        columns = [_METHOD, *(Column("Spearman", way if len(ways) > 1 else "") for way in ways)]
        columns += [Column("Pearson", "all" if len(ways) > 1 else ""), Column("IsoScore")]
    columns.append(Column("to raw", "95 % interval", divider=True))
    columns += [Column("proven gains", "datasets"), Column("proven losses", "datasets")] if many else []
    rows: list[Row] = []
    for title, members in grouped_rows(table):
        rows.append(Row([Cell(title)]))
        for row in members:
            gained, isotropy = gain(table, row), mean_isoscore(row)
            between = "" if row.low is None or brief else f"{points(row.low)} to {points(row.high)}"
            first, *scores = [points(average(table, row, aggregation=way)) for way in ways]
            texts = [*scores, points(average(table, row, "pearson")), "–" if isotropy is None else cosine(isotropy)]
            proven = [] if gained is None or not gained.sets else [gained.gains, gained.losses]
            cells = [Cell(row.method.name), Cell(first, between), *map(Cell, texts), difference_cell(gained, brief)]
            counts = [Cell(f"{n} of {gained.sets}" if gained else "") for n in proven] or [Cell("")] * 2
            rows.append(Row([*cells, *(counts if many else [])]))
    if brief:
        of = " on average" if len(table.datasets) > 1 else ""
        return Table(columns, rows, title=f"Spearman x 100{of}, by aggregation; iso: IsoScore")
    remark = (
        "Scores x 100, the first with its 95 % interval. IsoScore of the distinct sentences lies between 0 and 1 (1: "
        "all directions have the same variance). A gain is the difference to the raw vectors of the same layer and "
        "pooling."
    )
    return Table(columns, rows, remarks=[remark], name="averages")


def difference_cell(difference: Difference | Gain | None, inline: bool = False) -> Cell:
    """A difference to raw vectors with its mark, and its interval under it or, with `inline`, behind it."""
    if difference is None or difference.value is None:
        return Cell("" if difference is None else "–")
    text, between, way = signed(difference.value), interval(difference.low, difference.high), trend(difference)
    if inline and between:
        text, between = f"{text} ({between})", ""
    return Cell(text, between, _loss_level(way), mark=_MARKS[way])


def difference_table(table: EvaluationTable) -> Table:
    """Every difference to raw vectors with its interval, by method and dataset."""
    rows = []
    for label, row in zip(labels([row.method for row in table.rows]), table.rows, strict=True):
        if (gained := gain(table, row)) is not None:
            scores = [cell_of(row, dataset) for dataset in table.datasets]
            cells = [difference_cell(None if score is None else score.difference) for score in scores]
            rows.append(Row([Cell(label), *cells, *([difference_cell(gained)] if len(scores) > 1 else [])]))
    intro = "Spearman x 100 under all, with 95 % intervals."
    if len(table.datasets) > 1:
        intro += " The interval of an average is its own: pairs are drawn for all datasets together."
    columns = [_METHOD, *_dataset_columns(table, sizes=False)]
    return Table(columns, rows, intro=intro, name="differences")


def isotropy_table(table: EvaluationTable) -> Table:
    """IsoScore by method and dataset, with the cosine of unrelated sentences under it."""
    rows = []
    for label, row in zip(labels([row.method for row in table.rows]), table.rows, strict=True):
        scores = [cell_of(row, dataset) for dataset in table.datasets]
        values = [(None, None) if score is None else (score.isoscore, score.baseline) for score in scores]
        values += [(mean_isoscore(row), None)] if len(scores) > 1 else []
        cells = [
            Cell("–" if isotropy is None else cosine(isotropy, 3), "" if baseline is None else cosine(baseline))
            for isotropy, baseline in values
        ]
        rows.append(Row([Cell(label), *cells]))
    intro = (
        "IsoScore of the distinct sentences of each dataset, between 0 and 1 (1: all directions have the same "
        "variance). The small number is the mean cosine of two unrelated sentences."
    )
    columns = [_METHOD, *_dataset_columns(table, sizes=False)]
    return Table(columns, rows, intro=intro, name="isoscore")


def task_table(task: str, rows: Sequence[TaskRow], *, brief: bool = False) -> Table:
    """Methods by the measures of a task, each with its interval and its difference to raw vectors."""
    measures = list(dict.fromkeys(name for row in rows for name in row.scores))
    tested = {name for name in measures if not brief and any(name in row.differences for row in rows)}
    columns = [_METHOD]
    for name in measures:
        title = MEASURES.get(name, name.replace("_", " "))
        columns += [Column(title, divider=name != measures[0]), *([Column("to raw")] if name in tested else [])]
    best = {name: _best([points(row.scores[name].value) for row in rows if name in row.scores]) for name in measures}
    made = []
    for label, row in zip(labels([row.method for row in rows]), rows, strict=True):
        note = row.note.replace(LINEAR, "").strip()  # the page says it once, under the table
        cells = [Cell(label, "" if brief else "; ".join(filter(None, (protocol(row.method), note))))]
        for name in measures:
            score, way = row.scores.get(name), trend(row.differences.get(name)) if brief else 0
            text = "–" if score is None else points(score.value)
            known = score is not None and score.low is not None and not brief
            between = f"{points(score.low)} to {points(score.high)}" if score is not None and known else ""
            cells.append(Cell(text, between, _loss_level(way), text == best[name], _MARKS[way]))
            cells += [difference_cell(row.differences.get(name))] if name in tested else []
        made.append(Row([*cells, Cell("–" if row.isoscore is None else cosine(row.isoscore))]))
    n = max((score.n for row in rows for score in row.scores.values()), default=0)
    remark = (
        "Small print is the 95 % interval. A star marks a proven difference: on at least 30 independent items, "
        "corrected for the number of methods."
    )
    remarks = [] if brief else [remark]
    return Table([*columns, Column("IsoScore")], made, title=f"{task}, scores x 100, n = {n:,}", remarks=remarks)
