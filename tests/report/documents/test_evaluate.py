"""An evaluation in all its renderings: each says what the numbers say."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from report.snapshots import assert_snapshot, assert_wording

from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.intervals.correlation import Aggregated, Correlation
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.measures.finding import Level
from uncone.errors import MissingPackageError, OptionError
from uncone.evaluation.table import (
    Cell,
    EvaluationTable,
    HubDocument,
    Hubs,
    Method,
    MethodHubs,
    Row,
    TaskRow,
)
from uncone.report.charts.model import Forest, Heatmap, Points
from uncone.report.document import Facts, Fold, Notes, Table, Tabs
from uncone.report.documents.evaluate import COLUMNS, Evaluated
from uncone.report.documents.evaluate.scores import Scores, labels, points, signed_points
from uncone.report.documents.evaluate.tables import average_table, difference_table, score_table, task_table
from uncone.report.render.latex import escaped

EVIL = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> | *b* `c` \\d {e} $f$ #g & h_i ~^ % \x1b[31m\n## k"
)
SETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
SIZES = dict(zip(SETS, (3108, 1500, 3750, 3000, 1186, 1379, 4927), strict=True))


def apart(value, half=0.02, significant=None, units=1000):
    """A difference with its interval; significant where the interval leaves out zero, unless said otherwise."""
    low, high = value - half, value + half
    sure = low > 0 or high < 0 if significant is None else significant
    return Difference(value, low, high, 0.001 if sure else 0.4, sure, units)


def cell_at(dataset, value, *, difference=None, spread=None, iso=0.2, reason="", subsets=True):
    if value is None:
        nothing = Aggregated(None, None, None, 12, reason)
        return Cell(dataset, nothing, nothing, None, None, Difference(None, None, None, None, False, 1000))
    shift = 0.02 if subsets else 0.0
    each = {"a": Correlation(value, 700), "b": Correlation(value - 0.01, 679)}
    n = SIZES.get(dataset, 1000)
    spearman = Aggregated(value, value - shift, value - shift / 2, n, "", MappingProxyType(each))
    pearson = replace(spearman, all=value + 0.01, mean=value + 0.01 - shift, wmean=value + 0.01 - shift / 2)
    return Cell(dataset, spearman, pearson, iso, 0.5, difference, spread)


def row_of(name, values, raw=None, *, datasets=SETS, half=0.02, iso=0.2, spread=None, seeds=1, note="", **method):
    cells = []
    for at, (dataset, value) in enumerate(zip(datasets, values, strict=True)):
        compared = None if raw is None or value is None or raw[at] is None else apart(value - raw[at], half)
        subsets = method.get("subsets", True)
        cells.append(cell_at(dataset, value, difference=compared, spread=spread, iso=iso, subsets=subsets))
    method.pop("subsets", None)
    average = None if None in values else float(np.mean(values))
    if raw is not None:
        method = {"repair": name, "protocol": "inductive", "fitted_on": "snli", **method}
    known = [one.difference for one in cells if one.difference is not None and one.difference.value is not None]
    mean = None
    if raw is not None and average is not None and len(known) == len(cells):
        # Sets that share nothing: the mean of as many is narrower by the square root.
        mean = apart(float(np.mean([one.value for one in known])), half / np.sqrt(len(known)), units=1000 * len(known))
    low, high = (None, None) if average is None else (average - 0.01, average + 0.01)
    return Row(Method(name, **method), cells, average, seeds, note, low, high, mean)


RAW = (0.32, 0.41, 0.38, 0.45, 0.50, 0.321, 0.48)


def shifted(by, base=RAW):
    return tuple(float(value + one) for value, one in zip(base, np.broadcast_to(by, len(base)), strict=True))


def tiny(**changes):
    """A model that is helped, at one layer."""
    literature = row_of("last layer mean", (0.4907, 0.5592, 0.5475, 0.6275, 0.6519, 0.4729, 0.5821), iso=None)
    cells = [
        Cell(one.dataset, Aggregated(None, None, one.spearman.all, 9), Aggregated(None, None, None, 9), None, None)
        for one in literature.cells
    ]
    table = EvaluationTable(
        "bert-tiny",
        SETS,
        [
            row_of("raw", RAW, iso=0.02),
            row_of("center", shifted(0.008), RAW, iso=0.03, repair="center"),
            row_of("whiten", shifted((0.2, 0.21, 0.15, 0.19, 0.12, 0.22, 0.1)), RAW, iso=0.9),
            row_of("whiten 256", shifted((0.19, 0.2, 0.15, 0.19, 0.11, 0.2, 0.01)), RAW, iso=0.8),
            row_of("mute", shifted(-0.05), RAW, iso=0.04),
            row_of("clustered k-means + PCA", shifted(0.17), RAW, iso=0.4, spread=0.004, seeds=5, level="token"),
            row_of("whiten", shifted(0.24), RAW, protocol="transductive", fitted_on="", iso=0.95),
        ],
        tasks=TASKS,
        published=[replace(literature, cells=cells, average=None, note="Li et al. 2020, table 2")],
        notes=["3 pairs were left out.", ""],
        provenance={"uncone": "0.1.0", "seed": 0, "replicates": 1000, "versions": {"numpy": "2"}, "path": Path("x")},
    )
    return Evaluated(replace(table, **changes))


TASKS = [
    TaskRow(
        "SST-2",
        Method("raw"),
        {"accuracy": Score(0.78, 0.75, 0.81, 872), "macro_f1": Score(0.77, 0.74, 0.8, 872)},
        {},
        0.02,
    ),
    TaskRow(
        "SST-2",
        Method("whiten", "whiten", protocol="inductive", fitted_on="train"),
        {"accuracy": Score(0.783, 0.753, 0.813, 872), "macro_f1": Score(0.774, 0.744, 0.804, 872)},
        {"accuracy": apart(0.003), "macro_f1": apart(0.004)},
        0.9,
        "converged",
    ),
    TaskRow(
        "cranfield", Method("raw"), {"ndcg@10": Score(0.2, 0.17, 0.23, 225), "mrr@10": Score(None, None, None, 225)}, {}
    ),
    TaskRow(
        "cranfield",
        Method("whiten", "whiten", protocol="transductive"),
        {"ndcg@10": Score(0.3, 0.27, 0.33, 225), "mrr@10": Score(0.4, 0.3, 0.5, 225)},
        {"ndcg@10": apart(0.1), "mrr@10": Difference(None, None, None, None, False, 1000)},
        0.9,
    ),
]


def healthy():
    """A model that is best left alone at its last layer, while an earlier one is helped."""
    last, before = (0.82, 0.80), (0.66, 0.64)
    sets = SETS[-2:]
    return Evaluated(
        EvaluationTable(
            "all-MiniLM-L6-v2",
            sets,
            [
                row_of("raw", last, datasets=sets, layer="6", iso=0.6),
                row_of("center", (0.819, 0.799), last, datasets=sets, layer="6", iso=0.62),
                row_of("droptop", (0.79, 0.785), last, datasets=sets, layer="6", iso=0.65, half=0.01),
                row_of("raw", before, datasets=sets, layer="5", iso=0.1),
                row_of("center", (0.70, 0.69), before, datasets=sets, layer="5", iso=0.3),
                row_of("droptop", (0.74, 0.73), before, datasets=sets, layer="5", iso=0.5),
            ],
        )
    )


def one_set(gain_of=0.002, half=0.02, subsets=False):
    raw = (0.6,)
    some = {"datasets": ("pairs.csv",), "subsets": subsets}
    rows = [row_of("raw", raw, **some), row_of("whiten", (0.6 + gain_of,), raw, half=half, **some)]
    return Evaluated(EvaluationTable("m", ("pairs.csv",), rows))


def many():
    """20 sets with long names, 12 methods at three layers, several seeds."""
    sets = tuple(f"dataset-number-{i}-of-a-long-list" for i in range(20))
    rng = np.random.default_rng(0)
    rows = []
    for layer in ("1", "2", "1,-1"):
        raw = tuple(map(float, rng.uniform(0.3, 0.6, 20)))
        rows.append(row_of("raw", raw, datasets=sets, layer=layer, iso=0.1))
        for i in range(11):
            values = tuple(map(float, np.array(raw) + rng.normal(0.03 * i - 0.1, 0.03, 20)))
            seeds = {"seeds": 5, "spread": 0.012} if i % 2 else {}
            rows.append(row_of(f"method {i}", values, raw, datasets=sets, layer=layer, iso=0.08 * i, **seeds))
    return Evaluated(EvaluationTable("organization/a-model-with-a-rather-long-name-of-its-own-v2", sets, rows))


def holes():
    """A set that is undefined, with its reason, and one that a method was not measured on."""
    sets = SETS[:2]
    raw = row_of("raw", (0.3, 0.4), datasets=sets)
    flat = row_of("flat", (0.35, None), (0.3, 0.4), datasets=sets)
    flat = replace(flat, cells=[flat.cells[0], cell_at("STS13", None, reason="the similarities are all 0.5")])
    gone = row_of("gone", (0.35, 0.4), (0.3, 0.4), datasets=sets)
    return Evaluated(EvaluationTable("m", sets, [raw, flat, replace(gone, cells=gone.cells[:1], average=None)]))


def searched():
    """A search among given vectors: one repair that helps when each side has its own, and a hub that never answers."""
    scores = {"together": 0.41, "separate": 0.47}
    raw = TaskRow(
        "qrels.tsv",
        Method("raw", layer="", pooling="", level="vector"),
        {"ndcg@10": Score(0.42, 0.39, 0.45, 225)},
        {},
        0.1,
    )
    rows = [
        TaskRow(
            "qrels.tsv",
            Method("center", "center", {}, "", "", "vector", "transductive", fitted_on="docs.npy", sides=sides),
            {"ndcg@10": Score(value, value - 0.03, value + 0.03, 225)},
            {"ndcg@10": apart(value - 0.42)},
            0.1,
        )
        for sides, value in scores.items()
    ]
    documents = [
        HubDocument(7, "D-7", "everything | about *everything*", 40, 0, 0),
        HubDocument(3, "D-3", "", 12, 2, 5),
    ]
    methods = [MethodHubs(row.method, 2 - at, 0.02, 40 - at) for at, row in enumerate([raw, *rows])]
    hubs = Hubs("qrels.tsv", 10, 12, 225, 1400, documents, methods)
    facts = {"rows": 1400, "dim": 384, "seed": 0, "sides": "both", "ties": "by row"}
    notes = ["3 of 228 queries have no relevant document and were left out."]
    return Evaluated(EvaluationTable("docs.npy", [], [], [raw, *rows], notes=notes, provenance=facts, hubs=hubs))


def test_a_search_says_which_repair_helps_and_which_document_is_everywhere():
    result = searched()
    assert result.helps and result.headline.startswith("center (separate) helps: nDCG@10 is 5.0 points above raw")
    assert "relevant to none of them" in " ".join(result.lines())
    left = replace(result.table, tasks=result.table.tasks[:2])
    assert Evaluated(left).headline.startswith("Leave it alone: raw vectors reach 42.0 nDCG@10")
    empty = replace(result.table, hubs=replace(result.table.hubs, documents=[]))
    assert "no document stands in the top 10 of 12 or more queries" in Evaluated(empty).to_markdown()


def evil():
    sets = (EVIL, "b")
    raw = row_of("raw", (0.3, 0.4), datasets=sets, layer=EVIL, note=EVIL)
    bad = row_of(EVIL, (0.5, 0.6), (0.3, 0.4), datasets=sets, layer=EVIL, fitted_on=EVIL, note=EVIL)
    other = row_of(EVIL, (0.5, None), (0.3, 0.4), datasets=sets, layer="2", fitted_on=EVIL)
    other = replace(other, cells=[other.cells[0], cell_at("b", None, reason=EVIL)])
    task = TaskRow(
        EVIL, Method(EVIL), {EVIL: Score(0.5, 0.4, 0.6, 9), "accuracy": Score(0.5, 0.4, 0.6, 9)}, {}, None, EVIL
    )
    table = EvaluationTable(EVIL, sets, [raw, bad, other], [task], [replace(bad, note=EVIL)], [EVIL], {EVIL: EVIL})
    return Evaluated(table)


EVERY = {
    "tiny": tiny,
    "healthy": healthy,
    "one": one_set,
    "many": many,
    "holes": holes,
    "evil": evil,
    "search": searched,
}


@pytest.fixture(params=EVERY.values(), ids=EVERY)
def result(request):
    return request.param()


def rows_of(table):
    """The rows of a document's table by name; headings are left out."""
    return {row.cells[0].text: row for row in table.rows if len(row.cells) > 1}


def tables_of(result):
    """Every table of the document, by its anchor or its title."""
    found = {}

    def collect(blocks):
        for block in blocks:
            if isinstance(block, Table):
                found[block.name or block.title] = block
            elif isinstance(block, Fold):
                collect(block.blocks)
            elif isinstance(block, Tabs):
                for _, inner in block.tabs:
                    collect(inner)

    for section in result.document().sections:
        collect(section.blocks)
    return found


@pytest.mark.parametrize("name", ["tiny", "healthy", "one", "holes", "search"])
def test_wording(name):
    made = EVERY[name]()
    assert_wording(f"evaluate_{name}", made)


def test_wording_of_latex():
    assert_snapshot("evaluate_latex", tiny().to_latex())


def test_a_proven_gain_helps():
    result = tiny()
    mean = 100 * (np.mean(shifted(0.24)) - np.mean(RAW))
    assert result.helps
    assert result.headline.startswith(f"whiten (transductive) helps: {mean:.1f} points")
    verdict = result.document().verdicts[0]
    assert (verdict.level, verdict.headline, verdict.details) == (Level.HEALTHY, result.headline, result.lines())


def test_raw_vectors_of_the_best_layer_are_left_alone():
    result = healthy()
    assert not result.helps
    assert result.document().verdicts[0].level is Level.NOTE
    assert "layer 6" in result.headline
    assert "81.0" in result.headline
    raised = replace(result.table, rows=[*result.table.rows[:1], *result.table.rows[3:]])
    assert not Evaluated(raised).helps
    assert any("droptop (layer 5) gains +8.5" in line and "73.5" in line for line in result.lines())
    assert any("droptop (layer 6) −2.2" in line for line in result.lines())


def test_layers_are_not_compared_without_a_test():
    rows = healthy().table.rows
    low = replace(rows[0], average=0.7)
    result = Evaluated(replace(healthy().table, rows=[low, *rows[3:]]))
    assert result.helps
    assert any("raw (layer 6) with 70.0" in line and "were not tested" in line for line in result.lines())


@pytest.mark.parametrize(
    ("gain_of", "half", "helps", "number"),
    [
        (0.002, 0.02, False, "0.2"),
        (0.004, 0.001, False, "0.4"),
        (0.05, 0.02, True, "5.0"),
        (-0.05, 0.02, False, "60.0"),
    ],
)
def test_one_set(gain_of, half, helps, number):
    """A gain counts if it is proven and a point or more."""
    result = one_set(gain_of, half)
    assert result.helps is helps
    assert f" {number} " in result.headline
    assert [column.title for column in score_table(Scores(result.table)).columns] == ["method", "pairs.csv"]


def test_little_was_measured(assert_renderings):
    table = tiny().table
    raw = Evaluated(replace(table, rows=table.rows[:1], tasks=()))
    tasks = Evaluated(replace(table, rows=(), datasets=(), published=()))
    nothing = Evaluated(EvaluationTable("m", (), ()))
    for result in (raw, tasks, nothing):
        assert not result.helps
        assert_renderings(result)
        assert result.headline in result.to_html()
        assert result.headline.split(";")[0][:40] in " ".join(result.to_text().split())
        assert result.to_csv()
    assert [section.title for section in tasks.document().sections] == ["Tasks", "Notes", "Provenance"]
    assert [section.title for section in nothing.document().sections] == ["Provenance"]
    assert [section.title for section in raw.document().sections][:3] == [
        "Methods and datasets",
        "On average",
        "Isotropy",
    ]


def test_the_mean_gain():
    table = many().table
    row = table.rows[1]
    found = Scores(table).gain(row)
    values = [one.difference for one in row.cells]
    assert found.value == pytest.approx(np.mean([one.value for one in values]))
    assert (found.low, found.high) == (row.difference.low, row.difference.high) and found.units == row.difference.units
    assert found.high - found.low < 0.9 * np.mean([one.high - one.low for one in values])
    assert Scores(table).gain(table.rows[0]) is None
    assert found.proven == row.difference.significant
    missing = replace(row, average=None, difference=None)
    assert Scores(table).gain(missing).low is None and not Scores(table).gain(missing).proven
    assert found.gains == sum(one.significant and one.value > 0 for one in values)


def test_few_pairs_prove_nothing():
    few = apart(0.2, significant=False, units=20)
    result = one_set(0.2)
    row = result.table.rows[1]
    row = replace(row, cells=[replace(row.cells[0], difference=few)], difference=few)
    table = Evaluated(replace(result.table, rows=[result.table.rows[0], row]))
    assert not table.helps
    assert table.headline.endswith("20 independent pairs, and a proof needs 30.")
    assert rows_of(score_table(Scores(table.table)))["whiten"].cells[1].mark == ""


def test_a_gain_that_only_the_average_proves():
    raw, sets = (0.5, 0.5), SETS[:2]
    close = row_of("close", (0.518, 0.518), raw, datasets=sets)
    result = Evaluated(EvaluationTable("m", sets, [row_of("raw", raw, datasets=sets), close]))
    assert result.helps and Scores(result.table).gain(close).gains == 0
    assert [cell.mark for cell in rows_of(score_table(Scores(result.table)))["close"].cells] == ["", "", "", "*"]


def test_stars_stand_only_where_a_difference_is_significant():
    table = tiny().table
    noisy = row_of("noisy", shifted(0.1), RAW, half=0.02)
    noisy = replace(noisy, cells=[replace(one, difference=apart(0.1, 0.02, significant=False)) for one in noisy.cells])
    table = replace(table, rows=[table.rows[0], noisy, table.rows[4]], published=())
    rows = rows_of(score_table(Scores(table)))
    assert [cell.mark for cell in rows["raw"].cells[1:]] == [""] * 8
    assert [cell.mark for cell in rows["noisy"].cells[1:]] == [*[""] * 7, "*"]
    assert [cell.mark for cell in rows["mute"].cells[1:]] == ["↓*"] * 8
    assert all(cell.level is Level.CROWDED for cell in rows["mute"].cells[1:])
    for other in (score_table(Scores(table), "wmean"), score_table(Scores(table), "all", "pearson")):
        assert not any(cell.mark for row in other.rows for cell in row.cells)


def test_the_best_of_each_set_is_marked_and_never_a_published_one():
    table = tiny().table
    rows = [row for row in score_table(Scores(table)).rows if len(row.cells) > 1 and not row.muted]
    for at in range(len(SETS)):
        best = [row.cells[at + 1].text for row in rows if row.cells[at + 1].strong]
        top = max(row.cells[at].spearman.all for row in table.rows)
        assert best and set(best) == {f"{100 * top:.1f}"}
    weighted = score_table(Scores(table), "wmean")
    published = [row for row in weighted.rows if row.muted]
    assert [row.cells[0].text for row in published] == ["last layer mean"]
    assert published[0].cells[0].small == "Li et al. 2020, table 2"
    assert not any(cell.strong for cell in published[0].cells)
    assert not any(row.cells[0].text == "last layer mean" for row in score_table(Scores(table)).rows), (
        "no score under all"
    )
    assert "last layer mean" in rows_of(score_table(Scores(table), brief=True)), (
        "the terminal has them in its one table"
    )


def test_every_number_is_in_the_document():
    result = tiny()
    tables = tables_of(result)
    assert list(tables)[:5] == ["spearman-all", "spearman-mean", "spearman-wmean", "pearson-all", "averages"]
    for (kind, way), shift in {("spearman", "mean"): -0.02, ("pearson", "all"): 0.01}.items():
        cells = rows_of(tables[f"{kind}-{way}"])["raw"].cells[1:8]
        assert [cell.text for cell in cells] == [f"{100 * (value + shift):.1f}" for value in RAW]
    sizes = [column.small for column in tables["spearman-all"].columns[1:8]]
    assert sizes == [f"{n:,} pairs" for n in SIZES.values()]
    units = [cell.text for cell in rows_of(tables["spearman-all"])["independent pairs"].cells[1:]]
    assert units == ["1,000"] * 7 + ["7,000"]
    seeded = rows_of(tables["spearman-all"])["clustered k-means + PCA"].cells
    assert (seeded[0].small, seeded[1].small) == ("5 seeds", "± 0.4")
    differences = rows_of(difference_table(Scores(result.table)))
    assert (differences["mute"].cells[1].text, differences["mute"].cells[1].small) == ("−5.0", "−7.0 to −3.0")
    whitened = rows_of(average_table(Scores(replace(result.table, rows=result.table.rows[:3]))))["whiten"].cells
    assert [cell.text for cell in whitened[1:6]] == ["57.9", "55.9", "56.9", "58.9", "0.90"]
    assert (whitened[6].text, whitened[6].mark, whitened[7].text) == ("+17.0", "*", "7 of 7")
    isotropy = rows_of(tables["isoscore"])["raw"].cells
    assert (isotropy[1].text, isotropy[1].small) == ("0.020", "0.50")


def test_tasks():
    tasks = Scores(EvaluationTable("a-model", (), (), TASKS)).tasks
    table = task_table("SST-2", tasks["SST-2"])
    assert [column.title for column in table.columns] == [
        *("method", "accuracy", "vs. raw", "macro F1", "vs. raw", "IsoScore"),
    ]
    _, score, difference, *_, isotropy = rows_of(table)["whiten"].cells
    assert (score.text, score.small, score.strong) == ("78.3", "75.3 to 81.3", True)
    assert (difference.text, difference.small, difference.mark) == ("+0.3", "−1.7 to +2.3", "")
    assert isotropy.text == "0.90"
    brief = rows_of(task_table("cranfield", tasks["cranfield"], brief=True))
    assert [cell.text + cell.mark for cell in brief["whiten"].cells] == ["whiten", "30.0*", "40.0", "0.90"]
    assert brief["raw"].cells[2].text == "–"


def test_labels_tell_methods_apart():
    methods = [
        Method("raw"),
        Method("whiten", protocol="inductive", fitted_on="snli"),
        Method("whiten", protocol="inductive", fitted_on="train"),
        Method("whiten", protocol="transductive"),
        Method("whiten", protocol="transductive"),
    ]
    assert labels(methods) == [
        "raw",
        "whiten (inductive, on snli)",
        "whiten (inductive, on train)",
        "whiten (transductive) #1",
        "whiten (transductive) #2",
    ]
    assert labels([Method("raw", layer="1"), Method("raw", layer="2")]) == ["raw (layer 1)", "raw (layer 2)"]


def test_numbers():
    assert [points(one) for one in (0.57349, -0.00001, None, float("nan"))] == ["57.3", "0.0", "–", "–"]
    assert [signed_points(one) for one in (0.1, -0.1, 0.0, None)] == ["+10.0", "−10.0", "0.0", "–"]


def test_json_is_strict_and_whole(result):
    data = json.loads(result.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert data["schema"] == 1
    assert data["lines"] == result.lines()
    assert len(data["rows"]) == len(result.table.rows)
    for row, given in zip(data["rows"], result.table.rows, strict=True):
        assert row["method"]["name"] == given.method.name
        assert [one["spearman"]["all"] for one in row["cells"]] == [one.spearman.all for one in given.cells]


def test_json_takes_strange_values():
    odd = {"n": np.int64(3), "share": np.float32("inf"), "path": Path("a"), "layers": (1, -1)}
    data = tiny(provenance=odd).to_dict()
    assert data["provenance"] == {"n": 3, "share": None, "path": "a", "layers": [1, -1]}
    assert data["rows"][0]["cells"][0]["spearman"]["subsets"]["a"] == {"value": RAW[0], "n": 700, "reason": ""}


def test_csv_has_every_figure(result):
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert tuple(rows[0]) == COLUMNS
    for way in ("all", "mean", "wmean"):
        written = [
            row["value"]
            for row in rows
            if row["measure"] == "spearman"
            and row["aggregation"] == way
            and row["dataset"] != "average"
            and not row["protocol"].startswith("published")
        ]
        given = [getattr(one.spearman, way) for row in result.table.rows for one in row.cells]
        assert [None if one == "" else float(one) for one in written] == given
    apart_by = [row for row in rows if row["measure"] == "spearman_difference" and row["dataset"] != "average"]
    apart_by = [row for row in apart_by if not row["protocol"].startswith("published")]
    given = [one.difference for row in result.table.rows for one in row.cells if one.difference]
    assert [row["low"] for row in apart_by] == ["" if one.low is None else repr(one.low) for one in given]


def test_csv_names_published_rows_and_tasks():
    rows = list(csv.DictReader(io.StringIO(tiny().to_csv())))
    published = [row for row in rows if row["protocol"].startswith("published")]
    assert {row["aggregation"] for row in published} == {"wmean"}
    assert [row["value"] for row in rows if row["dataset"] == "SST-2" and row["measure"] == "accuracy"] == [
        "0.78",
        "0.783",
    ]


def test_frame(monkeypatch):
    frame = tiny().to_frame()
    assert tuple(frame.columns) == COLUMNS and str(frame["value"].dtype) == "float64"
    whole = frame[(frame.method == "raw") & (frame.dataset == "STS-B") & (frame.measure == "spearman")]
    assert whole[whole.aggregation == "all"]["value"].item() == RAW[5]
    monkeypatch.setattr("uncone.errors.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="pandas"):
        tiny().to_frame()


def test_latex(result):
    text = result.to_latex()
    body = text.splitlines()
    assert r"\toprule" in body and r"\bottomrule" in body and "\x1b" not in text
    for table in re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", text, flags=re.S):
        columns = len(re.search(r"\{([lr]+)\}", table)[1])
        rows = [line for line in table.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {columns - 1}
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    assert re.sub(r"\\\$", "", text).count("$") % 2 == 0


def test_latex_has_two_digits_and_one_table_on_demand():
    best = np.mean(shifted(0.24))
    text = tiny().to_latex()
    assert rf"\textbf{{{100 * best:.2f}}}\textsuperscript{{*}}" in text
    assert r"{\footnotesize $\pm$ 0.40}" in text
    assert text.count(r"\begin{table}") == 9
    weighted = tiny().to_latex("wmean")
    assert weighted.count(r"\begin{table}") == 1 and "Li et al. 2020" in weighted
    assert r"\textsuperscript" not in weighted
    with pytest.raises(OptionError, match="median"):
        tiny().to_latex("median")
    assert escaped(r"a\b_{c}") == r"a\textbackslash{}b\_\{c\}"


def test_markdown(result):
    text = result.to_markdown()
    for line in text.splitlines():
        if line.startswith("|"):
            assert not re.search(r"(?<!\\)[<>`]", line)
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.M):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    assert "\x1b" not in text


def test_renderings(result, assert_renderings):
    assert_renderings(result, screen=400)


def test_the_terminal_shows_every_set_once():
    heads = " ".join(line for line in many().to_text().splitlines() if "…ong-list" in line)
    assert [int(one) for one in re.findall(r"(\d+) d…ong-list", heads)] == list(range(1, 21))
    text = tiny().to_text()
    for dataset in SETS:
        assert sum(dataset in line.split() for line in text.splitlines() if not line.startswith("  -")) == 1
    assert re.search(r"clustered k-means \+ +49\.0±0\.4\* ", text)
    assert re.search(r"mute .*27\.0↓\*", text)


def test_reasons_are_given():
    result = holes()
    notes = next(section for section in result.document().sections if section.title == "Notes")
    assert isinstance(notes.blocks[0], Notes) and notes.brief == notes.blocks
    assert [line.partition(":")[0] for line in notes.blocks[0].lines] == ["flat on STS13", "gone on STS13"]
    assert "the similarities are all 0.5" in notes.blocks[0].lines[0]
    cells = rows_of(score_table(Scores(result.table)))["flat"].cells
    assert [cell.text for cell in cells[1:]] == ["35.0", "–", "–"]
    assert (cells[1].strong, cells[1].mark) == (True, "*")


def test_provenance():
    facts = tiny().document().sections[-1].blocks[0]
    assert isinstance(facts, Facts)
    assert ("replicates", "1,000") in facts.pairs
    assert ("published: last layer mean", "Li et al. 2020, table 2") in facts.pairs


def charts_of(result):
    return {chart.name: chart for chart in result.document().charts()}


def test_charts():
    assert list(charts_of(tiny())) == ["forest", "forest-sets", "isotropy"]
    assert list(charts_of(healthy())) == ["layers", "forest", "isotropy"]
    assert list(charts_of(one_set())) == ["forest", "isotropy"]
    assert charts_of(Evaluated(EvaluationTable("m", (), ()))) == {}
    (heat,) = charts_of(healthy())["layers"].marks
    assert isinstance(heat, Heatmap)
    assert heat.texts == [["81.0", "65.0"], ["80.9", "69.5*"], ["78.8↓*", "73.5*"]]


def test_forests():
    chart = charts_of(healthy())["forest"]
    points_of = {(mark.label, mark.large): mark for mark in chart.marks if isinstance(mark, Forest)}
    assert points_of["proven gain", True].values == pytest.approx([8.5, 4.5])
    assert points_of["not proven", True].values == pytest.approx([-0.1])
    assert points_of["not proven", True].open == [True]
    assert points_of["proven loss", True].low == pytest.approx([-2.25 - 1 / np.sqrt(2)])
    names = [chart.y.categories[at] for at in chart.y.strong]
    assert names == ["center (layer 6)", "droptop (layer 6)", "droptop (layer 5)", "center (layer 5)"]
    assert len(chart.y.categories) == 12
    everything = charts_of(many())
    assert len(everything["forest"].y.categories) == 33
    assert len(everything["forest-sets"].y.categories) == 5 * 21


def test_isotropy_against_score():
    chart = charts_of(tiny())["isotropy"]
    assert {mark.label: len(mark.x) for mark in chart.marks if isinstance(mark, Points)} == {
        "raw": 1,
        "inductive": 5,
        "transductive": 1,
    }
    x = [value for mark in chart.marks for value in mark.x]
    y = [value for mark in chart.marks for value in mark.y]
    assert f"{np.corrcoef(x, y)[0, 1]:.2f}" in chart.caption


def test_figures(tmp_path):
    written = healthy().save_figures(tmp_path / "figures")
    assert {path.name for path in written} == {
        f"{name}.{ending}" for name in ("forest", "layers", "isotropy") for ending in ("svg", "png", "csv")
    }


def test_in_a_notebook():
    assert "helps" in tiny()._repr_html_() and "<!doctype" not in tiny()._repr_html_()
    assert repr(healthy()).startswith("<Evaluated all-MiniLM-L6-v2: Leave it alone")


@pytest.mark.browser
def test_the_page_in_a_browser(assert_page_works):
    assert_page_works(*(make() for make in EVERY.values()))


@pytest.mark.browser
def test_the_reader_switches_between_aggregations(open_page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(tiny().to_html())
    page = open_page(path, width=390)
    assert page.locator(".switch label").count() == 4
    for place in range(4):
        page.locator(".switch label").nth(place).click()
        assert page.locator(".panel.shown").count() == 1
        assert page.locator(".panel").nth(place).is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
