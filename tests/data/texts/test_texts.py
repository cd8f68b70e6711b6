"""Every format gives the same texts, again and again; what cannot be read says why in one line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncone.data.tables.read import requested_columns
from uncone.data.texts.texts import TextSource, open_texts
from uncone.errors import ColumnError, FormatError, MissingSourceError, OptionError, ShapeError

PLAIN = [
    "first",
    "",
    "  spaces stay  ",
    "sechs Äpfel",
    'she said "no", twice',
    "🙂 👩‍👩‍👧",
    "a\u2028b\x85c\x0cd\rf",
    "last",
]
WITH_NEWLINES = [*PLAIN, "two\nlines", "two\r\nlines", '"""', "tab\there"]
LABELS = [str(i % 3) for i in range(len(WITH_NEWLINES))]


def read(source, **options):
    opened = open_texts(source, **options)
    rows = list(opened.read())
    assert rows == list(opened.read()), "a source can be read again"
    assert [number for number, _, _ in rows] == list(range(len(rows)))
    assert all(type(text) is str for _, text, _ in rows)
    return opened, [text for _, text, _ in rows], [label for _, _, label in rows]


def zst(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


def packed(path, data):
    if path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".zst":
        data = zst(data)
    path.write_bytes(data)
    return path


def write(path, texts, labels=None):
    """Two columns, t and l; one that is called t alone without labels."""
    rows = [(text, label) for text, label in zip(texts, labels or LABELS, strict=False)]
    kind = path.name.split(".")[1]
    if kind == "txt":
        data = "".join(text + "\n" for text, _ in rows).encode()
    elif kind == "csv":
        stream = io.StringIO(newline="")
        csv.writer(stream).writerows([("t", "l"), *rows])
        data = stream.getvalue().encode()
    elif kind == "tsv":
        data = "".join(f"{text}\t{label}\n" for text, label in [("t", "l"), *rows]).encode()
    elif kind in ("jsonl", "ndjson"):
        data = "".join(json.dumps({"t": text, "l": int(label)}) + "\n" for text, label in rows).encode()
    else:
        pq.write_table(pa.table({"t": [text for text, _ in rows], "l": [int(label) for _, label in rows]}), path)
        return path
    return packed(path, data)


FILES = {
    f"a.{kind}{zipped}": texts
    for kind, texts in (("txt", PLAIN), ("csv", WITH_NEWLINES), ("tsv", PLAIN), ("jsonl", WITH_NEWLINES))
    for zipped in ("", ".gz", ".zst")
} | {"a.ndjson": WITH_NEWLINES, "a.parquet": WITH_NEWLINES}


@pytest.mark.parametrize("name", FILES)
def test_every_reader_gives_the_same_texts(name, tmp_path):
    path = write(tmp_path / name, FILES[name])
    lines = ".txt" in name
    opened, texts, labels = read(path, **({} if lines else {"text": ["t"], "label": "l"}))
    assert texts == FILES[name]
    assert labels == ([None] * len(texts) if lines else LABELS[: len(texts)])
    assert opened.name == str(path) and opened.files == (path,)
    assert opened.kind == {"txt": "lines", "csv": "table", "tsv": "table", "parquet": "parquet"}.get(
        name.split(".")[1], "jsonl"
    )


@given(texts=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), min_size=1))
def test_csv_and_jsonl_keep_any_text(texts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        assert read(write(folder / name, texts, ["0"] * len(texts)), text="t")[1] == texts


@given(texts=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r\t\ufeff"), min_size=1)))
def test_lines_and_tabs_keep_any_text_on_one_line(texts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    texts = ["first", *texts]
    for name, options in (("a.txt", {}), ("a.tsv", {"text": "t"})):
        assert read(write(folder / name, texts, ["0"] * len(texts)), **options)[1] == texts


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"one\ntwo", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"\xef\xbb\xbfone\n\n two \n", ["one", "", " two "]),
        (b"\n", [""]),
        ("one\r\r\ntw\u2028o\n".encode(), ["one\r", "tw\u2028o"]),
    ],
)
def test_lines(data, expected, tmp_path):
    (tmp_path / "a.txt").write_bytes(data)
    assert read("a.txt")[1] == expected


def test_several_columns_follow_each_other(tmp_path):
    table = {"id": ["x", "y"], "p": ["p1", "p2"], "h": ["h1", None], "a,b": ["c1", "c2"]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in frame.to_dict("records")).replace("NaN", "null")
    )
    for name in ("a.parquet", "a.csv", "a.tsv", "a.jsonl"):
        for text in (["p", "h"], ["p,h"], "p, h", ["p,h", "p"]):
            _, texts, labels = read(name, text=text, label="id")
            assert texts == ["p1", "h1", "p2", ""] and labels == ["x", "x", "y", "y"]
        assert read(name, text=["a,b"])[1] == ["c1", "c2"]
        assert read(name, text=["p"], label="p")[2] == ["p1", "p2"]
    assert requested_columns(["a,b", "p"], ["a", "p"]) == ["a", "b", "p"]


HEADERLESS = 'yes\tA "man .\tHe\nno\tA "dog .\tIt\nyes\tcat\tShe\n'


def test_tables_without_a_header(tmp_path):
    (tmp_path / "a.tsv").write_text(HEADERLESS)
    assert read("a.tsv", text="2,3", label="1")[1:] == (
        ['A "man .', "He", 'A "dog .', "It", "cat", "She"],
        ["yes", "yes", "no", "no", "yes", "yes"],
    )
    (tmp_path / "a.csv").write_text('"one, two",1\nthree,2\n')
    assert read("a.csv", text=["1"])[1] == ["one, two", "three"]
    (tmp_path / "b.csv").write_text("one\n\nthree\n")
    assert read("b.csv", text=["1"])[1] == ["one", "", "three"]
    # The label of the first row is no name: all below it are numbers.
    (tmp_path / "sst.tsv").write_text("fine film\t1\ndull\t0\nmoving\t1\n")
    assert read("sst.tsv", text=["1"], label="2")[1:] == (["fine film", "dull", "moving"], ["1", "0", "1"])
    assert read("sst.tsv", text=["1"])[1] == ["fine film", "dull", "moving"]
    # pandas calls columns 0, 1, 2 when nobody else does.
    (tmp_path / "pandas.csv").write_text("0,1\nfine,film\ndull,one\n")
    assert read("pandas.csv", text=["1"])[1] == ["film", "one"]
    assert read("pandas.csv", text=["0"])[1] == ["fine", "dull"]


@pytest.mark.parametrize(
    ("header", "chosen"),
    [("review", "review"), ("id,TEXT,sentence", "TEXT"), ("body,id,content", "content"), (",review", "review")],
)
def test_the_column_that_must_be_meant(header, chosen, tmp_path):
    names = header.split(",")
    (tmp_path / "a.csv").write_text(header + "\n" + ",".join(f"<{name}>" for name in names) + "\n")
    pq.write_table(pa.table({name: [f"<{name}>"] for name in names}), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text(json.dumps({name: f"<{name}>" for name in names}))
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        assert read(name)[1] == [f"<{chosen}>"]


def test_only_strings_can_be_meant(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 3, "review": "good", "stars": null}\n{"id": 4, "review": null}\n')
    assert read("a.jsonl", label="id", text="review")[1:] == (["good", ""], ["3", "4"])
    (tmp_path / "b.jsonl").write_text('\n{"id": 3, "review": "good"}\n\n')
    assert read("b.jsonl")[1] == ["good"]
    pq.write_table(pa.table({"id": [1], "review": ["good"]}), tmp_path / "a.parquet")
    assert read("a.parquet")[1] == ["good"]
    (tmp_path / "a.csv").write_text("review,stars\ngood,5\n")
    assert read("a.csv", label="stars")[1:] == (["good"], ["5"])


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_kinds_of_strings_in_parquet(kind, tmp_path):
    column = pa.array(["one", None, "one"]).cast(pa.string())
    column = column.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else column.cast(kind)
    pq.write_table(pa.table({"n": [1, 2, 3], "t": column, "l": pa.array([1.5, None, 2.5])}), tmp_path / "a.parquet")
    assert read("a.parquet", text="t", label="l")[1:] == (["one", "", "one"], ["1.5", None, "2.5"])


def test_folders_and_globs_in_natural_order(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in (10, 2, 1):
        packed(folder / f"part{number}.txt{'.gz' if number == 2 else ''}", f"text {number}\n".encode())
    for name in ("texts", "texts/*.txt*"):
        opened, texts, _ = read(name)
        assert texts == ["text 1", "text 2", "text 10"]
        assert opened.name == name and opened.kind == "lines" and len(opened.files) == 3
    (folder / "a.csv").write_text("text,n\nfrom the table,1\n")  # the .txt beside tables are taken for a README
    assert read(folder)[1] == ["from the table"]
    (folder / "b.jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(
        FormatError, match=r"texts mixes formats: \.csv, \.jsonl\. Name one with a glob such as '\*\.csv'\."
    ):
        open_texts("texts")
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingSourceError, match=r"The folder empty holds no texts\. We read \.txt, "):
        open_texts("empty")
    with pytest.raises(MissingSourceError, match=r"No file matches none\*\.txt\."):
        open_texts("none*.txt")


class _Closed(io.BytesIO):
    def seekable(self):
        return False


def test_standard_input_is_read_twice(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(_Closed(b"one\n\ntwo\r\nthr\xc3\xa9e")))
    opened, texts, _ = read("-")
    assert texts == ["one", "", "two", "thrée"]
    assert (opened.name, opened.kind, opened.files) == ("standard input", "lines", ())
    together = list(zip(opened.read(), opened.read(), strict=True))
    assert all(one == other for one, other in together), "two readers do not disturb each other"
    with pytest.raises(FormatError, match=r"^standard input is empty \(0 bytes\)\. Pipe one text per line into it\.$"):
        open_texts("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(MissingSourceError, match=r"^Standard input is closed\."):
        open_texts("-")
    with pytest.raises(MissingSourceError, match=r"^Standard input is closed\."):
        open_texts("-", text=["a"])


def test_a_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=["one\ntwo\n"])
    writer.start()
    assert read("pipe")[1] == ["one", "two"]
    writer.join()


@pytest.mark.parametrize(
    "make",
    [list, tuple, iter, np.array, lambda t: np.array(t, object), pd.Series, lambda t: pd.Series(t, dtype=object)],
)
def test_strings_in_memory(make):
    opened, texts, labels = read(make(["one", "", "🙂"]))
    assert texts == ["one", "", "🙂"] and labels == [None] * 3
    assert (opened.name, opened.kind, opened.files) == ("texts", "list", ())
    assert open_texts(opened) is opened and isinstance(opened, TextSource)


def test_missing_strings_in_memory_are_empty():
    series = pd.Series(["one", None, float("nan"), pd.NA], dtype=object, name="review", index=[5, 5, 6, 7])
    opened, texts, _ = read(series)
    assert texts == ["one", "", "", ""] and opened.name == "review"
    assert read(["one", None])[1] == ["one", ""]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (7, "A int is not a list of texts. Give one column of strings, such as table['text']."),
        ({"t": "a"}, "Column 't' of the table is a single text. Give a list of values, one per row."),
        (["a", 3], "Text 1 of the list is a int; we need strings."),
        (b"abc", "Text 0 of the bytes is a int; we need strings."),
    ],
)
def test_what_is_not_strings(source, message):
    with pytest.raises((OptionError, ColumnError), match="^" + re.escape(message)):
        open_texts(source)


def test_a_table_in_memory_gives_its_column_of_texts():
    assert read(pd.DataFrame({"n": [1, 2], "t": ["a", None]}), label="n")[1:] == (["a", ""], ["1", "2"])


TABLE = "a,b,c\n1,2,3\n"
ERRORS = {
    "latin1": ("a.txt", b"one\n" * 16 + b"caf\xe9\n", {}, FormatError,
               "a.txt, line 17: not UTF-8 (byte 0xe9). Convert it, for instance with iconv -f latin1 -t utf-8."),
    "latin1 in a table": ("a.csv", b'text\n"two\nlines"\n\xff\n', {}, FormatError,
                          "a.csv, line 4: not UTF-8 (byte 0xff)."),
    "cut character": ("a.txt", "caf\u00e9".encode()[:-1], {}, FormatError, "a.txt, line 1: not UTF-8 (byte 0xc3)."),
    "utf-16": ("a.txt", "one".encode("utf-16"), {}, FormatError,
               "a.txt is UTF-16, not UTF-8. Convert it with iconv -f utf-16 -t utf-8."),
    "binary": ("a.txt", b"one\nt\0wo\n", {}, FormatError,
               "a.txt, line 2: binary data (a NUL byte); we need text. Is it a text file?"),
    "empty": ("a.txt", b"", {}, FormatError,
              "a.txt is empty (0 bytes). We need at least one text; was it written to the end?"),
    "ending": ("a.docx", b"one", {}, FormatError,
               "a.docx has an unknown ending '.docx'; we read texts from .txt, .csv,"),
    "zipped parquet": ("a.parquet.gz", b"one", {}, FormatError, "a.parquet.gz has an unknown ending '.gz';"),
    "only zipped": ("a.zst", b"one", {}, FormatError, "a.zst has an unknown ending '.zst';"),
    "not gz": ("a.txt.gz", b"one\n", {}, FormatError,
               "a.txt.gz is a damaged .gz file (Not a gzipped file (b'on')). Copy"),
    "cut gz": ("a.csv.gz", gzip.compress(b"text\n" + bytes(range(32, 90)) * 9)[:-12], {}, FormatError,
               "a.csv.gz is a damaged .gz file (Compressed file ended before the end-of-stream marker was rea"),
    "not zst": ("a.txt.zst", b"one\n", {}, FormatError, "a.txt.zst is a damaged .zst file ("),
    "cut zst": ("a.txt.zst", zst(b"one\n" * 999)[:-2], {}, FormatError,
                "a.txt.zst is a damaged .zst file (Truncated compressed stream). Copy it again."),
    "cut parquet": ("a.parquet", b"PAR1 and then nothing", {}, FormatError,
                    "a.parquet is not a readable parquet file ("),
    "no column": ("a.csv", TABLE, {"text": "x"}, ColumnError, "a.csv has no column 'x' for --text; it has a, b, c."),
    "no column of two": ("a.csv", TABLE, {"text": "a,x"}, ColumnError,
                         "a.csv has no column 'x' for --text; it has a, b, c."),
    "no label": ("a.csv", TABLE, {"text": "a", "label": "x"}, ColumnError,
                 "a.csv has no column 'x' for --label; it has a, b, c."),
    "number too high": ("a.csv", TABLE, {"text": "4"}, ColumnError,
                        "a.csv has no column '4' for --text; it has a, b, c."),
    "which": ("a.csv", TABLE, {}, ColumnError,
              "a.csv has several columns: a, b, c. Name one or several with --text NAME, "
              "or --text 2 for the second column of a table without a header."),
    "which field": ("a.jsonl", '{"a": "x", "b": "y"}', {}, ColumnError,
                    "a.jsonl has several columns: a, b. Name one or several with --text NAME."),
    "no text field": ("a.jsonl", '{"a": 1}', {}, ColumnError,
                      "a.jsonl has no column that must be the text: a. Name one or several with --text NAME."),
    "doubled": ("a.csv", "a,a\n1,2\n", {"text": "a"}, ColumnError,
                "a.csv has several columns named 'a': rename all but one."),
    "doubled, not named": ("a.csv", "text,text\n1,2\n", {}, ColumnError,
                           "a.csv has several columns named 'text': rename all but one."),
    "ragged csv": ("a.csv", 'text,n\n"x\ny",1\nx, y,2\n', {}, ShapeError,
                   "a.csv is ragged: line 4 has 3 columns, the first has 2. Quote fields that hold a comma."),
    "ragged tsv": ("a.tsv", "text\tn\nx\n", {}, ShapeError,
                   "a.tsv is ragged: line 2 has 1 columns, the first has 2. Put spaces for tabs inside texts."),
    "open quote": ("a.csv", 'text,n\nx,1\n"y,2\nz,3\n', {}, FormatError,
                   "a.csv, line 3: not a row of a .csv (unexpected end of data). Close quoted fields, and double "
                   "the quotes inside them."),
    "semicolons": ("a.csv", "text;n\nx;1\n", {}, FormatError,
                   "a.csv has one column, 'text;n'. Write it with commas, not semicolons."),
    "not json": ("a.jsonl", '{"t": "x"}\n{"t": \n', {}, FormatError, "a.jsonl, line 2: not JSON (Expecting value"),
    "a list": ("a.jsonl", '["x"]\n', {}, FormatError, "a.jsonl, line 1: a list; we need an object."),
    "a number": ("a.jsonl", '{"t": "x"}\n{"t": 7}\n', {"text": "t"}, FormatError,
                 "a.jsonl, line 2: 't' is 7; we need a text. Name the right field with --text NAME."),
    "a label that is a list": ("a.jsonl", '{"t": "x", "l": [1]}\n', {"text": "t", "label": "l"}, FormatError,
                               "a.jsonl, line 1: 'l' is [1]; we need a word or a number."),
    "a field less": ("a.jsonl", '{"t": "x", "u": "y"}\n{"u": "z"}\n', {"text": "t"}, ColumnError,
                     "a.jsonl, line 2: no 't' for --text; the row has u."),
    "half an emoji": ("a.jsonl", '{"t": "x \\ud83d"}\n', {}, FormatError,
                      "a.jsonl, line 1: half a character (U+D83D), perhaps of a cut-off emoji. Remove it."),
    "columns of lines": ("a.txt", "x\n", {"text": "t"}, ColumnError,
                         "a.txt: --text is for .csv, .tsv, .jsonl and .parquet; bare texts have no columns."),
    "labels of lines": ("a.txt", "x\n", {"label": "t"}, ColumnError, "a.txt: --label is for .csv, "),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_line_that_says_what_to_do(case, tmp_path):
    name, data, options, error, message = ERRORS[case]
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(error, match="^" + re.escape(message)) as caught:
        list(open_texts(name, **options).read())
    assert "\n" not in str(caught.value) and type(caught.value) is error


def test_errors_of_parquet(tmp_path):
    pq.write_table(pa.table({"n": [1], "t": ["a"], "u": ["b"]}), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    for options, message in (
        (
            {"text": "n"},
            r"a\.parquet: column 'n' holds int64; we need strings\. Columns that hold strings: t, u\.",
        ),
        ({"text": "x"}, r"a\.parquet has no column 'x' for --text; it has n, t, u\."),
        ({}, r"a\.parquet has several columns: n, t, u\. Name one or several with --text NAME\."),
    ):
        with pytest.raises(ColumnError, match=f"^{message}$"):
            open_texts("a.parquet", **options)
    (tmp_path / "b.parquet").write_bytes(whole[:-20])
    with pytest.raises(
        FormatError, match=r"^b\.parquet is not a readable parquet file \(.*\)\. Copy or write it again\.$"
    ):
        open_texts("b.parquet", text="t")
    latin1 = pa.array([b"caf\xe9"]).cast(pa.binary()).view(pa.string())
    pq.write_table(pa.table({"t": latin1}), tmp_path / "c.parquet")
    with pytest.raises(FormatError, match=r"^c\.parquet is not a readable parquet file \(.*UTF8.*\)"):
        open_texts("c.parquet")


def test_what_is_not_there(tmp_path, monkeypatch):
    message = (
        r"^There is no file or folder nope\.txt and no corpus of that name; the corpora are snli, wikitext2, ptb, st"
    )
    for source in ("nope.txt", Path("nope.txt")):
        with pytest.raises(MissingSourceError, match=message):
            open_texts(source)
    with pytest.raises(MissingSourceError, match="cannot be read: File name too long"):
        open_texts("a text, where a path is needed " * 20)
    (tmp_path / "a.txt").write_text("one\n")
    opened = open_texts("a.txt")
    (tmp_path / "a.txt").unlink()
    with pytest.raises(MissingSourceError, match=r"^a\.txt cannot be read: No such file or directory\."):
        list(opened.read())
    (tmp_path / "a.txt").write_text("one\n")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(
        MissingSourceError, match=r"^a\.txt cannot be read: permission denied\. Check its permissions\.$"
    ):
        open_texts("a.txt")


def test_a_table_of_nothing_gives_nothing(tmp_path):
    for name, data in (("a.csv", "text,n\n"), ("b.csv", "\n\n"), ("a.tsv", "\n"), ("a.jsonl", "\n \n")):
        (tmp_path / name).write_text(data)
        assert read(name)[1] == []


def test_half_a_character_in_memory():
    with pytest.raises(FormatError, match=r"^Text 1 of the list: half a character \(U\+DE42\)"):
        open_texts(["fine", "x\ude42"])
