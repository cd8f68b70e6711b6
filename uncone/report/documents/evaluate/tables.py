"""Tables of an evaluation: methods by datasets, averages, differences from raw vectors, isotropy and other tasks.

With `brief` a table is as narrow as a terminal needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from uncone.analysis.intervals.bootstrap import Aggregation, Difference
from uncone.analysis.intervals.correlation import Kind
from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import cosine, count
from uncone.evaluation.table import Row as ScoreRow
from uncone.evaluation.table import TaskRow
from uncone.evaluation.tasks.tasks import APART, LINEAR
from uncone.report.document import Cell, Column, Row, Table, table
from uncone.report.documents.evaluate import scores as text
from uncone.report.documents.evaluate.scores import AGGREGATIONS, MARKS, Gain, Scores, correlation, points, trend
from uncone.report.text import between, number_text, printable, shorten

__all__ = [
    "alignment_table",
    "average_table",
    "difference_table",
    "isotropy_table",
    "measure_title",
    "score_table",
    "task_table",
]

_METHOD = Column("method", align="left", wrap=True)
_PUBLISHED = "published, not measured here"
_LEVELS = {1: Level.NOTE, 0: Level.NOTE, -1: Level.CROWDED}
"""The level of a proven gain, of neither, and of a proven loss."""
_SHORT_NAME = 14
"""Letters that the name of a dataset may have on a terminal."""
_STARS = (
    "A star marks a proven difference from the raw vectors of the same layer and pooling, ↓* a proven loss: the "
    "interval excludes zero, on at least 30 independent pairs (pairs that share no text), corrected for the number of "
    "methods."
)
_SIDES = {
    "together": "Together: queries and documents share a repair, fitted on {}.",
    "separate": "Separate: each side has a repair of its own, fitted on {}. A repair that rotates the space, such as "
    "whiten (unless rotation=zca), misaligns them.",
}
_TITLES = {"macro_f1": "macro F1", "ndcg@10": "nDCG@10", "mrr@10": "MRR@10", "roc_auc": "ROC AUC", "best_f1": "best F1"}


def score_table(
    scores: Scores, aggregation: Aggregation = "all", kind: Kind = "spearman", digits: int = 1, *, brief: bool = False
) -> Table:
    """Methods by datasets, and their average, under one aggregation; published rows below."""
    datasets, published = scores.table.datasets, _published(scores, kind, aggregation)
    tested = kind == "spearman" and aggregation == "all"
    # None stands for the average over several datasets.
    places: list[str | None] = [*datasets, *([None] if len(datasets) > 1 else [])]

    def texts(row: ScoreRow, way: Aggregation) -> list[str]:
        values = [
            scores.average(row, kind, way) if place is None else correlation(row.cell(place), kind, way)
            for place in places
        ]
        return [points(value, digits) for value in values]

    def name(row: ScoreRow) -> Cell:
        seeds = count(row.seeds, "seed") if row.seeds > 1 else ""
        return Cell(row.method.name, small="" if brief else "; ".join(filter(None, (seeds, row.note))))

    best = [_best(column) for column in zip(*(texts(row, aggregation) for row in scores.table.rows), strict=True)]
    rows = [_size_row("pairs", [scores.pairs(place) if place else 0 for place in places])] if brief else []
    if tested and scores.repaired:
        joint = max((gain.units for _, gain in scores.gains), default=0)
        sizes = [scores.independent_pairs(place) if place else joint for place in places]
        rows.append(_size_row("independent pairs", sizes))
    for title, members in scores.groups():
        rows.append(Row([Cell(title)]))
        for row in members:
            cells = [
                _score_cell(scores, row, place, text, text == top, digits, brief=brief)
                if tested
                else Cell(text, strong=text == top)
                for place, text, top in zip(places, texts(row, aggregation), best, strict=True)
            ]
            rows.append(Row([name(row), *cells]))
    way, others = aggregation, [*AGGREGATIONS][::-1] if brief else []
    while others and not published:  # a terminal shows published scores under any aggregation that has some
        way = others.pop(0)
        published = _published(scores, kind, way)
    if published:
        rows.append(Row([Cell(_PUBLISHED if way == aggregation else f"{_PUBLISHED}; aggregation {way}")]))
        rows += [Row([name(row), *map(Cell, texts(row, way))], muted=True) for row in published]
    several = len(scores.aggregations) > 1
    return Table(
        [_METHOD, *_dataset_columns(scores, brief=brief, sizes=not brief)],
        rows,
        title=f"{kind.capitalize()} x 100{f', {aggregation}: {AGGREGATIONS[aggregation]}' if several else ''}",
        remarks=_remarks(scores, len(scores.table.published) - len(published), tested=tested, brief=brief),
        name=f"{kind}-{aggregation}",
    )


def _best(texts: Iterable[str]) -> str:
    """The best score as it is printed: what looks the same is best too. The best of one is nothing to point at."""
    scores = [text for text in texts if text != "–"]
    return max(scores, key=float) if len(scores) > 1 else ""


def _score_cell(
    scores: Scores, row: ScoreRow, place: str | None, score: str, best: bool, digits: int, *, brief: bool
) -> Cell:
    """A score with its spread over seeds, and whether its difference from raw vectors is proven."""
    cell = None if place is None else row.cell(place)
    difference = scores.gain(row) if place is None else None if cell is None else cell.difference
    way = 0 if score == "–" else trend(difference)
    spread = "" if cell is None or cell.spread is None else f"± {points(cell.spread, digits)}"
    mark, small = (spread.replace(" ", ""), "") if brief else ("", spread)
    return Cell(score, small, _LEVELS[way], best, mark + MARKS[way], text.difference_text(difference))


def _dataset_columns(scores: Scores, *, brief: bool = False, sizes: bool = False) -> list[Column]:
    names = list(scores.table.datasets)
    smalls = [count(n, "pair") if sizes and (n := scores.pairs(name)) else "" for name in names]
    if brief:
        short = [shorten(printable(name), _SHORT_NAME) for name in names]
        numbered = [f"{at} {shorten(printable(name), _SHORT_NAME - 4)}" for at, name in enumerate(names, 1)]
        names = short if len(set(short)) == len(short) else numbered
    columns = [Column(name, small) for name, small in zip(names, smalls, strict=True)]
    return [*columns, Column("average", divider=True)] if len(columns) > 1 else columns


def _size_row(title: str, sizes: Sequence[int]) -> Row:
    return Row([Cell(title), *(Cell(f"{n:,}" if n else "") for n in sizes)], muted=True)


def _published(scores: Scores, kind: Kind, aggregation: Aggregation) -> list[ScoreRow]:
    datasets = scores.table.datasets
    return [
        row
        for row in scores.table.published
        if any(correlation(row.cell(dataset), kind, aggregation) is not None for dataset in datasets)
    ]


def _remarks(scores: Scores, hidden: int, *, tested: bool, brief: bool) -> list[str]:
    if brief:
        return [_STARS] if scores.repaired else []
    legend = ["Best in bold."] if len(scores.table.rows) > 1 else []
    if scores.repaired:
        legend.append(_STARS if tested else "Only Spearman under all is tested, so there are no stars here.")
    remarks = [" ".join(legend)]
    if len(scores.aggregations) == 1:
        remarks.append("No dataset has subsets, so the aggregations all, mean and wmean give the same scores.")
    if hidden:
        remarks.append(f"{count(hidden, 'published row')} without this score: see the other tables.")
    return [remark for remark in remarks if remark]


def average_table(scores: Scores, *, brief: bool = False) -> Table:
    """Every method under all aggregations, its isotropy, and what it gains over raw vectors."""
    ways, many = scores.aggregations, len(scores.table.datasets) > 1
    if brief:
        columns = [_METHOD, *map(Column, ways), Column("Pearson"), Column("iso")]
    else:
        columns = [_METHOD, *(Column("Spearman", way if len(ways) > 1 else "") for way in ways)]
        columns += [Column("Pearson", "all" if len(ways) > 1 else ""), Column("IsoScore")]
    columns.append(Column("vs. raw", "95 % interval", divider=True))
    columns += [Column("proven gains", "datasets"), Column("proven losses", "datasets")] if many and not brief else []
    rows: list[list[object]] = []
    for title, members in scores.groups():
        rows.append([title])
        for row in members:
            gain = scores.gain(row)
            bounds = "" if brief else between(row.low, row.high, points)
            first, *others = [points(scores.average(row, aggregation=way)) for way in ways]
            others += [points(scores.average(row, "pearson")), number_text(row.isoscore, cosine)]
            counts = ["", ""]
            if gain is not None and gain.sets:
                counts = [f"{n} of {gain.sets}" for n in (gain.gains, gain.losses)]
            cells = [row.method.name, Cell(first, bounds), *others, _difference_cell(gain, brief), *counts]
            rows.append(cells[: len(columns)])
    if brief:
        title = f"Spearman x 100{' on average' if many else ''}, by aggregation; iso: IsoScore"
        return table(columns, rows, title=title)
    remark = (
        "Scores x 100, the first with its 95 % interval. IsoScore of the distinct sentences lies between 0 and 1 (1: "
        "all directions have the same variance). A gain is the difference from the raw vectors of the same layer and "
        "pooling."
    )
    return table(columns, rows, remarks=[remark], name="averages")


def _difference_cell(difference: Difference | Gain | None, inline: bool = False) -> Cell:
    """A difference from raw vectors with its mark, and its interval under it or, with `inline`, behind it."""
    if difference is None or difference.value is None:
        return Cell("" if difference is None else "–")
    value, bounds = text.signed_points(difference.value), text.interval(difference.low, difference.high)
    if inline and bounds:
        value, bounds = f"{value} ({bounds})", ""
    return Cell(value, bounds, _LEVELS[trend(difference)], mark=MARKS[trend(difference)])


def difference_table(scores: Scores) -> Table:
    """Every difference from raw vectors with its interval, by method and dataset."""
    rows, datasets = [], scores.table.datasets
    for row, gain in scores.gains:
        differences = [None if (cell := row.cell(dataset)) is None else cell.difference for dataset in datasets]
        rows.append([scores.label(row), *map(_difference_cell, [*differences, *([gain] if len(datasets) > 1 else [])])])
    intro = "Spearman x 100 under all, with 95 % intervals."
    if len(datasets) > 1:
        intro += " The interval of an average is computed for the average itself: all datasets are resampled together."
    return table([_METHOD, *_dataset_columns(scores)], rows, intro=intro, name="differences")


def isotropy_table(scores: Scores) -> Table:
    """IsoScore by method and dataset, with the cosine of unrelated sentences under it."""
    rows, three = [], "{:.3f}".format
    for label, row in zip(scores.labels, scores.table.rows, strict=True):
        cells = [row.cell(dataset) for dataset in scores.table.datasets]
        values = [(None, None) if cell is None else (cell.isoscore, cell.baseline) for cell in cells]
        values += [(row.isoscore, None)] if len(cells) > 1 else []
        rows.append(
            [label, *(Cell(number_text(iso, three), "" if mean is None else cosine(mean)) for iso, mean in values)]
        )
    intro = (
        "IsoScore of the distinct sentences of each dataset, between 0 and 1 (1: all directions have the same "
        "variance). The small number is the mean cosine of two unrelated sentences."
    )
    return table([_METHOD, *_dataset_columns(scores)], rows, intro=intro, name="isoscore")


def alignment_table(scores: Scores) -> Table:
    """Alignment of positive pairs by method and dataset with its interval, and uniformity under it."""
    rows, three = [], "{:.3f}".format
    for label, row in zip(scores.labels, scores.table.rows, strict=True):
        cells: list[Cell | str] = [label]
        for cell in (row.cell(dataset) for dataset in scores.table.datasets):
            aligned = None if cell is None else cell.alignment
            if cell is None or aligned is None or aligned.value is None:
                cells.append(Cell("–"))
                continue
            bounds = between(aligned.low, aligned.high, three)
            uniformity = number_text(cell.uniformity, "{:.2f}".format)
            hover = f"{count(aligned.n, 'positive pair')}"
            cells.append(Cell(three(aligned.value), f"{bounds}; {uniformity}".lstrip("; "), hover=hover))
        rows.append(cells)
    intro = (
        "Alignment: the mean of |u − v|² over the pairs that mean the same (with 80 % of the highest score or more, "
        "such as 4 of 5), at length 1, with its 95 % interval. After the semicolon, uniformity: log E exp(−2|u − v|²). "
        "Lower is closer, and more spread out. Judge them together: if all vectors are equal, alignment is 0."
    )
    return table(
        [_METHOD, *_dataset_columns(scores)[: len(scores.table.datasets)]], rows, intro=intro, name="alignment"
    )


def measure_title(name: str) -> str:
    """The title of a measure of another task."""
    return _TITLES.get(name, name.replace("_", " "))


def task_table(task: str, entries: Mapping[str, TaskRow], *, brief: bool = False) -> Table:
    """Methods by the measures of a task, each with its interval and its difference from raw vectors."""
    rows = entries.values()
    measures = list(dict.fromkeys(name for row in rows for name in row.scores))
    tested = {name for name in measures if not brief and any(name in row.differences for row in rows)}
    columns = [_METHOD]
    for name in measures:
        columns.append(Column(measure_title(name), divider=name != measures[0]))
        columns += [Column("vs. raw")] if name in tested else []
    best = {name: _best([points(row.scores[name].value) for row in rows if name in row.scores]) for name in measures}
    lines = []
    for label, row in entries.items():
        cells: list[str | Cell] = [Cell(label, "" if brief else _row_note(row))]
        for name in measures:
            score, difference = row.scores.get(name), row.differences.get(name)
            way, value = trend(difference) if brief else 0, "–" if score is None else points(score.value)
            bounds = "" if score is None or brief else between(score.low, score.high, points)
            cells.append(Cell(value, bounds, _LEVELS[way], value == best[name], MARKS[way]))
            cells += [_difference_cell(difference)] if name in tested else []
        lines.append([*cells, number_text(row.isoscore, cosine)])
    n = max((score.n for row in rows for score in row.scores.values()), default=0)
    remarks = [
        "Small print is the 95 % interval. A star marks a proven difference: on at least 30 independent items, "
        "corrected for the number of methods.",
        *_vector_remarks(rows),
    ]
    title = f"{task}, scores x 100, n = {n:,}"
    return table([*columns, "IsoScore"], lines, title=title, remarks=[] if brief else remarks)


def _row_note(row: TaskRow) -> str:
    """How a method was fitted, and its note, but for what the page says once, under the table."""
    note = row.note.replace(LINEAR, "").replace(APART, "").strip()
    if row.method.level != "vector":
        return "; ".join(filter(None, (text.protocol(row.method), note)))
    return note if row.method.repair else ""  # that of raw vectors stands among the notes


def _vector_remarks(rows: Iterable[TaskRow]) -> list[str]:
    """What the repairs of given vectors were fitted on, and what the two choices of sides are."""
    fits = dict.fromkeys(
        (row.method.sides, row.method.fitted_on) for row in rows if row.method.level == "vector" and row.method.repair
    )
    return [_SIDES.get(sides, "Fitted on {}.").format(fitted_on) for sides, fitted_on in fits]
