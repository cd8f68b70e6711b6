"""The engineer with a threshold: "Unrelated texts score 0.71. Which cut-off do I use?" """

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import uncone as library


def test_the_engineer(uncone):
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(3_000, 64)) + 1.5).astype(np.float32)
    texts = [f"ticket {i}" for i in range(3_000)]
    pq.write_table(pa.table({"text": texts, "embedding": rows.tolist()}), "tickets.parquet")

    # Is 0.75 a good threshold? The first answer is the verdict, in words.
    told = " ".join(uncone("check", "tickets.parquet", "--text", "text", "--score", "0.75").stdout.split())
    assert "Crowded: unrelated vectors score 0.69 on average." in told
    assert "of unrelated pairs score 0.75 or more" in told and "not evidence of similarity" in told
    assert Path("uncone-report.html").is_file()

    # A better one, as the numbers say.
    found = json.loads(uncone("check", "tickets.parquet", "--json", "-").stdout)
    high = found["findings"]["pair_cosine_quantiles"]["value"]["0.99"]
    told = uncone("check", "tickets.parquet", "--score", f"{high + 0.05:.2f}").stdout
    assert "is evidence of similarity here. In a large corpus" in " ".join(told.split())

    # Where to cut, then? The calibration says, with an interval, and what 0.75 would let in.
    options = ["--score", "0.75", "--fpr", "0.01", "--corpus-size", "1000000", "--save", "raw"]
    told = " ".join(uncone("calibrate", "tickets.parquet", *options).stdout.split())
    assert "0.75 is not evidence of similarity here" in told and "1 % of a million is 10,000 unrelated hits" in told
    units = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    unrelated = (units @ units.T)[np.triu_indices(len(units), 1)]
    raw = library.Calibration.load("raw")
    cut = raw.threshold(fpr=0.01)
    assert cut.low <= np.quantile(unrelated, 0.99) <= cut.high
    assert abs(100 * (unrelated < 0.75).mean() - raw.percentile(0.75)) < 1
    assert abs((unrelated >= cut.value).mean() - 0.01) < 0.001

    # The new model, side by side with the old one, and a gate for the pipeline.
    np.save("new.npy", rng.normal(size=(3_000, 64)).astype(np.float32))
    both = uncone("check", "tickets.parquet", "new.npy", "--no-html").stdout
    assert "Crowded" in both and "Healthy" in both
    assert "over 0.5" in uncone("check", "tickets.parquet", "--fail-above", "baseline=0.5", code=1).stderr
    uncone("check", "new.npy", "--fail-above", "baseline=0.5")

    # Repair the old one; the columns stay, the repair is applied to what comes in tomorrow, and goes into production.
    told = uncone("fix", "tickets.parquet", "--method", "droptop", "-o", "fixed.parquet", "--save", "repair").stdout
    assert "before" in told and "after" in told and "Re-index your documents" in " ".join(told.split())
    # What the repair is good for is not known from its shape: the report says what is known.
    assert any(kind in " ".join(told.split()) for kind in ("use Unknown:", "use Expected, not proven."))
    fixed = pq.read_table("fixed.parquet")
    assert fixed.column("text").to_pylist() == texts
    uncone("check", "fixed.parquet", "--fail-above", "baseline=0.05")

    # The old threshold means nothing in the repaired space: its place there lets through as many unrelated pairs.
    options = ["--repair", "repair", "--translate", f"{cut.value}", "--from", "raw", "--save", "repaired"]
    told = uncone("calibrate", "tickets.parquet", *options, "--json", "-").stdout
    translated = json.loads(told)["calibration"]["translation"]
    assert translated["new"] < 0.5 < translated["old"]
    mended = np.array(fixed.column("embedding").to_pylist(), np.float64)
    mended /= np.linalg.norm(mended, axis=1, keepdims=True)
    unrelated = (mended @ mended.T)[np.triu_indices(len(mended), 1)]
    assert abs((unrelated >= translated["new"]).mean() - 0.01) < 0.002
    assert library.Calibration.load("repaired").percentile(translated["new"]) > 98.5
    told = uncone("calibrate", "fixed.parquet", "--fpr", "1e-9", "--no-html").stdout
    assert "vectors" in told, "too few vectors for such a rate: an answer, not an error"
    assert "between -1 and 1" in uncone("calibrate", "fixed.parquet", "--score", "75", code=2).stderr

    # Does the repair help the search? Questions with the ticket that answers each decide, without the model.
    questions = rows[:80] + rng.normal(size=(80, 64)).astype(np.float32)
    np.save("questions.npy", questions)
    Path("qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{q}\t1\n" for q in range(80)))
    search = ["--vectors", "tickets.parquet", "--text", "text", "--queries", "questions.npy", "--qrels", "qrels.tsv"]
    told = uncone("evaluate", *search, "--methods", "raw,repair/", "--json", "-").stdout
    for row, (docs, queries) in zip(
        json.loads(told)["tasks"],
        [(rows, questions), (mended, library.apply("repair", questions))],
        strict=True,
    ):
        near = (docs / np.linalg.norm(docs, axis=1, keepdims=True)) @ queries.T
        ranks = 1 + (near > near[np.arange(80), np.arange(80)]).sum(axis=0)
        expected = np.where(ranks <= 10, 1 / np.log2(ranks + 1), 0).mean()
        assert abs(row["scores"]["ndcg@10"]["value"] - expected) < 1e-3
    told = " ".join(uncone("evaluate", *search, "--methods", "raw,repair/", "--no-html").stdout.split())
    assert "ticket" in told and "of 80 queries" in told
    off_by_one = "".join(f"{q} 0 {q + 1} 1\n" for q in range(3_000))
    Path("from-1.txt").write_text("0 0 1 1\n" + off_by_one[len("0 0 1 1\n") :])
    assert "Name the ids with --id" in uncone("evaluate", *search[:-1], "from-1.txt", code=2).stderr
    np.save("tomorrow.npy", rows[:10])
    uncone("apply", "repair", "tomorrow.npy", "-o", "tomorrow-fixed.npy")
    mended = np.array(fixed.column("embedding").to_pylist(), np.float32)
    np.testing.assert_allclose(np.load("tomorrow-fixed.npy"), mended[:10], atol=1e-5)
    # The tickets are also in a database: their repaired vectors become a table beside them, with all columns.
    with duckdb.connect("tickets.db") as connection:
        connection.execute("CREATE TABLE tickets AS SELECT * FROM 'tickets.parquet'")
    told = uncone(
        "apply", "repair", "duckdb://tickets.db?table=tickets", "-o", "duckdb://tickets.db?table=fixed"
    ).stdout
    assert "wrote duckdb://tickets.db?table=fixed" in told
    with duckdb.connect("tickets.db") as connection:
        table = connection.execute("SELECT text, embedding FROM fixed").fetchall()
    assert [text for text, _ in table] == texts
    np.testing.assert_allclose([vector for _, vector in table], mended, atol=1e-5)
    uncone("check", "duckdb://tickets.db?table=fixed", "--fail-above", "baseline=0.05")

    # The backlog comes in files, so a cluster, or this machine, writes a file for each; what is there already stays.
    Path("backlog").mkdir()
    for day in range(3):
        np.save(f"backlog/day-{day}.npy", rows[100 * day : 100 * (day + 1)])
    uncone("apply", "repair", "backlog", "-o", "mended")
    assert sorted(path.name for path in Path("mended").iterdir()) == [
        "_uncone.json",
        *(f"day-{i}.npy" for i in range(3)),
    ]
    np.testing.assert_allclose(np.load("mended/day-2.npy"), mended[200:300], atol=1e-5)
    assert "300 vectors" in uncone("apply", "repair", "backlog", "-o", "mended").stdout
    assert (
        "name a folder, without an ending"
        in uncone("apply", "repair", "backlog", "-o", "m.npy", "--engine", "ray", code=2).stderr.lower()
    )
    uncone("export", "repair", "--to", "numpy", "-o", "plain")
    plain = np.load("plain/repair.npz")
    np.testing.assert_allclose((rows - plain["mean"]) @ plain["matrix"] + plain["offset"], mended, atol=1e-4)
    assert "would overwrite the input" in uncone("apply", "repair", "new.npy", "-o", "new.npy", code=2).stderr

    # Next year there will be two hundred million of them: a plan says whether that needs the cluster.
    size = ["--rows", "2e8", "--engine", "ray", "--workers", "8", "--bandwidth", "10Gbit/s", "--json", "-"]
    planned = json.loads(uncone("plan", "tickets.parquet", *size).stdout)
    figures = planned["figures"]
    assert figures["rows"]["how"] == "given" and figures["rate"]["how"] == "measured"
    assert figures["seconds"]["value"] >= figures["bytes_read"]["value"] / 1.25e9, "no faster than the network"
    assert planned["lines"][0].startswith(("One machine is enough", "On the "))
    told = " ".join(uncone("plan", "tickets.parquet", "--engine", "ray", "--workers", "8", "--no-html").stdout.split())
    assert "One machine is enough" in told and "measured" in told and "computed" in told
