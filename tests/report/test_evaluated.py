"""An evaluation in all its renderings: each says what the numbers say."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from rich.console import Console

from uncone.errors import MissingPackageError, OptionError
from uncone.evaluation.bootstrap import Difference
from uncone.evaluation.correlation import Aggregated, Correlation
from uncone.evaluation.resampling import Score
from uncone.evaluation.table import Cell, EvaluationTable, Method, Row, TaskRow
from uncone.report.evaluated import Evaluated
from uncone.report.evaluated_charts import charts
from uncone.report.evaluated_figures import COLUMNS
from uncone.report.evaluated_grid import gain, grid, labels, points, signed
from uncone.report.evaluated_latex import escaped
from uncone.report.evaluated_tasks import INVERTIBLE
from uncone.report.evaluated_terminal import print_evaluated

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
    return Evaluated(EvaluationTable("organisation/a-model-with-a-rather-long-name-of-its-own-v2", sets, rows))


def holes():
    """A set that is undefined, with its reason, and one that a method was not measured on."""
    sets = SETS[:2]
    raw = row_of("raw", (0.3, 0.4), datasets=sets)
    flat = row_of("flat", (0.35, None), (0.3, 0.4), datasets=sets)
    flat = replace(flat, cells=[flat.cells[0], cell_at("STS13", None, reason="the similarities are all 0.5")])
    gone = row_of("gone", (0.35, 0.4), (0.3, 0.4), datasets=sets)
    return Evaluated(EvaluationTable("m", sets, [raw, flat, replace(gone, cells=gone.cells[:1], average=None)]))


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


EVERY = {"tiny": tiny, "healthy": healthy, "one": one_set, "many": many, "holes": holes, "evil": evil}


@pytest.fixture(params=EVERY.values(), ids=EVERY)
def result(request):
    return request.param()


def printed(result):
    console = Console(width=80, no_color=True)
    with console.capture() as capture:
        print_evaluated(result, console)
    return capture.get()


def test_a_proven_gain_is_said_with_its_numbers():
    result = tiny()
    assert result.helps
    mean = 100 * (np.mean(shifted(0.24)) - np.mean(RAW))
    assert result.headline == (
        f"whiten (transductive) helps: {mean:.1f} points above raw vectors on average over 7 sets, proven on 7,000 "
        "independent pairs."
    )
    text = " ".join(result.lines())
    best = 100 * np.mean(shifted(0.24))
    assert (
        f"is whiten (transductive) with {best:.1f}: +{mean:.1f} (95 % interval +23.2 to +24.8, proven on 7,000 " in text
    )
    assert "4 of 6 methods gain, proven on at least one set (1,000 independent pairs each)" in text
    assert "whiten 256 on 6 of 7" in text
    assert "Proven to lose on average over 7 sets, on 7,000 independent pairs: mute −5.0." in text
    assert "5 rows are inductive (fitted on snli); 1 row is transductive" in text
    assert "leave it alone" not in text.lower()
    assert "Over 5 seeds the score moves by 0.4 points" in text
    assert "SST-2: best accuracy is 78.3, by whiten (+0.3 to raw); no gain is proven." in text
    held = "gains proven on 1,000 independent items: whiten."
    assert f"cranfield: best nDCG@10 is 30.0, by whiten (+10.0 to raw); {held}" in text


def test_raw_vectors_of_the_best_layer_are_left_alone():
    result = healthy()
    assert not result.helps
    assert result.headline == (
        "Leave it alone: the raw vectors of layer 6 score 81.0 on average over 2 sets, and no repair does better."
    )
    raised = replace(result.table, rows=[*result.table.rows[:1], *result.table.rows[3:]])
    assert Evaluated(raised).headline.startswith("Leave it alone: the raw vectors of layer 6")
    text = " ".join(result.lines())
    assert "Elsewhere repairs do gain: droptop (layer 5) +8.5 to its own raw vectors, and reaches 73.5." in text
    assert "Proven to lose on average over 2 sets, on 2,000 independent pairs: droptop (layer 6) −2.2." in text


def test_layers_are_not_compared_without_a_test():
    rows = healthy().table.rows
    low = replace(rows[0], average=0.7)
    result = Evaluated(replace(healthy().table, rows=[low, *rows[3:]]))
    assert result.helps
    assert (
        "The best raw vectors are raw (layer 6) with 70.0, 3.5 below; between two layers no difference was tested."
        in (result.lines())
    )


def test_nothing_proven_is_left_alone():
    result = one_set()
    assert result.headline == "Leave it alone: the best repair, whiten, gains 0.2 points on pairs.csv, not proven."
    assert "The one method tried has no proven gain on pairs.csv: leave it alone." in result.lines()
    small = one_set(0.004, 0.001)
    assert not small.helps and small.headline.endswith("gains 0.4 points, less than a point.")
    assert one_set(0.05).helps
    lost = one_set(-0.05)
    assert "raw vectors score 60.0 on pairs.csv, and no repair does better" in lost.headline
    assert "Proven to lose on pairs.csv, on 1,000 independent pairs: whiten −5.0." in lost.lines()


def test_what_is_left_when_little_was_measured():
    table = tiny().table
    raw = Evaluated(replace(table, rows=table.rows[:1], tasks=()))
    assert raw.headline.endswith("; no repair was tried.") and not raw.helps
    tasks = Evaluated(replace(table, rows=(), datasets=(), published=()))
    assert tasks.headline == "2 tasks, no sentence pairs."
    nothing = Evaluated(EvaluationTable("m", (), ()))
    assert nothing.headline == "Nothing was measured."
    for one in (raw, tasks, nothing):
        json.loads(one.to_json())
        assert one.headline in one.to_html() and one.to_markdown() and one.to_latex() and one.to_csv()
        assert one.headline.split(";")[0][:40] in " ".join(printed(one).split())


def test_the_mean_gain():
    table = many().table
    row = table.rows[1]
    found = gain(table, row)
    values = [one.difference for one in row.cells]
    assert found.value == pytest.approx(np.mean([one.value for one in values]))
    assert (found.low, found.high) == (row.difference.low, row.difference.high) and found.units == row.difference.units
    assert found.high - found.low < 0.9 * np.mean([one.high - one.low for one in values])
    assert gain(table, table.rows[0]) is None
    assert found.proven == row.difference.significant
    missing = replace(row, average=None, difference=None)
    assert gain(table, missing).low is None and not gain(table, missing).proven
    assert found.gains == sum(one.significant and one.value > 0 for one in values)


def test_few_pairs_prove_nothing_and_it_is_said():
    few = apart(0.2, significant=False, units=20)
    result = one_set(0.2)
    row = result.table.rows[1]
    row = replace(row, cells=[replace(row.cells[0], difference=few)], difference=few)
    table = Evaluated(replace(result.table, rows=[result.table.rows[0], row]))
    assert not table.helps
    assert table.headline.endswith("on pairs.csv, not proven: 20 independent pairs, and a proof needs 30.")
    assert "not proven: 20 independent pairs, and a proof needs 30" in table.to_html()


def test_a_gain_that_only_the_average_proves():
    raw, sets = (0.5, 0.5), SETS[:2]
    close = row_of("close", (0.518, 0.518), raw, datasets=sets)
    result = Evaluated(EvaluationTable("m", sets, [row_of("raw", raw, datasets=sets), close]))
    assert result.helps and gain(result.table, close).gains == 0
    assert "The one method tried has no proven gain on any one set, only on average." in result.lines()


def test_stars_stand_only_where_a_difference_is_significant():
    table = tiny().table
    noisy = row_of("noisy", shifted(0.1), RAW, half=0.02)
    noisy = replace(noisy, cells=[replace(one, difference=apart(0.1, 0.02, significant=False)) for one in noisy.cells])
    table = replace(table, rows=[table.rows[0], noisy, table.rows[4]], published=())
    raw, none, loss = (line for group in grid(table).groups for line in group.lines)
    assert [one.way for one in raw.cells] == [0] * 7
    assert [one.way for one in none.cells] == [0] * 7
    assert [one.way for one in loss.cells] == [-1] * 7
    assert not any(one.way for group in grid(table, "wmean").groups for line in group.lines for one in line.cells)


def test_the_best_of_each_set_is_marked_and_never_a_published_one():
    table = tiny().table
    shown = grid(table)
    for at in range(len(SETS)):
        best = [line for group in shown.groups for line in group.lines if line.cells[at].best]
        top = max(row.cells[at].spearman.all for row in table.rows)
        assert best and all(f"{100 * line.cells[at].value:.1f}" == f"{100 * top:.1f}" for line in best)
    weighted = grid(table, "wmean")
    published = [line for group in weighted.groups if group.published for line in group.lines]
    assert published and not any(one.best for line in published for one in line.cells)
    assert not any(group.published for group in shown.groups), "it has no figure under all"


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
    assert [signed(one) for one in (0.1, -0.1, 0.0, None)] == ["+10.0", "−10.0", "0.0", "–"]


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
    monkeypatch.setattr("uncone.extras.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="pandas"):
        tiny().to_frame()


def test_latex(result):
    text = result.to_latex()
    body = text.splitlines()
    assert r"\toprule" in body and r"\bottomrule" in body and "\x1b" not in text
    columns = len(result.table.datasets) + 1 + (len(result.table.datasets) > 1)
    rows = [line for line in body if line.endswith(r"\\") and "multicolumn" not in line]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {columns - 1}
    for opening, closing in (("{", "}"),):
        plain = re.sub(r"\\[{}]", "", text)
        assert plain.count(opening) == plain.count(closing)


def test_latex_marks():
    text = tiny().to_latex()
    best = np.mean(shifted(0.24))
    assert rf"\textbf{{{100 * best:.2f}}}\textsuperscript{{*}}" in text
    assert r"$^{\downarrow}$\textsuperscript{*}" in text
    assert r"{\footnotesize $\pm$ 0.40}" in text
    assert "published" not in text and "Li et al. 2020" in tiny().to_latex("wmean")
    assert r"\textsuperscript{*}" not in tiny().to_latex("wmean")
    with pytest.raises(OptionError, match="median"):
        tiny().to_latex("median")
    assert escaped(r"a\b_{c}") == r"a\textbackslash{}b\_\{c\}"


def test_markdown(result):
    text = result.to_markdown()
    for line in text.splitlines():
        if line.startswith("|"):
            assert not re.search(r"(?<!\\)[<>`]", line)
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.M)
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    assert "\x1b" not in text


def test_markdown_has_all_aggregations():
    text = tiny().to_markdown()
    for way in ("all", "mean", "wmean"):
        assert f"### Spearman x 100, `{way}`" in text
    assert "### Pearson x 100" in text and "STS-B (1,379)" in text
    assert "published, not measured here" in text and "Li et al. 2020" in text
    assert INVERTIBLE in text and "- 3 pairs were left out.\n" in text
    assert "No set has subsets" in one_set().to_markdown()


def test_terminal_fits(result):
    text = printed(result)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    if result.table.rows:
        assert "Spearman x 100, `all`" in text


def test_terminal_shows_every_set_once():
    lines = printed(many()).splitlines()
    heads = " ".join(line for line in lines if "ong-list" in line and "…" in line).split()
    assert [int(one) for one in heads[::2]] == list(range(1, 21))
    text = printed(tiny())
    for dataset in SETS:
        assert sum(dataset in line.split() for line in text.splitlines() if not line.startswith("  -")) >= 1
    assert re.search(r"clustered k-means \+ PCA\n +49\.0±0\.4\* ", text)
    assert "aggregation wmean" in text and "transductive: fitted on the texts judged" in text
    assert re.search(r"mute .*27\.0↓\*", text)
    raw = next(line for line in text.splitlines() if line.split()[:1] == ["raw"])
    assert "*" not in raw


def test_reasons_are_said():
    result = holes()
    reason = "flat on STS13: undefined, since the similarities are all 0.5."
    for text in (result.to_html(), result.to_markdown().replace("\\", ""), " ".join(printed(result).split())):
        assert reason in text and "gone on STS13: not measured." in text
    assert "| flat | inductive: fitted on snli | **35.0**\\* | – | – |" in result.to_markdown()


def test_the_page_is_one_file_that_fetches_nothing(result):
    page = result.to_html()
    assert page.count("plotly.js v") == 1
    without_plotly = re.sub(r"<script>/\*\*.*?</script>", "", page, flags=re.S)
    assert not re.search(r"(src|href)=[\"']?(http|//)", without_plotly)
    for text in (page, result._repr_html_()):
        assert "<img src=x" not in text and "<script>alert" not in text
    json.dumps(charts(result.table), allow_nan=False)


def test_the_page_says_what_it_shows():
    page = tiny().to_html()
    for text in (
        "STS-B<small>1,379 pairs</small><small>1,000 independent</small>",
        "Li et al. 2020, table 2",
        INVERTIBLE,
        "published, not measured here",
    ):
        assert text in page
    assert (
        "+24.0 to raw under all (95 % interval +22.0 to +26.0), proven on 1,000 independent pairs; IsoScore 0.950"
        in page
    )
    assert (
        page.index("helps:")
        < page.index("Methods and sets")
        < page.index('class="charts"')
        < page.index("Provenance</h2>")
    )


def test_charts():
    assert [one["id"] for one in charts(tiny().table)] == ["forest", "isotropy", "forest-sets"]
    assert [one["id"] for one in charts(healthy().table)] == ["forest", "layers", "isotropy"]
    assert [one["id"] for one in charts(one_set().table)] == ["forest", "isotropy"]
    assert charts(EvaluationTable("m", (), ())) == []
    heat = charts(healthy().table)[1]
    assert heat["data"][0]["text"] == [["81.0", "65.0"], ["80.9", "69.5*"], ["78.8↓*", "73.5*"]]
    forest = charts(healthy().table)[0]
    drawn = {(state["name"], x) for state in forest["data"] for x in state["x"]}
    assert ("proven gain", 8.5) in drawn and ("not proven", -0.1) in drawn


def test_in_a_notebook():
    assert "helps" in tiny()._repr_html_() and "<!doctype" not in tiny()._repr_html_()
    assert repr(healthy()).startswith("<Evaluated all-MiniLM-L6-v2: Leave it alone")


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Debian's chromium is not installed")
@pytest.mark.parametrize("name", EVERY)
def test_the_page_in_a_browser(browser, name, tmp_path):
    result = EVERY[name]()
    path = tmp_path / "page.html"
    path.write_text(result.to_html())
    for scheme, width in (("light", 390), ("dark", 1200)):
        look(browser, path, scheme, width, len(charts(result.table)))


def look(browser, path, scheme, width, drawn):
    page = browser.new_page(viewport={"width": width, "height": 850}, color_scheme=scheme)
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if request.url.startswith("http") else None)
    page.goto(path.as_uri())
    assert page.locator("h1").first.is_visible()
    there = page.locator(".chart")
    assert there.count() == drawn
    for place in range(drawn):
        there.nth(place).locator(".main-svg").first.wait_for(timeout=15_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    for place in range(page.locator(".switch label").count()):
        page.locator(".switch label").nth(place).click()
        assert page.locator(".panel.shown").count() == 1
        assert page.locator(".panel").nth(place).is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    for one in page.locator("details.all summary").all():
        one.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    with page.expect_download() as download:
        page.locator("#download").click()
    assert json.loads(download.value.path().read_text())["schema"] == 1
    assert errors == []
    page.close()
