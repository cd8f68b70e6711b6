"""Sources in memory: the same vectors and texts in every kind of table, through every verb, give the same numbers."""

from __future__ import annotations

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import uncone

VECTORS = np.random.default_rng(0).normal(0.5, 1, (60, 6)).astype(np.float32)
TEXTS = [f"the text {chr(97 + i % 26)} go {chr(97 + i // 3)} school {i}" for i in range(60)]
COLUMNS = {"text": TEXTS, "label": [f"group {i % 3}" for i in range(60)], "embedding": [list(row) for row in VECTORS]}

TABLES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "arrow": pa.table,
    "datasets": datasets.Dataset.from_dict,
    "polars": pl.DataFrame,
}
COLUMN_KINDS = {
    "list": list,
    "pandas": pd.Series,
    "arrow": pa.array,
    "chunked": lambda values: pa.chunked_array([values]),
    "polars": pl.Series,
}


def findings(result):
    return {name: finding["value"] for name, finding in result.to_dict()["findings"].items()}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_vectors(kind):
    expected = findings(uncone.check(VECTORS))
    table = TABLES[kind](COLUMNS)
    assert findings(uncone.check(table)) == expected
    with_texts = findings(uncone.open(table, column="embedding", text="text").check())
    assert -1 <= with_texts.pop("word_agreement") <= 1
    assert with_texts == expected


@pytest.mark.parametrize("kind", COLUMN_KINDS)
def test_columns_of_vectors(kind):
    column = COLUMN_KINDS[kind](COLUMNS["embedding"])
    assert findings(uncone.open(column).check()) == findings(uncone.check(VECTORS))


def test_an_iterator_of_blocks():
    assert findings(uncone.check(iter([VECTORS[:20], VECTORS[20:]]))) == findings(uncone.check(VECTORS))


@pytest.mark.parametrize("kind", [*TABLES, *(f"column {kind}" for kind in COLUMN_KINDS), "iterator"])
def test_texts(kind, tiny_model):
    """Texts in memory give the vectors of a plain list of texts."""
    options = {"model": tiny_model, "cache": False}
    expected = findings(uncone.check(TEXTS, **options))
    if kind == "iterator":
        source = iter(TEXTS)
    elif kind in TABLES:
        source, options = TABLES[kind](COLUMNS), {**options, "text": "text"}
    else:
        source = COLUMN_KINDS[kind.removeprefix("column ")](TEXTS)
    assert findings(uncone.open(source, **options).check()) == expected


@pytest.mark.parametrize("kind", TABLES)
def test_every_verb_takes_a_table(kind, tmp_path):
    table = TABLES[kind](COLUMNS)
    expected = uncone.calibrate(VECTORS).to_dict()["calibration"]
    assert uncone.calibrate(table).to_dict()["calibration"] == expected
    assert uncone.map(table, method="pca", label="label").to_dict()["total"] == len(TEXTS)
    assert len(uncone.similarity(table, text="text", column="embedding").to_dict()["pairs"]) > 0
    uncone.fix(table, method="center", save=tmp_path / "repair", out=tmp_path / "fixed.npy")
    assert uncone.apply(tmp_path / "repair", table, out=tmp_path / "again.npy").rows == len(TEXTS)
    for name in ("fixed", "again"):
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), VECTORS - VECTORS.mean(axis=0), atol=1e-6)


def test_a_table_with_a_number_per_column():
    for table in (pd.DataFrame(VECTORS), pl.DataFrame(VECTORS), dict(zip("abcdef", VECTORS.T, strict=True))):
        assert findings(uncone.check(table)) == findings(uncone.check(VECTORS))


@pytest.mark.parametrize("kind", TABLES)
def test_labeled_pairs(kind, tiny_model, tmp_path):
    """Labeled pairs in memory give what the same pairs in a file give."""
    columns = {"sentence1": TEXTS, "sentence2": TEXTS[7:] + TEXTS[:7], "score": [float(i % 6) for i in range(60)]}
    path, table = tmp_path / "pairs.csv", TABLES[kind](columns)
    pd.DataFrame(columns).to_csv(path, index=False)
    options = {"model": tiny_model, "replicates": 20}

    def scores(pairs):
        rows = uncone.evaluate(tiny_model, pairs, "raw,center", fit_on=TEXTS, replicates=20).to_dict()["rows"]
        return [row["cells"][0]["spearman"]["all"] for row in rows]

    def roc_auc(pairs):
        return uncone.calibrate(TEXTS, pairs=pairs, **options).to_dict()["calibration"]["labeled"]["roc_auc"]

    def raw_score(pairs):
        return uncone.prescribe(TEXTS, pairs=pairs, **options).raw

    for measure in (scores, roc_auc, raw_score):
        assert measure(table) == measure(path)
