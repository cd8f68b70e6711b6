"""The manifold question: whether vectors lie on a curved sheet of few dimensions, a "Swiss roll"."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from uncone.analysis.layers.deep_results import Dimension, Manifold
from uncone.analysis.measures.finding import Finding
from uncone.analysis.neighbors.curvature import LEAST, Path, Sheet, base_rows, path_of, sheet_of
from uncone.analysis.neighbors.dimension import NEAREST
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.lazy_property import once
from uncone.stats.norms import SINK

__all__ = ["manifold_findings", "manifold_of"]

_SAMPLE = 3000
_PLACED = 10_000
_POINTS = 3000
"""Vectors that the components are taken from, that the path by position is made of, and that are drawn."""
_VARIANCE = 0.95
_ROUNDING = 1e-6
_BELOW = 0.8
_AS_MANY = 0.95
"""A sheet has at most the first share of the dimensions of the flat cloud, by distances and by directions."""
_FEW = 10.0
_GROWTH = 1.15
"""Dimensions of a sheet at most; directions that a neighborhood twice as large may add, because a sheet goes on."""
_UNEVEN = 6.0
_JUMP = 5.4
"""A sheet has about the same dimension everywhere, and its neighbors do not end (see `Local`).

Chance has a range of 2.6/√k, and a largest step of log k + 2.9: a little over twice that, and log k + 5.4, are allowed.
"""
_ORDERED = 0.9
_ROUND = 0.25
_EXPLAINED = 0.25
_CHANCE = 0.05
_PER_TURN = 8
"""A curve by position: its order, its turn, its share of the variance at least; the chance of that at most.

A turn that is made of fewer means than the last is not seen as one.
"""
_UNKNOWN = f"There are fewer than {LEAST} different vectors, or all are equally far from each other"


def manifold_of(
    vectors: Matrix,
    norms: Vector,
    positions: IntVector | None,
    labels: IntVector | None,
    *,
    lid: Dimension | None = None,
    words: IntVector | None = None,
    seed: int = 0,
) -> Manifold:
    """Look for a curved sheet in vectors (n, d), and once more without sinks, where there are any.

    `labels` are clusters, `words` the word of every vector, `lid` the local dimension of all vectors, whose k is used
    here. Vectors are curved when their local dimension is well below that of a flat cloud: Gaussian vectors with their
    covariance, as many, measured alike. Heavy tails and mixed scales raise it instead, but many small clusters lower it
    too. So more is asked of a sheet: neighbors spread over fewer directions than those in the flat cloud, and over no
    more when they are twice as many; the dimension is about the same everywhere; and neighbors do not end with a jump.
    """
    rows = _Rows(vectors, positions, labels, words, lid.k if lid is not None and lid.k >= 2 else NEAREST, seed)
    median = float(np.median(norms)) if len(norms) else 0.0
    sinks = norms > SINK * median
    whole = rows.look(np.arange(len(vectors), dtype=np.int64))
    if not sinks.any():
        return whole
    rest = rows.look(np.flatnonzero(~sinks).astype(np.int64))
    n = int(sinks.sum())
    left_out = f"With {count(n, 'sink')} (over {SINK:g} times the median norm) left out: {rest.sentence}"
    visible, sentence = whole.visible or rest.visible, f"{whole.sentence} {left_out}"
    return replace(whole, visible=visible, sinks=n, without_sinks=rest, sentence=sentence)


@dataclass(frozen=True)
class _Rows:
    """The vectors of a layer, and what is known of them."""

    vectors: Matrix
    positions: IntVector | None
    labels: IntVector | None
    words: IntVector | None
    k: int
    seed: int

    def look(self, places: IntVector) -> Manifold:
        """The answer for some of the vectors."""
        order = places[np.random.default_rng([self.seed, 3]).permutation(len(places))]
        axes = _Axes(self.vectors[np.sort(order[:_SAMPLE])])
        if axes.rank == 0:
            sentence = "Vectors that are all equal, or fewer than three, have no shape."
            return Manifold(n=len(places), sentence=sentence)
        positions = np.full(len(self.vectors), -1, np.int64) if self.positions is None else self.positions
        placed = order[: _POINTS if self.positions is None else _PLACED]
        points = axes.points(self.vectors[placed])
        path = path_of(points, positions[placed], self.seed)
        sheet = self._sheet(places, axes.scale)
        by_place = np.argsort(placed[:_POINTS])
        rows = placed[by_place].astype(np.int64)
        visible, sentence = _answer(sheet, path, axes.sentence)
        manifold = Manifold(
            visible=visible,
            pca=axes.n_directions,
            angle_r=path.angle_r,
            turns=path.turns,
            position_share=path.share,
            points=points[by_place],
            points_rows=rows,
            points_positions=positions[rows],
            path=path.means,
            sentence=sentence,
            angle_chance=path.chance,
            n=len(places),
            picture_share=axes.picture_share,
            position_share_without=path.without,
        )
        if sheet is None:
            return manifold
        return replace(
            manifold,
            lid=sheet.rows.lid,
            flat=sheet.flat.lid,
            ratio=sheet.rows.lid / sheet.flat.lid,
            spread=sheet.rows.spread,
            spread_flat=sheet.flat.spread,
            base=sheet.n,
            k=sheet.k,
            spread_wide=sheet.rows.wide,
            uneven=sheet.rows.uneven,
            jump=sheet.rows.jump,
        )

    def _sheet(self, places: IntVector, scale: float) -> Sheet | None:
        base = places[base_rows(self.vectors, places, self.words, self.seed)]
        rows = _centered(self.vectors[base]) / np.float32(scale)
        return sheet_of(rows, None if self.labels is None else self.labels[base], self.k, self.seed)


class _Axes:
    """The principal components of some vectors (m, d); `rank` is 0 when there is nothing to see."""

    def __init__(self, rows: Matrix) -> None:
        self.rank = 0
        if len(rows) < 3:
            return
        self.mean = rows.mean(axis=0, dtype=np.float64)
        z = _centered(rows)
        self.scale = float(abs(z).max())
        if not self.scale > _ROUNDING * float(abs(rows).max()):
            return
        z /= np.float32(self.scale)
        values, directions = np.linalg.eigh(z.T @ z)
        self.values = values[::-1].astype(np.float64).clip(min=0.0)
        self.rank = min(rows.shape[1], 3)
        first = directions[:, ::-1][:, : self.rank].astype(np.float64)
        # The sign of a component is arbitrary: let its largest number be positive.
        self.directions = first * np.sign(first[abs(first).argmax(axis=0), np.arange(self.rank)])

    @once
    def n_directions(self) -> int:
        """The number of directions with 95 % of the variance."""
        return int(np.searchsorted(np.cumsum(self.values), _VARIANCE * self.values.sum())) + 1

    @property
    def picture_share(self) -> float:
        """The share of the variance on the components 1 to 3."""
        return float(self.values[:3].sum() / self.values.sum())

    @property
    def sentence(self) -> str:
        """Both in words."""
        n = self.n_directions
        text = f"{count(n, 'direction')} hold{'s' if n == 1 else ''} 95 % of the variance"
        return text if n <= 3 else f"{text}, the three of the picture {percent(self.picture_share)}"

    def points(self, rows: Matrix) -> Matrix:
        """Vectors (n, d) on the components 1 to 3; zero on those that do not exist."""
        points = np.zeros((len(rows), 3))
        points[:, : self.rank] = rows @ self.directions.astype(rows.dtype) - self.mean @ self.directions
        return points


def _centered(rows: Matrix) -> Matrix:
    """Vectors less their mean, in float32: what is left has no digits to lose."""
    centered: Matrix = rows - rows.mean(axis=0, dtype=np.float64).astype(rows.dtype)
    return centered.astype(np.float32, copy=False)


def _answer(sheet: Sheet | None, path: Path, holds: str) -> tuple[bool, str]:
    """Whether a curved sheet is visible, and why, in words."""
    curved, ordered = sheet is not None and _is_sheet(sheet), _is_curve(path)
    near, far = _by_dimension(sheet, holds, curved, ordered), _by_position(path, ordered)
    return curved or ordered, " ".join([*far, near] if ordered and not curved else [near, *far])


def _is_sheet(sheet: Sheet) -> bool:
    rows, flat = sheet.rows, sheet.flat
    below = rows.lid <= _BELOW * flat.lid and rows.spread <= _BELOW * flat.spread
    smooth = rows.wide <= _GROWTH * rows.spread and not _is_lumpy(sheet)
    return below and smooth and rows.lid <= _FEW


def _is_lumpy(sheet: Sheet) -> bool:
    return sheet.rows.uneven > _UNEVEN / math.sqrt(sheet.k) or sheet.rows.jump > math.log(sheet.k) + _JUMP


def _is_curve(path: Path) -> bool:
    if path.angle_r is None or path.turns is None or path.without is None or path.chance is None:
        return False
    ordered = abs(path.angle_r) >= _ORDERED and path.chance <= _CHANCE
    return ordered and _ROUND <= path.turns <= len(path.means) / _PER_TURN and path.without >= _EXPLAINED


def _by_dimension(sheet: Sheet | None, holds: str, curved: bool, ordered: bool) -> str:
    if sheet is None:
        return f"{_UNKNOWN}, so a curved sheet cannot be told from a flat cloud; {holds}."
    rows, flat = sheet.rows, sheet.flat
    lead = "It is no thin sheet" if ordered else "No curved sheet is visible"
    local, cloud = f"around a vector there are {plain(rows.lid)} dimensions", f"the {plain(flat.lid)} of a flat cloud"
    if curved:
        return (
            f"A curved sheet of few dimensions is visible: {local}, fewer than {cloud} with the same covariance, and "
            f"neighborhoods twice as large stay as flat; {holds}."
        )
    if rows.lid > _BELOW * flat.lid:
        fewer = "no fewer" if rows.lid > _AS_MANY * flat.lid else "hardly fewer"
        return f"{lead}: {local}, {fewer} than {cloud} with the same covariance; {holds}."
    if rows.lid > _FEW:
        reason = "too many for a sheet that can be seen (groups of similar vectors have fewer, too)"
    elif _is_lumpy(sheet):
        reason = "not everywhere, and neighbors end with jumps: these are small clusters"
    elif rows.spread > _BELOW * flat.spread:
        reason = f"their neighbors spread over as many directions as there ({plain(rows.spread)})"
    else:
        more = plain(rows.wide / rows.spread)
        reason = f"neighborhoods twice as large spread over {more} times as many directions, as those of clusters do"
    return f"{lead}: {local}, fewer than {cloud} with the same covariance, but {reason}; {holds}."


def _by_position(path: Path, ordered: bool) -> list[str]:
    if path.angle_r is None or path.turns is None or path.share is None or path.without is None or path.chance is None:
        return []
    share = f"{percent(path.share)} of the variance on the components 1 to 3"
    order = f"rank correlation with the angle {cosine(path.angle_r)}"
    if ordered:
        text = f"A curve of {plain(path.turns)} turns is visible, which vectors follow by their position ({order})"
        text += f"; position explains {share}"
    elif path.chance > _CHANCE:
        text = "Position does not order the vectors along a curve: permuted positions do as well with a chance of "
        text += f"{percent(path.chance)} ({order}); it explains {share}"
    elif abs(path.angle_r) < _ORDERED:
        text = f"Position orders the vectors along a curve, but not closely ({order}, under {_ORDERED}); it explains "
        text += share
    else:
        shape = "a straight path" if path.turns < _ROUND / 2 else f"a curve of {plain(path.turns)} turns"
        text = f"The mean vectors by position stand in order along {shape} ({order}), but {_why_no_curve(path, share)}"
    halved = path.share >= _CHANCE and path.without < path.share / 2
    if halved or path.without < _EXPLAINED <= path.share:
        position = "the first position" if path.first else "one position"
        text += f", {percent(path.without)} without {position}"
    return [f"{text}."]


def _why_no_curve(path: Path, share: str) -> str:
    """What an ordered path lacks to be a curve that is visible."""
    turns = path.turns or 0.0
    if turns < _ROUND:
        return f"make less than a quarter turn; position explains {share}"
    if turns > len(path.means) / _PER_TURN:
        return f"{len(path.means)} means are too few to see so many turns; position explains {share}"
    return f"position explains {share}" if (path.share or 0.0) >= _EXPLAINED else f"position explains only {share}"


def manifold_findings(manifold: Manifold) -> list[Finding]:
    """Local dimension against that of a flat cloud, position along the curve, and the answer."""
    advice = "Distances along the sheet differ from those across it: look at the picture." if manifold.visible else ""
    answer = Finding("manifold_visible", int(manifold.visible), manifold.n, manifold.sentence, advice)
    return [_ratio_finding(manifold), *([] if manifold.angle_r is None else [_angle_finding(manifold)]), answer]


def _ratio_finding(manifold: Manifold) -> Finding:
    if manifold.ratio is None or manifold.lid is None or manifold.flat is None:
        return Finding("manifold_ratio", None, manifold.n, f"Unknown: {_UNKNOWN.lower()}.", threshold=_BELOW)
    meaning = (
        f"Around a vector there are {plain(manifold.lid)} dimensions, by the {manifold.k} nearest of "
        f"{manifold.base:,}; in a flat cloud with the same covariance {plain(manifold.flat)}. A curved sheet is well "
        "below 1, but so are small clusters."
    )
    return Finding("manifold_ratio", manifold.ratio, manifold.n, meaning, threshold=_BELOW)


def _angle_finding(manifold: Manifold) -> Finding:
    chance = manifold.angle_chance or 0.0
    share = 0.0 if manifold.position_share is None else manifold.position_share
    evidence = f"more than permuted positions reach (chance {percent(chance)})"
    if chance > _CHANCE:
        evidence = f"no more than chance: permuted positions do as well with a chance of {percent(chance)}"
    meaning = (
        f"Rank correlation of position with the angle along the path of the mean vectors, which makes "
        f"{plain(manifold.turns or 0.0)} turns: {evidence}. Position explains "
        f"{percent(share)} of the variance on the components 1 to 3."
    )
    return Finding("position_angle_r", manifold.angle_r, manifold.n, meaning)
