"""The learner with a CSV: a text column, a label column, vectors as text."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np


def test_the_learner(uncone):
    rng = np.random.default_rng(0)
    with Path("texts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "topic", "vector"])
        for i in range(120):
            topic = ("cats", "dogs")[i % 2]
            vector = rng.normal(size=8) + (3 if i % 2 else -3) * np.eye(8)[0]
            writer.writerow([f"a text, number {i}", topic, str(vector.tolist())])

    # A first try with a wrong column: the message names the right ones.
    wrong = uncone("check", "texts.csv", "--column", "embedding", code=2).stderr
    assert "text, topic, vector" in wrong

    told = uncone("check", "texts.csv", "--text", "text", "--label", "topic").stdout
    assert "120 x 8" in told
    page = Path("uncone-report.html").read_text()
    assert "cats" in page and "a text, number 7" in page

    # The same in Python, in a notebook.
    code = (
        "import csv, json, numpy as np, uncone\n"
        "rows = list(csv.DictReader(open('texts.csv')))\n"
        "found = uncone.check(np.array([json.loads(r['vector']) for r in rows]))\n"
        "print(json.dumps({'baseline': found['baseline'].value, 'html': len(found._repr_html_())}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    same = json.loads(uncone("check", "texts.csv", "--json", "-").stdout)["findings"]["baseline"]["value"]
    assert json.loads(done.stdout)["baseline"] == same


def test_the_learner_with_texts(uncone, minilm):
    """The texts themselves, and a model: no vectors at hand."""
    subjects = {"cats": ["The cat sleeps", "A kitten plays", "My cat purrs"], "cars": ["The car is fast", "A truck"]}
    with Path("texts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "topic"])
        for i in range(60):
            topic = ("cats", "cars")[i % 2]
            writer.writerow([f"{subjects[topic][i % len(subjects[topic])]} on day {i}.", topic])

    wrong = uncone("check", "texts.csv", "--model", str(minilm), "--text", "sentence", code=2).stderr
    assert "text, topic" in wrong
    told = uncone("check", "texts.csv", "--model", str(minilm), "--text", "text", "--label", "topic").stdout
    assert "60 x 384" in told
    page = Path("uncone-report.html").read_text()
    assert "cats" in page and "The cat sleeps on day 0." in page

    # How much does a word depend on its context?
    told = uncone("layers", str(minilm), "--corpus", "texts.csv", "--text", "text", "--state", "state").stdout
    assert "7 layers x 384 dimensions" in told
    assert "Most contextual" in told or "most contextual" in told

    # A repair of what is healthy: it is done, and the first thing said is that it may only lose.
    texts = ("texts.csv", "--model", str(minilm), "--text", "text")
    told = " ".join(uncone("fix", *texts, "--method", "center", "-o", "fixed.csv", "--save", "repair").stdout.split())
    assert "60 x 384" in told and "repaired by center" in told
    with Path("fixed.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["topic"] for row in rows[:2]] == ["cats", "cars"]
    vector = json.loads(rows[0]["embedding"])
    alone = json.loads(uncone("apply", "repair", "--text", "The cat sleeps on day 0.", "--model", str(minilm)).stdout)
    np.testing.assert_allclose(alone["embedding"], vector, atol=1e-5)
    assert "384" in uncone("apply", "repair", "fixed.csv", "-o", "twice.npy").stdout
    assert "60" in uncone("cache").stdout
