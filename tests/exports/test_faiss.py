import faiss
import numpy as np
import pytest

from uncone.data.open import open_source
from uncone.errors import ExportError
from uncone.exports.export import export


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def test_the_index_repairs_and_normalizes_what_it_is_given(affine, rows, tmp_path, close):
    out = tmp_path / "repair.faiss"
    export(affine, "faiss", out)
    index = faiss.read_index(str(out))
    expected = unit(affine.transform(rows.astype(np.float64)))
    assert index.is_trained and index.ntotal == 0 and index.d == 24
    index.add(rows.astype(np.float32))
    stored = faiss.downcast_index(faiss.downcast_index(index).index).reconstruct_n(0, len(rows))
    close(stored, expected)
    scores, _ = index.search(rows[:50].astype(np.float32), 3)
    close(scores[:, 0], (expected[:50] @ expected.T).max(axis=1))


def test_the_top_ten_are_those_of_the_cosine(affine, rows, tmp_path):
    """On a crowded space of vectors of several lengths; numpy's cosine of the repaired vectors is the truth."""
    lengths = np.random.default_rng(1).uniform(0.9, 1.1, size=(len(rows), 1))
    rows = (rows * lengths).astype(np.float32)
    export(affine, "faiss", tmp_path / "repair.faiss")
    index = faiss.read_index(str(tmp_path / "repair.faiss"))
    index.add(rows)
    _, result = index.search(rows, 10)
    repaired = unit(affine.transform(rows.astype(np.float64)))
    expected = np.argsort(-(repaired @ repaired.T), axis=1)[:, :10]
    shared = np.mean([len(set(rows) & set(other)) / 10 for rows, other in zip(result, expected, strict=True)])
    assert shared >= 0.999


def test_a_filled_index_is_read_as_it_compares(fitted, rows, tmp_path):
    """What was normalized cannot be given back raw: the vectors are those that the index holds."""
    export(fitted("whiten-dim"), "faiss", tmp_path / "repair.faiss")
    index = faiss.read_index(str(tmp_path / "repair.faiss"))
    index.add(rows.astype(np.float32))
    faiss.write_index(index, str(tmp_path / "filled.faiss"))
    source = open_source(tmp_path / "filled.faiss")
    expected = unit(fitted("whiten-dim").transform(rows.astype(np.float64)))
    assert (source.rows, source.dim) == (len(rows), 7)
    np.testing.assert_allclose(np.concatenate([part.vectors for part in source.read()]), expected, atol=1e-4)


def test_a_clustered_repair_says_why_not(fitted, tmp_path):
    with pytest.raises(ExportError, match=r"clustered is not one.*uncone apply"):
        export(fitted("clustered"), "faiss", tmp_path / "repair.faiss")
    assert not list(tmp_path.iterdir())


def test_an_index_with_vectors_is_not_replaced(fitted, tmp_path):
    out = tmp_path / "repair.faiss"
    export(fitted("whiten"), "faiss", out)
    export(fitted("center"), "faiss", out)  # the earlier one was empty: nothing is lost
    index = faiss.read_index(str(out))
    index.add(np.ones((1, 24), np.float32))
    faiss.write_index(index, str(out))
    with pytest.raises(ExportError, match="was not written by this export"):
        export(fitted("center"), "faiss", out)
    assert faiss.read_index(str(out)).ntotal == 1
