"""`uncone check`: diagnose a space of vectors."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from uncone.cli.output import check_outputs, deliver, gates_of
from uncone.errors import OptionError
from uncone.verbs.options.check import CheckOptions, CheckOutput

__all__ = ["check"]


def check(
    *sources: Annotated[
        str,
        Parameter(
            help="A file of vectors, a folder or quoted glob of shards, or - for a .npy on standard input; with "
            "--model, texts. Several are compared side by side."
        ),
    ],
    options: CheckOptions,
    output: CheckOutput,
) -> int:
    """Diagnose.

    Reads .npy, .npz, .parquet, .safetensors, .jsonl, .csv/.tsv, word2vec/GloVe/fastText (.vec, .txt, .bin) and FAISS
    (.faiss, .index), as a stream; with --model, texts (.txt, .csv, .tsv, .jsonl, .parquet). Prints the verdict and
    writes one HTML page that works offline.

    Example: uncone check vectors.npy --score 0.75
    """
    if not sources:
        raise OptionError("Name a file of vectors, or of texts with --model.")
    if sources.count("-") > 1:
        raise OptionError("Standard input (-) can be read only once.")
    gates = gates_of(output)
    check_outputs(output, [*sources, *options.files_read], folders={"the repair": options.repair})
    from uncone.cli.progress import progress_bar
    from uncone.report.documents.check import Comparison
    from uncone.verbs.check import check as run

    with progress_bar() as progress:
        results = [run(source, options=options, progress=progress) for source in sources]
    return deliver(results[0] if len(results) == 1 else Comparison(results), output, gates=gates, diagnoses=results)
