"""Where a map goes: the terminal, a page, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from uncone.cli.output import Outputs, rendered, say
from uncone.errors import OptionError, OutputError
from uncone.report.write import check_writable, write_all

if TYPE_CHECKING:
    from uncone.report.mapped import Angles, Map

__all__ = ["MapOutputs", "deliver_map"]

_MOST_SIDES = 36
_SIDES = 3


@dataclass(frozen=True)
class MapOutputs:
    """What to write: page, JSON and markdown as for `check`; pictures, of a map in space from several sides."""

    plain: Outputs
    png: Path | None = None
    angles: str | None = None
    dims: int = 2

    @property
    def is_file(self) -> bool:
        """Whether the pictures go to one file, and not to a folder."""
        return self.png is not None and self.png.suffix.lower() == ".png"

    def check(self, sources: Sequence[str | None]) -> None:
        """Refuse early what would be refused after a long run, and never write over what is read."""
        self.plain.check(sources, [("--png", self.png)] if self.png is not None and self.is_file else [])
        self.sides()
        if self.png is None:
            return
        from uncone.extras import require
        from uncone.report.figures import check_folder

        require("matplotlib", extra="models")
        if not self.is_file:
            check_folder(self.png)

    def sides(self) -> Angles:
        """From how many sides a map in space is drawn, or from which heights and directions.

        Raises:
            OptionError: it is not said so that we understand.
        """
        if self.angles is None:
            return _SIDES
        if self.png is None or self.dims != 3:
            raise OptionError("--angles is for pictures of a map in space: add --dims 3 and --png.")
        wrong = f"--angles is a number of sides up to {_MOST_SIDES}, or heights:directions in degrees such as "
        wrong += f"20:45,20:135, not {self.angles!r}."
        try:
            if ":" not in self.angles:
                if 1 <= int(self.angles) <= _MOST_SIDES:
                    return int(self.angles)
                raise OptionError(wrong)
            pairs = [one.split(":") for one in self.angles.split(",")]
            return [(float(height), float(direction)) for height, direction in pairs]
        except ValueError as error:
            raise OptionError(wrong) from error


def deliver_map(found: Map, outputs: MapOutputs) -> int:
    """Write the files, print the map in words, and return the exit code."""
    from uncone.report.mapped_terminal import print_map

    plain = outputs.plain
    drawn = {} if outputs.png is None else _pictures(found, outputs.png, outputs)
    named = {"report": plain.html, "json": plain.json_file, "markdown": plain.markdown}
    written = {what: str(path) for what, path in named.items() if path is not None}
    if outputs.png is not None:
        written["pictures"] = ", ".join(str(path) for path in drawn) if outputs.is_file else str(outputs.png)
    found = replace(found, written=written)
    files: dict[Path, str | bytes] = {**drawn}
    if plain.html is not None:
        files[plain.html] = found.to_html()
    if plain.markdown is not None:
        files[plain.markdown] = found.to_markdown()
    if plain.json_file is not None:
        files[plain.json_file] = found.to_json()
    write_all(files)
    say(found.to_json() if plain.json == "-" else rendered(lambda console: print_map(found, console), []))
    return 0


def _pictures(found: Map, png: Path, outputs: MapOutputs) -> dict[Path, bytes]:
    """The pictures by where they go: a folder has all of them; a file the first PNG, with others numbered beside it."""
    drawn = found.pictures(outputs.sides())
    if not outputs.is_file:
        try:
            png.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{png} cannot be a folder for pictures: {error.strerror}. Name another.") from error
        return {png / name: data for name, data in drawn.items()}
    sheets = [data for name, data in drawn.items() if name.endswith(".png")]
    beside = [png.with_stem(f"{png.stem}-{number}") for number in range(2, len(sheets) + 1)]
    for place in beside:
        check_writable(place)
    return dict(zip([png, *beside], sheets, strict=True))
