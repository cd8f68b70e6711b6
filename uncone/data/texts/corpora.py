"""Named corpora: the texts that papers on embedding spaces measure on, from a local folder or the hub."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from uncone.data.storage.path import path_of
from uncone.data.texts.hub import HubPart, HubTexts
from uncone.data.texts.texts import LineTexts, ManyTexts, TableTexts, TextRow, TextSource
from uncone.errors import MissingSourceError, OptionError, SourceError

__all__ = ["CORPORA", "Corpus", "corpus_name", "open_corpus"]

_HEADING = re.compile(r"(?P<marks>=(?: =)*) [^=].* (?P=marks)")


@dataclass(frozen=True)
class Corpus:
    """What a corpus is and where it lies: the files of each split, with their possible names, and their hub parts."""

    description: str
    default: str
    folders: tuple[str, ...]
    files: dict[str, tuple[tuple[str, ...], ...]]
    hub: dict[str, tuple[HubPart, ...]]
    fields: tuple[str, ...]
    columns: tuple[str, ...] = ()
    labeled: bool = False
    headings: bool = False

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of its parts."""
        return tuple(self.files)


_YEARS = ("12", "13", "14", "15", "16")
_STS_FILES = {year: ((f"sts{year}.tsv",),) for year in _YEARS}
_STS_HUB = {year: (HubPart(f"mteb/sts{year}-sts", "test"),) for year in _YEARS}
_HUB_SPLITS = {"valid": "validation", "test": "test", "train": "train"}

CORPORA = {
    "snli": Corpus(
        "SNLI: premises and hypotheses, captions of photographs and what may follow from them",
        default="dev",
        folders=("snli",),
        files={split: ((f"{split}.tsv",),) for split in ("dev", "test", "train")},
        hub={
            split: (HubPart("stanfordnlp/snli", name),)
            for split, name in (("dev", "validation"), ("test", "test"), ("train", "train"))
        },
        fields=("premise", "hypothesis"),
        columns=("2", "3"),
        labeled=True,  # pairs on which the annotators did not agree are left out, as in the folder
    ),
    "wikitext2": Corpus(
        "WikiText-2: paragraphs of good Wikipedia articles, tokenized, without their headings",
        default="valid",
        folders=("wikitext-2", "wikitext2"),
        files={split: ((f"{split}.txt", f"wiki.{split}.tokens"),) for split in _HUB_SPLITS},
        hub={split: (HubPart("Salesforce/wikitext", name, "wikitext-2-v1"),) for split, name in _HUB_SPLITS.items()},
        fields=("text",),
        headings=True,
    ),
    "ptb": Corpus(
        "Penn Treebank: sentences of the Wall Street Journal, lower-cased and tokenized",
        default="valid",
        folders=("ptb",),
        files={split: ((f"{split}.txt", f"ptb.{split}.txt"),) for split in _HUB_SPLITS},
        # The dataset itself is a script, which `datasets` no longer runs; the hub keeps a converted copy.
        hub={
            split: (HubPart("ptb-text-only/ptb_text_only", name, revision="refs/convert/parquet"),)
            for split, name in _HUB_SPLITS.items()
        },
        fields=("sentence",),
    ),
    "sts": Corpus(
        "STS 2012 to 2016: both sentences of the test pairs of SemEval's similarity tasks",
        default="test",
        folders=("sts",),
        files={"test": tuple(_STS_FILES[year][0] for year in _YEARS), **_STS_FILES},
        hub={"test": tuple(_STS_HUB[year][0] for year in _YEARS), **_STS_HUB},
        fields=("sentence1", "sentence2"),
        columns=("2", "3"),
    ),
}
"""What can be asked for by name, as `name` or `name:split`."""


class CorpusTexts(TextSource):
    """The texts of a corpus, numbered without the headings that are left out."""

    kind = "corpus"

    def __init__(self, source: TextSource, name: str, *, headings: bool) -> None:
        self.source = source
        self.name = name
        self.files = source.files
        self.headings = headings

    def read(self) -> Iterator[TextRow]:
        rows = (row for row in self.source.read() if not (self.headings and _is_heading(row[1])))
        return ((number, text, label) for number, (_, text, label) in enumerate(rows))


def corpus_name(request: str) -> str:
    """The corpus that `name` or `name:split` asks for.

    >>> corpus_name("snli:test"), corpus_name("WikiText-2")
    ('snli', 'wikitext2')
    """
    return request.partition(":")[0].lower().replace("-", "")


def open_corpus(name: str, data: str | os.PathLike[str] | None = None) -> TextSource:
    """A corpus by `name` or `name:split`: from the folder `data`, else from $UNCONE_DATA, else from the hub.

    Raises:
        MissingSourceError: there is no such corpus, or it is neither in the folder nor on the hub.
        OptionError: it has no such split.
    """
    corpus = CORPORA.get(corpus_name(name))
    if corpus is None:
        raise MissingSourceError(f"There is no corpus {name}; the corpora are {', '.join(CORPORA)}.")
    split = name.partition(":")[2] or corpus.default
    if split not in corpus.files:
        raise OptionError(f"The corpus {corpus_name(name)} has no split {split!r}; it has {', '.join(corpus.splits)}.")
    folder = data or os.environ.get("UNCONE_DATA") or None
    files = None if folder is None else _local_files(path_of(folder), corpus, split)
    if files is not None:
        return CorpusTexts(_open_files(files, corpus), name, headings=corpus.headings)
    try:
        hub = HubTexts(name, corpus.hub[split], corpus.fields, labeled=corpus.labeled)
    except SourceError as error:
        paths = [f"{corpus.folders[0]}/{names[0]}" for names in corpus.files[split]]
        layout = paths[0] if len(paths) == 1 else f"{paths[0]} to {paths[-1].rpartition('/')[2]}"
        reason = "no --data and no UNCONE_DATA was given" if folder is None else f"{Path(folder)} has no {layout}"
        raise MissingSourceError(
            f"The corpus {name} was not found: {reason}, and {error}. "
            f"Use --data FOLDER with {layout} in it, or your own texts with --corpus FILE."
        ) from error
    return CorpusTexts(hub, name, headings=corpus.headings)


def _local_files(folder: Path, corpus: Corpus, split: str) -> list[Path] | None:
    """The files of a split, when all of them are there."""
    for inner in corpus.folders:
        paths = [
            next((path for name in names if (path := folder / inner / name).is_file()), None)
            for names in corpus.files[split]
        ]
        files = [path for path in paths if path is not None]
        if len(files) == len(paths):
            return files
    return None


def _open_files(files: Sequence[Path], corpus: Corpus) -> TextSource:
    parts: list[TextSource] = [
        TableTexts(path, corpus.columns, header=False) if corpus.columns else LineTexts(path) for path in files
    ]
    return ManyTexts(parts, str(files[0].parent))


def _is_heading(text: str) -> bool:
    """Whether a line of WikiText is a heading such as " = = Description = = "."""
    return _HEADING.fullmatch(text.strip()) is not None
