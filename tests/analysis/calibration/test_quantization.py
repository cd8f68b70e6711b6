import numpy as np
import pytest
from scipy import stats

from uncone.analysis.calibration.quantization import hints, hints_of, informative_bits
from uncone.data.batch import Batch
from uncone.stats.unit_vectors import UnitScatter


def of(rows):
    units = UnitScatter(rows.shape[1], dtype=np.float64)
    units.update(Batch.of(rows))
    return hints(units)


def test_an_even_space():
    (only,) = of(np.random.default_rng(0).normal(size=(4_000, 64)))
    assert only == "Binary quantization: the signs of 64 of 64 dimensions differ between vectors."


def test_a_cone_has_few_signs_and_no_promise():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4_000, 64)) + 3.0
    binary = of(rows)[0]
    assert "unrelated vectors have a cosine of 0.90" in binary and "about 64 differ" in binary
    assert "for better or worse" in binary and "uncone fix SOURCE --method auto --pairs pairs.csv" in binary
    assert "--method center" not in binary and "wants" not in binary, "no repair is promised to help"
    told = int(binary.split("the signs of ")[1].split()[0])
    shares = (rows > 0).mean(axis=0)
    assert told == pytest.approx(stats.entropy(np.stack([shares, 1 - shares]), base=2).sum(), abs=1.5)
    assert "with the mean subtracted" not in of(rows - rows.mean(axis=0))[0]


def test_a_rogue_dimension_takes_the_range():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2_000, 96))
    rows[:, 17] += 40
    wide = next(hint for hint in of(rows) if hint.startswith("8-bit"))
    assert "dimension 17 (counted from 0)" in wide and "its own range" in wide
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    reach, typical = np.abs(units[:, 17]).max(), 3 * np.median(units.std(axis=0))
    levels = int(wide.split("has about ")[1].split()[0])
    assert levels == pytest.approx(255 * typical / reach, rel=0.15)
    assert not any(hint.startswith("8-bit") for hint in of(np.delete(rows, 17, axis=1)))


def test_few_directions_waste_bits():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2_000, 5)) @ rng.normal(size=(5, 80))
    narrow = next(hint for hint in of(rows) if hint.startswith("Length"))
    assert "of 80 directions" in narrow and "may lose little" not in narrow and "--pairs" in narrow
    assert 3 < float(narrow.split("about ")[1].split()[0]) <= 5
    # Ten rows span nine directions in any space: that says nothing.
    assert not any(hint.startswith("Length") for hint in of(rng.normal(size=(10, 80))))


def test_nothing_to_tell_apart():
    assert hints_of(1.0, 0.0, np.full(4, 0.5), np.zeros(4), 4) == [
        "All vectors point the same way: no index of any kind can tell them apart."
    ]
    assert hints(UnitScatter(3)) == []


def test_informative_bits_against_scipy():
    rng = np.random.default_rng(1)
    mean, deviations = rng.normal(size=20), rng.uniform(0.1, 2, size=20)
    shares = stats.norm.cdf(mean / deviations)
    assert informative_bits(mean, deviations) == pytest.approx(
        stats.entropy(np.stack([shares, 1 - shares]), base=2).sum()
    )
    assert informative_bits(np.ones(3), np.array([0.0, 0.0, 1e-9])) == pytest.approx(0.0, abs=1e-9)
