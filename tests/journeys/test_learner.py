"""The learner with a CSV: a text column, a label column, vectors as text."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


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


@pytest.mark.exhaustive
def test_the_learner_with_texts(uncone, minilm, monkeypatch):
    """The texts themselves, and a model: no vectors at hand."""
    monkeypatch.setenv("UNCONE_CACHE", "cache")  # what it holds is counted
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
    assert "371" in uncone("cache").stdout  # 60, and 311 on many subjects


def test_the_learner_with_a_map(uncone):
    """Points to look at, with their texts and labels, and a word on how far to trust them."""
    rng = np.random.default_rng(0)
    with Path("texts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "topic", "vector"])
        for i in range(90):
            vector = rng.normal(size=8) + 9 * np.eye(8)[i % 3]
            writer.writerow([f"a text, number {i}", ("cats", "dogs", "cars")[i % 3], str(vector.tolist())])
    told = " ".join(
        uncone("map", "texts.csv", "--text", "text", "--label", "topic", "--json", "map.json").stdout.split()
    )
    assert "90" in told and "trustworthiness" in told
    found = json.loads(Path("map.json").read_text())
    assert found["shown"] == 90 and found["colorings"][0]["name"] == "label"
    page = Path("uncone-map.html").read_text()
    assert "a text, number 7" in page and "dogs" in page
    # In the picture itself the three topics are apart.
    uncone("map", "texts.csv", "--dims", "3", "--png", "sides")
    assert len(list(Path("sides").glob("*.png"))) >= 3
    # Too few points for t-SNE: said in a line, with what to try.
    Path("few.csv").write_text("x,y\n1,2\n3,4\n5,7\n")
    assert "at least 5 vectors" in uncone("map", "few.csv", "--method", "tsne", code=2).stderr


@pytest.mark.exhaustive
def test_the_learner_compares(uncone, minilm):
    """A CSV with a text and a label column: a heatmap, the labels, pairs to read, groups, and a page to send."""
    subjects = {
        "animals": [
            "The cat sleeps on the sofa",
            "A kitten plays with wool",
            "My dog barks at night",
            "Birds sing early",
        ],
        "money": [
            "The bank raised its rates",
            "Shares fell sharply today",
            "He paid with a credit card",
            "Prices went up",
        ],
        "sport": ["The team won the match", "She scored two goals", "He ran a marathon", "The coach was angry"],
    }
    rows = [
        (f"{text}, on day {day}.", topic) for topic, texts in subjects.items() for text in texts for day in range(5)
    ]
    rows.append(('He said: "Cats, dogs\nand birds."', "animals"))
    with Path("texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("sentence", "topic"), *rows])

    # A first try with a wrong column: the message names the right ones.
    wrong = uncone("similarity", "texts.csv", "--text", "text", "--label", "topic", code=2).stderr
    assert "sentence, topic" in wrong

    # No model is named: the one of the demo is there.
    columns = ("texts.csv", "--text", "sentence", "--label", "topic")
    files = ["--labels-out", "labels.csv", "--pairs-out", "pairs.csv", "--groups-out", "groups.csv", "--json", "a.json"]
    told = " ".join(uncone("similarity", *columns, *files).stdout.split())
    assert "61 x 384" in told and "all-MiniLM-L6-v2" in told and "uncone-similarity.html" in told

    # The table of labels: each topic is more alike within than between, and the file says the same by another route.
    with Path("labels.csv").open(newline="") as file:
        labels = {(row["label"], row["other_label"]): row for row in csv.DictReader(file)}
    assert (
        len(labels) == 6 and labels["money", "money"]["pairs"] == "190" and labels["animals", "money"]["pairs"] == "420"
    )
    assert float(labels["money", "money"]["low"]) > float(labels["animals", "money"]["high"])
    code = (
        "import csv, numpy as np, uncone\n"
        "rows = list(csv.DictReader(open('texts.csv', newline='')))\n"
        "found = uncone.similarity([r['sentence'] for r in rows], labels=[r['topic'] for r in rows], matrix='m.npy')\n"
        "frame = found.labels_frame().set_index(['one', 'other'])\n"
        "print(frame.loc[('money', 'money'), 'mean'], len(found.pairs_frame()), found.groups_frame()['size'].sum())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    money = [i for i, (_, topic) in enumerate(rows) if topic == "money"]
    naive = [np.load("m.npy")[i, j] for i in money for j in money if i < j]
    assert float(labels["money", "money"]["mean"]) == pytest.approx(float(done[0]), abs=1e-6)
    assert float(done[0]) == pytest.approx(np.mean(naive), abs=1e-5) and done[1:] == ["100", "61"]

    # The pairs: the most alike are the same sentence on another day.
    with Path("pairs.csv").open(newline="") as file:
        pairs = list(csv.DictReader(file))
    assert pairs[0]["text"].split(",")[0] == pairs[0]["other_text"].split(",")[0]
    assert float(pairs[0]["percentile"]) > 99
    rare = json.loads(uncone("similarity", *columns, "--min", "p90", "--json", "-", "--no-html").stdout)["pairs"]
    assert 100 < rare["found"] < 260
    near = json.loads(uncone("similarity", *columns, "--near", "a puppy", "--json", "-", "--no-html").stdout)["near"]
    assert {pair["other_label"] for pair in near["pairs"][:5]} == {"animals"}

    # The groups are the topics, nearly.
    with Path("groups.csv").open(newline="") as file:
        groups = list(csv.DictReader(file))
    assert len(groups) == 61 and groups[-1]["text"] == rows[-1][0]
    assert json.loads(Path("a.json").read_text())["groups"][0]["ari"] > 0.5

    page = Path("uncone-similarity.html").read_text()
    assert "The cat sleeps on the sofa, on day 0." in page and "animals" in page
