"""Relevance judgments in every layout, and what is refused."""

from __future__ import annotations

import pandas as pd
import pytest

from uncone.data.tasks.qrels import open_judgments
from uncone.errors import UnconeError

EXPECTED = {"q1": {"d1": 2, "d2": 0}, "q2": {"d 3": 1}}

LAYOUTS = {
    "beir.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n\nq2\td 3\t1\n",
    "own.txt": "Query_ID\tdoc_id\trelevance\nq1\td1\t2\nq1\td2\t0\nq2\td 3\t1\n",
    "bare.tsv": "q1\td1\t2\nq1\td2\t0\nq2\td 3\t1\n",
    "trec.qrels": "q1\t0\td1\t2\nq1\t0\td2\t0\nq2\tQ0\td 3\t1\n",
    "table.csv": "query_id,doc_id,grade\nq1,d1,2\nq1,d2,0\nq2,d 3,1\n",
    "lines.jsonl": "".join(
        f'{{"query-id": "{q}", "corpus-id": "{d}", "score": {g}}}\n' for q, d, g in [("q1", "d1", 2), ("q1", "d2", 0)]
    )
    + '{"query-id": "q2", "corpus-id": "d 3", "score": 1.0}\n',
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_says_the_same(name, tmp_path):
    (tmp_path / name).write_text(LAYOUTS[name])
    judgments = open_judgments(tmp_path / name)
    assert judgments.grades == EXPECTED and len(judgments) == 3 and judgments.name == name
    assert judgments.gains("q1") == {"d1": 2} and open_judgments(tmp_path / name, 2).gains("q2") == {}


def test_trec_with_blanks_and_in_memory(tmp_path):
    (tmp_path / "qrels").write_text("301 0  FBIS3-10082   1\n301 0 FBIS3-10169 0\n302 0 9 -1\n")
    judgments = open_judgments(tmp_path / "qrels")
    assert judgments.grades == {"301": {"FBIS3-10082": 1, "FBIS3-10169": 0}, "302": {"9": -1}}
    assert judgments.gains("302") == {}, "a grade below 0 gains nothing"
    assert open_judgments(EXPECTED).grades == EXPECTED
    assert open_judgments({1: {7: 3}}).grades == {"1": {"7": 3}}
    frame = pd.DataFrame({"query-id": [1, 1], "corpus-id": [7, 8], "score": [3, 0]})
    frame.to_parquet(tmp_path / "qrels.parquet")
    for source in (frame, tmp_path / "qrels.parquet"):
        assert open_judgments(source).grades == {"1": {"7": 3, "8": 0}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no judgments"),
        ("query-id\tcorpus-id\tscore\n", "has no judgments"),
        ("q1\td1\thigh\n", "line 1: 'high' is not a number"),
        ("query-id\tcorpus-id\tscore\nq1\td1\thigh\n", "line 2: 'high' is not a number"),
        ("q1\td1\t0.5\n", "line 1: the score 0.5 is not a whole number"),
        ("q1\td1\t1\nq1\td1\n", "line 2: 2 columns"),
        ("q1 0 d1 1 run\n", "line 1: 5 columns"),
        ("q1\t\t1\n", "line 1: no id of the document"),
    ],
)
def test_what_is_refused(text, words, tmp_path):
    path = tmp_path / "qrels.tsv"
    path.write_text(text)
    with pytest.raises(UnconeError) as caught:
        open_judgments(path)
    assert words in str(caught.value) and "\n" not in str(caught.value)
