"""`uncone schema`: every result follows it, and a file that does not is refused in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import run

import uncone


@pytest.fixture
def saved(cone, tmp_path):
    np.save("vectors.npy", cone())
    assert run("check", "vectors.npy", "--no-html", "--json", "result.json") == 0
    return tmp_path / "result.json"


def test_the_schema_of_all_results_and_of_one_verb(capsys):
    assert run("schema") == 0
    every = json.loads(capsys.readouterr().out)
    assert run("schema", "--verb", "calibrate") == 0
    one = json.loads(capsys.readouterr().out)
    assert one["$defs"].keys() < every["$defs"].keys() and one["anyOf"] == [{"$ref": "#/$defs/Calibrated"}]
    assert every == uncone.schema() and every["$schema"].startswith("https://json-schema.org")
    assert run("schema", "--verb", "apply") == 2
    assert "no JSON result" in capsys.readouterr().err


def test_a_valid_file(saved, capsys, monkeypatch):
    capsys.readouterr()
    assert run("schema", "check", "result.json") == 0
    assert capsys.readouterr().out == "result.json is a valid result of uncone check (schema 1).\n"
    assert run("schema", "check", "result.json", "--verb", "layers") == 2
    assert "uncone layers" in capsys.readouterr().err


def changed(values):
    findings = values["findings"]
    yield (
        "a text for a number",
        {**values, "findings": {**findings, "isoscore": {**findings["isoscore"], "value": "x"}}},
    )
    yield "a finding is missing", {**values, "findings": {k: v for k, v in findings.items() if k != "baseline"}}
    yield "a key is missing", {name: value for name, value in values.items() if name != "verdict"}
    yield "an unknown key", {**values, "verdicts": 1}
    yield "a newer version", {**values, "schema": 2}
    yield "another object", {"a": 1}
    yield "a list", [values]


WRONG = {
    "a text for a number": "$.findings.isoscore.value",
    "a finding is missing": "`baseline`",
    "a key is missing": "`verdict`",
    "an unknown key": "`verdicts`",
    "a newer version": "newer uncone",
    "another object": "none of the expected keys",
    "a list": "not a JSON object",
}


def test_what_is_wrong_is_said_in_one_line(saved, capsys):
    for what, values in changed(json.loads(saved.read_text())):
        saved.write_text(json.dumps(values))
        capsys.readouterr()
        assert run("schema", "check", "result.json") == 2, what
        message = capsys.readouterr().err
        assert WRONG[what] in message and message.count("\n") == 1, (what, message)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json(content, tmp_path, capsys):
    (tmp_path / "bad.json").write_bytes(content)
    assert run("schema", "check", "bad.json") == 2 and "bad.json is not JSON" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["check"], ["check", "missing.json"], ["show"], ["check", "."]])
def test_what_cannot_be_checked(words, capsys):
    assert run("schema", *words) == 2 and capsys.readouterr().err.count("\n") == 1


def test_results_without_a_snapshot_follow_it(tiny_model, tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("the text\ngo to school\n")
    done = uncone.encode("texts.txt", model=tiny_model, out="vectors.npy")
    assert uncone.validate(json.dumps(done.to_dict())) == "encode"
    for words in ([], ["--clear"]):
        capsys.readouterr()
        assert run("cache", "--json", *words) == 0
        assert uncone.validate(capsys.readouterr().out) == "cache"
