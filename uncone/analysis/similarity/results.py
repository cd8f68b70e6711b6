"""Results of comparing the texts of a table: plain values and arrays, to be shown and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from uncone.data.batch import IntVector, Matrix, Vector

__all__ = [
    "Crowd", "Estimate", "Group", "Groups", "Labels", "Pair", "Pairs", "PerLabel", "Picture", "Step", "TwoColumns",
]  # fmt: skip


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
    """The cosines between the texts of two labels, or within one label if they are the same.

    `above` is the mean minus that of the background; its interval includes the error of both.
    """

    one: str
    other: str
    cosine: Estimate
    above: Estimate


@dataclass(frozen=True)
class Labels:
    """Whether labels are separable: `table` has every label with itself, then every two labels.

    `auc` is the probability that a pair within a label is more similar than one between labels. `texts` is the number
    of distinct texts with a label, which the intervals rest on.
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


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of texts, most similar first: `one` < `other` are row numbers; `found` counts all pairs, listed or not.

    `percentiles` are the shares of the background below each cosine, in percent.
    """

    one: IntVector
    other: IntVector
    cosines: Vector
    percentiles: Vector
    found: int
    why: str


@dataclass(frozen=True)
class Crowd:
    """Why cosine can't detect near-duplicates: the share of unrelated pairs above `bound`, and how many a text has."""

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
    """Texts by group: `members` (n,) holds the group of every row, -1 if it has none.

    `ari` is the agreement with the labels, adjusted for chance. `outliers` counts the texts outside the largest group
    if they are so few that there is one group and some outliers.
    """

    method: str
    k: int
    members: IntVector
    groups: Sequence[Group]
    silhouette: float | None
    ari: float | None
    note: str = ""
    outliers: int = 0


@dataclass(frozen=True, eq=False)
class Picture:
    """A heatmap: cosines and background percentiles (m, m) of the texts `rows`, in the order they are drawn.

    `order` is "label" or "clustering". `linkage` (m - 1, 4) is scipy's, over `rows` sorted by number, and `leaves` are
    its leaves in drawn order; both are None without a dendrogram. `blocks` are labels in drawn order with their sizes.
    `note` says how the texts were chosen if they are not all.
    """

    rows: IntVector
    cosines: Matrix
    percentiles: Matrix
    order: str
    linkage: Matrix | None
    leaves: IntVector | None
    blocks: Sequence[tuple[str, int]]
    note: str = ""


@dataclass(frozen=True, eq=False)
class TwoColumns:
    """The cosine of each text with the one beside it (n,), and its mean for each label.

    `differs` is a sentence about the differences between labels; `auc` has the AUC of every two labels with its
    interval, and `units` the number of independent pairs behind each: those that share a text count as one.
    """

    cosines: Vector
    labels: Sequence[str] | None
    table: Sequence[PerLabel]
    auc: Mapping[str, tuple[float, float, float]]
    differs: str
    units: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Step:
    """A step from the raw heatmap to a readable one: heading, explanation, numbers, and a heatmap of `rows`."""

    key: str
    title: str
    text: str
    numbers: Mapping[str, float | None]
    heatmap: Matrix | None = None
    rows: IntVector | None = None


@dataclass(frozen=True)
class Pair:
    """A listed pair with both texts and labels."""

    one: int
    other: int
    cosine: float
    percentile: float
    text: str
    other_text: str
    label: str = ""
    other_label: str = ""
