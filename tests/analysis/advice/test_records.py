"""Records of rules from the cells of a grid, against plain loops, and a model that is left out."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from uncone.analysis.advice.rules import RULES, USES

ROOT = Path(__file__).parents[3]
TASKS = {"sts": "similarity", "stsb": "similarity", "cranfield": "search", "sst2": "classes"}


@pytest.fixture
def grid(monkeypatch):
    """The module under test, which is no part of the package."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import records

    return records


def cells_of(grid, gain, models="abc", layers=range(8)):
    """A grid whose baselines rise with the layer; `gain` gets the model, the layer, the task and the repair."""
    return [
        grid.Cell(
            model=model,
            layer=str(layer),
            last=layer == 7,
            task=task,
            use=TASKS[task],
            repair=repair,
            fitted=fitted,
            baseline=round(0.1 + layer / 10, 2),
            diverse=round(0.05 + layer / 10, 2),
            spread=0.5,
            raw=50.0,
            gain=gain(model, layer, task, repair) if fitted == "own" else -99.0,
            witness=(0.1 if layer % 2 else -0.1) if fitted == "own" else None,
        )
        for model, layer, task, repair, fitted in product(models, layers, TASKS, grid.REPAIRS, ("own", "others"))
    ]


def random_gain(seed=0):
    rng = np.random.default_rng(seed)
    return lambda *_: float(rng.normal(1.5, 2))


def test_records_count_what_a_loop_counts(grid):
    cells = cells_of(grid, random_gain())
    found = grid.records(grid.cases(cells))
    for rule in RULES:
        if rule.repair is None:
            continue
        name = {"droptop": "droptop 7", "whiten": "whiten to d/2"}[rule.repair.method]
        for use in rule.uses:
            gains = []
            for cell in cells:
                if cell.fitted == "own" and cell.repair == name and cell.use == use:
                    low, high = rule.condition.baseline
                    agrees = "witness" not in rule.condition.required or cell.witness >= 0
                    if low <= cell.baseline <= high and agrees:
                        gains.append(cell.gain)
            record = found[rule.name][use]
            assert len(gains) > 5 and record.cases == len(gains)
            assert record.good == sum(gain >= 1 for gain in gains)
            assert record.harm == sum(gain <= -0.5 for gain in gains)
            assert record.worst == pytest.approx(min(gains), abs=0.05)


def test_what_repairs_do_at_a_low_baseline_is_the_record_of_leaving_it_alone(grid):
    cells = cells_of(grid, lambda model, layer, task, repair: -3.0 if layer < 2 else 5.0)
    found = grid.records(grid.cases(cells))["low-on-diverse-text"]
    assert set(found) == set(USES)
    # Layers 0 and 1 of three models, two repairs.
    assert {use: found[use].cases for use in USES} == {"similarity": 24, "search": 12, "classes": 12}
    assert all(own.harm == own.cases and own.good == 0 for own in found.values())


def test_a_rule_speaks_of_a_model_by_the_record_of_the_others(grid):
    """In model a every repair does harm: only without it are the others' records good."""
    cells = cells_of(grid, lambda model, *_: -5.0 if model == "a" else 5.0)
    own = grid.cases(cells)
    alone = grid.KNOWN[0]
    spoken = [each for each in grid.outcomes(own, alone, leave_out=True) if each.gain is not None]
    assert {each.case.any.model for each in spoken} == {"a"} and {each.gain for each in spoken} == {-5.0}
    assert all(each.case.any.baseline >= 0.4 - 1e-9 and each.case.any.use != "classes" for each in spoken)
    assert not [each for each in grid.outcomes(own, alone, leave_out=False) if each.gain is not None]


def test_the_repair_is_chosen_without_the_model(grid):
    """Whitening helps b and c, dropping three helps a: what is chosen for a has to come from b and c, and harms it."""

    def gain(model, layer, task, repair):
        return 5.0 if repair == ("droptop 3" if model == "a" else "whiten") else -5.0

    gains, choices = grid.refitted(grid.cases(cells_of(grid, gain)), "similarity")
    assert choices == ["whiten", "none", "none"] and set(gains) == {-5.0}


def test_the_safest_repair_is_chosen(grid):
    """Without b, where it does harm once, dropping seven is better; with b in the rest, dropping three does no harm."""

    def gain(model, layer, task, repair):
        odd = layer == 3 and task == "sts"
        if repair == "droptop 3":
            return 0.0 if odd and model in "bc" else 2.0
        return (-1.0 if odd and model == "b" else 2.0) if repair == "droptop 7" else -5.0

    gains, choices = grid.refitted(grid.cases(cells_of(grid, gain, models="abcde")), "similarity")
    assert choices == ["droptop 3", "droptop 7", "droptop 3", "droptop 3", "droptop 3"]
    assert len(gains) == 50 and min(gains) == -1.0


def test_the_rule_of_a_peer(grid):
    cell = cells_of(grid, random_gain())[0]
    from dataclasses import replace

    for baseline, spread, speaks in ((0.4, 0.5, True), (0.39, 0.5, False), (0.1, 0.09, True), (0.1, 0.1, False)):
        assert grid.Case({"whiten": replace(cell, baseline=baseline, spread=spread)}).peer_speaks is speaks


def test_tables_have_a_row_for_every_advice_and_use(grid):
    own = grid.cases(cells_of(grid, random_gain()))
    lines = grid.summary(own).splitlines()
    naming = sum(rule.repair is not None for rule in RULES)
    assert len(lines) == 2 + 4 * (len(grid.KNOWN) + naming + 1 + len(grid.REPAIRS))
    crowded = [case for case in own if case.any.baseline >= 0.35]
    center = next(line for line in lines if "always center" in line and "| all |" in line)
    gains = [case.cells["center"].gain for case in crowded]
    good, harm = (100 * np.mean(part) for part in (np.array(gains) >= 1, np.array(gains) <= -0.5))
    assert f"| {len(gains)} | {good:.0f} % | {harm:.0f} % |" in center and center.endswith("| 0 % |")
