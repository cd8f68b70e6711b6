"""Where a layer study goes: the terminal, a page, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uncone.cli.output import Outputs, rendered, say
from uncone.errors import OptionError
from uncone.report.write import write_all

if TYPE_CHECKING:
    from uncone.report.study import LayerComparison, LayerStudy

__all__ = ["StudyOutputs", "deliver_study"]


@dataclass(frozen=True)
class StudyOutputs:
    """What to write: page, JSON and markdown as for `check`; figures, and the tables of words and sentences."""

    plain: Outputs
    figures: Path | None = None
    word_table: Path | None = None
    sentence_table: Path | None = None

    def check(self, models: Sequence[str], corpora: Sequence[str]) -> None:
        """Refuse early what would be refused after a long run, and never write over what is read."""
        tables = [("--word-table", self.word_table), ("--sentence-table", self.sentence_table)]
        self.plain.check([*corpora, *models], [(option, path) for option, path in tables if path is not None])
        studies = len(models) * len(corpora)
        for option, path in tables:
            if path is None:
                continue
            if studies > 1:
                raise OptionError(f"{option} writes one study, and this command makes {studies}. Run them one by one.")
            from uncone.report.tables import table_format

            table_format(path)
        if self.figures is not None:
            from uncone.report.figures import check_folder

            check_folder(self.figures)


def deliver_study(found: LayerStudy | LayerComparison, outputs: StudyOutputs) -> int:
    """Write the files, print the study, and return the exit code."""
    from uncone.report.tables import sentence_table, word_table

    plain = outputs.plain
    files: dict[Path, str | bytes] = {}
    if plain.html is not None:
        files[plain.html] = found.to_html()
    if plain.markdown is not None:
        files[plain.markdown] = found.to_markdown()
    if plain.json_file is not None:
        files[plain.json_file] = found.to_json()
    if outputs.word_table is not None:
        files[outputs.word_table] = word_table(found.parts[0], outputs.word_table)
    if outputs.sentence_table is not None:
        files[outputs.sentence_table] = sentence_table(found.parts[0], outputs.sentence_table)
    if outputs.figures is not None:
        from uncone.report.figures import write_figures

        write_figures(found.parts, found.contrasts, outputs.figures)
    write_all(files)
    written = [*files, *([outputs.figures] if outputs.figures is not None else [])]
    for study in found.parts:
        study.settle()
    say(found.to_json() if plain.json == "-" else _printed(found, written))
    return 0


def _printed(found: LayerStudy | LayerComparison, files: Sequence[Path]) -> str:
    from uncone.report.study_terminal import print_study

    return rendered(lambda console: print_study(found.parts, found.contrasts, console), files)
