import math

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.utils.estimator_checks import check_estimator

from uncone.data.open import open_source
from uncone.data.vectors.memory import BlockStream, in_memory
from uncone.errors import FitError, OptionError
from uncone.repairs.flow import NEGATIVE, Flow, Glow
from uncone.repairs.laws import check_repair
from uncone.repairs.saving import load
from uncone.run.measure import Plan


def bent(n=600, d=8, seed=0, dtype=np.float32):
    """Rows on a bent sheet: no affine map makes them normal."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    half = d // 2
    rows[:, d - half :] = rows[:, :half] ** 2 + 0.2 * rows[:, d - half :]
    return (rows * np.geomspace(3, 0.3, d) + 4).astype(dtype)


def shaken(d, **shape):
    """A network whose weights are all far from where they begin, in float64."""
    network = Glow(d, **{"levels": 2, "depth": 3, "hidden": 5, **shape}).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in network.parameters():
            weights.copy_(0.4 * torch.randn(weights.shape, generator=generator))
    return network


@pytest.mark.parametrize("d", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_the_log_determinant_is_that_of_the_jacobian(d, levels):
    network = shaken(d, levels=levels)
    rows = torch.randn(4, d, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    for row in rows:
        jacobian = torch.autograd.functional.jacobian(lambda x: network(x[None])[0], row)
        _, logarithm = torch.linalg.slogdet(jacobian)
        assert float(logarithm) == pytest.approx(float(network.log_determinant().detach()), abs=1e-10)
    density = torch.distributions.Normal(0, 1).log_prob(network(rows)).sum(1) + network.log_determinant()
    assert float(network.bits(rows).detach()) == pytest.approx(float(-density.detach().mean()) / d / math.log(2))


@pytest.mark.parametrize("d", [1, 2, 6, 7, 33])
@pytest.mark.parametrize("levels", [1, 2, 4])
def test_the_network_is_undone(d, levels):
    network = shaken(d, levels=levels)
    rows = torch.randn(9, d, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    torch.testing.assert_close(network.inverse(network(rows)), rows, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("d", [6, 7])
def test_every_dimension_is_moved_and_moves_others(d):
    """The middle of an odd number of dimensions too."""
    network = shaken(d, levels=1, depth=4, hidden=40)
    moves = torch.autograd.functional.jacobian(
        lambda x: network(x[None])[0], torch.full((d,), 0.3, dtype=torch.float64)
    )
    assert (moves.abs() > 1e-9).sum(0).min() > 1 and (moves.abs() > 1e-9).sum(1).min() > 1


def test_actnorm_starts_from_the_rows():
    rows = torch.from_numpy(bent(d=5))
    rows[:, 2] = 7.0
    network = Glow(5, levels=2, depth=2, hidden=4)
    network.initialize(rows)
    z = network(rows).detach()
    torch.testing.assert_close(z.mean(0), torch.zeros(5), atol=1e-4, rtol=0)
    deviations, _ = z.std(0, correction=0).sort()
    torch.testing.assert_close(deviations, torch.tensor([0.0, 1, 1, 1, 1]), atol=1e-4, rtol=0)


@pytest.mark.parametrize("d", [8, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_training_helps_and_is_undone(d, dtype):
    rows, fresh = bent(d=d, dtype=dtype), bent(200, d=d, seed=1, dtype=dtype)
    repair = Flow(epochs=6, lr=5e-3).fit(rows)
    assert repair.history_[repair.best_].held_out < repair.history_[0].held_out - 0.1
    z = repair.transform(fresh)
    assert z.dtype == dtype and z.shape == fresh.shape
    np.testing.assert_allclose(repair.inverse_transform(z), fresh, atol=1e-4)
    assert repair.inverse_transform(z).dtype == dtype


def test_bits_are_those_of_the_rows_as_given():
    """By the density of z, and the volume by the numerical Jacobian of transform itself."""
    rows = 10 * bent(300, d=4, dtype=np.float64)
    repair = Flow(epochs=1, holdout=0.0, lr=1e-12).fit(rows)  # so slow that the weights of the epoch are one
    h = 1e-5
    around = repair.transform(np.concatenate([rows[:1] + h * np.eye(4), rows[:1] - h * np.eye(4)]))
    volume = np.linalg.slogdet((around[:4] - around[4:]) / (2 * h))[1]
    z = repair.transform(rows)
    bits = (0.5 * (z**2).sum(axis=1).mean() + 2 * math.log(2 * math.pi) - volume) / (4 * math.log(2))
    assert repair.history_[0].train == pytest.approx(bits, abs=1e-5)
    assert repair.history_[1].train == pytest.approx(bits, abs=1e-5)


@pytest.mark.parametrize("length", [1e-3, 1e3])
def test_the_length_of_the_rows_does_not_matter(length):
    rows = bent()
    first, other = Flow(epochs=2).fit(rows), Flow(epochs=2).fit(rows * np.float32(length))
    np.testing.assert_allclose(first.transform(rows), other.transform(rows * np.float32(length)), atol=1e-2)
    moved = np.array(other.history_) - np.array(first.history_)
    np.testing.assert_allclose(moved[:, 1:], math.log2(length), atol=1e-3)


def test_stream_memory_and_workers_agree(tmp_path):
    rows = bent(20_000, d=6)
    np.save(tmp_path / "rows.npy", rows)
    options = {"epochs": 2, "sample": 1000}
    memory = Flow(**options).fit(rows)
    assert "trained on a seeded sample of 900 vectors, 100 held out" in memory.note_
    for plan in (Plan(), Plan(workers=4)):
        stream = Flow(**options).fit_source(open_source(tmp_path / "rows.npy"), plan)
        np.testing.assert_allclose(stream.transform(rows[:50]), memory.transform(rows[:50]), rtol=1e-6, atol=1e-6)
    once = Flow(**options).fit_source(BlockStream(iter(np.array_split(rows, 7))))
    np.testing.assert_allclose(once.transform(rows[:50]), memory.transform(rows[:50]), rtol=1e-6, atol=1e-6)


def test_arrays_bring_it_back_to_the_digit():
    rows = bent(d=7)
    repair = Flow(epochs=1).fit(rows)
    arrays = repair.arrays()
    assert {value.dtype.name for value in arrays.values()} <= {"float32", "float64"}
    back = Flow(epochs=1).restore({name: value.copy() for name, value in arrays.items()})
    for table in (rows, rows.astype(np.float64)):
        np.testing.assert_array_equal(back.transform(table), repair.transform(table))
        np.testing.assert_array_equal(back.inverse_transform(table), repair.inverse_transform(table))
    assert back.history_ == repair.history_ and back.best_ == repair.best_


def test_seeds_and_the_state_of_torch():
    rows = bent()
    torch.manual_seed(5)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first, again, other = (Flow(epochs=1, seed=seed).fit(rows).transform(rows) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    assert torch.equal(torch.get_rng_state(), state) and torch.get_num_threads() == threads


def test_training_stops_early_with_the_best_weights():
    rows = bent(300, d=12)
    repair = Flow(epochs=100, lr=1e-2, hidden=64, holdout=0.4, patience=3).fit(rows)
    curve = [epoch.held_out for epoch in repair.history_]
    assert 4 < len(curve) < 101 and len(curve) - 1 - repair.best_ == 3
    assert curve[repair.best_] == min(curve)
    exact = Flow(epochs=repair.best_, lr=1e-2, hidden=64, holdout=0.4, patience=3).fit(rows)
    np.testing.assert_array_equal(exact.transform(rows), repair.transform(rows))


def test_divergence_is_an_error_that_keeps_the_best():
    rows = bent()
    repair = Flow(lr=1e30, epochs=3, batch=4096)  # actnorm sees all rows, so that their mean is known
    with pytest.raises(FitError, match=r"epoch 1; the weights of epoch 0 are kept\. Try a learning rate smaller") as e:
        repair.fit(rows)
    assert "\n" not in str(e.value)
    np.testing.assert_allclose(repair.transform(rows).mean(axis=0), 0, atol=0.2)


def test_progress_tells_bits_per_dimension():
    steps = []
    repair = Flow(epochs=3).fit_source(in_memory(bent() / 100), progress=lambda *step: steps.append(step))
    names = list(dict.fromkeys(step for step, _, _ in steps))
    before = repair.history_[1]
    bits = f"{before.train:.2f} bits per dimension, held out {before.held_out:.2f}"
    assert names[0] == "flow, sample"
    assert names[2] == f"flow, epoch 2 of 3: {bits} ({NEGATIVE})"
    assert "below zero is normal" in repair.note_
    for name in names[1:]:
        assert sum(rows for step, rows, _ in steps if step == name) == 540


def test_few_rows_and_no_holdout():
    assert Flow(epochs=1).fit(bent(2)).transform(bent(3)).shape == (3, 8)
    repair = Flow(epochs=2, holdout=0.0).fit(bent(50))
    assert repair.best_ == 2 and math.isnan(repair.history_[0].held_out) and "none held out" in repair.note_


def test_a_bad_row_stays_bad_alone():
    rows = bent()
    repair = Flow(epochs=1).fit(rows)
    flawed = rows.copy()
    flawed[3] = np.nan
    out = repair.map(flawed)
    assert np.isnan(out[3]).all()
    np.testing.assert_array_equal(np.delete(out, 3, axis=0), np.delete(repair.map(rows), 3, axis=0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, 0) for name in ("levels", "depth", "hidden", "epochs", "batch", "patience", "lr")),
        *(("lr", math.nan), ("holdout", 1.0), ("holdout", -0.1), ("seed", -1), ("sample", 1), ("epochs", 1.5)),
    ],
)
def test_bad_options(name, value):
    with pytest.raises(OptionError, match=f"{name}="):
        Flow(**{name: value}).fit(bent(20))


def test_bad_rows():
    with pytest.raises(FitError, match="all equal"):
        Flow().fit(np.ones((20, 4)))
    with pytest.raises(ValueError, match="NaN"):
        Flow().fit(np.full((20, 4), np.nan))
    repair = Flow(epochs=1).fit(bent(20))
    for call in (repair.transform, repair.inverse_transform):
        with pytest.raises(ValueError, match="5 features"):
            call(np.ones((2, 5)))


def test_frames():
    frame = pd.DataFrame(bent(50), columns=[f"x{i}" for i in range(8)])
    repair = Flow(epochs=1).set_output(transform="pandas").fit(frame)
    result = repair.transform(frame)
    assert result.columns[0] == "flow0"
    np.testing.assert_allclose(repair.inverse_transform(result), frame, atol=1e-4)


def test_scikit_learn_contract():
    check_estimator(Flow(epochs=1, depth=1, hidden=4), on_skip=None)


@pytest.mark.parametrize("holdout", [0.0, 0.2])
def test_laws_and_saving(holdout, tmp_path):
    repair = Flow(epochs=2, holdout=holdout)
    check_repair(repair)
    repair.fit(bent()).save(tmp_path / "repair")
    back = load(tmp_path / "repair").repair
    np.testing.assert_array_equal(back.transform(bent()), repair.transform(bent()))
    np.testing.assert_array_equal(np.array(back.history_), np.array(repair.history_))
    assert back.note_ == repair.note_
