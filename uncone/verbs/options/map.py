"""Options of `map`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from uncone.errors import OptionError
from uncone.verbs.options.option import Rule, among, at_least, option
from uncone.verbs.options.shared import OutputOptions, SeedOptions, SpaceOptions

__all__ = ["COLORS", "MOST_POINTS", "Angles", "MapOptions", "MapOutput"]

MOST_POINTS = 200_000
"""Points that a page can hold."""
COLORS = ("frequency", "kind", "position", "cluster", "label", "words", "norm", "none")
_POINTS = {"pca": 50_000, "svd": 50_000}
_FEWER = 5_000
"""Points by default: a flat picture costs little, the others minutes, and there are many layers."""
_MOST_SIDES, _SIDES = 36, 3

Angles = int | Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class _Texts(SpaceOptions):
    """Which texts are shown, and what a point is."""

    GROUP = "Source"

    rows: str = option(
        "sentences", "What each point stands for, with --model.", rule=among("sentences", "words", "tokens", "cls")
    )
    sample: int | None = option(None, "Use a random sample of N texts.", rule=at_least(1))
    split: bool | None = option(None, "Split texts into sentences.", default_text="line files, for words")
    layer: str | int | None = option(
        None,
        "Layer of the model: -1 is the last, 1,-1 averages the two, all shows every layer.",
        default_text="the model's own",
    )

    corpus: Any = option(
        None,
        "Texts to show in several models: a file, or one of snli, wikitext2, ptb, sts. The sources are the models.",
    )
    kinds: str | None = option(
        None, "Kinds of words to show: word, number, symbol; for tokens also piece.", default_text="all"
    )

    FOR_TEXTS: ClassVar[tuple[str, ...]] = (*SpaceOptions.FOR_TEXTS, "rows", "sample", "split", "kinds")


@dataclass(frozen=True, kw_only=True)
class MapOptions(_Texts, SeedOptions):
    """What `map` takes."""

    GROUP = "Map"
    FIRST: ClassVar[tuple[str, ...]] = ("method", "color", "model")

    method: str = option("pca", "Projection: svd is PCA without centering.", rule=among("pca", "svd", "tsne", "umap"))
    dims: int = option(2, "Number of dimensions of the map.", rule=Rule(lambda value: value in (2, 3), "2 or 3"))
    points: int | None = option(
        None,
        "Maximum number of points: up to 200,000, or more with --png.",
        default_text="5000; pca and svd of one layer 50000",
        rule=at_least(2, "a number of rows, at least 2"),
    )
    color: str | None = option(
        None, "What to color points by.", default_text="words, label, kind or cluster", rule=among(*COLORS)
    )
    words: Sequence[str] = option((), "Words to mark, such as bank,river. Points with these words are added.")
    k: int | None = option(
        None,
        "Number of clusters.",
        default_text="the one with the largest silhouette",
        rule=at_least(2, "a number of clusters, at least 2"),
    )
    repair: str | os.PathLike[str] | None = option(
        None, "Folder of a saved repair: show the same points before and after it, side by side."
    )
    static: bool = option(False, "Allow more than 200,000 points, as a static image.", cli=False)

    def check(self) -> None:
        """Refuse what cannot be drawn."""
        if self.color == "words" and not self.words:
            raise OptionError("--color words needs a list of words: --words a,b,c.")
        if self.kinds is not None and (self.rows not in ("words", "tokens")) and self.corpus is None:
            raise OptionError(f"--kinds is for words and tokens, not {self.rows}: use --rows words.")
        if self.corpus is None:
            super().check()
            return
        wrong = [name for name in ("model", "repair", "column", "tensor", "texts", "labels") if self.is_given(name)]
        if wrong:
            raise OptionError(
                f"With --corpus the sources are models, so {self.flag(wrong[0])} has no place: leave it out."
            )
        super(SpaceOptions, self).check()

    def check_points(self) -> None:
        """Refuse more points than can be shown.

        Raises:
            OptionError: there are more.
        """
        if (self.points or 0) > MOST_POINTS and not self.static:
            raise OptionError(
                f"A page shows up to {MOST_POINTS:,} points, but --points is {self.points:,}: use fewer, or make a "
                "static image with --png."
            )
        if (self.points or 0) > MOST_POINTS and self.dims == 3:
            raise OptionError(
                f"A static image of more than {MOST_POINTS:,} points is flat: use --dims 2, or fewer --points."
            )

    @property
    def most_points(self) -> int:
        """How many points are shown at most."""
        if self.points is not None:
            return self.points
        return _FEWER if self.layer == "all" else _POINTS.get(self.method, _FEWER)


@dataclass(frozen=True, kw_only=True)
class MapOutput(OutputOptions):
    """What `map` writes."""

    html: Path | None = option(Path("uncone-map.html"), "HTML page with the map, which works offline.")
    png: Path | None = option(None, "Write images: a .png file, or a folder for PNG and SVG.")
    angles: str | None = option(
        None,
        "Views of a 3-D map: how many, or elevation:azimuth in degrees, such as 20:45,20:135.",
        needs="png",
    )

    @property
    def is_file(self) -> bool:
        """Whether the pictures go to one file, not to a folder."""
        return self.png is not None and self.png.suffix.lower() == ".png"

    def files(self) -> list[tuple[str, Path]]:
        """A folder of pictures is no file."""
        return [(flag, path) for flag, path in super().files() if flag != "--png" or self.is_file]

    def views(self, dims: int) -> Angles:
        """From how many sides a map in three dimensions is drawn, or from which heights and directions.

        Raises:
            OptionError: neither is given.
        """
        if self.angles is None:
            return _SIDES
        if dims != 3:
            raise OptionError("--angles is for images of a 3-D map: add --dims 3 and --png.")
        wrong = OptionError(
            f"--angles must be a number of views up to {_MOST_SIDES}, or elevation:azimuth in degrees such as "
            f"20:45,20:135, not {self.angles!r}."
        )
        try:
            if ":" in self.angles:
                pairs = [view.split(":") for view in self.angles.split(",")]
                return [(float(height), float(direction)) for height, direction in pairs]
            number = int(self.angles)
        except ValueError as error:
            raise wrong from error
        if not 1 <= number <= _MOST_SIDES:
            raise wrong
        return number
