"""`uncone similarity`: the texts of a table against each other, and what their cosines mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from uncone.cli.output import check_outputs, deliver
from uncone.verbs.options.similarity import SimilarityOptions, SimilarityOutput

__all__ = ["similarity"]


def similarity(
    table: Annotated[
        str,
        Parameter(
            help="A .csv, .tsv, .jsonl or .parquet with texts (or vectors), .txt with a text per line, - for such "
            "lines; or a file of vectors."
        ),
    ],
    /,
    *,
    options: SimilarityOptions,
    output: SimilarityOutput,
) -> int:
    """Compare.

    Every cosine stands beside its percentile among unrelated pairs, because a cosine alone says little. Without --model
    and without vectors in the table, all-MiniLM-L6-v2 is used if the package of `uncone demo` is installed.

    Example: uncone similarity texts.csv --label label --model model/
    """
    read = [table, options.repair, options.calibration, *options.files_read]
    check_outputs(output, read, others=[("--matrix", options.matrix)])
    output.check_tables(options)
    from uncone.cli.progress import progress_bar
    from uncone.report.documents import similarity as tables
    from uncone.verbs.similarity.similarity import similarity as run

    with progress_bar() as progress:
        result = run(table, options=options, progress=progress)
    files = {"report": output.html, "json": output.json_file, "markdown": output.markdown, "figures": output.figures}
    written = {kind: str(path) for kind, path in {**files, **output.tables}.items() if path is not None}
    result = replace(result, written={**written, **result.written})
    contents: dict[Path, str | bytes] = {
        path: getattr(tables, f"{kind}_table")(result, path) for kind, path in output.tables.items()
    }
    return deliver(result, output, contents, written=[] if options.matrix is None else [Path(options.matrix)])
