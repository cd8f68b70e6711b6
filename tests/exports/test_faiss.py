import faiss
import numpy as np
import pytest

from uncone.errors import ExportError
from uncone.exports.export import export


def test_the_index_repairs_what_it_is_given(affine, rows, tmp_path, close):
    out = tmp_path / "repair.faiss"
    export(affine, "faiss", out)
    index = faiss.read_index(str(out))
    expected = affine.transform(rows.astype(np.float64))
    assert index.is_trained and index.ntotal == 0 and index.d == 24
    index.add(rows.astype(np.float32))
    stored = faiss.downcast_index(faiss.downcast_index(index).index).reconstruct_n(0, len(rows))
    close(stored, expected)
    scores, _ = index.search(rows[:50].astype(np.float32), 3)
    close(scores[:, 0], (expected[:50] @ expected.T).max(axis=1))


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
