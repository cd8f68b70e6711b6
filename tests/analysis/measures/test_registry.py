"""A measure is declared once, and shown, gated, documented and survived everywhere."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import uncone
from uncone.analysis.layers import study
from uncone.analysis.layers.study import examine_layers
from uncone.analysis.measures import registry
from uncone.analysis.measures.measure import Place, StatisticSettings
from uncone.analysis.measures.registry import (
    all_families,
    families,
    gates,
    measure,
    measures,
    needed_statistics,
    placed,
    refresh,
)
from uncone.analysis.measures.table import family_table, main, measure_table
from uncone.analysis.measures.unit import NORM, QUANTILES, UNITS
from uncone.analysis.neighbors.neighborhood import neighborhood_of
from uncone.analysis.space.geometry import Geometry
from uncone.analysis.space.space import measure_space
from uncone.cli.main import _run
from uncone.data.open import open_source
from uncone.run.measure import Plan
from uncone.stats.norms import Norms

ROOT = Path(__file__).parents[3]
EXAMPLE = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "measures.md").read_text(), re.S).group(1)
NAME, TITLE = "half_variance_share", "Half of the variance"
TEXTS = [f"the text {word} to go to school {other}" for word in "abcdefghij" for other in ("now", "then", "soon")]


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package of one module, with its entry point: what pip leaves behind."""

    def put(code: str, name: str = "spread") -> None:
        folder = tmp_path / f"site-{name}"
        info = folder / f"my_{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: my-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[uncone.measures]\n{name} = my_{name}:FAMILY\n")
        (folder / f"my_{name}.py").write_text(code)
        monkeypatch.syspath_prepend(str(folder))
        sys.modules.pop(f"my_{name}", None)
        refresh()

    yield put
    monkeypatch.undo()
    refresh()


@pytest.fixture
def vectors(tmp_path, cone, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("vectors.npy", cone(400, 16))
    return cone(400, 16)


def naive(rows: np.ndarray) -> float:
    values = np.sort(np.linalg.eigvalsh(np.cov(rows.astype(np.float64).T)))[::-1]
    return next(k for k in range(1, len(values) + 1) if values[:k].sum() >= values.sum() / 2) / len(values)


def test_a_measure_of_one_file_shows_up_everywhere(install, vectors, tiny_model, capsys):
    assert len(EXAMPLE.splitlines()) < 60
    install(EXAMPLE)
    expected = naive(vectors)
    assert _run(["check", "vectors.npy", "--json", "a.json", "--markdown", "a.md", "--html", "a.html"]) == 0
    shown = f"{100 * expected:.1f} %"
    assert re.search(rf"{TITLE.lower()} +{shown}", capsys.readouterr().out)
    found = json.loads(Path("a.json").read_text())["findings"][NAME]
    assert found["value"] == expected and shown in found["meaning"] and found["level"] == "healthy"
    page = Path("a.html").read_text()
    assert f'id="{NAME}"' in page and TITLE in page and "Share of the directions that hold half" in page
    assert f"| {TITLE} | {shown} |" in Path("a.md").read_text()
    assert _run(["check", "vectors.npy", "vectors.npy", "--no-html"]) == 0
    assert re.search(rf"{TITLE} +{shown} +{shown}", capsys.readouterr().out)

    assert _run(["check", "vectors.npy", "--no-html", "--fail-below", f"{NAME}={expected + 0.01}"]) == 1
    assert _run(["check", "vectors.npy", "--no-html", "--fail-below", f"{NAME}={expected - 0.01}"]) == 0
    assert _run(["check", "vectors.npy", "--fail-above", "nothing=1"]) == 2
    assert NAME in capsys.readouterr().err

    assert f"| `{NAME}` | {TITLE} | share |" in measure_table(all_families()) and NAME in family_table(all_families())
    found = uncone.schema("check")["$defs"]["Findings"]
    assert NAME in found["properties"] and NAME not in found["required"]
    main([])
    assert NAME in capsys.readouterr().out


def test_a_measure_of_one_file_has_a_curve_over_the_layers(install, tiny_model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    install(EXAMPLE)
    Path("texts.txt").write_text("\n".join(TEXTS))
    options = ["--corpus", "texts.txt", "--json", "a.json", "--markdown", "a.md", "--html", "a.html"]
    assert _run(["layers", str(tiny_model), *options, "--figures", "figures"]) == 0
    assert "half of" in capsys.readouterr().out
    values = [layer["findings"][NAME]["value"] for layer in json.loads(Path("a.json").read_text())["layers"]]
    assert len(values) > 1 and all(0 < value <= 1 for value in values)
    assert TITLE in Path("a.md").read_text() and NAME in Path("a.html").read_text()
    assert Path("figures", f"{NAME}.csv").exists()
    study = uncone.layers(tiny_model, TEXTS)
    drawn = next(chart for chart in study.document().charts() if chart.name == NAME)
    assert drawn.marks[0].y == [pytest.approx(value) for value in values] and drawn.y.percent


def test_a_statistic_of_ones_own_is_collected_in_the_same_pass(install, cone):
    install(
        """
from uncone.analysis.measures.measure import Family, Measure
from uncone.analysis.measures.unit import NORM
from uncone.stats.norms import Norms

FAMILY = Family(
    (Measure("longest", "Longest row", NORM, "max |x|"),),
    lambda space: max(one.norm for one in space.statistics["lengths"].longest),
    statistics={"lengths": lambda collecting: Norms()},
)
"""
    )
    rows = cone(200, 8)
    assert uncone.check(rows)["longest"].value == pytest.approx(np.linalg.norm(rows, axis=1).max(), rel=1e-6)


BROKEN = {
    "raises": "def compute(space):\n    raise ValueError('the moon is full')",
    "returns text": "def compute(space):\n    return 'much'",
    "returns another": "def compute(space):\n    return {'other': 1.0}",
    "does not load": "import nothing_of_this_name",
    "takes a name": "compute = None\nNAME = 'baseline'",
    "takes the name of a statistic": "compute = lambda space: 1.0\nSTATISTICS = {'norms': None}",
    "is no family": "compute = None\nNAME = 3\nFAMILY = 5",
}


@pytest.mark.parametrize("how", BROKEN)
def test_what_a_third_party_breaks_is_named_and_costs_nothing_else(how, install, vectors, tiny_model, capsys):
    plain = uncone.check(vectors).to_dict()["findings"]
    family = (
        "\nfrom uncone.analysis.measures.measure import Family, Measure\n"
        "from uncone.analysis.measures.unit import COSINE\n"
        "FAMILY = globals().get('FAMILY') or "
        "Family((Measure(globals().get('NAME', 'moon'), 'Moon', COSINE, 'phase'),), compute, "
        "statistics=globals().get('STATISTICS', {}))\n"
    )
    install(BROKEN[how] + family, "moon")
    assert _run(["check", "vectors.npy", "--json", "a.json", "--markdown", "a.md", "--html", "a.html"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "moon" in out and "by my-moon could not be measured, because" in out and "Traceback" not in out
    found = json.loads(Path("a.json").read_text())["findings"]
    assert {name: found[name] for name in plain} == plain and len(found) == len(plain) + 1
    (name,) = found.keys() - plain.keys()
    assert found[name]["value"] is None and "my-moon could not be measured" in found[name]["meaning"]
    for file in ("a.md", "a.html"):
        assert "could not be measured, because" in Path(file).read_text()
    if how == "raises":
        assert "the moon is full (ValueError)" in out
        assert _run(["check", "vectors.npy", "--no-html", "--fail-above", "moon=1"]) == 1
    study = uncone.layers(tiny_model, TEXTS)
    assert "my-moon could not be measured" in study.notes[0] and study.to_html() and study.to_markdown()


@pytest.fixture
def fail(monkeypatch):
    """Let one of the families raise; the names of its measures."""

    def compute(_: object) -> None:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    def put(place: int) -> list[str]:
        every = list(all_families())
        every[place] = replace(every[place], compute=compute)
        monkeypatch.setattr(registry, "_own", lambda verb: tuple(one for one in every if verb in one.verbs))
        refresh()
        return every[place].names

    yield put
    monkeypatch.undo()
    refresh()


OF_REPORTS = [place for place, family in enumerate(all_families()) if "training" not in family.verbs]


@pytest.mark.parametrize("place", OF_REPORTS, ids=lambda place: all_families()[place].names[0])
def test_no_family_that_fails_loses_the_report(place, fail, vectors, tiny_model, capsys):
    verb = all_families()[place].verbs[0]
    names = fail(place)
    if verb == "check":
        assert _run(["check", "vectors.npy", "--score", "0.5", "--json", "a.json", "--markdown", "a.md"]) == 0
        assert "did not converge" in " ".join(capsys.readouterr().out.split())
        found = json.loads(Path("a.json").read_text())["findings"]
    else:
        study = uncone.layers(tiny_model, TEXTS, deep=verb == "deep")
        assert study.to_html() and study.to_markdown() and "did not converge" in study.notes[0]
        found = study.to_dict()["layers"][-1]["findings"]
    for name in names:
        assert found[name]["value"] is None and "did not converge (LinAlgError)" in found[name]["meaning"]


def test_a_space_without_eigenvalues_is_still_reported(monkeypatch, vectors):
    def directions(_: Geometry) -> None:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    plain = uncone.check(vectors)
    monkeypatch.setattr(Geometry, "directions", property(directions))
    found = uncone.check(vectors)
    assert found["baseline"].to_dict() == plain["baseline"].to_dict() and found["effective_rank"].failed
    assert "did not converge" in found.to_html() and found.pictures.eigenvalues == []


def test_every_measure_is_complete():
    for family in all_families():
        assert family.summary and family.verbs and family.measures
        for one in family.measures:
            assert one.title and one.definition and one.unit in UNITS
            assert all(len(line) <= 9 for line in one.column) and {*one.places} <= {*get_args(Place)}
            assert one.title[0].isupper() or one.title[0].isdigit()
    for verb in ("check", "layers", "deep"):
        names = [name for family in families(verb) for name in family.names]
        assert len(names) == len(set(names))
    assert set(gates()) == set(measures("check")) - {"pair_cosine_quantiles"}
    # One screen: what the terminal shows in a column or a row fits it.
    assert (
        len(placed("layers", "layers")) == 8 and len(placed("check", "check")) == 18
    )  # 4 of them with --deep, 2 of texts with a model
    assert measure("of another version").title == "of another version"


def test_findings_follow_the_schema(cone):
    form = uncone.schema("check")["$defs"]["Findings"]
    of_texts = ["diverse_baseline", "topic_share", "word_agreement"]
    every = [name for name in form["properties"] if name not in of_texts]
    for deep, names in ((False, form["required"]), (True, every)):
        diagnosis = uncone.check(cone(), deep=deep)
        assert list(diagnosis.to_dict()["findings"]) == names
        assert uncone.validate(diagnosis.to_json()) == "check"
    only_deep = [name for name in every if name not in form["required"]]
    assert only_deep == ["top10_moved", "top10_int8", "top10_bits", "top10_bits_centered"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_no_unit_prints_an_exponent_or_a_minus_before_a_zero(unit):
    for size in (0.0, 1e-300, 1.42e-8, 3e-5, 0.0004, 0.004, 0.5, 1.0, 12.3, 4567.8, 1e7, 3.2e12):
        for value in (size, -size):
            for text in (unit.format(value), unit.interval(value, value), unit.difference(value)):
                assert text and "e-" not in text and "e+" not in text
                assert not re.search(r"[-−]0[.0]*( %)?($| )", text), (value, text)
    for unknown in (None, math.nan, math.inf):
        assert unit.format(unknown) == "–"
    assert unit.interval(None, None) == unit.interval(math.nan, 1.0) == ""


def test_a_small_length_is_not_zero_and_quantiles_are_a_range():
    assert NORM.format(1.42e-8) == "1.42 × 10⁻⁸" and NORM.format(0.0) == "0.000"
    assert NORM.interval(0.5, None) == "0.500 or more"
    assert QUANTILES.format({"0.025": -0.1, "0.975": 0.62}) == "-0.10 to 0.62"


@pytest.fixture
def only(monkeypatch):
    """Let these be the only families of uncone."""

    def keep(*kept):
        monkeypatch.setattr(registry, "_own", lambda verb: tuple(one for one in kept if verb in one.verbs))
        refresh()

    yield keep
    monkeypatch.undo()
    refresh()


@pytest.fixture(scope="module")
def space():
    """A space in which some vectors repeat others."""
    rows = np.random.default_rng(0).normal(size=(200, 8)) + 1.0
    return measure_space(open_source(np.concatenate([rows, rows[:20]])), Plan())


@pytest.fixture(scope="module")
def layer(tiny_model):
    """The last layer of a study, as it was measured."""
    with pytest.MonkeyPatch.context() as patch:
        measured = []
        patch.setattr(study, "examine_layers", lambda layers: measured.extend(layers) or examine_layers(layers))
        uncone.layers(tiny_model, TEXTS)
        return measured[-1]


def shown(family, measured, names):
    """The findings of a family on these statistics alone."""
    kept = {name: one for name, one in measured.statistics.items() if name in {"units", *names}}
    deep = {"neighborhood": neighborhood_of(measured)} if "top10_moved" in family.names else {}
    return [one.to_dict() for one in family.findings(replace(measured, statistics=kept, **deep))]


@pytest.mark.parametrize("verb", ["check", "layers"])
def test_a_family_declares_the_statistics_that_it_needs_and_no_others(verb, request):
    measured = request.getfixturevalue({"check": "space", "layers": "layer"}[verb])
    for family in families(verb):
        whole = shown(family, measured, measured.statistics)
        assert shown(family, measured, family.needs) == whole
        for name in {*family.needs} - {"units"} if whole else ():  # some families are silent about vectors alone
            assert shown(family, measured, {*family.needs} - {name}) != whole, (family.names, name)


@pytest.mark.parametrize("name", ["moments", "norms", "pairs", "prints"])
def test_check_collects_no_statistic_that_no_family_needs(name, only, cone):
    only(*(family for family in families("check") if name not in family.needs))
    assert name not in measure_space(open_source(cone()), Plan()).statistics
    assert name in measure_space(open_source(cone()), Plan(), also=[name]).statistics


@pytest.mark.parametrize("name", ["words", "sentences", "occurrences", "norms"])
def test_layers_collects_no_statistic_that_no_family_needs(name, only, tiny_model, monkeypatch):
    collected = set()
    monkeypatch.setattr(
        study, "examine_layers", lambda layers: collected.update(layers[0].statistics) or examine_layers(layers)
    )
    whole = uncone.layers(tiny_model, TEXTS, sentences=True).to_dict()["layers"]
    assert name in collected
    kept = [family for family in families("layers") if name not in family.needs]
    only(*kept)
    collected.clear()
    found = uncone.layers(tiny_model, TEXTS, sentences=True)
    assert name not in collected and found.to_html()
    for layer, other in zip(found.to_dict()["layers"], whole, strict=True):
        assert layer["findings"] == {one: other["findings"][one] for family in kept for one in family.names}


def test_deep_findings_need_the_sample(only):
    makers = dict.fromkeys(("rows", "norms"), Norms)
    only(*families("deep"))
    assert [*needed_statistics(["layers", "deep"], makers, StatisticSettings(8, 0)).members] == ["rows"]
