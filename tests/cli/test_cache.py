"""`uncone cache`: the list, clearing, JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from uncone.cli.main import build_app
from uncone.data.cache import VectorCache
from uncone.errors import OptionError, UnconeError


def run(*arguments):
    return build_app(["cache"])(["cache", *arguments])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNCONE_CACHE", str(tmp_path / "kept"))
    monkeypatch.setenv("UNCONE_CACHE_SIZE", "3MB")
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "kept"


@pytest.fixture
def filled(folder):
    for model, layer, n in (("[b]bert[/b]", "12", 1234), ("minilm", "1,6", 50)):
        space = VectorCache().space({"model": model, "layer": layer, "pooling": "mean", "fingerprint": model}, 8)
        space.put([f"text {i}" for i in range(n)], np.ones((n, 8)))
    return folder


def test_the_list(filled, capfd):
    assert run() == 0
    out = capfd.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["model", "layer", "pooling", "texts", "size", "last", "used"]
    assert ["[b]bert[/b]", "12", "mean", "1,234"] in [line[:4] for line in lines]
    assert ["minilm", "1,6", "mean", "50"] in [line[:4] for line in lines]
    total = sum(path.stat().st_size for path in filled.rglob("*.rows"))
    assert f"{total / 1024:.1f} KB of at most 3.0 MB in {filled}" in out


def test_an_empty_cache(folder, capfd):
    assert run() == 0
    assert capfd.readouterr().out == f"Nothing is cached in {folder}\n"
    assert run("--clear") == 0
    assert capfd.readouterr().out == f"Nothing was cached in {folder}\n"
    assert not folder.exists()


def test_clearing_one_model_and_all(filled, capfd):
    assert run("--clear", "--model", "minilm") == 0
    assert capfd.readouterr().out == f"Cleared 50 texts of minilm: 2.6 KB freed in {filled}\n"
    assert [entry.model for entry in VectorCache().entries()] == ["[b]bert[/b]"]
    assert run("--clear") == 0
    assert "Cleared 1,234 texts" in capfd.readouterr().out
    assert VectorCache().entries() == []


def test_json(filled, capfd):
    assert run("--json") == 0
    told = json.loads(capfd.readouterr().out)
    assert {one["model"]: one["rows"] for one in told["entries"]} == {"[b]bert[/b]": 1234, "minilm": 50}
    assert told["bytes"] == sum(one["bytes"] for one in told["entries"]) and told["limit"] == 3 << 20
    assert run("--clear", "--json") == 0
    assert len(json.loads(capfd.readouterr().out)["cleared"]) == 2


def test_bad_options(filled, monkeypatch):
    with pytest.raises(OptionError, match="--clear"):
        run("--model", "minilm")
    with pytest.raises(OptionError, match=r"Nothing of other is cached. Cached models: \[b\]bert\[/b\], minilm"):
        run("--clear", "--model", "other")
    monkeypatch.setenv("UNCONE_CACHE_SIZE", "much")
    with pytest.raises(UnconeError, match="UNCONE_CACHE_SIZE"):
        run()
