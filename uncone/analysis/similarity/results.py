"""What a table of texts against each other comes to: plain values and frames of columns, to be drawn and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from uncone.data.batch import IntVector, Matrix, Vector

__all__ = [
    "Crowd",
    "Estimate",
    "Group",
    "Groups",
    "Labels",
    "Pair",
    "Pairs",
    "PerLabel",
    "Picture",
    "Step",
    "TwoColumns",
]


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval (distinct texts are the sampling units), its standard deviation, and its pairs."""

    mean: float | None
    low: float | None
    high: float | None
    sd: float | None
    pairs: int


@dataclass(frozen=True)
class PerLabel:
    """The cosines between the texts of two labels; of one label, when they are the same."""

    one: str
    other: str
    cosine: Estimate
    above: Estimate
    """The same minus the mean of the background; the interval holds the error of both."""


@dataclass(frozen=True)
class Labels:
    """Whether labels are separable: `table` has every label with itself, then every two labels.

    `auc` is the probability that a pair within a label is more alike than one between labels, with its interval.
    """

    counts: Mapping[str, int]
    table: Sequence[PerLabel]
    within: Estimate
    between: Estimate
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    sentence: str
    texts: int
    """The distinct texts that have a label: what the intervals and the sentence rest on."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of rows, most alike first: `one` < `other` are row numbers; `found` is how many there are in all.

    `percentiles` say what share of the background lies below each cosine, in percent.
    """

    one: IntVector
    other: IntVector
    cosines: Vector
    percentiles: Vector
    found: int
    why: str


@dataclass(frozen=True)
class Crowd:
    """Why near-duplicates cannot be told by their cosine: the share of unrelated pairs that reach `bound` too.

    `per_row` is how many of them a row has on average.
    """

    bound: float
    share: float
    per_row: float


@dataclass(frozen=True)
class Group:
    """A group of texts: its number from 0, size, mean silhouette, the row of its most central text, labels."""

    number: int
    size: int
    silhouette: float | None
    central: int
    mean_cosine: float | None
    labels: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Groups:
    """Texts by group: `members` (n,) holds the group of every row, -1 where it has none."""

    method: str
    k: int
    members: IntVector
    groups: Sequence[Group]
    silhouette: float | None
    ari: float | None
    """Agreement with the labels, adjusted for chance."""
    note: str = ""
    outliers: int = 0
    """The texts outside the largest group, where they are so few that there is one group and some outliers."""


@dataclass(frozen=True, eq=False)
class Picture:
    """The heatmap: cosines and background percentiles (m, m) of the rows `rows`, in the order they are drawn.

    `order` says by what: "label" or "clustering"; `linkage` (m - 1, 4), as scipy has it, is of the rows in that order
    before they are sorted, and None where there is no dendrogram; `leaves` are its leaves in drawn order. When `rows`
    are not all, `note` says how they were chosen.
    """

    rows: IntVector
    cosines: Matrix
    percentiles: Matrix
    order: str
    linkage: Matrix | None
    leaves: IntVector | None
    blocks: Sequence[tuple[str, int]]
    """The labels or groups in drawn order, with the rows of each."""
    note: str = ""


@dataclass(frozen=True, eq=False)
class TwoColumns:
    """The cosine of each text with the one beside it, by label: `cosines` (n,), one Estimate a label, raw and above.

    `differs` says in a sentence whether the labels differ at all; `auc` has the AUC of every two labels, and `units`
    how many independent pairs each of these rests on: those that share a text count as one.
    """

    cosines: Vector
    labels: Sequence[str] | None
    table: Sequence[PerLabel]
    auc: Mapping[str, tuple[float, float, float]]
    differs: str
    units: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Step:
    """One step from the raw heatmap to a readable one: its heading, what is seen and why, the numbers, a heatmap.

    `rows` are those of the heatmap, the same in every step.
    """

    key: str
    title: str
    text: str
    numbers: Mapping[str, float | None]
    heatmap: Matrix | None = None
    rows: IntVector | None = None


@dataclass(frozen=True)
class Pair:
    """A pair with both texts, as it is listed."""

    one: int
    other: int
    cosine: float
    percentile: float
    text: str
    other_text: str
    label: str = ""
    other_label: str = ""
