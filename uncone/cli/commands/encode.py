"""`uncone encode`: texts to vectors in a file."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from uncone.verbs.options.encode import EncodeOptions

__all__ = ["encode"]


def encode(
    texts: Annotated[str, Parameter(help="Texts: .txt, .csv, .tsv, .jsonl, .parquet, a folder, a corpus, or -.")],
    /,
    *,
    options: EncodeOptions,
) -> int:
    """Encode texts with a model, at any layer and pooling, and write the vectors to a file.

    The columns of a table go along: texts, labels, ids. The file appears when it is complete. If a run is interrupted,
    start it again: it goes on where it stopped, and writes the same bytes.

    Example: uncone encode texts.csv --model sentence-transformers/all-MiniLM-L6-v2 -o vectors.parquet
    """
    from uncone.cli.output import say
    from uncone.cli.progress import progress_bar
    from uncone.verbs.encode import encode as run

    with progress_bar("texts") as progress:
        done = run(texts, options=options, progress=progress)
    say("".join(f"  {line}\n" for line in str(done).splitlines()))
    return 0
