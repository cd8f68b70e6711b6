"""Words: the verdict, the levels, the health of the data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from uncone import Level, check, fix


def level(rows, **options):
    return check(rows, **options).verdict.level


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("d", [2, 3, 8, 64, 768])
def test_a_ball_is_healthy(d):
    found = check(normal(1_000, d))
    assert found.verdict.level is Level.HEALTHY
    assert "Leave it as it is" in found.verdict.text
    assert "e-0" not in found.verdict.text, "no exponents in a sentence"


def test_a_cone_is_crowded_and_a_point_collapsed():
    assert level(normal(1_000, 64) + 1.0) is Level.CROWDED
    assert level(normal(1_000, 64) + 10.0) is Level.COLLAPSED
    assert level(np.tile(normal(1, 8), (100, 1))) is Level.COLLAPSED


def test_a_line_through_zero_is_collapsed_although_its_mean_cosine_is_zero():
    rows = np.outer(normal(1_000, 1)[:, 0], normal(1, 32)[0]) + 0.01 * normal(1_000, 32)
    found = check(rows)
    assert abs(found["baseline"].value) < 0.1
    assert found.verdict.level is Level.COLLAPSED
    assert "one direction carries" in found.verdict.headline


def test_the_sentence_of_a_score():
    crowded = check(normal(2_000, 64) + 1.5, scores=[0.6, 0.75, 0.99])
    low, middle, high = crowded.scores
    assert low.evidence == "none" and "0.6 is not evidence of similarity" in low.meaning
    assert low.beaten_by > middle.beaten_by > high.beaten_by == 0.0
    assert high.evidence == "strong" and "None of 1,999,000 unrelated pairs" in high.meaning and high.high > 0
    assert all(score.meaning in crowded.verdict.text for score in crowded.scores)


def test_rogue_dimensions_are_found_and_named():
    rows = normal(2_000, 64)
    rows[:, [7, 40]] += 12.0
    found = check(rows)
    assert set(found["rogue_dimensions"].value) == {7, 40}
    assert found["rogue_share_3"].value > 0.9
    assert "2 dimensions (" in found.verdict.why


def test_flaws_are_findings():
    rows = normal(200, 10).astype(np.float32)
    rows[3] = np.nan
    rows[5, 2] = np.inf
    rows[9] = 0.0
    rows[20:30] = rows[40:50]
    rows[:, 4] = 0.5
    found = check(rows)
    assert found["bad_rows"].value == 2
    assert "row 3, 5" in found["bad_rows"].meaning
    # The constant column makes the zero row one that is not zero.
    assert found["zero_vectors"].value == 0
    assert found["duplicate_share"].value == pytest.approx(10 / 198)
    assert found["constant_dimensions"].value == [4]
    assert found["baseline"].n == 198


def test_zero_vectors_are_left_out():
    rows = normal(50, 4)
    rows[[1, 2]] = 0.0
    found = check(rows)
    assert found["zero_vectors"].value == 2
    assert found["baseline"].value == pytest.approx(check(rows[rows.any(axis=1)])["baseline"].value)


def test_outlier_rows_by_name():
    rows = normal(300, 8)
    rows[123] *= 100
    found = check(rows, texts=[f"w{i}" for i in range(300)])["norm_outliers"]
    assert found.value == 1 and found.rows[0]["text"] == "w123"


def test_a_matrix_on_its_side():
    found = check(normal(384, 1_000))
    assert found["looks_transposed"].value == 1
    assert "transpose" in found.verdict.todo
    assert check(normal(384, 768))["looks_transposed"].value == 0
    assert check(normal(1_000, 384))["looks_transposed"].value == 0


SMALL = {
    "two rows": normal(2, 5),
    "three rows": normal(3, 5),
    "ten rows": normal(10, 768),
    "one dimension": normal(50, 1),
    "one dimension, one sign": np.abs(normal(50, 1)) + 1,
    "two equal rows": np.ones((2, 3)),
    "a constant": np.ones((40, 3)),
    "huge": normal(50, 4) * 1e15,
    "beyond float32": normal(50, 4) * np.where(np.arange(50) % 2, 1e300, 1.0)[:, None],
    "tiny": normal(50, 4) * 1e-15,
    "n < d": normal(20, 30),
    "orthogonal": np.eye(30),
    "opposite": np.array([[1.0, 0.0], [-1.0, 0.0]] * 10),
}


@pytest.mark.parametrize("rows", SMALL.values(), ids=SMALL)
@pytest.mark.parametrize("float64", [False, True])
def test_odd_spaces_get_finite_findings_and_sentences(rows, float64):
    found = check(rows, scores=[0.5], float64=float64)
    assert json.loads(found.to_json())["findings"].keys() == found.findings.keys()
    assert "nan" not in found.verdict.text.lower() and "inf" not in found.verdict.text.lower()
    assert found.to_html() and found.to_markdown()
    for name, finding in found.findings.items():
        assert finding.meaning, name
        if isinstance(finding.low, float):
            # The value lies in its interval; those of corrected estimates may leave a biased value just outside.
            assert finding.low <= finding.high, name


def test_few_rows_say_so():
    assert "only 10 distinct vectors" in check(normal(10, 16)).verdict.text
    assert "too few to say" in check(normal(2, 16)).verdict.text
    assert check(normal(2, 16))["baseline"].low is None


@pytest.mark.parametrize("copies", [1, 200])
@pytest.mark.parametrize("distinct", [2, 5, 10, 29])
def test_few_distinct_vectors_have_no_verdict(distinct, copies):
    rows = np.tile(normal(distinct, 8, seed=3), (copies, 1))
    found = check(rows, scores=[0.999])
    assert found.verdict.level is Level.NOTE and f"{distinct} distinct" in found.verdict.headline
    assert "Leave it" not in found.verdict.text and "Measure more vectors" in found.verdict.todo
    assert found.scores[0].evidence == "unknown" and "too few to say what 0.999 means" in found.scores[0].meaning


def test_thirty_vectors_have_a_verdict():
    assert level(normal(30, 8)) is Level.HEALTHY


def test_a_tie_counts_as_reached():
    found = check(np.repeat(np.eye(40), 3, axis=0), scores=[1.0])
    assert found.scores[0].beaten_by == pytest.approx(2 / 119)


def test_one_long_row_does_not_make_a_ball():
    rows = normal(60, 6)
    rows[0] *= 100
    found = check(rows)["isoscore_corrected"]
    assert found.low < 0.1, "the interval says that nothing is known"


def test_fewer_rows_than_dimensions_go_by_the_small_matrix():
    """40 rows in 3,000 dimensions in a moment, and the same as by the large matrix."""
    rows = normal(40, 3_000, seed=2) + 0.5
    found = check(rows, float64=True)
    centered = rows - rows.mean(axis=0)
    values = np.linalg.svd(centered, compute_uv=False) ** 2 / 39
    assert found["participation_ratio"].value == pytest.approx(values.sum() ** 2 / (values**2).sum(), rel=1e-9)
    directions = np.linalg.svd(rows, full_matrices=False)[2]
    z = [np.logaddexp.reduce(sign * rows @ c) for c in directions for sign in (1, -1)] + [np.log(40)]
    expected = (min(z) - max(z)) / np.log(10)
    assert found["partition_isotropy_log10"].value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("float64", [False, True])
def test_constant_means_constant(float64):
    rows = normal(20_000, 3)
    rows[:, 0] = 100.0
    rows[:, 1] = 0.1
    assert check(rows, float64=float64)["constant_dimensions"].value == [0, 1]
    rows[15_000, 0] = 100.01
    assert check(rows, float64=float64)["constant_dimensions"].value == [1]


def test_identical_rows_score_one():
    found = check(np.ones((40, 3)))
    assert found["baseline"].value == pytest.approx(1.0)
    assert found["duplicate_share"].value == pytest.approx(39 / 40)
    assert found["constant_dimensions"].value == [0, 1, 2]


def test_no_advice_promises_a_gain():
    for rows in (normal(1_000, 64) + 1.0, normal(1_000, 64) + 10.0):
        found = check(rows)
        told = " ".join([found.verdict.text, *(one.advice for one in found.findings.values())]).lower()
        assert "subtract" not in told and "center" not in told and "often helps" not in told
        assert "--method auto --pairs" in found.verdict.todo


def test_a_repaired_space_is_more_isotropic_not_healthy():
    fixed = fix(normal(1_000, 16) + 1.0, "center")
    assert fixed.before.verdict.level is Level.CROWDED and fixed.after.verdict.level is Level.NOTE
    said = " ".join([fixed.headline, fixed.after.verdict.text])
    assert "More isotropic" in said and "healthy" not in said.lower() and "better" not in said.lower()


def test_rounding_is_not_an_infinite_condition_number():
    """The truth is a million; single precision sees no further than 1e5."""
    rows = normal(5_000, 16) * np.append(np.ones(15), 1e-3)
    single, double = check(rows)["condition_number"], check(rows, float64=True)["condition_number"]
    values = np.linalg.eigvalsh(np.cov(rows.T))
    assert double.value == pytest.approx(values[-1] / values[0], rel=1e-6)
    assert single.value is None or single.value == pytest.approx(double.value, rel=0.5)
    rows[:, -1] *= 1e-2
    single = check(rows)["condition_number"]
    assert single.value is None and single.low < values[-1] / values[0] * 1e4
    assert "Infinite" not in single.meaning and "--float64" in single.meaning
    rows[:, -1] = 3.0
    assert "Infinite: 1 dimension is constant" in check(rows)["condition_number"].meaning


def test_small_numbers_are_zero_without_a_sign():
    from uncone.report.text import number

    centered = normal(500, 8)
    centered -= centered.mean(axis=0)
    found = check(centered, float64=True)
    assert number(found["mean_over_rms"]) == "0.000"
    assert not any(number(one).startswith("-0.000") for one in found.findings.values())
