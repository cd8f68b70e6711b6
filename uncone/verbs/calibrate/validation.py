"""Which options of `calibrate` cannot be, or not together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uncone.errors import OptionError

__all__ = ["check_numbers", "check_pair_options", "check_read_once", "check_together"]


def check_numbers(
    rates: Sequence[float],
    precisions: Sequence[float],
    recalls: Sequence[float],
    corpus_size: int | None,
    replicates: int,
) -> None:
    """Refuse shares and counts that are none.

    Raises:
        OptionError: one of them.
    """
    if not len(rates):
        raise OptionError("We need at least one share of unrelated pairs to cut at, such as --fpr 0.01.")
    for rate in rates:
        if not 0 < rate < 1:
            raise OptionError(f"--fpr is a share of unrelated pairs between 0 and 1, such as 0.01, not {rate:g}.")
    for option, values in (("--precision", precisions), ("--recall", recalls)):
        for value in values:
            if not 0 < value <= 1:
                raise OptionError(f"{option} is a share above 0 and at most 1, such as 0.9, not {value:g}.")
    if corpus_size is not None and corpus_size < 1:
        raise OptionError(f"--corpus-size counts the rows of a corpus, at least 1, not {corpus_size:,}.")
    if replicates < 10:
        raise OptionError(f"--replicates {replicates}: an interval needs at least 10.")


def check_together(
    source: object, queries: object, documents: object, translate: object, old: object, document: object
) -> None:
    """Refuse options that need or exclude each other.

    Raises:
        OptionError: they do.
    """
    if (queries is None) != (documents is None):
        there, missing = ("--queries", "--documents") if documents is None else ("--documents", "--queries")
        raise OptionError(f"{there} is one side of a score; name the other with {missing}.")
    if source is None and queries is None:
        raise OptionError("Name a file of vectors, or of texts with --model; or two sides with --queries, --documents.")
    if source is not None and queries is not None:
        raise OptionError("--queries and --documents take the place of SOURCE: leave one or the other out.")
    if document is not None and queries is not None:
        raise OptionError("--document leaves out pairs within SOURCE; with --queries and --documents there are none.")
    if (translate is None) != (old is None):
        there, missing = ("--translate", "--from calibration/") if old is None else ("--from", "--translate 0.75")
        raise OptionError(f"{there} needs {missing}: a threshold, and the saved calibration of its space.")


def check_read_once(sources: Sequence[object], **beside: object) -> None:
    """Refuse standard input or an iterator where it would have to be read twice.

    Raises:
        OptionError: it would.
    """
    once = [one for one in sources if (isinstance(one, str) and one == "-") or isinstance(one, Iterator)]
    again = next((f"--{name}" for name, value in beside.items() if value is not None), None)
    if len(once) > 1 or (once and again is not None):
        why = "only once" if again is None else f"only once, and {again} needs a second look"
        raise OptionError(f"Standard input or an iterator can be read {why}: save it to a file first.")


def check_pair_options(
    pairs: object,
    columns: tuple[str | None, str | None, str | None],
    ids: str | None,
    cut: float | None,
    precisions: Sequence[float],
    recalls: Sequence[float],
) -> None:
    """Refuse options of labelled pairs without any, and one column where two are needed.

    Raises:
        OptionError: so it is.
    """
    names = ("--left", "--right", "--label", "--id", "--cut", "--precision", "--recall")
    given = (*columns, ids, cut, precisions or None, recalls or None)
    if pairs is None:
        for option, value in zip(names, given, strict=True):
            if value is not None:
                raise OptionError(f"{option} is for labelled pairs: name them with --pairs.")
    if (columns[0] is None) != (columns[1] is None):
        raise OptionError("Pairs have two columns: name both with --left and --right.")
    if cut is not None and not np.isfinite(cut):
        raise OptionError(f"--cut is a grade such as 4, not {cut}.")
