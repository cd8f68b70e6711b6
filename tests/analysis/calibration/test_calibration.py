"""Calibrations: saved, loaded and applied, and what a score means, with bounds that hold."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from uncone.analysis.calibration.background import survey
from uncone.analysis.calibration.calibration import (
    Calibration,
    LabeledScores,
    OtherEncoderWarning,
    rate_bounds,
    ratio_evidence,
    score_meanings,
)
from uncone.analysis.calibration.results import Curve, LabeledPairs, Operating, ScoreMapping
from uncone.analysis.calibration.thresholds import one_hit, threshold, translate
from uncone.analysis.cosine.baseline import Evidence
from uncone.analysis.intervals.pair_units import pair_units
from uncone.analysis.intervals.resampling import Score
from uncone.data.vectors.memory import ArrayVectors
from uncone.encoders.encoder import EncoderIdentity
from uncone.errors import FormatError, MissingSourceError, OptionError, OutputError

SCORE = Score(0.5, 0.4, 0.6, 20)


def labeled_pairs():
    knots = np.array([[0.1, 0.0], [0.5, 0.25], [0.9, 1.0]])
    curve = Curve(np.array([0.0, 1.0]), np.array([0.0, np.nan]), np.array([0.0, 0.5]))
    isotonic = ScoreMapping("isotonic", knots, None, None, SCORE, SCORE, curve, [10, 10])
    logistic = replace(isotonic, kind="logistic", slope=8.0, intercept=-4.0)
    operating = Operating("best F1", 0.6, 0.5, 0.7, SCORE, SCORE, Score(None, None, None, 0), None)
    return LabeledPairs(
        "pairs", 20, 8, True, 4.0, SCORE, SCORE, curve, curve, [operating], [isotonic, logistic], extra={"k": [1, None]}
    )


@pytest.fixture(scope="module")
def background(spaces):
    return survey(ArrayVectors(spaces["some rows close to everything"].rows(600, 0)), name="corpus").background


@pytest.fixture(scope="module")
def whole(background):
    source = {
        "name": "corpus",
        "rows": 600,
        "dim": 12,
        "encoder": "models/mini",
        "encoder_content": "abc",
        "layer": None,
    }
    return Calibration(
        source,
        [background, replace(background, name="diverse", documents=7)],
        [threshold(background, 0.01, 1_000), threshold(background, 1e-5)],
        1_000,
        one_hit(background, 1_000),
        labeled_pairs(),
        translate(0.5, background, background, "old"),
        ["a hint"],
        ["a note: é"],
        3,
        {"numpy": np.__version__},
    )


def as_json(calibration):
    return json.dumps(calibration.to_dict(), sort_keys=True, allow_nan=False)


def test_percentile_and_rate(whole, spaces):
    scores = np.linspace(-0.5, 0.95, 30).reshape(5, 6)
    percentiles = whole.percentile(scores)
    rows = spaces["some rows close to everything"].rows(600, 0).astype(np.float64)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = (units @ units.T)[np.triu_indices(600, 1)]
    expected = np.array([[100 * (cosines < score).mean() for score in line] for line in scores])
    np.testing.assert_allclose(percentiles, expected, atol=0.1)
    np.testing.assert_allclose(whole.rate(scores), 1 - percentiles / 100, atol=1e-12)
    assert type(whole.percentile(0.3)) is float and type(whole.rate(np.float32(0.3))) is float
    assert whole.percentile([0.3, 0.3]).tolist() == [whole.percentile(0.3)] * 2
    assert (whole.percentile(1.0), whole.percentile(-1.0)) == (100.0, 0.0) and math.isnan(whole.percentile(math.nan))


def test_rescale(whole, background):
    assert whole.rescale(background.mean) == 0.0 and whole.rescale(1.0) == 1.0
    scores = np.array([-1.0, 0.2, 0.7])
    expected = (scores - background.mean) / (1 - background.mean)
    np.testing.assert_allclose(whole.rescale(scores), expected, rtol=1e-12)
    assert type(whole.rescale(0.5)) is float


def test_probability(whole):
    assert whole.probability([0.0, 0.3, 0.5, 0.7, 1.0]).tolist() == pytest.approx([0.0, 0.125, 0.25, 0.625, 1.0])
    labeled = replace(whole.labeled, mappings=whole.labeled.mappings[::-1])
    logistic = replace(whole, labeled=labeled)
    assert logistic.probability(0.7) == pytest.approx(1 / (1 + math.exp(4.0 - 8.0 * 0.7)))
    for nothing in (None, replace(whole.labeled, mappings=[])):
        with pytest.raises(OptionError, match="no labeled pairs"):
            replace(whole, labeled=nothing).probability(0.5)


def test_threshold(whole, background):
    assert whole.threshold(fpr=0.01) == threshold(background, 0.01, 1_000)
    assert whole.threshold(fpr=0.01).hits == pytest.approx(10.0)
    assert whole.threshold(fpr=1e-6).value is None
    with pytest.raises(OptionError, match="between 0 and 1"):
        whole.threshold(fpr=0)


def test_no_background():
    with pytest.raises(OptionError, match="needs a background"):
        Calibration({}, [])


def test_saving_and_loading_changes_nothing(whole, tmp_path):
    folder = tmp_path / "made"
    whole.save(folder)
    assert [path.name for path in folder.iterdir()] == ["calibration.json"]
    loaded = Calibration.load(folder)
    assert as_json(loaded) == as_json(whole) and loaded.matches_encoder
    for score in (0.1, 0.55, 0.9):
        assert loaded.percentile(score) == whole.percentile(score)
        assert loaded.probability(score) == whole.probability(score)
    assert loaded.threshold(fpr=0.01) == whole.threshold(fpr=0.01)
    assert loaded.thresholds == whole.thresholds and loaded.translation == whole.translation
    assert loaded.backgrounds[1].documents == 7 and loaded.labeled.operating == whole.labeled.operating
    np.testing.assert_array_equal(loaded.labeled.roc.y, [0.0, np.nan])
    assert loaded.labeled.roc.highs is None and loaded.labeled.mappings[0].knots.shape == (3, 2)


def test_there_is_no_nan_in_the_file(whole, tmp_path):
    odd = replace(whole, versions={"x": "1"}, source={"name": "x", "value": math.nan, "more": [np.float32(np.inf), 1]})
    odd.save(tmp_path / "made")
    text = (tmp_path / "made" / "calibration.json").read_text()
    assert "NaN" not in text and "Infinity" not in text
    assert Calibration.load(tmp_path / "made").source == {"name": "x", "value": None, "more": [None, 1]}


def test_only_plain_values(whole, tmp_path):
    with pytest.raises(OptionError, match="not a complex"):
        replace(whole, source={"name": 1j}).save(tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_an_older_calibration_is_replaced(whole, tmp_path):
    folder = tmp_path / "made"
    whole.save(folder)
    (folder / ".calibration.json.x1.part").write_text("left over by a run that was killed")
    replace(whole, seed=9).save(folder)
    assert Calibration.load(folder).seed == 9


def test_an_interrupted_save_changes_nothing(whole, tmp_path, monkeypatch):
    folder = tmp_path / "made"
    whole.save(folder)
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OutputError, match="No space left"):
        replace(whole, seed=9).save(folder)
    assert Calibration.load(folder).seed == 3 and len(list(folder.iterdir())) == 1
    with pytest.raises(OutputError, match="No space left"):
        whole.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_other_folders_are_left_alone(whole, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(OutputError, match=r"holds thesis\.txt, which is not a calibration"):
        whole.save(tmp_path / "mine")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        whole.save(tmp_path / "file")
    with pytest.raises(OutputError, match="There is no folder"):
        whole.save(tmp_path / "nowhere" / "made")


def test_nothing_to_load(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(MissingSourceError, match=r"is not a calibration: it has no calibration\.json"):
            Calibration.load(place)


def changed(whole, change):
    said = {"schema": 1, "uncone": "0", **whole.to_dict()}
    change(said)
    return json.dumps(said)


def delete(*keys):
    def change(said):
        for key in keys[:-1]:
            said = said[key]
        del said[keys[-1]]

    return change


def put(value, *keys):
    def change(said):
        for key in keys[:-1]:
            said = said[key]
        said[keys[-1]] = value

    return change


DAMAGE = {
    "schema missing": (delete("schema"), "schema cannot be read"),
    "schema a text": (put("1", "schema"), "schema cannot be read"),
    "a truth for a schema": (put(True, "schema"), "schema cannot be read"),
    "newer": (put(2, "schema"), "was written by a newer uncone"),
    "source missing": (delete("source"), "missing required field `source`"),
    "no backgrounds": (put([], "backgrounds"), "needs a background"),
    "backgrounds an object": (put({}, "backgrounds"), r"Expected `array`, got `object` - at `\$\.backgrounds`"),
    "tails missing": (delete("backgrounds", 0, "tails"), r"missing required field `tails` - at `\$\.backgrounds\[0\]`"),
    "tails of texts": (
        put(["a"], "backgrounds", 0, "tails"),
        r"a list of numbers - at `\$\.backgrounds\[0\]\.tails`",
    ),
    "tails ragged": (put([[1.0], [1.0, 2.0]], "backgrounds", 0, "tails"), "Expected a list of numbers"),
    "tails too short": (put([1.0], "backgrounds", 0, "tails"), "are not in order"),
    "tails with a hole": (put(None, "backgrounds", 0, "tails", 5), "are not in order"),
    "scores that fall": (put(0.99, "backgrounds", 0, "scores", 0), "are not in order"),
    "no mean": (put(None, "backgrounds", 0, "mean"), "Expected `float`, got `null`"),
    "rows a number with a point": (
        put(1.5, "backgrounds", 0, "rows"),
        r"Expected `int`.*backgrounds\[0\]\.rows",
    ),
    "mean a truth": (put(True, "backgrounds", 0, "mean"), "Expected `float`, got `bool`"),
    "name a number": (put(3, "backgrounds", 0, "name"), "Expected `str`, got `int`"),
    "a threshold that is none": (put(["x"], "thresholds"), r"Expected `object`, got `str` - at `\$\.thresholds\[0\]`"),
    "hints a text": (put("hint", "hints"), r"Expected `array`, got `str` - at `\$\.hints`"),
    "seed a text": (put("3", "seed"), r"Expected `int`, got `str` - at `\$\.seed`"),
    "labeled a list": (put([], "labeled"), r"Expected `object \| null`, got `array` - at `\$\.labeled`"),
    "a mapping without its kind": (
        delete("labeled", "mappings", 0, "kind"),
        r"field `kind` - at `\$\.labeled\.mappings\[0\]`",
    ),
}


@pytest.mark.parametrize(("change", "said"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_told(whole, tmp_path, change, said):
    (tmp_path / "calibration.json").write_text(changed(whole, change))
    with pytest.raises(FormatError, match=said) as caught:
        Calibration.load(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '{"schema": NaN}', "\x00", "[" * 100_000])
def test_not_json(tmp_path, text):
    (tmp_path / "calibration.json").write_text(text)
    with pytest.raises(FormatError, match="is damaged"):
        Calibration.load(tmp_path)
    (tmp_path / "calibration.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(FormatError, match="it is not JSON"):
        Calibration.load(tmp_path)


def test_unknown_keys_are_passed_over(whole, tmp_path):
    (tmp_path / "calibration.json").write_text(changed(whole, put(1, "later")))
    assert Calibration.load(tmp_path).seed == 3


@pytest.mark.parametrize("encoder", ["models/mini", "models/mini/", EncoderIdentity("elsewhere/copy", "abc"), None])
def test_the_encoder_it_was_made_for(whole, tmp_path, encoder):
    whole.save(tmp_path / "made")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Calibration.load(tmp_path / "made", encoder=encoder).percentile(0.5) == whole.percentile(0.5)


@pytest.mark.parametrize("encoder", ["models/other", EncoderIdentity("models/mini", "def")])
def test_another_encoder_is_a_warning_and_identity(whole, tmp_path, encoder):
    whole.save(tmp_path / "made")
    with pytest.warns(OtherEncoderWarning, match="was made for models/mini, not for models/.*returned unchanged"):
        loaded = Calibration.load(tmp_path / "made", encoder=encoder)
    scores = np.array([0.1, 0.9])
    for ask in (loaded.percentile, loaded.rescale, loaded.probability):
        assert ask(scores).tolist() == [0.1, 0.9] and ask(0.25) == 0.25
    for ask in (loaded.rate, lambda fpr: loaded.threshold(fpr=fpr)):
        with pytest.raises(OptionError, match="was made for models/mini"):
            ask(0.01)


def test_vectors_of_an_unknown_encoder(whole, tmp_path):
    replace(whole, source={"name": "x", "encoder": None}).save(tmp_path / "made")
    assert Calibration.load(tmp_path / "made").matches_encoder
    with pytest.warns(OtherEncoderWarning, match="vectors of an unknown encoder"):
        assert not Calibration.load(tmp_path / "made", encoder="models/mini").matches_encoder


def test_to_dict_and_back(whole):
    assert as_json(Calibration.from_dict(json.loads(as_json(whole)))) == as_json(whole)


def rows_of(n, seed, d=12):
    return (np.random.default_rng(seed).normal(size=(n, d)) + 0.6).astype(np.float32)


def small_background(n, seed):
    return survey(ArrayVectors(rows_of(n, seed)), name="rows", rates=(0.01,), seed=seed).background


def share_of_all(score, n=3_000):
    u = rows_of(n, 10_000).astype(np.float64)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return float(((u @ u.T)[np.triu_indices(n, 1)] >= score).mean())


@pytest.mark.parametrize("score", [0.4, 0.7])
def test_the_bounds_of_a_rate_hold(score):
    truth = share_of_all(score)
    held = 0
    for seed in range(100):
        low, high = rate_bounds(small_background(200, seed), score)
        held += low <= truth <= high
    assert held >= 88, "95 in a hundred, give or take chance"


def test_beyond_all_pairs():
    one = small_background(200, 0)
    low, high = rate_bounds(one, 1.0)
    assert low == 0 and 0 < high < 0.01
    assert rate_bounds(one, -1.0)[1] == 1.0


def labeled(similar, cosines, times=1):
    """Each labeled pair so many times; its copies hang together."""
    n = len(similar)
    texts = [f"a{i % n}" for i in range(n * times)], [f"b{i % n}" for i in range(n * times)]
    return LabeledScores(
        np.tile(np.asarray(similar, np.float64), times), np.tile(cosines, times), pair_units(n * times, texts)
    )


def drawn_pairs(n, seed, near=0.75):
    """Half of the pairs are similar, and score higher."""
    rng = np.random.default_rng(seed)
    similar = np.arange(n) % 2
    return similar, np.where(similar, near, 0.2) + 0.2 * rng.normal(size=n)


def test_labeled_shares():
    calibration = Calibration({"name": "rows"}, [small_background(200, 0)], corpus_size=1_000)
    found, none = score_meanings(calibration, [0.5, 0.99], labeled([1, 1, 0, 0, 0], [0.9, 0.5, 0.6, 0.1, 0.4]))
    assert (found.found.value, found.let_through.value, found.precision.value) == (1.0, 1 / 3, 2 / 3)
    assert found.hits == pytest.approx(1_000 * found.rate) and found.probability is None
    assert found.labeled_ratio.value == pytest.approx(3.0) and found.ratio.value == pytest.approx(1 / found.rate)
    assert none.found.value == 0.0 and none.precision.value is None and none.to_dict()["score"] == 0.99
    assert score_meanings(calibration, [0.5])[0].ratio is None


def test_shares_are_those_of_wilson_where_pairs_share_no_text():
    similar, cosines = drawn_pairs(200, 0)
    one = score_meanings(Calibration({"name": "rows"}, [small_background(200, 0)]), [0.7], labeled(similar, cosines))[0]
    k, n = int((cosines[similar == 1] >= 0.7).sum()), 100
    expected = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert (one.found.low, one.found.high) == pytest.approx(tuple(expected), abs=0.01)


def test_copies_of_labeled_pairs_are_no_evidence():
    """20 pairs, 30 times each, are 20: no narrower interval and no verdict by the ratio."""
    calibration = Calibration({"name": "rows"}, [small_background(200, 0)])
    once, often = (score_meanings(calibration, [0.3], labeled(*drawn_pairs(20, 1), times))[0] for times in (1, 30))
    for name in ("found", "let_through", "precision", "ratio", "labeled_ratio"):
        one, other = getattr(once, name), getattr(often, name)
        assert other.value == pytest.approx(one.value), name
        width = one.high - one.low
        assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=0.15 * width), name
    assert often.ratio.n == 10 and not often.is_judged_by_ratio and often.evidence is once.evidence


def test_shares_of_repeated_pairs_cover():
    """60 distinct pairs x 10: the truth is that of the normal law they are drawn from."""
    calibration = Calibration({"name": "rows"}, [small_background(200, 0)])
    truth = {"found": stats.norm.sf(0.7, 0.75, 0.2), "let_through": stats.norm.sf(0.7, 0.2, 0.2)}
    held = dict.fromkeys(truth, 0)
    for seed in range(60):
        one = score_meanings(calibration, [0.7], labeled(*drawn_pairs(60, seed), 10)._replace(replicates=200))[0]
        for name, share in truth.items():
            held[name] += getattr(one, name).low <= share <= getattr(one, name).high
    assert min(held.values()) >= 54, held


def test_a_score_is_judged_by_the_likelihood_ratio():
    """6 % of unrelated pairs reach it, and nearly all similar ones: that is evidence."""
    one = small_background(2_000, 0)
    at = float(np.interp(-0.06, -one.tails, one.scores))
    calibration = Calibration({"name": "rows"}, [one])
    assert score_meanings(calibration, [at])[0].evidence is Evidence.NONE
    rng = np.random.default_rng(0)
    similar = np.repeat([1, 0], 150)
    cosines = np.where(similar, at + np.abs(rng.normal(size=300)) / 10, rng.uniform(-1, 1, 300))
    found = score_meanings(calibration, [at], labeled(similar, cosines))[0]
    assert found.is_judged_by_ratio and found.evidence is Evidence.STRONG
    assert found.ratio.value == pytest.approx(1 / 0.06, rel=1e-3) and found.ratio.low > 10 and found.ratio.high < 30
    same = score_meanings(calibration, [at], labeled(similar, rng.uniform(-1, 1, 300)))[0]
    assert same.ratio.value == pytest.approx(same.found.value / 0.06, rel=1e-3)
    none = score_meanings(calibration, [at], labeled(similar, np.where(rng.random(300) < 0.07, 0.99, -0.5)))[0]
    assert none.evidence is Evidence.NONE


def test_the_ratio_covers():
    """Over fresh labeled pairs and a fresh background."""
    truth = stats.norm.sf(0.5, 0.6, 0.2) / share_of_all(0.5)
    held = 0
    for seed in range(60):
        calibration = Calibration({"name": "rows"}, [small_background(200, seed)])
        pairs = labeled(*drawn_pairs(80, seed, near=0.6), 5)._replace(replicates=200)
        ratio = score_meanings(calibration, [0.5], pairs)[0].ratio
        held += ratio.low <= truth <= ratio.high
    assert held >= 54


@pytest.mark.parametrize(
    ("ratio", "grade"),
    [
        ((17, 12, 22), Evidence.STRONG),
        ((5, 3, 8), Evidence.WEAK),
        ((1.5, 1.2, 1.9), Evidence.NONE),
        ((5, 1.5, 20), Evidence.UNKNOWN),
        ((5, 2, None), Evidence.UNKNOWN),
    ],
)
def test_grades_of_ratios(ratio, grade):
    assert ratio_evidence(Score(*ratio, 100)) is grade
