"""Word frequency after repairs: the same as by hand, and a bias that is built in is found removed or not."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.analysis.frequency.bias import frequency_bias
from uncone.analysis.frequency.word_counts import corpus_frequencies
from uncone.analysis.layers.deep_results import WordSpace
from uncone.errors import OptionError
from uncone.evaluation.frequency import bias_after_repairs, frequency_methods
from uncone.repairs import Whiten

WORDS, COPIES, D = 2_000, 2, 12


@pytest.fixture
def space():
    """Occurrences of words; the more frequent, the further along one direction: its removal takes the bias away."""
    rng = np.random.default_rng(0)
    logs = -np.log(np.arange(1, WORDS + 1))
    types = rng.normal(size=(WORDS, D))
    types[:, 0] = 6 + 1.5 * (logs - logs.mean())
    rows = np.repeat(types, COPIES, axis=0) + 0.1 * rng.normal(size=(WORDS * COPIES, D))
    words = [f"w{i:04d}" for i in range(WORDS) for _ in range(COPIES)]
    counts = corpus_frequencies({f"w{i:04d}": 1_000_000 // (i + 1) for i in range(WORDS)})
    return WordSpace("layer 2", rows.astype(np.float32), words, counts)


def test_every_method_is_the_repair_by_hand(space):
    result = bias_after_repairs(space, "a study", frequency_methods("whiten,center"))
    assert [row.method for row in result.repairs] == ["raw", "whiten", "center"]
    assert (result.study, result.space, result.dim, result.raw.n) == ("a study", "layer 2", D, WORDS)
    after = Whiten().fit(space.vectors).map(space.vectors).astype(np.float64)
    means = after.reshape(WORDS, COPIES, D).mean(axis=1)
    norms = np.linalg.norm(after, axis=1).reshape(WORDS, COPIES).mean(axis=1)
    by_hand = frequency_bias(means, space.words[::COPIES], space.frequencies, norms=norms)
    for name, tie in by_hand.ties.items():
        assert result.repairs[1].bias.ties[name].value == pytest.approx(tie.value, abs=1e-4)
    for mine, theirs in zip(result.repairs[1].bias.bins[:2], by_hand.bins[:2], strict=True):
        assert mine.norm.value == pytest.approx(theirs.norm.value, rel=1e-4)
        assert mine.distance[3].value == pytest.approx(theirs.distance[3].value, rel=1e-3)


def test_a_bias_in_one_direction_goes_with_it(space):
    result = bias_after_repairs(space, "a study", frequency_methods("droptop:k=1"))
    raw, without = result.repairs
    assert raw.bias.ties["norm"].low > 0.5 and not raw.outcomes
    assert without.outcomes["norm"] == "removed" and without.outcomes["explained"] == "removed"
    assert without.changes["norm"].high < -0.5


def test_a_repair_that_fails_leaves_its_reason(space):
    equal = WordSpace("table", np.ones((40, 4), np.float32), space.words[:40], space.frequencies, "token")
    result = bias_after_repairs(equal, "a study", frequency_methods("whiten"))
    assert result.repairs[1].bias is None and "equal" in result.repairs[1].reason


@pytest.mark.parametrize("text", ["static", "nothing", "whiten:k=3", ""])
def test_methods_that_cannot_be_fitted_here(text):
    with pytest.raises(OptionError):
        frequency_methods(text)
