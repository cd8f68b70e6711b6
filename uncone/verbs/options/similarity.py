"""Options of `similarity`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from uncone.errors import OptionError
from uncone.verbs.options.check import SampleOptions
from uncone.verbs.options.option import Rule, among, at_least, option
from uncone.verbs.options.shared import OutputOptions, SpaceOptions

__all__ = ["SimilarityOptions", "SimilarityOutput"]

_TOP, _TOP_BOUNDED = 100, 1000
_MOST_GROUPS = 1000


def _is_number_of_groups(value: Any) -> bool:  # noqa: ANN401 - a number or a word
    text = str(value)
    return text == "auto" or (text.isdecimal() and int(text) != 1 and int(text) <= _MOST_GROUPS)


@dataclass(frozen=True, kw_only=True)
class SimilarityOptions(SampleOptions, SpaceOptions):
    """What `similarity` takes. Bounds are cosines, or percentiles such as "p99"."""

    GROUP = "Comparison"
    FIRST: ClassVar[tuple[str, ...]] = ("text", "label", "model")
    FOR_TEXTS: ClassVar[tuple[str, ...]] = ("layer", "prompt", "batch_size", "pooling", "against", "clean")

    text: Sequence[str] | str = option((), "Column with the texts: its name, or its number if there is no header.")
    limit: int | None = option(None, "Use only the first N rows.", rule=at_least(2))
    sample: int = option(50_000, "Maximum number of texts to compare; larger tables are sampled.", rule=at_least(2))
    pooling: Sequence[str] | str | None = option(  # type: ignore[assignment]
        (),
        "How the tokens of a text become one vector; cls,mean shows both.",
        rule=among("mean", "cls", "max", "last"),
        default_text="the model's own",
    )
    against: str | None = option(
        None, "Second text column: compare the two texts of each row, by label.", rule=Rule(bool, "a column")
    )
    repair: str | os.PathLike[str] | None = option(None, "Folder of a saved repair, applied to the vectors.")
    calibration: Any = option(
        None, "Folder of a saved calibration: use its background for percentiles, not the table's own."
    )
    clean: bool = option(False, "Normalize Unicode, and remove HTML, extra whitespace, empty and duplicate texts.")
    near: str | None = option(
        None,
        "List the texts nearest to this one.",
        rule=Rule(lambda value: isinstance(value, str) and bool(value.strip()), "a text, in quotes"),
    )
    min: float | str | None = option(None, "List pairs that score at least this cosine, or percentile such as p99.")
    max: float | str | None = option(None, "List pairs that score at most this cosine, or percentile such as p99.")
    top: int | None = option(
        None,
        "Number of pairs to list, most similar first.",
        default_text="100; 1000 with --min or --max",
        rule=Rule(lambda value: value >= 1 and value == int(value), "a whole number, 1 or more"),
    )
    duplicates: float | str | None = option(
        None,
        "Lowest cosine, or percentile, at which two texts count as near-duplicates.",
        default_text="98 % of the way from the background to 1",
    )
    groups: int | str = option(
        "auto",
        "Number of groups; auto uses the number of labels, or else what gives the clearest groups; 0 turns it off.",
        rule=Rule(_is_number_of_groups, f"auto, 0 for none, or 2 to {_MOST_GROUPS:,}"),
    )
    group_method: Sequence[str] | str = option(
        ("kmeans",), "Clustering method for the groups.", rule=among("kmeans", "average", "ward")
    )
    order: str | None = option(
        None,
        "Order of the heatmap.",
        default_text="label, if there are labels",
        rule=among("label", "clustering"),
    )
    maps: Sequence[str] | str = option(
        ("pca",), "Projection of the maps.", flag="--map", rule=among("pca", "tsne", "umap", "none")
    )
    map_dims: Sequence[int | str] | int | str = option(
        (2,), "Number of dimensions of the maps.", rule=Rule(lambda value: str(value) in ("2", "3"), "2 or 3")
    )
    matrix: str | os.PathLike[str] | None = option(None, "Write the full cosine matrix: .npy or .parquet.")

    def check(self) -> None:
        """Refuse options that exclude each other; which are for texts is known when the source is seen."""
        if self.model is not None and self.column is not None:
            raise OptionError("--column selects vectors, but --model makes new ones: use one of them.")
        if len(self.text) > 1:
            raise OptionError("--text takes one column here; name the second one with --against.")
        if self.order == "label" and self.label is None and self.labels is None:
            raise OptionError("--order label needs labels: name their column with --label, or use --order clustering.")
        if self.against is not None:
            groups = None if str(self.groups) in ("auto", "0") else self.groups
            for name, value in (("matrix", self.matrix), ("order", self.order), ("groups", groups)):
                if value is not None:
                    raise OptionError(
                        f"--{name} is for one column of texts; --against compares the two of each row. Leave one out."
                    )
        if self.matrix is not None and Path(self.matrix).suffix.lower() not in (".npy", ".parquet"):
            raise OptionError(f"{Path(self.matrix).name} is not a name for a matrix. End it with .npy or .parquet.")
        self._check_bounds()

    def _check_bounds(self) -> None:
        """Cosines are checked before anything is read, percentiles as soon as there is a background."""
        low, high, duplicates = (
            None if bound is None or str(bound).strip()[:1] in ("p", "P") else bound
            for bound in (self.min, self.max, self.duplicates)
        )
        if (low, high, duplicates) == (None, None, None):
            return
        from uncone.analysis.similarity.filters import bounds, parse_bound

        bounds(low, high)
        if duplicates is not None:
            parse_bound(duplicates, None, "--duplicates")

    @property
    def text_column(self) -> str | None:
        """The column with the texts."""
        return next(iter(self.text), None)

    @property
    def is_bounded(self) -> bool:
        """Whether pairs are filtered by their cosines."""
        return self.min is not None or self.max is not None

    @property
    def most_pairs(self) -> int:
        """How many pairs are listed at most."""
        return int(self.top or (_TOP_BOUNDED if self.is_bounded else _TOP))

    @property
    def n_groups(self) -> int | None:
        """How many groups; None chooses."""
        return None if self.groups == "auto" else int(self.groups)

    @property
    def projections(self) -> list[str]:
        """The maps to make, each once."""
        return [method for method in dict.fromkeys(self.maps) if method != "none"]

    @property
    def projection_dims(self) -> list[int]:
        """The dimensions of each."""
        dims = self.map_dims if isinstance(self.map_dims, Sequence) else [self.map_dims]
        return [int(number) for number in dict.fromkeys(map(str, dims))]


@dataclass(frozen=True, kw_only=True)
class SimilarityOutput(OutputOptions):
    """What `similarity` writes."""

    html: Path | None = option(Path("uncone-similarity.html"), "HTML report, a single page that works offline.")
    pairs_out: Path | None = option(None, "Write all listed pairs: .csv or .parquet.")
    labels_out: Path | None = option(None, "Write the table of labels: .csv or .parquet.")
    groups_out: Path | None = option(None, "Write every row with its group: .csv or .parquet.")

    @property
    def tables(self) -> dict[str, Path]:
        """The tables to write, by what they hold."""
        outputs = {"pairs": self.pairs_out, "labels": self.labels_out, "groups": self.groups_out}
        return {table: path for table, path in outputs.items() if path is not None}

    def check_tables(self, options: SimilarityOptions) -> None:
        """Refuse tables that would be empty, and names that do not say their format."""
        from uncone.report.charts.files import table_format

        if self.labels_out is not None and options.label is None:
            raise OptionError("--labels-out writes the table of labels: name their column with --label.")
        if self.groups_out is not None and (str(options.groups) == "0" or options.against is not None):
            flag = "--groups 0" if options.against is None else "--against"
            raise OptionError(f"--groups-out writes the groups, but with {flag} there are none: leave one of them out.")
        for path in self.tables.values():
            table_format(path)
