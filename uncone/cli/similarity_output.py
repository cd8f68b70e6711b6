"""Where a similarity goes: the terminal, a page, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from uncone.cli.output import Outputs, rendered, say
from uncone.errors import OptionError
from uncone.report.write import write_all

if TYPE_CHECKING:
    from uncone.report.similar import Similarity

__all__ = ["SimilarityOutputs", "deliver_similarity"]


@dataclass(frozen=True)
class SimilarityOutputs:
    """What to write: page, JSON and markdown as for `check`; figures, tables, and the matrix."""

    plain: Outputs
    figures: Path | None = None
    pairs: Path | None = None
    labels: Path | None = None
    groups: Path | None = None
    matrix: Path | None = None

    @property
    def tables(self) -> list[tuple[str, Path]]:
        """The tables that are asked for, by their options."""
        named = (("--pairs-out", self.pairs), ("--labels-out", self.labels), ("--groups-out", self.groups))
        return [(option, path) for option, path in named if path is not None]

    def check(self, sources: Sequence[str | None]) -> None:
        """Refuse early what would be refused after a long run, and never write over what is read."""
        matrix = [("--matrix", self.matrix)] if self.matrix is not None else []
        self.plain.check(sources, [*self.tables, *matrix])
        if self.tables:
            from uncone.report.tables import table_format

            for _, path in self.tables:
                table_format(path)
        if self.matrix is not None and self.matrix.suffix.lower() not in (".npy", ".parquet"):
            raise OptionError(f"{self.matrix.name} does not say how to write a matrix. End it with .npy or .parquet.")
        if self.figures is not None:
            from uncone.report.figures import check_folder

            check_folder(self.figures)


def deliver_similarity(found: Similarity, outputs: SimilarityOutputs) -> int:
    """Write the files, print the result, and return the exit code."""
    from uncone.report.similar_tables import groups_table, labels_table, pairs_table
    from uncone.report.similar_terminal import print_similarity

    plain = outputs.plain
    named = {"figures": outputs.figures, "pairs": outputs.pairs, "labels": outputs.labels, "groups": outputs.groups}
    named = {"report": plain.html, "json": plain.json_file, "markdown": plain.markdown, **named}
    written = {what: str(path) for what, path in named.items() if path is not None}
    found = replace(found, written={**written, **found.written})
    files: dict[Path, str | bytes] = {}
    for option, path in outputs.tables:
        make = {"--pairs-out": pairs_table, "--labels-out": labels_table, "--groups-out": groups_table}[option]
        files[path] = make(found, path)
    if plain.html is not None:
        files[plain.html] = found.to_html()
    if plain.markdown is not None:
        files[plain.markdown] = found.to_markdown()
    if plain.json_file is not None:
        files[plain.json_file] = found.to_json()
    if outputs.figures is not None:
        from uncone.report.similar_figures import write_figures

        write_figures(found, outputs.figures)
    write_all(files)
    say(found.to_json() if plain.json == "-" else rendered(lambda console: print_similarity(found, console), []))
    return 0
