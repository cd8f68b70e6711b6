"""Tables: the quick way and the careful way give the same rows and lines; bad tables are told in one line."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uncone.data.open import open_source
from uncone.data.tables import delimited, lines
from uncone.data.tables.delimited import end_of_rows
from uncone.data.tables.read import open_table
from uncone.data.texts.texts import open_texts
from uncone.errors import ColumnError, FormatError, ShapeError

FIELDS = st.lists(st.sampled_from(["a", "b", " ", ",", '"', "\n", "\r\n", "\t", "é", ";"]), max_size=6).map("".join)
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[FIELDS] * width), max_size=40))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(lines, "_BLOCK", 64)
    monkeypatch.setattr(lines, "_FIRST", 16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def rows_of(table):
    blocks = list(table.blocks())
    rows = [row for block in blocks for row in zip(*(block.values(name) for name in table.names), strict=True)]
    return blocks, rows, [block.line(row) for block in blocks for row in range(block.rows)]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 3).flatmap(lambda n: st.lists(st.tuples(*[FIELDS] * n), max_size=40)),
    st.sampled_from(["\n", "\r\n"]),
)
def test_rows_and_lines_are_those_of_the_csv_module(folder, rows, end):
    width = len(rows[0]) if rows else 2
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator=end).writerows([[f"c{i}" for i in range(width)], *rows])
    (folder / "a.csv").write_bytes(stream.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", 64)
        patch.setattr(lines, "_FIRST", 16)
        _, found, numbers = rows_of(open_table(folder / "a.csv", blank_rows=True))
    assert found == rows
    reader = csv.reader(io.StringIO(stream.getvalue(), newline=""))
    starts = [0, *(reader.line_num for _ in reader)]
    assert numbers == [start + 1 for start in starts[1:-1]]


def test_the_quick_way_is_taken_unless_a_quote_is_astray(tmp_path, small_blocks):
    table = "text,n\n" + '"one, two",1\n"say ""no""",2\n"two\nlines",3\n' * 30
    (tmp_path / "a.csv").write_text(table)
    blocks, rows, _ = rows_of(open_table(tmp_path / "a.csv"))
    assert sum(block.rows for block in blocks if isinstance(block, delimited._ArrowBlock)) > 80 and len(rows) == 90
    (tmp_path / "b.csv").write_text(table + '5" disk,4\n' + "x,5\n" * 50)
    blocks, rows, numbers = rows_of(open_table(tmp_path / "b.csv"))
    assert rows[90:92] == [('5" disk', "4"), ("x", "5")] and numbers[90] == 122
    assert isinstance(blocks[-1], delimited._RowBlock) and len(rows) == 141


@pytest.mark.parametrize(
    ("data", "end"),
    [(b"a,b\n", 4), (b'"a\nb",c\nd\n', 10), (b'a\n"b\n', 2), (b'"a ""b\nc\n', 0), (b'a,""b\n', -1), (b'"a"b\n', -1)],
)
def test_end_of_rows(data, end):
    assert end_of_rows(data) == end


def test_quotes_are_letters_in_a_tsv(tmp_path):
    (tmp_path / "a.tsv").write_text('1\t"Yes" he said\n0\tan inch "\n')
    _, rows, _ = rows_of(open_table(tmp_path / "a.tsv", header=False))
    assert rows == [("1", '"Yes" he said'), ("0", 'an inch "')]


def test_late_errors_name_their_line(tmp_path, small_blocks):
    good = "text,n\n" + '"two\nlines",1\n' * 40
    for tail, error, says in (
        (b"x,1,2\n", ShapeError, "line 82 has 3 columns"),
        (b"caf\xe9,1\n", FormatError, "line 82: not UTF-8 (byte 0xe9)"),
        (b"a\0b,1\n", FormatError, "line 82: binary data"),
        (b'"open,1\nx,2\n', FormatError, "line 82: not a row of a .csv (unexpected end of data)"),
        (b'"a"b,1\n', FormatError, "line 82: not a row of a .csv (',' expected after '\"')"),
    ):
        (tmp_path / "a.csv").write_bytes(good.encode() + tail)
        with pytest.raises(error) as caught:
            list(open_texts(tmp_path / "a.csv", text="text").read())
        assert says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
@pytest.mark.usefixtures("small_blocks")
def test_texts_are_numbered_through_the_blocks(name, tmp_path):
    rows = [(f"text {i}", f"beside {i}", str(i % 3)) for i in range(50)]
    mark = "," if name == "a.csv" else "\t"
    lines_of_rows = [mark.join(row) for row in [("t", "u", "l"), *rows]]
    if name == "a.jsonl":
        lines_of_rows = [f'{{"t": "{text}", "u": "{other}", "l": "{label}"}}' for text, other, label in rows]
    (tmp_path / name).write_text("\n".join(lines_of_rows))
    found = list(open_texts(tmp_path / name, text="t", label="l").read())
    assert found == [(i, text, label) for i, (text, _, label) in enumerate(rows)]
    found = list(open_texts(tmp_path / name, text="t,u", label="l").read())
    both = [(text, label) for first, second, label in rows for text in (first, second)]
    assert found == [(i, text, label) for i, (text, label) in enumerate(both)]


def test_a_line_without_an_end_takes_bounded_memory(tmp_path):
    with gzip.open(tmp_path / "a.csv.gz", "wb", 1) as file:
        file.write(b"text\n")
        for _ in range(400):
            file.write(b"x" * (1 << 20))
    code = (
        "import sys\nfrom pathlib import Path\nfrom uncone.data.texts.texts import open_texts\n"
        "try: list(open_texts(sys.argv[1]).read())\nexcept Exception as error: print(error)\n"
        "print(next(line.split()[1] for line in Path('/proc/self/status').open() if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "a.csv.gz"], capture_output=True, text=True)
    message, memory = done.stdout.splitlines()
    assert message.endswith("line 2: longer than 64 MB. Is it a text file, and is every quote closed?")
    assert int(memory) < 300 << 10


TEXTS = {
    "a.txt": "The plane took off.\nIt landed in 2019\nIt rained.\n",
    "a.csv": "text,label\nThe plane took off.,1\nIt landed.,0\n",
    "a.jsonl": '{"text": "The plane took off."}\n',
}


@pytest.mark.parametrize("name", [*TEXTS, "a.parquet"])
def test_texts_where_vectors_are_needed(name, tmp_path):
    if name == "a.parquet":
        pq.write_table(pa.table({"text": ["one", "two"]}), tmp_path / name)
    else:
        (tmp_path / name).write_text(TEXTS[name])
    with pytest.raises(FormatError, match=r"holds texts.*; we need vectors\. Add --model NAME"):
        open_source(tmp_path / name)


def test_a_header_that_is_data(tmp_path):
    (tmp_path / "a.csv").write_text("A man is playing a guitar.\nA dog runs.\n")
    with pytest.raises(ColumnError, match=r"has no header: its first row holds 'A man .*--text 1, or add a header"):
        open_texts(tmp_path / "a.csv")
    assert next(open_texts(tmp_path / "a.csv", text="1").read())[1] == "A man is playing a guitar."
    (tmp_path / "b.csv").write_text("cat,0.5,0.25\ndog,0.125,0.75\n")
    with pytest.raises(FormatError, match=r"has no header: its first row holds the number 0\.5"):
        open_source(tmp_path / "b.csv")


def test_tables_too_small_to_hold_vectors(tmp_path):
    for data, error in (("a,b\n", "no rows with numbers"), ("v\n0.5\n0.25\n", "no column of vectors such as")):
        (tmp_path / "a.csv").write_text(data)
        with pytest.raises((FormatError, ColumnError), match=error):
            open_source(tmp_path / "a.csv")


def test_doubled_names_are_refused_only_if_they_matter(tmp_path):
    (tmp_path / "a.csv").write_text("text,n,n\nx,1,2\n")
    assert [text for _, text, _ in open_texts(tmp_path / "a.csv", text="text").read()] == ["x"]
    (tmp_path / "b.csv").write_text("a,a\n0.5,1.5\n0.25,0.75\n")
    with pytest.raises(ColumnError, match="several columns named 'a'"):
        open_source(tmp_path / "b.csv")


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_tables_of_vectors(ending, tmp_path):
    data = b'v\n"[0.5, 1]"\n"[1, 0.25]"\n'
    packed = gzip.compress(data) if ending == ".gz" else pa.Codec("zstd").compress(data, asbytes=True)
    (tmp_path / f"a.csv{ending}").write_bytes(packed)
    assert next(open_source(tmp_path / f"a.csv{ending}").read()).vectors.tolist() == [[0.5, 1], [1, 0.25]]
