"""Options of `calibrate`."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from uncone.errors import OptionError
from uncone.verbs.options.option import Rule, at_least, between, option
from uncone.verbs.options.shared import DiverseOptions, OutputOptions, PairOptions, RunOptions, SpaceOptions

__all__ = ["COSINE", "CalibrateOptions", "CalibrateOutput"]

COSINE = between(-1.0, 1.0, "a cosine between -1 and 1")
_SHARE = Rule(lambda value: 0 < value < 1, "a share of unrelated pairs between 0 and 1, such as 0.01")
_KINDS: tuple[Literal["miss", "false"], ...] = ("miss", "false")


def _is_guarantee(value: object) -> bool:
    kind, _, rate = str(value).partition("=")
    try:
        return kind.strip() in _KINDS and 0 < float(rate) < 1
    except ValueError:
        return False


_GUARANTEE = Rule(_is_guarantee, "miss=RATE or false=RATE, with a rate between 0 and 1, such as miss=0.1")
_TARGET = Rule(lambda value: 0 < value <= 1, "a share above 0 and at most 1, such as 0.9")


@dataclass(frozen=True, kw_only=True)
class _LabeledPairs(PairOptions):
    GROUP = "Labeled pairs"
    label: str | None = option(None, "Column of --pairs with the label or grade.", needs="pairs", group="Labeled pairs")
    ids: str | None = option(None, "Column of the source with the ids that --pairs uses.", flag="--id", needs="pairs")
    cut: float | None = option(
        None,
        "Smallest grade at which two texts count as similar.",
        needs="pairs",
        rule=Rule(math.isfinite, "a grade such as 4"),
    )
    relevant: float | None = option(
        None,
        "Smallest grade of a relevance judgment (qrels) at which a document counts as relevant.",
        default_text="1 for qrels",
        needs="pairs",
        rule=Rule(math.isfinite, "a grade such as 1"),
    )
    guarantees: Sequence[str] = option(
        (),
        "Find a threshold that misses at most this share of new similar pairs on average (miss=0.1), or lets at most "
        "this share of new dissimilar pairs through (false=0.01).",
        flag="--guarantee",
        needs="pairs",
        rule=_GUARANTEE,
    )
    precisions: Sequence[float] = option(
        (), "Find the threshold for this precision.", flag="--precision", needs="pairs", rule=_TARGET
    )
    recalls: Sequence[float] = option(
        (), "Find the threshold for this recall.", flag="--recall", needs="pairs", rule=_TARGET
    )
    replicates: int = option(1000, "Number of bootstrap samples for intervals of labeled pairs.", rule=at_least(10))

    @property
    def promises(self) -> dict[Literal["miss", "false"], float]:
        """The guaranteed rates by kind, "miss" first."""
        rates = {kind.strip(): float(rate) for kind, _, rate in (text.partition("=") for text in self.guarantees)}
        return {kind: rates[kind] for kind in _KINDS if kind in rates}

    def check(self) -> None:
        """Refuse two meanings of a grade, and two guarantees of a kind."""
        if self.cut is not None and self.relevant is not None:
            raise OptionError("--cut is for graded pairs and --relevant for judgments of documents: name one of them.")
        if len(self.promises) < len(self.guarantees):
            raise OptionError(f"Name one --guarantee of each kind, not {', '.join(self.guarantees)}.")
        super().check()


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(_LabeledPairs, RunOptions, DiverseOptions, SpaceOptions):
    """What `calibrate` takes."""

    GROUP = "Calibration"
    FIRST: ClassVar[tuple[str, ...]] = ("scores", "fpr", "corpus_size")

    scores: Sequence[float] = option(
        (), "Explain what this cosine means here.", flag="--score", rule=COSINE, default_text="0.7, 0.75, 0.8"
    )
    fpr: Sequence[float] = option(
        (0.01,), "Find the threshold for this false-positive rate: the share of unrelated pairs above it.", rule=_SHARE
    )
    corpus_size: int | None = option(
        None,
        "Number of texts that each query searches, to count false hits and find the threshold for one per query.",
        rule=at_least(1),
    )
    background: Any = option(None, "A second, more diverse corpus to compare the background with.")
    translate: float | None = option(
        None, "A threshold of another space to translate to this one.", needs="old", rule=COSINE
    )
    old: Any = option(None, "Folder with the saved calibration of that space.", flag="--from", needs="translate")
    queries: Any = option(None, "Queries, if they differ from the documents; replaces SOURCE.", needs="documents")
    documents: Any = option(None, "Documents that the queries search.", needs="queries")
    query_prompt: str | None = option(None, "Prompt put before every query, instead of --prompt.", needs="queries")
    document: str | None = option(
        None, "Column (or file with a line per text) with the document of each text. Pairs within one are left out."
    )
    repair: str | os.PathLike[str] | None = option(None, "Folder of a saved repair: calibrate the repaired space.")
    save: str | os.PathLike[str] | None = option(
        None, "Folder to save the calibration to, for use in Python.", flag="--save -o"
    )

    FOR_TEXTS: ClassVar[tuple[str, ...]] = (*SpaceOptions.FOR_TEXTS, "text", "query_prompt", "diverse")

    def check(self) -> None:
        """Refuse options that exclude each other."""
        if not self.fpr:
            raise OptionError("Name at least one false-positive rate, such as --fpr 0.01.")
        if self.document is not None and self.queries is not None:
            raise OptionError("--document is for pairs within one source, not for --queries and --documents.")
        super().check()

    def check_source(self, source: object) -> None:
        """Refuse a source that is missing, given twice, or that would have to be read twice."""
        if source is None and self.queries is None:
            raise OptionError("Name a file of vectors, or of texts with --model; or both --queries and --documents.")
        if source is not None and self.queries is not None:
            raise OptionError("--queries and --documents replace the source: leave one or the other out.")
        # Labeled pairs of texts are encoded by themselves.
        again = {"--document": self.document, "--id": self.ids, "--pairs": self.pairs if self.model is None else None}
        sources = (source, self.queries, self.documents, self.background)
        streams = [item for item in sources if (isinstance(item, str) and item == "-") or isinstance(item, Iterator)]
        second = next((flag for flag, value in again.items() if value is not None), None)
        if len(streams) > 1 or (streams and second is not None):
            clause = "only once" if second is None else f"only once, and {second} reads it again"
            raise OptionError(f"Standard input or an iterator can be read {clause}: save it to a file first.")


@dataclass(frozen=True, kw_only=True)
class CalibrateOutput(OutputOptions):
    """What `calibrate` writes."""

    html: Path | None = option(Path("uncone-calibrate.html"), "HTML report, a single page that works offline.")
