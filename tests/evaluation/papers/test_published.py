"""Published figures: where they show up, and as what."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.data.tasks.sts import STS
from uncone.evaluation.papers.published import PUBLISHED, published_rows


def test_bert_base_has_its_rows():
    rows = {(row.method.name, row.method.protocol): row for row in published_rows("bert-base-uncased")}
    whitened = rows["whiten 256", "transductive"]
    assert [cell.dataset for cell in whitened.cells] == list(STS)
    assert whitened.cells[0].spearman.wmean == pytest.approx(0.6389)
    assert whitened.cells[0].spearman.all is None, "wmean is not all"
    assert whitened.cells[5].spearman.all == pytest.approx(0.7143), "one set is one subset"
    assert "Su et al. 2021" in whitened.note
    clustered = rows["k-means + PCA, tokens", "transductive"]
    assert (clustered.method.level, clustered.cells[5].spearman.all) == ("token", pytest.approx(0.675))
    assert rows["flow", "inductive"].method.layer in ("1,-1", "0,-1")


def test_the_sbert_of_nli_and_unknown_models():
    names = [row.method.name for row in published_rows("sentence-transformers/bert-base-nli-mean-tokens")]
    assert names == ["flow", "whiten 256", "GloVe mean"]
    assert published_rows("/models/bert-tiny") == ()
    assert published_rows("bert-base-uncased-finetuned") == ()


def test_rows_are_cut_to_the_datasets_of_a_table():
    rows = published_rows("bert-base-uncased", ["stsb", "mine.csv"])
    assert {len(row.cells) for row in rows} == {2}
    assert all(row.cells[1].spearman.reason == "not published" for row in rows)
    assert all(row.average is None for row in rows)


def test_figures_are_figures():
    for row in PUBLISHED:
        assert len(row.values) == len(row.datasets) and row.source and row.aggregation in ("all", "wmean")
        values = np.array([value for value in row.values if value is not None])
        assert ((values > 40) & (values < 90)).all()
        assert len(values) or row.average
