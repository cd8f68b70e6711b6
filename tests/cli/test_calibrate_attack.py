"""What a fresh pair of eyes broke in `uncone calibrate`: each fault has its test."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import refused, run

import uncone
from uncone.analysis.calibration.calibration import OtherEncoderWarning
from uncone.analysis.measures.finding import Level
from uncone.errors import FormatError
from uncone.report.documents.calibrate.charts import density


@pytest.fixture
def rows(cone):
    found = cone(300, 12)
    np.save("v.npy", found)
    return found


def pairs_file(name="pairs.csv", n=120):
    lines = "".join(f"{i},{(7 * i + 1) % 300},{i % 2}\n" for i in range(n))
    Path(name).write_text("id1,id2,label\n" + lines)
    return name


@pytest.mark.parametrize("n", [2, 3, 10, 29])
def test_a_few_rows_do_not_prove_that_a_score_is_evidence(n):
    rows = np.random.default_rng(0).normal(size=(n, 64)) + 1
    found = uncone.calibrate(rows, scores=[0.75])
    assert found.scores[0].rate == 0 and found.scores[0].rate_high > 0.02
    assert found.level is Level.NOTE and f"{n} vectors are too few to say what 0.75 means" in found.headline
    assert "evidence" not in found.headline


def test_enough_rows_do():
    rows = np.random.default_rng(0).normal(size=(400, 64)) + 1
    found = uncone.calibrate(rows, scores=[0.75])
    assert found.level is Level.HEALTHY and "0.75 is evidence of similarity" in found.headline


def test_one_query_is_no_proof_either(rows, capfd):
    np.save("q.npy", rows[:1] + 0.1)
    assert run("calibrate", "--queries", "q.npy", "--documents", "v.npy", "--score", 0.999, "--no-html") == 0
    out = " ".join(capfd.readouterr().out.split())
    assert "1 query, 300 documents" in out and "are too few to say what 0.999 means" in out and "under 100 %" not in out


def test_rows_on_one_line_have_no_cut_to_use(capfd):
    np.save("line.npy", np.outer(np.arange(1, 301), np.arange(1.0, 9)))
    assert run("calibrate", "line.npy", "--corpus-size", 1000, "--no-html") == 0
    out = " ".join(capfd.readouterr().out.split())
    assert "%, use a threshold" not in out and "There is no threshold for a false-positive rate of 1 %: 100 % of" in out
    assert "under -100" in out and "000000" not in out


def test_rows_without_a_document_are_not_one_document(rows, capfd):
    names = [None if row % 5 else "a" for row in range(300)]
    pq.write_table(pa.table({"v": list(rows.astype(np.float32)), "doc": names}), "v.parquet")
    found = uncone.calibrate("v.parquet", column="v", document="doc")
    assert found.calibration.backgrounds[0].left_out == {"same document": 60 * 59 // 2}
    assert any("240 of 300 rows in doc name no document" in note for note in found.calibration.notes)


def test_blank_lines_in_a_file_of_documents(rows):
    Path("docs.txt").write_text("".join("\n" if row < 10 else f"d{row // 2}\n" for row in range(300)))
    found = uncone.calibrate("v.npy", document="docs.txt")
    assert found.calibration.backgrounds[0].left_out == {"same document": 145}


@pytest.mark.parametrize(("option", "more"), [("--document", []), ("--id", ["--pairs", "pairs.csv"])])
def test_a_missing_column_is_told_by_its_own_option(option, more, rows, tmp_path, capfd):
    pairs_file()
    pq.write_table(pa.table({"v": list(rows.astype(np.float32))}), "v.parquet")
    for source in ("v.npy", "v.parquet"):
        said = refused(tmp_path, capfd, "calibrate", source, option, "nope", *more)
        assert f"for {option}" in said and "--label" not in said


def test_texts_without_a_model_are_not_ignored(rows, tmp_path, capfd):
    assert "--text is for texts: name a model" in refused(tmp_path, capfd, "calibrate", "v.npy", "--text", "text")


def test_pairs_need_a_second_look_at_standard_input(rows, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("v.npy").read_bytes())))
    said = refused(tmp_path, capfd, "calibrate", "-", "--pairs", pairs_file())
    assert "--pairs reads it again" in said


def test_unusable_rows_of_the_other_corpus_are_told(rows):
    other = rows.copy()
    other[3], other[4] = np.nan, 0
    found = uncone.calibrate(rows, background=other)
    notes = " ".join(found.calibration.notes)
    assert "1 of 300 vectors of " in notes and "hold NaN" in notes and "are zero" in notes


@pytest.mark.parametrize(
    "change",
    [
        {"pairs": -5},
        {"rows": 0},
        {"sd": -1.0},
        {"mean": 3.0},
        {"tails": lambda values: [5 * value for value in values]},
        {"tails": lambda values: [0 * value for value in values]},
        {"scores": lambda values: [50 * value for value in values]},
        {"highs": lambda values: [50 * value for value in values]},
    ],
)
def test_a_saved_calibration_of_impossible_numbers_is_damaged(change, rows):
    uncone.calibrate("v.npy", save="saved")
    said = json.loads(Path("saved/calibration.json").read_text())
    first = said["backgrounds"][0]
    first.update({key: one(first[key]) if callable(one) else one for key, one in change.items()})
    Path("saved/calibration.json").write_text(json.dumps(said))
    with pytest.raises(FormatError, match="damaged"):
        uncone.Calibration.load("saved")


def test_the_file_may_be_named_in_place_of_its_folder(rows):
    uncone.calibrate("v.npy", save="saved")
    assert uncone.Calibration.load("saved/calibration.json").percentile(0.5) == uncone.Calibration.load(
        "saved"
    ).percentile(0.5)


def test_both_sides_are_named_and_the_prompt_of_queries_is_kept(tiny_model):
    Path("a").mkdir()
    Path("b").mkdir()
    for name in ("a/q.txt", "b/d.txt"):
        Path(name).write_text("".join(f"a text of {name} number {row}\n" for row in range(30)))
    found = uncone.calibrate(
        queries="a/q.txt", documents="b/d.txt", model=tiny_model, query_prompt="query: ", save="saved"
    )
    source = uncone.Calibration.load("saved").source
    assert source["name"] == "q.txt with d.txt" and source["query_prompt"] == "query: "
    assert found.provenance["query_prompt"] == "query: "


def test_an_empty_text_is_called_one(tiny_model):
    texts = ["one text", "another text", "", "a third one", "and a fourth"]
    found = uncone.calibrate(texts, model=tiny_model)
    assert found.calibration.notes[0] == "1 of 5 texts are empty or have no finite vector and were left out."


def test_a_corpus_of_one_row_has_no_advice(rows, capfd):
    assert run("calibrate", "v.npy", "--corpus-size", 1, "--no-html") == 0
    assert "on average among" not in capfd.readouterr().out


def test_the_same_folder_by_another_path_is_the_same_encoder(tiny_model, recwarn):
    texts = [f"text number {row}" for row in range(30)]
    uncone.calibrate(texts, model=str(tiny_model), save="saved")
    other = Path("saved") / ".." / os.path.relpath(tiny_model)
    assert uncone.Calibration.load("saved", encoder=other).matches_encoder
    assert not [one for one in recwarn if issubclass(one.category, OtherEncoderWarning)]
    with pytest.warns(OtherEncoderWarning):
        assert uncone.Calibration.load("saved", encoder="another/model").percentile([0.3, 0.4]).tolist() == [0.3, 0.4]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("spread", [0.0, 1e-4, 1e-3])
def test_the_page_of_a_very_tight_cone_can_be_drawn(spread):
    rows = np.random.default_rng(0).normal(size=(300, 16)) * spread + 1
    found = uncone.calibrate(rows * np.arange(1, 301)[:, None])
    specs = re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', found.to_html(), re.DOTALL)
    assert specs
    for spec in specs:
        json.loads(spec, parse_constant=pytest.fail)
    edges, heights = density(found.calibration.backgrounds[0].histogram)
    assert (np.diff(edges) > 0).all() and heights @ np.diff(edges) == pytest.approx(1)
