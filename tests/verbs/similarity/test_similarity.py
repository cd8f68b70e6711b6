"""`similarity` through the door: its numbers by naive routes, what it reads, and how rows keep their numbers."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import uncone
from uncone.data.texts.texts import ListTexts
from uncone.errors import OptionError, OtherSpaceError, ShapeError, SourceError
from uncone.verbs.spaces.encoding import Encoding, encoded

WORDS = ["the", "text", "go", "school"]


def cosine(a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float(a @ b / np.sqrt(a @ a) / np.sqrt(b @ b))


def every_pair(rows):
    return {(i, j): cosine(rows[i], rows[j]) for i in range(len(rows)) for j in range(i + 1, len(rows))}


def vectors_through(model, texts, **options):
    result = encoded(ListTexts(list(texts)), Encoding(model, cache=False, **options), least=1)
    return np.concatenate([rows.vectors.copy() for rows in result.read()])


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 8)) + 0.5
    rows[20:, 0] += 2
    return rows


@pytest.fixture
def labels():
    return ["early"] * 20 + ["late"] * 20


@pytest.fixture
def texts():
    rng = np.random.default_rng(3)
    return [" ".join([*rng.choice(WORDS, 3), *rng.choice(list("abcdefghij"), 3)]) for _ in range(30)]


def test_pairs_and_labels_are_those_of_a_double_loop(rows, labels):
    result = uncone.similarity(rows, labels=labels, top=15)
    naive = every_pair(rows)
    best = sorted(naive, key=naive.get, reverse=True)[:15]
    assert list(zip(result.pairs.one.tolist(), result.pairs.other.tolist(), strict=True)) == best
    np.testing.assert_allclose(result.pairs.cosines, [naive[pair] for pair in best], atol=1e-6)
    assert result.pairs.found == sum(result.histogram["counts"]) == len(naive) == 780
    assert result.background.mean == pytest.approx(np.mean(list(naive.values())), abs=1e-6)
    every = np.sort(list(naive.values()))
    below = [100 * np.mean(every < value) for value in result.pairs.cosines]
    np.testing.assert_allclose(result.pairs.percentiles, below, atol=0.6)

    kinds = {("early", "early"): [], ("late", "late"): [], ("early", "late"): []}
    for (i, j), value in naive.items():
        kinds[labels[i], labels[j]].append(value)
    for line in result.per_label.table:
        values = kinds[line.one, line.other]
        assert line.cosine.pairs == len(values)
        assert line.cosine.mean == pytest.approx(np.mean(values), abs=1e-6)
        assert line.cosine.sd == pytest.approx(np.std(values), rel=2e-2)
        assert line.above.mean == pytest.approx(np.mean(values) - np.mean(list(naive.values())), abs=1e-5)
        assert line.cosine.low < line.cosine.mean < line.cosine.high


@pytest.mark.parametrize("limit", [150, pytest.param(None, marks=pytest.mark.exhaustive)])
def test_the_labels_of_sst2_are_those_of_a_double_loop(real_data, limit):
    model, more = real_data.parent / "models" / "bert-tiny", {"groups": 0, "maps": (), "limit": limit}
    result = uncone.similarity(real_data / "sst2" / "dev.tsv", text="1", label="2", model=model, **more)
    assert len(result.texts) == (limit or 872)
    vectors = vectors_through(model, [text.strip() for text in result.texts]).astype(np.float64)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    values = {("0", "0"): [], ("1", "1"): [], ("0", "1"): []}
    for i in range(len(units)):
        for j, value in enumerate((units[:i] @ units[i]).tolist()):
            values[min(result.labels[i], result.labels[j]), max(result.labels[i], result.labels[j])].append(value)
    background = np.mean([value for cosines in values.values() for value in cosines])
    assert result.background.mean == pytest.approx(background, abs=1e-5)
    for line in result.per_label.table:
        mine = values[line.one, line.other]
        assert line.cosine.pairs == len(mine) and line.cosine.mean == pytest.approx(np.mean(mine), abs=1e-5)
        assert line.cosine.sd == pytest.approx(np.std(mine), rel=1e-4)
        assert line.above.mean == pytest.approx(np.mean(mine) - background, abs=1e-5)


def test_groups_and_the_map_are_of_the_rows(rows, labels):
    from sklearn.metrics import adjusted_rand_score

    result = uncone.similarity(rows, labels=labels, group_method="kmeans,ward", maps="pca", map_dims="2,3")
    assert [group.k for group in result.groups] == [2, 2], "as many as labels"
    for groups in result.groups:
        assert groups.ari == pytest.approx(adjusted_rand_score(labels, groups.members))
        for group in groups.groups:
            assert groups.members[group.central] == group.number
            assert group.size == np.count_nonzero(groups.members == group.number)
    assert result.projections["pca-2"].shape == (40, 2) and result.projections["pca-3"].shape == (40, 3)
    assert result.projected.tolist() == list(range(40))
    assert uncone.similarity(rows, groups=5).groups[0].k == 5
    assert uncone.similarity(rows, groups=0, maps=()).groups == []


def test_the_heatmap_has_the_cosines_of_its_rows(rows, labels):
    result = uncone.similarity(rows, labels=labels)
    (_, picture), *others = result.pictures
    assert not others and picture.order == "label"
    assert [labels[row] for row in picture.rows] == labels
    at, to = 3, 31
    assert picture.cosines[at, to] == pytest.approx(cosine(rows[picture.rows[at]], rows[picture.rows[to]]), abs=1e-6)
    assert uncone.similarity(rows, labels=labels, order="clustering").pictures[0][1].linkage is not None
    assert uncone.similarity(rows).pictures[0][1].order == "clustering"


def test_rows_keep_the_numbers_of_the_table(texts, tiny_model):
    table = [*texts[:10], "", *texts[10:20], "   ", *texts[20:]]
    result = uncone.similarity(table, model=tiny_model, top=5)
    vectors = dict(zip(texts, vectors_through(tiny_model, texts), strict=True))
    for row, other, value in zip(result.pairs.one, result.pairs.other, result.pairs.cosines, strict=True):
        assert value == pytest.approx(cosine(vectors[table[row]], vectors[table[other]]), abs=1e-5)
    assert result.pairs.found == 30 * 29 // 2
    assert result.groups[0].members[[10, 21]].tolist() == [-1, -1]
    assert not set(result.pictures[0][1].rows.tolist()) & {10, 21}
    assert any("2 rows left out: empty text" in note for note in result.notes)
    assert result.source["rows"] == 32 and result.source["compared"] == 30


def test_the_same_table_from_everywhere(texts, tiny_model, tmp_path):
    import pandas
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = [i % 3 for i in range(30)]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["id", "words", "kind"], *((i, f'{text},\n"{i}"', labels[i]) for i, text in enumerate(texts))]
        )
    quoted = [f'{text},\n"{i}"' for i, text in enumerate(texts)]
    objects = [{"words": text, "kind": kind} for text, kind in zip(quoted, labels, strict=True)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, objects)))
    pq.write_table(pa.table({"words": quoted, "kind": labels}), tmp_path / "t.parquet")
    columns = {"words": quoted, "kind": labels}
    sources = ["t.csv", "t.jsonl", "t.parquet", columns, pandas.DataFrame(columns)]
    results = [uncone.similarity(source, text="words", label="kind", model=tiny_model) for source in sources]
    results.append(uncone.similarity(quoted, labels=labels, model=tiny_model))
    for outcome in results:
        assert outcome.texts[7] == quoted[7] and list(outcome.labels) == [str(label) for label in labels]
        np.testing.assert_array_equal(outcome.pairs.other, results[0].pairs.other)
        np.testing.assert_allclose(outcome.pairs.cosines, results[0].pairs.cosines, atol=1e-5)
    assert list(results[0].per_label.counts) == ["0", "1", "2"]


def test_tables_as_frames(rows, labels):
    result = uncone.similarity(rows, texts=[f"text {i}" for i in range(40)], labels=labels, min="p95")
    pairs = result.pairs_frame()
    assert len(pairs) == result.pairs.found and (pairs["percentile"] >= 94.5).all()
    assert pairs["text"].iloc[0] == f"text {pairs['one'].iloc[0]}"
    assert result.labels_frame()["pairs"].sum() == 780
    assert result.groups_frame()["size"].sum() == 40


def test_bounds_and_near_duplicates(rows):
    naive = every_pair(rows)
    result = uncone.similarity(rows, min=0.6, max=0.8, duplicates=0.9)
    inside = [value for value in naive.values() if 0.6 <= value <= 0.8]
    assert result.pairs.found == len(inside) and result.pairs.cosines.max() <= 0.8
    assert result.duplicates.found == sum(value >= 0.9 for value in naive.values())
    assert uncone.similarity(rows, min="p90").pairs.found == pytest.approx(78, abs=3)


def test_near_a_text(texts, tiny_model):
    result = uncone.similarity(texts, model=tiny_model, near=f" {texts[4]} ", top=3)
    vectors = vectors_through(tiny_model, texts)
    naive = [cosine(vectors[4], row) for row in vectors]
    assert result.near.other.tolist()[0] == 4 and result.near.one.tolist() == [-1] * 3
    np.testing.assert_allclose(result.near.cosines, sorted(naive, reverse=True)[:3], atol=1e-5)


def test_near_a_text_of_ready_vectors(rows):
    texts = [f"text {i}" for i in range(40)]
    result = uncone.similarity(rows, texts=texts, near="text 9", top=2)
    assert result.near.other[0] == 9 and result.near.cosines[0] == pytest.approx(1, abs=1e-6)
    with pytest.raises(OptionError, match="is not a text of the table"):
        uncone.similarity(rows, texts=texts, near="something else")


def test_poolings_side_by_side(texts, tiny_model):
    result = uncone.similarity(texts, model=tiny_model, layer=1, pooling="cls,mean")
    assert [name for name, _ in result.pictures] == ["cls", "mean"]
    for name, picture in result.pictures:
        vectors = vectors_through(tiny_model, texts, layer=1, pooling=name)
        i, j = picture.rows[[2, 17]]
        assert picture.cosines[2, 17] == pytest.approx(cosine(vectors[i], vectors[j]), abs=1e-5)
    assert result.source["pooling"] == "cls" and result.source["layer"] == "1"


def test_a_repair_is_applied(texts, tiny_model):
    fixed = uncone.fix(texts, "center", model=tiny_model, layer=1, pooling="mean", save="repair")
    result = uncone.similarity(texts, model=tiny_model, repair="repair", near=texts[0], top=4)
    vectors = vectors_through(tiny_model, texts, layer=1, pooling="mean").astype(np.float64)
    vectors -= vectors.mean(axis=0)
    naive = every_pair(vectors)
    np.testing.assert_allclose(result.pairs.cosines, sorted(naive.values(), reverse=True)[:4], atol=1e-4)
    assert result.near.cosines[0] == pytest.approx(1, abs=1e-5)
    assert result.source["repair"] == "repair" and fixed.saved == "repair"
    with pytest.raises(OtherSpaceError, match="layer 1"):
        uncone.similarity(texts, model=tiny_model, repair="repair", layer=2)


def test_two_text_columns(texts, tiny_model):
    left, right = [*texts[:10]] * 2, [*texts[10:30]]
    kinds = ["yes", "no"] * 10
    table = {"left": left, "right": right, "kind": kinds}
    result = uncone.similarity(table, text="left", against="right", label="kind", model=tiny_model, top=20)
    vectors = dict(zip(texts, vectors_through(tiny_model, texts), strict=True))
    naive = [cosine(vectors[a], vectors[b]) for a, b in zip(left, right, strict=True)]
    np.testing.assert_allclose(result.two_columns.cosines, naive, atol=1e-5)
    order = np.argsort(-np.array(naive), kind="stable")
    assert result.pairs.one.tolist() == result.pairs.other.tolist() == order.tolist()
    for line in result.two_columns.table:
        mine = [value for value, kind in zip(naive, kinds, strict=True) if kind == line.one]
        assert line.cosine.mean == pytest.approx(np.mean(mine), abs=1e-5)
    assert result.per_label is None and result.pictures == [] and result.groups == []
    pair = result.listed(result.pairs, 1)[0]
    assert (pair.text, pair.other_text) == (left[order[0]], right[order[0]])


def test_unrelated_pairs_of_two_columns_never_stand_side_by_side(tiny_model, texts):
    """Ten texts, each beside itself and a copy: every related pair scores 1, and none may be in the background."""
    left, right = [*texts[:10]] * 2, [*texts[:10]] * 2
    result = uncone.similarity({"a": left, "b": right}, text="a", against="b", model=tiny_model)
    assert result.background.all_pairs == 20 * 18 and result.background.scores.max() < 1 - 1e-4
    np.testing.assert_allclose(result.two_columns.cosines, 1, atol=1e-5)


def test_the_background_of_two_columns_is_that_of_all_unrelated_pairs_whatever_the_seed(tiny_model, texts):
    """First texts that stand three times, and second ones that stand beside several: by a double loop over rows."""
    left, right = [text for text in texts[:12] for _ in range(3)], [texts[12 + 5 * i % 17] for i in range(36)]
    vectors = dict(zip(texts, vectors_through(tiny_model, texts), strict=True))
    beside = set(zip(left, right, strict=True))
    apart = [cosine(vectors[a], vectors[b]) for a in left for b in right if (a, b) not in beside and a != b]
    for seed in (0, 1):
        result = uncone.similarity({"a": left, "b": right}, text="a", against="b", model=tiny_model, seed=seed)
        assert result.background.all_pairs == result.background.pairs == len(apart)
        assert result.background.mean == pytest.approx(np.mean(apart), abs=1e-5)
        assert result.background.sd == pytest.approx(np.std(apart), abs=1e-5)
        assert result.background.scores[-1] == pytest.approx(max(apart), abs=1e-5)


def test_cleaning_is_counted(tiny_model):
    table = ["the text", "the  text", "<b>go</b> to school", "", "go to school", "a b c", "d &amp; e"]
    result = uncone.similarity(table, model=tiny_model, clean=True)
    assert result.cleaned["duplicate"] == 2 and result.cleaned["empty"] == 1 and result.cleaned["html"] == 2
    assert result.pairs.found == 6 and result.texts[2] == "go to school" and result.texts[6] == "d & e"
    assert set(result.pairs.one.tolist()) | set(result.pairs.other.tolist()) == {0, 2, 5, 6}


def test_a_sample_of_very_many_rows_is_said(tmp_path):
    rows = np.random.default_rng(0).normal(size=(3000, 4)).astype(np.float32)
    rows[7] = np.nan
    np.save(tmp_path / "v.npy", rows)
    result = uncone.similarity("v.npy", sample=200, groups=3)
    assert result.pairs.found == 199 * 200 // 2 and result.source["compared"] == 200
    assert np.count_nonzero(result.groups[0].members >= 0) == 200 and result.groups[0].members[7] == -1
    assert any("200 of the rows, drawn with seed 0" in note for note in result.notes)
    for row, other, value in zip(result.pairs.one, result.pairs.other, result.pairs.cosines, strict=True):
        assert value == pytest.approx(cosine(rows[row], rows[other]), abs=1e-5)
    assert uncone.similarity("v.npy", limit=50).pairs.found == 49 * 48 // 2


def test_the_matrix_is_written(rows):
    result = uncone.similarity(rows, matrix="m.npy")
    naive = np.array([[cosine(a, b) for a in rows] for b in rows])
    np.testing.assert_allclose(np.load("m.npy"), naive, atol=1e-6)
    assert result.written == {"matrix": "m.npy"}


def test_a_saved_calibration_tells_percentiles(tmp_path):
    rng = np.random.default_rng(0)
    many = rng.normal(size=(2000, 8)) + 0.5
    uncone.calibrate(many, save="calibration")
    result = uncone.similarity(many[:30], calibration="calibration")
    every = many / np.linalg.norm(many, axis=1, keepdims=True)
    all_cosines = (every @ every.T)[np.triu_indices(2000, 1)]
    share = 100 * np.mean(all_cosines < result.pairs.cosines[20])
    assert result.background.rows == 2000 and result.pairs.percentiles[20] == pytest.approx(share, abs=0.7)
    with pytest.raises(OtherSpaceError, match="dimension 8"):
        uncone.similarity(rng.normal(size=(20, 5)), calibration="calibration")


def test_a_calibration_of_another_space_is_refused(texts, tiny_model):
    uncone.calibrate(texts, model=tiny_model, layer=1, save="calibration")
    result = uncone.similarity(texts, model=tiny_model, layer=1, calibration="calibration", pooling="mean")
    assert result.background.rows == 30 and any("saved calibration" in note for note in result.notes)
    with pytest.raises(OtherSpaceError, match="layer 1, but these vectors with layer 2"):
        uncone.similarity(texts, model=tiny_model, layer=2, calibration="calibration")
    uncone.fix(texts, "center", model=tiny_model, layer=1, save="repair")
    with pytest.raises(OtherSpaceError, match="with no repair, but these vectors with the repair repair"):
        uncone.similarity(texts, model=tiny_model, repair="repair", calibration="calibration")


def test_the_demo_model_is_taken_when_none_is_named(minilm, texts):
    result = uncone.similarity(
        ["A cat sleeps.", "A kitten naps.", "The stock market fell.", "Shares lost value."], groups=2
    )
    assert result.source["dim"] == 384 and any("all-MiniLM-L6-v2" in note for note in result.notes)
    pairs = result.pairs
    best = {frozenset(pair) for pair in zip(pairs.one[:2].tolist(), pairs.other[:2].tolist(), strict=True)}
    assert best == {frozenset({0, 1}), frozenset({2, 3})}


def test_no_model_at_all(texts, monkeypatch):
    monkeypatch.setattr("uncone.data.demo.find_spec", lambda name: None)
    with pytest.raises(OptionError, match="--model"):
        uncone.similarity(texts)


def test_vectors_in_a_column(texts, rows, tmp_path):
    table = {"text": texts, "kind": ["a", "b"] * 15, "v": rows[:30].tolist(), "likes": list(range(30))}
    result = uncone.similarity(table, text="text", label="kind", column="v")
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps({k: table[k][i] for k in table}) for i in range(30)))
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([table, *zip(*table.values(), strict=True)])
    for source in ("t.jsonl", "t.csv"):
        same = uncone.similarity(source, text="text", label="kind")  # a list of numbers is found
        np.testing.assert_allclose(same.pairs.cosines, result.pairs.cosines, atol=1e-6)
    naive = every_pair(rows[:30])
    assert result.pairs.cosines[0] == pytest.approx(max(naive.values()), abs=1e-6)
    assert result.texts[3] == texts[3] and result.labels[3] == "b"


def test_columns_of_numbers_beside_a_text_are_no_vectors(texts, tmp_path, monkeypatch):
    monkeypatch.setattr("uncone.data.demo.find_spec", lambda name: None)
    (tmp_path / "t.csv").write_text(
        "text,likes,shares\n" + "".join(f"{text},{i}.5,{i}.25\n" for i, text in enumerate(texts))
    )
    with pytest.raises(OptionError, match="no model was named"):
        uncone.similarity("t.csv", text="text")


@pytest.mark.parametrize("what", ["nan", "few", "equal"])
def test_vectors_that_cannot_be_compared(what):
    rows = {"nan": np.full((5, 3), np.nan), "few": np.eye(3)[:1], "equal": np.ones((5, 3))}[what]
    with pytest.raises((SourceError, ShapeError)):
        uncone.similarity(rows)


def test_imperfect_data_is_no_error(rows):
    one_label = uncone.similarity(rows, labels=["a"] * 40)
    assert one_label.per_label.auc is None and one_label.to_json()
    alone = uncone.similarity(rows, labels=["a"] * 39 + ["b"])
    line = next(line for line in alone.per_label.table if line.one == line.other == "b")
    assert line.cosine.pairs == 0 and line.cosine.mean is None and alone.to_json()
    some = uncone.similarity(rows, labels=[None, "", *["a", "b"] * 19])
    assert sum(some.per_label.counts.values()) == 38
    ten = uncone.similarity(rows[:10], labels=["a", "b"] * 5)
    assert ten.pairs.found == 45 and ten.to_json() and ten.to_html()
    two = uncone.similarity(rows[:2])
    assert two.pairs.found == 1 and two.to_json()


def test_copies_are_told(texts, tiny_model):
    result = uncone.similarity([*texts, texts[3], f" {texts[3]} "], model=tiny_model)
    assert any(note.startswith("32 rows hold 30 different texts.") for note in result.notes)
    assert result.source["distinct"] == 30 and result.source["distinct_pairs"] == 30 * 29 // 2
    assert result.pairs.cosines[:3] == pytest.approx([1, 1, 1])
    assert result.background.scores.max() < result.pairs.cosines[0], "copies are not unrelated"


def test_a_column_of_pandas(texts, tiny_model, rows):
    import pandas

    result = uncone.similarity(pandas.Series(texts), labels=pandas.Series([1.0, None] * 15), model=tiny_model)
    assert result.texts[5] == texts[5] and list(result.labels[:2]) == ["1", ""]
    assert uncone.similarity(pandas.Series(list(rows))).source["dim"] == 8
    with pytest.raises(OptionError, match="Leave it out"):
        uncone.similarity(texts, texts=texts, model=tiny_model)


def test_it_can_be_called_twice(rows):
    assert uncone.similarity(rows).pairs.found == uncone.similarity(rows).pairs.found


def test_no_pair_is_above_itself():
    """The most similar pair is one of the unrelated pairs: all others lie below it, not all of them."""
    rows = np.random.default_rng(0).normal(size=(80, 6)).astype(np.float32)
    result = uncone.similarity(rows)
    assert result.pairs.percentiles[0] == pytest.approx(100 * (1 - 1 / (80 * 79 / 2)))
    assert "higher than 99.968 % of unrelated pairs" in " ".join(result.lines())
    assert "all unrelated pairs" not in result.to_markdown() and "p100" not in result.to_markdown()
    copied = uncone.similarity(np.concatenate([rows, rows[:1]]))
    assert copied.pairs.percentiles[0] == 100, "copies are no unrelated pair"
    assert "scores 1.000, and none of the 3,239 unrelated pairs scores higher" in " ".join(copied.lines())


def test_what_is_above_the_background_has_the_error_of_both():
    """Of a saved calibration, which is of other rows, the errors add up; of the same rows they go together."""
    rng = np.random.default_rng(0)
    rows, codes = rng.normal(size=(200, 6)).astype(np.float32) + 0.5, np.arange(200) % 2
    other = uncone.calibrate(rng.normal(size=(300, 6)).astype(np.float32) + 0.5).calibration
    (row, *_), (own, *_) = (
        uncone.similarity(rows, labels=codes.tolist(), calibration=of).per_label.table for of in (other, None)
    )
    background = other.backgrounds[0]
    halves = [(interval.high - interval.low) / 2 for interval in (row.cosine, row.above)]
    assert halves[1] == pytest.approx(np.hypot(halves[0], (background.mean_high - background.mean_low) / 2), rel=0.02)
    assert (own.above.high - own.above.low) / 2 < halves[0], "most of the error is that of all rows"
