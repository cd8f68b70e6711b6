"""The tables of the papers in all renderings: with the model of the papers, and with another."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from report.snapshots import assert_wording

from uncone.analysis.intervals.bootstrap import Difference
from uncone.data.tasks.sts import STS
from uncone.evaluation.papers.layouts import ABLATION, LAYOUTS, NLI, TARGET
from uncone.evaluation.papers.suite import ABLATED, Figure
from uncone.report.document import Table, Tabs, leaves
from uncone.report.documents.evaluate.papers import COLUMNS, PaperTables

EVIL = "models/</script><script>alert(1)</script><img src=x onerror=alert(2)> | *b* `c` & h_i ~^ % \x1b[31m"


def gain(value):
    return Difference(value, value - 0.02, value + 0.02, 0.001, abs(value) > 0.02, 900)


def tokens():
    for place, dataset in enumerate(STS):
        for at, row in enumerate(ABLATION):
            if dataset in ABLATED or row in (ABLATION[0], ABLATION[-1]):
                score = 0.5 + place / 100 + at / 50
                values = {"pearson": score - 0.01, "spearman": score, "wmean": score - 0.02}
                values |= {"published": min(-4.2 + at, -0.05), "both_signs": -6.4 + 1.2 * at, "unit": -1.0}
                fit, spread = TARGET if at else "", 0.004 if "means" in row else None
                yield Figure("tokens", row, fit, dataset, values, 1000, gain(at / 50) if at else None, spread)


def classes():
    for at, row in enumerate((ABLATION[0], ABLATION[-1])):
        values = {"accuracy": 0.8 - at / 200, "published": -3.0 + 2.5 * at, "both_signs": -340.5 + 340 * at}
        yield Figure("classes", row, TARGET if at else "", "sst2", values, 1821, gain(-0.005) if at else None)


def sentences(part="sentences", raw="layers 1,-1 mean", base=0.6):
    rows = [
        (raw, "", 0.0),
        ("flow", NLI, 0.05),
        ("flow", TARGET, 0.07),
        ("whiten", NLI, 0.04),
        ("whiten", TARGET, -0.06),
    ]
    for row, fit, more in rows:
        for dataset in STS:
            values = {"pearson": 0.5, "spearman": base + more, "wmean": base + more + 0.01}
            yield Figure(part, row, fit, dataset, values, 1000, gain(more) if fit else None)
    if part == "sentences":
        for dataset in STS:
            yield Figure("last-layer", "last layer mean", "", dataset, {"spearman": 0.4, "wmean": 0.41}, 1000)


def papers(**changes):
    figures = [*tokens(), *classes(), *sentences(), *sentences("supervised", "raw, by its own recipe", 0.7)]
    own = PaperTables(
        "models/bert-mini", "models/sbert", figures, None, {"uncone": "0.1.0", "seed": 0, "fit_on": "snli"}
    )
    return replace(own, **changes)


def broken():
    """A flow that could not be trained on a dataset, no sentence model, and no figures of classes."""
    figures = [each for each in papers().figures if each.part not in ("supervised", "classes")]
    at = next(i for i, each in enumerate(figures) if (each.row, each.dataset) == ("flow", "sts16"))
    figures[at] = replace(figures[at], values={"spearman": None, "wmean": None}, difference=None, reason="too few rows")
    return papers(model=EVIL, supervised=None, figures=figures, limit=40)


@pytest.mark.parametrize("name", ["full", "broken"])
def test_wording(name):
    assert_wording(f"papers_{name}", papers() if name == "full" else broken())


@pytest.mark.parametrize("result", [papers(), broken()], ids=["full", "broken"])
def test_renderings(result, assert_renderings):
    assert_renderings(result, screen=260)


def test_the_page_works(assert_page_works):
    assert_page_works(papers())


def tables(result):
    found = {}
    for section in result.document().sections:
        for block in leaves(section.blocks):
            if isinstance(block, Table):
                found[block.name] = block
    return found


def test_the_model_of_the_papers_stands_beside_itself():
    own, other = tables(papers(model="hub/bert-base-uncased", supervised="bert-base-nli-mean-tokens")), tables(papers())
    assert own.keys() == other.keys() and len(own) == 4 + len(LAYOUTS) - 1
    for name, table in own.items():
        texts = [cell.text for row in table.rows for cell in row.cells]
        assert "not run" not in texts, name
        assert "not run" in [cell.text for row in other[name].rows for cell in row.cells]
    heads = [row.cells[0].text for row in own["methods"].rows if len(row.cells) == 1]
    assert heads == ["bert-base-uncased, measured here", "bert-base-uncased, published"]
    rows = [[cell.text for cell in row.cells] for row in own["clusters-4"].rows]
    assert rows[1] == ["raw", "55.00", "56.00", "6.31e-5", "3.98e-7"]
    assert rows[-1] == ["k-means + mean + PCA", "no record", "63.07", "0.49", "not published"]


def test_panels_hold_every_dataset_once():
    found = tables(papers())
    heads = [column.title for at in range(1, 5) for column in found[f"clusters-{at}"].columns[1:]]
    assert heads == [
        title for title in ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R") for _ in range(4)
    ]
    assert len(found["flow-whitening"].columns) == 9


def test_what_is_missing_says_why():
    result = broken()
    found = tables(result)
    texts = {name: {cell.text for row in table.rows for cell in row.cells} for name, table in found.items()}
    assert all("" not in each for each in texts.values())
    assert "undefined" in texts["flow-whitening"] and "not run" in texts["classification"]
    assert any("--supervised" in remark for remark in found["flow-whitening-nli"].remarks)
    assert "flow on STS16: too few rows" in result.to_text().replace("\n", " ").replace("          ", " ")
    assert "at most 40 pairs" in result.document().warning
    assert all(
        block.tabs[0][0] == "wmean"
        for section in result.document().sections
        for block in section.blocks
        if isinstance(block, Tabs)
    )


def test_stars_are_for_proven_differences():
    methods = tables(papers())["methods"]
    marks = {row.cells[0].text: row.cells[2].mark for row in methods.rows[1:7]}
    assert marks == {"raw": "", "mean": "", **dict.fromkeys(ABLATION[2:], "*")}
    assert all(row.cells[1].mark == "" for row in methods.rows[1:7]), "Pearson is not tested"


def test_csv():
    lines = list(csv.DictReader(io.StringIO(papers().to_csv())))
    assert tuple(lines[0]) == COLUMNS
    gains = [line for line in lines if line["measure"] == "difference" and line["table"] == "clusters"]
    assert len(gains) == 7 and all(float(line["low"]) < float(line["value"]) < float(line["high"]) for line in gains)
    assert {
        line["model"] for line in lines if line["table"] == "flow-whitening-nli" and line["origin"] == "measured"
    } == {"models/sbert"}
    assert float(next(line for line in lines if line["dataset"] == "average")["value"]) > 0.5
