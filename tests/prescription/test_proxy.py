"""Pairs made from texts: what is compared with what, and that they never prove anything."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.errors import OptionError, ShapeError
from uncone.prescription.folds import split
from uncone.prescription.prescribe import prescribe
from uncone.prescription.proxy import halves, proxy_pairs


def documents(n, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{word}" for word in rng.integers(0, 5000, 12)) + f" end{i}" for i in range(n)]


def test_halves():
    assert halves("One two three four. Five six seven. Eight.") == ("One two three four.", "Five six seven. Eight.")
    assert halves("Yes. " + "word " * 20) == ("Yes. " + "word " * 8 + "word", " ".join(["word"] * 11))
    assert halves("too short a text") is None and halves("short") is None
    long = "nospacesatall" * 4
    assert "".join(halves(long)) == long  # as in scripts that have no spaces
    first, second = halves("supercalifragilisticexpialidocious a b c d e f g")
    assert min(len(first.split()), len(second.split())) >= 2


@pytest.mark.parametrize("kind", ["halves", "neighbours"])
def test_pairs(kind):
    texts = documents(60)
    new, pairs = proxy_pairs(texts + texts[:3] + [" "], 1, kind=kind)
    taken = 60 if kind == "halves" else 28
    assert len(new) == 2 * taken == len(set(new)) and len(pairs) == 4 * taken and pairs.scores.sum() == taken
    assert not pairs.proven and pairs.labelled and pairs.name == kind
    whole = {text: i for i, text in enumerate(texts)}
    for left, right, score in zip(pairs.left, pairs.right, pairs.scores, strict=True):
        if kind == "halves":
            assert (f"{new[left]} {new[right]}" in whole) == bool(score)
        else:
            assert (whole[new[left]] + 1 == whole[new[right]] and whole[new[left]] % 2 == 0) == bool(score)
    assert split(pairs, np.arange(len(new)), 3, 0).apart


def test_drawn_by_seed_and_no_part_twice():
    texts = [*documents(60), *[f"the same seven words stand here also {i} a b c d e f" for i in range(9)]]
    one, other = proxy_pairs(texts, 0, most=24)[0], proxy_pairs(texts, 0, most=24)[0]
    assert one == other != proxy_pairs(texts, 1, most=24)[0] and len(one) == 48
    everything = proxy_pairs(texts, 0)[0]
    assert len(everything) == len(set(everything))


def test_short_texts_are_told():
    _, pairs = proxy_pairs(documents(40))
    assert "13 words" in pairs.note or "12 words" in pairs.note
    rows = np.random.default_rng(0).normal(size=(80, 8))
    assert pairs.note in prescribe(rows, pairs, replicates=50).notes
    long = [f"{one} {two} {three}" for one, two, three in zip(*(documents(40, seed) for seed in range(3)), strict=True)]
    assert proxy_pairs(long)[1].note == "" == proxy_pairs(documents(80), kind="neighbours")[1].note


def test_too_few():
    with pytest.raises(ShapeError, match="19 texts are distinct and long enough"):
        proxy_pairs([*documents(19), "short"] * 3)
    with pytest.raises(ShapeError, match="9 pairs of texts"):
        proxy_pairs(documents(18), kind="neighbours")
    with pytest.raises(OptionError, match="no proxy 'thirds'"):
        proxy_pairs(documents(40), kind="thirds")


@pytest.mark.parametrize("seed", range(3))
def test_it_advises_and_never_claims_proof(seed):
    """Halves that share a topic, in a cone whose loud dimensions hide it."""
    new, pairs = proxy_pairs(documents(200), seed)
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.normal(size=(200, 24)), 2, axis=0) + 0.8 * rng.normal(size=(400, 24)) + 3.0
    rows[:, :2] += rng.normal(size=(400, 2)) * [8.0, 5.0]
    found = prescribe(rows, pairs, replicates=200)
    assert found.recommended is not None and found.gain.low > 0.05 and found.proven is False
    assert "prove" not in found.reason and "not labelled by people" in found.reason
    plain = found.to_dict()
    assert plain.pop("proven") is False and "prove" not in str(plain) and "proof" not in str(plain)
    alone = prescribe(rng.normal(size=(len(new), 24)), pairs, replicates=200)
    assert alone.recommended is None and alone.proven is False
