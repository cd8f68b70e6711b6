"""The five things that CONTRIBUTING invites to add, each as a toy: a format, a measure, a repair, a chart, a verb."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from commands import run

import uncone
from uncone.analysis.measures.check import FAMILIES
from uncone.analysis.measures.measure import Family, Measure
from uncone.analysis.measures.registry import refresh
from uncone.analysis.measures.unit import SHARE
from uncone.cli.main import MODULES, VERBS
from uncone.data.open import SUFFIXES, open_source
from uncone.data.source import Rows, Source
from uncone.repairs.affine import Affine
from uncone.repairs.registry import KINDS
from uncone.report.charts.files import write_figures
from uncone.report.charts.model import Axis, Chart, Line
from uncone.report.document import Document, Section, Verdict
from uncone.report.render.html import page
from uncone.verbs.options.option import Options, at_least, option


def add_module(monkeypatch, name: str, **contents: object) -> None:
    """A new file of the package, for the time of a test."""
    module = ModuleType(name)
    vars(module).update(contents)
    monkeypatch.setitem(sys.modules, name, module)


def test_a_format(monkeypatch, tmp_path, cone):
    """A file with one vector per line, its numbers between spaces."""

    class Plain(Source):
        kind, dtype, rereadable = "plain", "float32", True

        def __init__(self, path):
            self.name, self.path = str(path), path
            self.rows, self.dim = np.loadtxt(path).shape

        def read(self, start=0, stop=None):
            yield Rows(np.loadtxt(self.path, dtype=np.float32)[start:stop])

    add_module(monkeypatch, "uncone.data.vectors.plain", open_plain=lambda path, options: Plain(path))
    monkeypatch.setitem(SUFFIXES, ".plain", ("plain", "open_plain"))
    rows = cone(60, 8)
    np.savetxt(tmp_path / "rows.plain", rows)
    assert uncone.check("rows.plain")["baseline"].value == uncone.check(rows)["baseline"].value
    assert run("check", "rows.plain") == 0


def test_a_measure(monkeypatch, cone):
    """The share of negative numbers; `tests/analysis/measures` follows one through every output."""
    measure = Measure("negative_share", "Negative numbers", SHARE, "Share of negative numbers.", meaning="{value}.")
    family = Family((measure,), compute=lambda space: float((space.sample.vectors < 0).mean()))
    monkeypatch.setattr("uncone.analysis.measures.check.FAMILIES", (*FAMILIES, family))
    refresh()
    try:
        rows = cone(60, 8)
        diagnosis = uncone.check(rows)
        assert diagnosis["negative_share"].value == np.mean(rows < 0)
        assert "Negative numbers" in diagnosis.to_html()
    finally:
        monkeypatch.undo()
        refresh()


def test_a_repair(monkeypatch, tmp_path, cone):
    """Every vector around the mean, and half as long."""

    class Halve(Affine):
        kind = "halve"

        def _solve(self, statistics, noise):
            moments = statistics["moments"]
            return moments.mean, np.full(moments.dim, 0.5)

    add_module(monkeypatch, "uncone.repairs.halve", Halve=Halve)
    monkeypatch.setitem(KINDS, "halve", ("halve", "Halve"))
    rows = cone(60, 8)
    np.save("rows.npy", rows)
    assert run("fix", "rows.npy", "--method", "halve,normalize", "-o", "fixed.npy", "--save", "repair") == 0
    expected = rows - rows.mean(axis=0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(np.load("fixed.npy"), expected, atol=1e-5)
    np.testing.assert_allclose(uncone.apply("repair", rows), expected, atol=1e-5)


def test_a_chart(tmp_path):
    """A line, declared once and drawn for pages and papers."""
    chart = Chart(
        "growth", "Growth", "One more per step.", [Line([0, 1, 2], [0, 1, 2], label="steps")], Axis("step"), Axis("n")
    )
    document = Document("toy", "toy", "", [Verdict("It grows.")], [Section("Growth", [chart])])
    assert "growth" in page(document, "{}", "0")
    names = {path.name for path in write_figures(document.charts(), tmp_path)}
    assert names == {"growth.svg", "growth.png", "growth.csv"}


@dataclass(frozen=True, kw_only=True)
class CountOptions(Options):
    """The options of the toy verb."""

    GROUP = "Counting"

    least: int = option(1, "Count from this many on.", rule=at_least(1))


def test_a_verb(monkeypatch, capsys, cone):
    """`uncone count FILE --least N`."""

    def count(source: str, /, *, options: CountOptions) -> int:
        """Count.

        Example: uncone count rows.npy --least 2
        """
        sys.stdout.write(f"{max(open_source(source).rows, options.least)}\n")
        return 0

    count.__annotations__ = {"source": str, "options": CountOptions, "return": int}
    add_module(monkeypatch, "uncone.cli.commands.count", count=count)
    monkeypatch.setitem(VERBS, "count", "Count the vectors of a file.")
    monkeypatch.setitem(MODULES, "count", "count")
    np.save("rows.npy", cone(60, 8))
    assert run("count", "rows.npy") == 0 and capsys.readouterr().out == "60\n"
    assert run("count", "rows.npy", "--least", "0") == 2 and "at least 1" in capsys.readouterr().err
    assert run("count", "--help") == 0
    text = capsys.readouterr().out
    assert "Counting" in text and "Count from this many on." in text and "Example: uncone count" in text
