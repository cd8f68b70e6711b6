"""`uncone.map`: which rows it shows, what it knows of them, layers, repairs, static pictures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

import uncone
from uncone.encoders.open import open_encoder
from uncone.encoders.rows.segmentation import find_words
from uncone.errors import MissingPackageError, NoUsableRowsError, OptionError, OtherSpaceError, ShapeError
from uncone.repairs import Center, Whiten
from uncone.stats.hashing import hash_keys
from uncone.verbs.map import map as mapping

WORDS = ["the", "text", "go", "school", "abc", "12", "."]


@pytest.fixture
def texts():
    rng = np.random.default_rng(0)
    return [f"{' '.join(rng.choice(WORDS, 5))} {'abcdefgh'[i % 8]} {i}" for i in range(40)]


def drawn(n, k, seed=0):
    """The rows of a sample: those with the smallest hashes."""
    return np.sort(np.argsort(hash_keys(np.arange(n), seed), kind="stable")[:k])


def test_a_sample_of_vectors_by_the_hash_of_their_rows(cone):
    rows = cone(500, 8)
    texts, labels = [f"row {i}" for i in range(500)], [str(i % 3) for i in range(500)]
    result = uncone.map(rows, points=200, texts=texts, labels=labels)
    assert np.array_equal(result.places, drawn(500, 200)) and result.total == 500
    expected = PCA(2).fit_transform(rows[result.places])
    points = result.panels[0].points
    np.testing.assert_allclose(np.abs(points), np.abs(expected), atol=1e-3)
    assert [result.text(i) for i in range(3)] == [f"row {row}" for row in result.places[:3]]
    first = result.colorings[0]
    assert first.name == "label" and [first.names[i] for i in first.members[:9]] == [
        labels[r] for r in result.places[:9]
    ]
    assert [coloring.name for coloring in result.colorings] == ["label", "cluster", "norm"]
    norms = result.colorings[-1].values
    np.testing.assert_allclose(norms, np.linalg.norm(rows[result.places], axis=1), rtol=1e-5)
    assert not result.static and result.density is None and result.source["dimensions"] == 8
    other = uncone.map(rows, points=200, seed=1)
    assert not np.array_equal(other.places, result.places) and other.colorings[0].name == "cluster"


def test_clusters_of_many_rows_are_looked_for_only_when_asked(cone, monkeypatch):
    monkeypatch.setattr("uncone.verbs.map.colors._UNASKED", 50)
    rows, labels = cone(60, 5), ["a", "b"] * 30
    assert [coloring.name for coloring in uncone.map(rows, labels=labels).colorings] == ["label", "norm"]
    colorings = uncone.map(rows, labels=labels, k=4).colorings
    assert [coloring.name for coloring in colorings] == ["label", "cluster", "norm"] and len(colorings[1].names) == 4


def test_bad_rows_are_left_out_and_told(cone):
    rows = cone(60, 5)
    rows[3], rows[7, 1] = 0, np.nan
    result = uncone.map(rows)
    assert result.total == 58 and not {3, 7} & set(result.places.tolist())
    assert result.notes == [
        "2 of 60 rows are not on the map: NaN, infinity or numbers over 1e16 (1), zero or shorter than 1e-19 (1)."
    ]
    with pytest.raises(
        NoUsableRowsError, match=r"none of 4 rows can be used: NaN, infinity or numbers over 1e16 .4.. Check"
    ):
        uncone.map(np.full((4, 3), np.nan))
    with pytest.raises(NoUsableRowsError, match=r"shorter than 1e-19 .4.. Check"):
        uncone.map(np.full((4, 3), 1e-30))
    equal = uncone.map(np.ones((20, 3)))
    assert not equal.panels[0].points.any() and equal.panels[0].trust.trustworthiness is None
    assert "all vectors are equal" in equal.panels[0].trust.sentence


def test_before_and_after_a_repair_are_the_same_rows(cone, tmp_path):
    rows = cone(300, 6)
    Whiten().fit(rows).save(tmp_path / "repair")
    result = uncone.map(rows, repair=tmp_path / "repair", points=100, labels=["a", "b"] * 150)
    raw, repaired = result.panels
    assert (raw.name, repaired.name) == ("raw", "repaired") and np.array_equal(raw.places, repaired.places)
    expected = np.abs(PCA(2).fit_transform(Whiten().fit(rows).transform(rows[result.places])))
    np.testing.assert_allclose(np.abs(repaired.points), expected, atol=1e-3)
    for axis in (0, 1):
        assert np.corrcoef(raw.points[:, axis], repaired.points[:, axis])[0, 1] > -1e-9
    assert not result.colorings[0].by_panel, "labels are the same colors on both sides"
    norms = next(coloring for coloring in result.colorings if coloring.name == "norm")
    assert set(norms.values_by_panel) == {"raw", "repaired"}
    clusters = next(coloring for coloring in result.colorings if coloring.name == "cluster")
    assert not clusters.by_panel, "so are clusters: those of the raw rows"
    with pytest.raises(OtherSpaceError, match="dimension 6; these have 4"):
        uncone.map(cone(30, 4), repair=tmp_path / "repair")


def test_texts_of_a_sample_alone_go_through_the_model(texts, tiny_model, monkeypatch):
    calls = []
    from uncone.encoders.transformer import Transformer

    passages = Transformer.passages
    monkeypatch.setattr(
        Transformer, "passages", lambda self, some, window: (calls.extend(some), passages(self, some, window))[1]
    )
    result = uncone.map(texts, model=str(tiny_model), points=15, cache=False)
    assert len(set(calls) & set(texts)) == 15 and np.array_equal(result.places, drawn(40, 15)) and result.total == 40
    assert [result.text(i) for i in range(15)] == [texts[row] for row in result.places]
    whole = uncone.map(texts, model=str(tiny_model), cache=False)
    assert len(whole.places) == 40 and whole.source["row"] == "sentences"


def test_every_layer_shows_the_same_texts(texts, tiny_model):
    result = uncone.map(texts, model=tiny_model, layer="all", points=20)
    assert [panel.layer for panel in result.panels] == [0, 1, 2]
    assert all(np.array_equal(panel.places, np.arange(20)) for panel in result.panels)
    assert np.array_equal(result.places, drawn(40, 20)) and result.text(0) == texts[result.places[0]]
    single = uncone.map(texts, model=tiny_model, layer=1, points=20)
    np.testing.assert_allclose(np.abs(result.panels[1].points), np.abs(single.panels[0].points), atol=1e-4)


def test_words_of_every_layer_with_what_they_are(texts, tiny_model):
    result = uncone.map(texts, model=tiny_model, rows="words", layer="all", points=100)
    names = [coloring.name for coloring in result.colorings]
    assert names == ["kind", "frequency", "position", "cluster", "norm"] and len(result.places) == 100
    every = [(text, word) for text in texts for word in find_words(text)]
    assert result.total == len(every) and np.array_equal(result.places, drawn(len(every), 100))
    counts = {}
    for text, word in every:
        counts[text[word.start : word.end]] = counts.get(text[word.start : word.end], 0) + 1
    kind, frequency = result.colorings[:2]
    for place, row in enumerate(result.places.tolist()):
        text, word = every[row]
        assert result.texts.sentences[result.texts.sentence[place]] == text
        assert result.text(place) == text[word.start : word.end]
        assert kind.names[kind.members[place]] == word.kind.name.lower()
        assert frequency.values[place] == pytest.approx(np.log10(counts[result.text(place)] / len(every)))
    position = result.colorings[2].values
    assert position.min() == 1 and len(result.panels) == 3
    last = uncone.map(texts, model=tiny_model, rows="words", points=100)
    assert [panel.layer for panel in last.panels] == [2]
    np.testing.assert_allclose(last.panels[0].points, result.panels[2].points * np.sign(
        (last.panels[0].points * result.panels[2].points).sum(axis=0)), atol=1e-4)  # fmt: skip


def test_a_word_list_adds_rows_and_marks_them(texts, tiny_model):
    result = uncone.map(texts, model=tiny_model, rows="words", points=10, words=["SCHOOL", "go", "zebra"])
    school = sum(text.split().count("school") for text in texts)
    first = result.colorings[0]
    assert first.name == "words" and first.names == ("SCHOOL", "go") == result.highlight
    assert (first.members == 0).sum() == school and "Not in the texts: zebra." in result.notes
    assert any(note.startswith("Beside a sample of 10 rows") for note in result.notes)
    tokens = uncone.map(texts, model=tiny_model, rows="tokens", points=10, words=["school"])
    assert (tokens.colorings[0].members == 0).sum() == school
    whole = uncone.map(texts, model=tiny_model, points=3, words=["school"])
    assert (whole.colorings[0].members == 0).sum() == sum("school" in text for text in texts)
    vectors = uncone.map(np.eye(40) + 1, texts=texts, points=3, words=["school"])
    assert (vectors.colorings[0].members == 0).sum() == sum("school" in text for text in texts)
    with pytest.raises(OptionError, match="none of the words of --words: zebra"):
        uncone.map(texts, model=tiny_model, rows="words", words=["zebra"])
    with pytest.raises(OptionError, match="none of the words of --words: zebra"):
        uncone.map(texts, model=tiny_model, words=["zebra"])


def test_labels_of_words_are_those_of_their_texts(texts, tiny_model, tmp_path):
    lines = [f'"{text}",{"xy"[i % 2]}' for i, text in enumerate(texts)]
    (tmp_path / "t.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    result = uncone.map(tmp_path / "t.csv", text="text", label="label", model=tiny_model, rows="words", points=30)
    first = result.colorings[0]
    for place in range(30):
        row = texts.index(result.texts.sentences[result.texts.sentence[place]])
        assert first.names[first.members[place]] == "xy"[row % 2]


def test_cls_and_means_of_layers(texts, tiny_model):
    cls = uncone.map(texts, model=tiny_model, rows="cls", layer="1")
    pooled = uncone.map(texts, model=tiny_model, layer="1", pooling="cls", cache=False)
    np.testing.assert_allclose(np.abs(cls.panels[0].points), np.abs(pooled.panels[0].points), atol=1e-4)
    mean = uncone.map(texts, model=tiny_model, rows="tokens", layer="1,-1", points=30)
    assert mean.panels[0].name == "mean of layers 1, 2" and mean.panels[0].layer is None
    prompted = uncone.map(texts, model=tiny_model, layer="all", prompt="go ", points=9)
    assert prompted.text(0) == texts[prompted.places[0]], "the prompt is not shown"


def test_repairs_of_texts_and_tokens(texts, tiny_model, tmp_path):
    uncone.fix(texts, "center", model=str(tiny_model), save=tmp_path / "sentence", cache=False)
    uncone.fix(texts, "center", model=str(tiny_model), level="token", save=tmp_path / "token")
    result = uncone.map(texts, model=str(tiny_model), repair=tmp_path / "sentence", cache=False)
    assert [panel.name for panel in result.panels] == ["raw", "repaired"]
    np.testing.assert_allclose(result.panels[0].points, result.panels[1].points, atol=1e-4)  # only shifted
    norms = result.colorings[-1]
    assert norms.values_by_panel["repaired"].mean() < norms.values_by_panel["raw"].mean()
    pooled = uncone.map(texts, model=str(tiny_model), repair=tmp_path / "token")
    again = uncone.apply(tmp_path / "token", texts, model=str(tiny_model))
    norms = pooled.colorings[-1].values_by_panel["repaired"]
    np.testing.assert_allclose(norms, np.linalg.norm(again, axis=1), rtol=1e-3, atol=1e-4)
    tokens = uncone.map(texts, model=str(tiny_model), rows="tokens", repair=tmp_path / "token", points=50)
    assert [len(panel.points) for panel in tokens.panels] == [50, 50]
    with pytest.raises(OtherSpaceError, match="fitted at sentence level, but --rows words"):
        uncone.map(texts, model=str(tiny_model), rows="words", repair=tmp_path / "sentence")
    with pytest.raises(OptionError, match="--layer all shows others"):
        uncone.map(texts, model=str(tiny_model), layer="all", repair=tmp_path / "sentence")
    with pytest.raises(OtherSpaceError, match="--layer 1 is another space"):
        uncone.map(texts, model=str(tiny_model), layer=1, repair=tmp_path / "sentence")
    encoder = open_encoder(str(tiny_model))
    Center().fit(np.eye(32)).save(
        tmp_path / "other", encoder="another", encoder_content="0" * 16, level="token", layer="2", pooling="mean",
        prompt="", normalize=False,
    )  # fmt: skip
    with pytest.raises(OtherSpaceError, match="was fitted for the encoder another"):
        uncone.map(texts, model=encoder, rows="tokens", repair=tmp_path / "other")


def test_the_same_words_in_several_models_on_the_same_axes(texts, tiny_model, tmp_path):
    import shutil

    from safetensors.numpy import load_file, save_file

    other = tmp_path / "other"
    shutil.copytree(tiny_model, other)
    weights = load_file(other / "model.safetensors")
    weights["encoder.layer.1.output.LayerNorm.weight"] = 9 * weights["encoder.layer.1.output.LayerNorm.weight"]
    save_file(weights, other / "model.safetensors", metadata={"format": "pt"})
    both = uncone.map([tiny_model, other], corpus=texts, kinds="symbols,words")
    assert [panel.name for panel in both.panels] == ["model", "other"] and both.source["models"]
    assert set(both.colorings[0].names) == {"word", "symbol"} and both.colorings[0].name == "kind"
    assert all(both.text(i) != "12" for i in range(len(both.places)))
    # The second is the first, nine times as large: on common axes it looks the same.
    first, second = (panel.points for panel in both.panels)
    np.testing.assert_allclose(first, second, atol=1e-3)
    alone = uncone.map(texts, model=tiny_model, rows="words", layer=-1, kinds="symbol,word")
    assert np.array_equal(alone.places, both.places)
    single = alone.panels[0].points
    np.testing.assert_allclose(*(np.abs(each / np.linalg.norm(each)) for each in (single, first)), atol=1e-4)
    frames = [cloud.views[0].frame for cloud in both.document().charts()]
    assert frames[0] is not None and all(np.array_equal(a, b) for a, b in zip(*frames, strict=True))
    reach = np.abs(np.concatenate([first, second]) - frames[0][0])
    assert (reach <= frames[0][1] + 1e-9).all()
    assert both.suggestion is None, "texts in memory have no path"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corpus": ["a b"], "model": "m"}, "sources are models"),
        ({"corpus": ["a b"], "repair": "r"}, "sources are models"),
        ({"corpus": ["a b"], "rows": "tokens"}, "different tokens"),
        ({"model": "m", "kinds": "word"}, "--kinds is for words and tokens"),
        ({"model": "m", "rows": "words", "kinds": "verb"}, "some of word, number, symbol"),
    ],
)
def test_models_and_kinds_that_cannot_be_shown(tiny_model, texts, options, message):
    source = [tiny_model, tiny_model] if "corpus" in options else texts
    options = {**options, **({"model": tiny_model} if "corpus" not in options else {})}
    with pytest.raises(OptionError, match=message):
        uncone.map(source, **options)


def test_word_vectors_have_kinds_and_ranks(tmp_path):
    rng = np.random.default_rng(0)
    words = ["the", "of", "1984", ",", *(f"w{'abcdefghij'[i % 10]}{'abcdefghij'[i // 10]}" for i in range(56))]
    lines = [f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=8))}" for word in words]
    (tmp_path / "glove.txt").write_text("\n".join(lines) + "\n")
    result = uncone.map(tmp_path / "glove.txt", color="frequency")
    by_name = {coloring.name: coloring for coloring in result.colorings}
    np.testing.assert_allclose(by_name["frequency"].values, np.log10(np.arange(60) + 1))
    assert [by_name["kind"].names[i] for i in by_name["kind"].members[:4]] == ["word", "word", "number", "symbol"]


def test_millions_are_streamed_into_a_picture(monkeypatch, cone, tmp_path):
    monkeypatch.setattr(mapping, "MOST_POINTS", 1_000)
    monkeypatch.setattr("uncone.verbs.options.map.MOST_POINTS", 1_000)
    monkeypatch.setattr(mapping, "_FIT_ROWS", 600)
    rows = cone(20_000, 6)
    np.save(tmp_path / "v.npy", rows)
    names = ["even", "odd"] * 10_000
    (tmp_path / "labels.txt").write_text("\n".join(names) + "\n")
    result = uncone.map(tmp_path / "v.npy", points=50_000, static=True, label=str(tmp_path / "labels.txt"))
    assert result.static and len(result.panels[0].points) == 600
    (density,) = result.density
    assert density.counts.sum() + density.outside == 20_000 and density.name == result.panels[0].name
    assert set(np.unique(density.members)) == {-1, 0, 1} and set(density.names) == {"even", "odd"}
    some = uncone.map(tmp_path / "v.npy", points=5_000, static=True, color="norm")
    assert some.density[0].counts.sum() + some.density[0].outside == 5_000
    assert np.nanmin(some.density[0].values) >= np.linalg.norm(rows, axis=1).min() - 1e-3
    clustered = uncone.map(tmp_path / "v.npy", points=5_000, static=True, color="cluster", k=3)
    assert clustered.density[0].members.max() == 2
    Whiten().fit(rows).save(tmp_path / "repair")
    both = uncone.map(tmp_path / "v.npy", points=50_000, static=True, color="none", repair=tmp_path / "repair")
    assert [panel.name for panel in both.density] == ["raw", "repaired"] and not both.colorings
    assert all(panel.counts.sum() + panel.outside == 20_000 and panel.members is None for panel in both.density)
    _same_clusters_on_both_sides(tmp_path, monkeypatch)
    few = uncone.map(rows[:900], points=5_000, static=True)
    assert not few.static and few.density is None
    with pytest.raises(OptionError, match="can be read only once"):
        uncone.map(iter([rows[:10_000], rows[10_000:]]), points=5_000, static=True)
    with pytest.raises(OptionError, match="A page shows up to 1,000 points"):
        uncone.map(rows, points=1_001)
    with pytest.raises(OptionError, match="is flat: use --dims 2"):
        uncone.map(rows, points=1_001, static=True, dims=3)


def _same_clusters_on_both_sides(folder, monkeypatch):
    """Rows in a cell of the repaired picture have the color that most of them have as raw rows."""
    monkeypatch.setattr("uncone.analysis.projections.density._CELLS", 8)
    rng = np.random.default_rng(0)
    means = np.array([[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]])
    of = np.arange(6_000) % 3
    rows = means[of] + rng.normal(size=(6_000, 3))
    np.save(folder / "groups.npy", rows)
    (folder / "groups.txt").write_text("\n".join("abc"[code] for code in of) + "\n")
    Whiten().fit(rows).save(folder / "whitened")
    options = {"points": 50_000, "static": True, "repair": folder / "whitened"}
    clustered = uncone.map(folder / "groups.npy", color="cluster", k=3, **options)
    labeled = uncone.map(folder / "groups.npy", label=str(folder / "groups.txt"), **options)
    for mine, theirs in zip(clustered.density, labeled.density, strict=True):
        np.testing.assert_array_equal(mine.counts, theirs.counts)
        filled = mine.members >= 0
        pairs = set(zip(mine.members[filled].tolist(), theirs.members[filled].tolist(), strict=True))
        assert len(pairs) == 3, "the groups that were made are the clusters, before and after"
    sides = [dict(zip(panel.members.ravel().tolist(), other.members.ravel().tolist(), strict=True))
             for panel, other in zip(clustered.density, labeled.density, strict=True)]  # fmt: skip
    assert sides[0] == sides[1], "a cluster has one color on both sides"


def test_many_words_and_a_picture_of_neighbors_can_be_static_too(monkeypatch, texts, tiny_model, cone):
    monkeypatch.setattr(mapping, "MOST_POINTS", 50)
    monkeypatch.setattr("uncone.verbs.options.map.MOST_POINTS", 50)
    result = uncone.map(texts, model=tiny_model, rows="words", points=120, static=True)
    assert (
        result.static
        and result.density[0].counts.sum() == 120
        and result.density[0].names == ("word", "number", "symbol")
    )
    both = uncone.map(texts, model=tiny_model, rows="words", points=120, static=True, layer="all", color="norm")
    assert [panel.name for panel in both.density] == ["layer 0", "layer 1", "layer 2"]
    means = [np.nansum(panel.values * panel.counts) / 120 for panel in both.density]
    expected = [both.colorings[0].values_by_panel[panel.name].mean() for panel in both.density]
    np.testing.assert_allclose(means, expected, rtol=1e-9)
    pytest.importorskip("openTSNE")
    near = uncone.map(cone(80, 5), method="tsne", points=80, static=True, color="none")
    assert near.static and near.density[0].counts.sum() == 80


def test_too_many_points_of_too_many_layers(monkeypatch, texts, tiny_model):
    monkeypatch.setattr("uncone.verbs.map.texts._MOST_BYTES", 1000)
    with pytest.raises(OptionError, match="5,000 points of 3 layers with 32 dimensions take"):
        uncone.map(texts, model=tiny_model, rows="words", layer="all")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "mds"}, OptionError, "--method must be pca, svd, tsne or umap, not 'mds'"),
        ({"dims": 4}, OptionError, "--dims must be 2 or 3, not 4"),
        ({"color": "mood"}, OptionError, "--color must be frequency, .*none, not 'mood'"),
        ({"color": "label"}, OptionError, "--color label needs labels"),
        ({"color": "words"}, OptionError, "--color words needs a list of words"),
        ({"color": "position"}, OptionError, "--color position is for words and tokens"),
        ({"words": ["a"]}, OptionError, "--words searches texts, but array has none"),
        ({"layer": "all"}, OptionError, "--layer is for texts: name a model"),
        ({"rows": "words"}, OptionError, "--rows is for texts"),
        ({"points": 1}, OptionError, "at least 2, not 1"),
        ({"points": 200_001}, OptionError, "up to 200,000 points, but --points is 200,001"),
        ({"k": 1}, OptionError, "at least 2, not 1"),
        ({"k": 99}, OptionError, "99"),
        ({"seed": -1}, OptionError, "seed"),
        ({"text": ["a", "b"]}, OptionError, "one column of texts, not 2"),
    ],
)
def test_bad_options(cone, options, error, message):
    with pytest.raises(error, match=message):
        uncone.map(cone(30, 4), **options)


def test_bad_texts(texts, tiny_model):
    with pytest.raises(OptionError, match="--rows must be sentences, words, tokens or cls, not 'letters'"):
        uncone.map(texts, model=tiny_model, rows="letters")
    with pytest.raises(OptionError, match="--prompt is for --rows sentences"):
        uncone.map(texts, model=tiny_model, rows="words", prompt="q: ")
    with pytest.raises(OptionError, match="There is no layer 9"):
        uncone.map(texts, model=tiny_model, rows="words", layer=9)
    with pytest.raises(OptionError, match="texts= and labels="):
        uncone.map(texts, model=tiny_model, labels=["a"] * 40)
    with pytest.raises(OptionError, match="--pooling must be mean, cls, max or last, not 'sum'"):
        uncone.map(texts, model=tiny_model, pooling="sum")


@pytest.mark.parametrize(("method", "package"), [("tsne", "openTSNE"), ("umap", "umap")])
def test_a_missing_package_is_told_before_anything_is_read(method, package, monkeypatch):
    monkeypatch.setattr("uncone.errors.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=rf"This needs {package}, .*: pip install 'uncone\[maps\]'"):
        uncone.map("no-such-file.npy", method=method)


def test_too_few_rows_for_a_method(cone):
    pytest.importorskip("openTSNE")
    with pytest.raises(ShapeError, match=r"t-SNE needs at least 5 vectors; we got 3\. Use PCA"):
        uncone.map(cone(3, 4), method="tsne")
    assert uncone.map(cone(3, 4)).panels[0].trust.k == 1 and len(uncone.map(cone(2, 4)).places) == 2
