"""The model's cone and the topic's: shares, intervals, and what makes the two hard to compare."""

import numpy as np
import pytest

from uncone.analysis.advice.topic import DiverseBaseline, caveats, topic_findings, topic_share, unsuited
from uncone.analysis.measures.finding import Finding
from uncone.data.texts.diverse import DIVERSE, NONE, SHIPPED, diverse_texts, looks_english
from uncone.encoders.encoder import Passage, unknown_share
from uncone.errors import MissingSourceError


def finding(value, reach=0.01):
    return Finding("baseline", value, 1000, "", low=value - reach, high=value + reach)


@pytest.mark.parametrize(
    ("own", "model", "share", "words"),
    [
        (0.31, 0.03, 0.903, "nearly all of the crowding"),
        (0.40, 0.15, 0.625, "most of the crowding"),
        (0.60, 0.40, 0.333, "a part of the crowding"),
        (0.50, 0.45, 0.1, "little of the crowding"),
        (0.40, 0.50, 0.0, "the crowding is the model's, not your topic's"),
        (0.30, -0.02, 1.0, "nearly all of the crowding"),
    ],
)
def test_share(own, model, share, words):
    of_model, of_topic = topic_findings(finding(own), DiverseBaseline(model, model - 0.01, model + 0.01, 311))
    assert (of_model.value, of_model.n) == (model, 311)
    assert of_topic.value == pytest.approx(share, abs=1e-3)
    assert of_topic.low <= of_topic.value <= of_topic.high
    assert words in of_topic.meaning


def test_interval_of_the_share_by_simulation():
    rng = np.random.default_rng(0)
    own, model = rng.normal(0.4, 0.01, 200_000), rng.normal(0.15, 0.02, 200_000)
    low, high = np.quantile(1 - model / own, [0.025, 0.975])
    diverse = DiverseBaseline(0.15, 0.15 - 1.96 * 0.02, 0.15 + 1.96 * 0.02, 311)
    share, interval = topic_share(finding(0.4, 1.96 * 0.01), diverse)
    assert share == pytest.approx(0.625)
    assert interval == pytest.approx((low, high), abs=0.005)


def test_no_crowding_no_share():
    _, of_topic = topic_findings(finding(0.02), DiverseBaseline(0.01, 0.0, 0.02, 311))
    assert of_topic.value is None
    assert "no crowding to divide" in of_topic.meaning


def test_reasons_and_caveats():
    assert unsuited(0.1, SHIPPED) == ""
    assert "50 % of the letters" in unsuited(0.5, SHIPPED) and "--diverse FILE" in unsuited(0.5, SHIPPED)
    assert DiverseBaseline.of(finding(0.2), 12, "own.txt").value is None
    english, german = (
        ["The cat is on the mat, and it sleeps."] * 50,
        ["Die Katze liegt auf der Matte und schnurrt."] * 50,
    )
    assert caveats(english, english, SHIPPED) == ""
    assert "don't look English" in caveats(german, english, SHIPPED)
    assert caveats(german, german, "own.txt") == ""
    assert "10 times as long" in caveats([text * 10 for text in english], english, SHIPPED)
    assert caveats([text * 10 for text in english], english, SHIPPED, of_texts=False) == ""
    assert not looks_english(["猫坐在垫子上,狗在公园里跑。"] * 200)
    assert looks_english(["4711", "xyz"])


def test_unknown_letters():
    """By hand: "ab cde f!" has six letters; three are in known tokens."""
    starts, ends = np.array([0, 0, 3, 7]), np.array([0, 2, 6, 8])
    passage = Passage("ab cde f!", [101, 7, 100, 9], starts, ends, np.array([True, False, False, False]))
    assert unknown_share([passage], 100) == pytest.approx(3 / 6)
    assert unknown_share([passage], None) == 0
    cut = Passage("ab cde f!", [7], np.array([0]), np.array([2]), np.array([False]), whole=False)
    assert unknown_share([cut], 100) == 0
    assert unknown_share([], 100) == 0


def test_the_shipped_text_is_diverse():
    lines = DIVERSE.read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 300 and len(set(lines)) == len(lines) and not any(line != line.strip() for line in lines)
    lengths = [len(line.split()) for line in lines]
    assert min(lengths) <= 3 and max(lengths) >= 20
    # No templates: no two sentences begin with the same three words, but for a few.
    starts = [" ".join(line.lower().split()[:3]) for line in lines]
    assert len(set(starts)) > 0.97 * len(starts)
    assert looks_english(lines)


def test_choice():
    assert diverse_texts(NONE) is None
    assert diverse_texts().name == SHIPPED
    assert [text for _, text, _ in diverse_texts(["a", "b"]).read()] == ["a", "b"]
    with pytest.raises(MissingSourceError):
        diverse_texts("missing.txt")
