"""What the documentation promises is true."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

from uncone import __version__, calibrate, check
from uncone.analysis.calibration.calibration import OtherEncoderWarning
from uncone.analysis.measures.registry import measures
from uncone.analysis.measures.table import renewed
from uncone.cli.main import _run
from uncone.cli.reference import reference
from uncone.encoders.open import open_encoder
from uncone.errors import UnconeError
from uncone.repairs import Center
from uncone.verbs.schema.schema import schema

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def example_files(tmp_path_factory, tiny_model):
    """A folder with the files that the examples name."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from safetensors.numpy import save_file

    folder = tmp_path_factory.mktemp("examples")
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(300, 16)) * np.linspace(1.5, 0.3, 16) + rng.normal(size=16)).astype(np.float32)
    texts = [f"text {i}" for i in range(300)]
    for name in ("vectors.npy", "old.npy", "new.npy", "fixed.npy"):
        np.save(folder / name, rows)
    (folder / "words.txt").write_text("\n".join(texts) + "\n")
    table = {"text": texts, "label": ["a", "b", "c"] * 100, "embedding": rows.tolist()}
    pq.write_table(pa.table(table), folder / "vectors.parquet")
    _write_search(folder, rows, texts)
    save_file({"embeddings": rows}, folder / "model.safetensors")
    (folder / "vectors.jsonl").write_text("\n".join(json.dumps({"v": row.tolist()}) for row in rows))
    shutil.copytree(tiny_model, folder / "model")
    lines = [f"{text} to go to the school of {'abcdefg'[i % 7]}." for i, text in enumerate(texts)]
    (folder / "texts.txt").write_text("\n".join(lines) + "\n")
    rows_of_texts = "".join(f'"{line}",{"xyz"[i % 3]}\n' for i, line in enumerate(lines))
    (folder / "texts.csv").write_text("text,label\n" + rows_of_texts)
    triples = [(lines[i], lines[j], i % 6) for i, j in rng.permutation(300)[:240].reshape(-1, 2)]
    (folder / "pairs.csv").write_text(
        "sentence1,sentence2,score\n" + "".join(f'"{a}","{b}",{score}\n' for a, b, score in triples)
    )
    judgments = [f"{i}\t{(7 * i) % 300}\t{i % 4}\n" for i in range(160)]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judgments))
    words = ["text", "to", "go", "the", "school", "of", "."]
    (folder / "words.vec").write_text(
        "".join(f"{word} {' '.join(f'{value:.4f}' for value in rows[i])}\n" for i, word in enumerate(words))
    )
    repairs = {"repair": Center().fit(rows), "texts-repair": Center().fit(np.eye(32) + 1)}
    encoder = open_encoder(folder / "model")
    provenance = {"encoder": "model/", "encoder_content": encoder.fingerprint(), "layer": "2", "pooling": "mean"}
    provenance |= {"level": "sentence", "normalize": False, "prompt": ""}
    for name, repair in repairs.items():
        repair.save(folder / name, **(provenance if name == "texts-repair" else {}))
    (folder / "result.json").write_text(check(rows).to_json())
    for name in ("old-calibration", "calibration"):
        calibrate(rows, save=folder / name)
    for name in ("model-a", "model-b"):
        (folder / name).symlink_to("model")
    for corpus in ("wikitext-2/valid.txt", "snli/dev.tsv", "sts/stsb-test.tsv"):
        (folder / "data" / corpus).parent.mkdir(parents=True)
    (folder / "data/wikitext-2/valid.txt").write_text("\n".join(f" {line} " for line in lines) + "\n")
    (folder / "data/snli/dev.tsv").write_text("".join(f"neutral\t{a}\t{b}\n" for a, b, _ in triples))
    scored = [f"{score}\t{a}\t{b}\tmain\n" for a, b, score in triples] * 12
    (folder / "data/sts/stsb-test.tsv").write_text("".join(scored[:1379]))  # it is as long as the real one
    import duckdb

    with duckdb.connect(str(folder / "vectors.db")) as connection:
        connection.execute("CREATE TABLE docs (id INTEGER, body TEXT, embedding FLOAT[16])")
        values = [(i, text, row.tolist()) for i, (text, row) in enumerate(zip(texts, rows, strict=True))]
        connection.executemany("INSERT INTO docs VALUES (?, ?, ?)", values)
    (folder / "texts").mkdir()
    for name, part in {"a": lines[:100], "b": lines[100:]}.items():
        (folder / "texts" / f"{name}.txt").write_text("\n".join(part))
    (folder / "shards").mkdir()
    np.save(folder / "shards" / "a.npy", rows)
    np.save(folder / "shards" / "b.npy", rows)
    return folder


def _write_search(folder, rows, texts):
    """Documents, queries, judgments by rows and by ids, and pairs of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    np.save(folder / "docs.npy", rows)
    np.save(folder / "queries.npy", rows[:40] + np.float32(0.5))
    names = [f"d{i}" for i in range(len(rows))]
    pq.write_table(pa.table({"id": names, "text": texts, "embedding": rows.tolist()}), folder / "docs.parquet")
    (folder / "query-ids.txt").write_text("".join(f"q{i}\n" for i in range(40)))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"{i}\t{i}\t1\n" for i in range(40)))
    (folder / "named.qrels").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(40)))
    (folder / "rows.csv").write_text("row1,row2,score\n" + "".join(f"{i},{i + 100},{i % 5}\n" for i in range(40)))


@pytest.fixture
def files(example_files, tmp_path, monkeypatch):
    """The files that the examples name, in the current folder."""
    shutil.copytree(example_files, tmp_path, symlinks=True, dirs_exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("UNCONE_DATA", str(tmp_path / "data"))


PAGES = {path.name: path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}


def blocks(kinds: str, page: str) -> list[str]:
    return re.findall(rf"```(?:{kinds})\n(.*?)```", PAGES[page], re.S)


def commands() -> list[str]:
    lines = [line.strip() for page in PAGES for block in blocks("bash|sh|console", page) for line in block.splitlines()]
    # Those on a cluster of one's own run in tests/run/engines/test_examples.py.
    own = [line for line in lines if line.startswith("uncone ") and "|" not in line and "--address" not in line]
    return list(dict.fromkeys(own))


def _params(commands: list[str]) -> list[object]:
    """Engines, an S3 server and some databases take long to start."""
    slow = [pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore")]
    names = ("--engine", "s3://", "lancedb://", "qdrant://", "chroma://")
    return [pytest.param(each, marks=slow) if any(name in each for name in names) else each for each in commands]


@pytest.fixture(scope="session")
def example_server(example_files):
    """The PostgreSQL server of the examples."""
    from database_engines import postgres_server

    from uncone.data.writing.rewrite import rewrite

    with postgres_server() as uri:
        import psycopg

        with psycopg.connect(uri) as connection:
            connection.execute("CREATE EXTENSION vector")
        rewrite(f"duckdb://{example_files}/vectors.db?table=docs", f"{uri}&table=docs&key=id")
        yield uri


def with_databases(command, request):
    """The command with the databases that it names, filled with the example vectors."""
    from uncone.data.writing.rewrite import rewrite

    for base, table in (
        ("lancedb://lance", "table"),
        ("qdrant://./qdrant", "collection"),
        ("chroma://chroma", "collection"),
    ):
        if base.replace("./", "") in command:
            rewrite("vectors.parquet", f"{base}?{table}=docs")
    local = "postgresql://me@localhost/vectors?"
    if local not in command:
        return command
    server = request.getfixturevalue("example_server")
    if command.startswith("uncone apply"):
        Center().fit(np.eye(16)).save("pg-repair")
    return command.replace(local, f"{server}&")


@pytest.mark.parametrize("command", _params(commands()))
def test_every_command_of_the_readme_and_the_docs_runs(command, files, request):
    if "s3://" in command:
        bucket = request.getfixturevalue("bucket")
        for path in (path for folder in ("shards", "repair") for path in Path(folder).iterdir()):
            bucket.put(str(path), path.read_bytes())
    command = with_databases(command, request)
    assert _run(shlex.split(command, comments=True)[1:]) == (1 if "--fail-above" in command else 0)


def is_slow(block: str) -> bool:
    """Ray and Spark take long to start."""
    return "ray.data" in block or "pyspark" in block


def _pages_with_python() -> list[object]:
    pages = [page for page in PAGES if blocks("python", page)]
    slow = [page for page in pages if any(map(is_slow, blocks("python", page)))]
    return [(page, False) for page in pages] + [
        pytest.param(page, True, marks=[pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore")]) for page in slow
    ]


@pytest.mark.parametrize(("page", "slow"), _pages_with_python())
def test_every_python_block_runs(page, slow, files, cone, monkeypatch):
    import uncone

    texts, labels = [f"text {i}" for i in range(300)], ["a", "b", "c"] * 100
    names = {
        "uncone": uncone,
        "vectors": cone(300, 100),
        "new_vectors": cone(300, 16),
        "texts": texts,
        "labels": labels,
    }
    names["frame"] = {"text": texts, "label": labels}
    mine = [block for block in blocks("python", page) if "address=" not in block]
    for block in (each for each in mine if is_slow(each) == slow):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning if "dask" in block else OtherEncoderWarning)
            exec(compile(block, page, "exec"), names)


def commands_with_output(page: str) -> list[str]:
    """The commands whose output stands below them, each in one line."""
    whole = "\n".join(blocks("text", page)).replace("\\\n", " ")
    return re.findall(r"^(?:\$ )?(uncone .*)$", whole, re.M)


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", [page for page in PAGES if commands_with_output(page)])
def test_every_command_that_is_shown_with_its_output_runs(page, real_data, minilm, cone, monkeypatch):
    """One after another in one folder, because some read what others save."""
    np.save("vectors.npy", cone(300, 16))
    values = {"UNCONE_DATA": real_data, "MODELS": real_data.parent / "models", "MINILM": minilm}
    for name, value in values.items():
        monkeypatch.setenv(name, str(value))
    for command in commands_with_output(page):
        assert _run(shlex.split(os.path.expandvars(command))[1:]) == 0, command


@pytest.mark.parametrize(
    "verb",
    [
        *[
            "check",
            "layers",
            "calibrate",
            "similarity",
            "fix",
            "apply",
            "export",
            "evaluate",
            "plan",
            "schema",
            "cache",
        ],
        pytest.param("demo", marks=pytest.mark.exhaustive),
    ],
)
def test_help_ends_with_an_example_that_runs(verb, files, capsys):
    assert _run([verb, "--help"]) == 0
    example = re.search(r"Example: uncone (.*)", capsys.readouterr().out)
    assert example
    assert _run(shlex.split(example.group(1))) == 0


def test_help_of_the_command_itself(capsys):
    assert _run([]) == 0 and "check" in capsys.readouterr().out
    assert _run(["--version"]) == 0 and "uncone 0" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["docs/check.md", "docs/layers.md", "docs/deep.md", "docs/measures.md"])
def test_the_tables_of_measures_are_those_of_the_registry(name):
    path = ROOT / name
    assert path.read_text() == renewed(path), "make measures"


def test_the_published_schema_is_current():
    assert json.loads((ROOT / "docs" / "schema.json").read_text()) == schema(), "make measures"


def test_the_reference_of_options_is_current():
    assert (ROOT / "docs" / "options.md").read_text() == reference(), "make measures"


def test_the_pages_name_every_measure(tiny_model):
    import uncone

    check, every = PAGES["check.md"], PAGES["measures.md"]
    for page, verb in ((check, "check"), (every, "check"), (every, "layers"), (every, "deep")):
        assert all(f"| `{name}` |" in page or f"`{name}`," in page or f"`{name}` |" in page for name in measures(verb))
    texts = [f"the text {word} to go to school" for word in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]]
    assert list(uncone.layers(tiny_model, texts)[0].findings) == list(measures("layers"))


def test_every_finding_is_registered_and_has_every_field(cone):
    from uncone import check

    result = check(cone(), deep=True).to_dict()
    of_texts = {"diverse_baseline", "topic_share", "word_agreement"}
    assert list(result["findings"]) == [name for name in measures("check") if name not in of_texts]
    for finding in result["findings"].values():
        assert {"value", "low", "high", "n", "threshold", "level", "meaning", "advice"} <= set(finding)


def test_the_version_is_in_the_changelog():
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_every_dependency_has_a_tried_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {
        line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
    }
    requirements = [
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
        *project["optional-dependencies"]["models"],
    ]
    for requirement in requirements:
        assert re.split(r"[<>=~ \[]", requirement)[0].lower() in pinned, requirement
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text().splitlines()


def test_errors_can_be_caught_as_one():
    import uncone

    with pytest.raises(UnconeError):
        uncone.check("nowhere.npy")
