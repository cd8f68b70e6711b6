"""A calibrated space: what its scores mean, as plain values that can be saved and loaded."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.calibration import thresholds
from uncone.analysis.calibration.results import Background, Guarantee, LabeledPairs, Threshold, Translation
from uncone.analysis.calibration.thresholds import rate_at, score_at
from uncone.analysis.cosine.baseline import Evidence, evidence
from uncone.analysis.intervals.intervals import LEAST_UNITS, effective_number
from uncone.analysis.intervals.pair_units import PairUnits
from uncone.analysis.intervals.resampling import REPLICATES, Score, wilson
from uncone.data.batch import Vector
from uncone.data.storage.path import path_of
from uncone.data.writing.manifest import SavedFolder
from uncone.data.writing.plain_values import build, plain_values
from uncone.encoders.encoder import EncoderIdentity
from uncone.errors import FormatError, MissingSourceError, OptionError

__all__ = [
    "FOLDER",
    "GUESSES",
    "NO_RATIO",
    "STRONG_RATIO",
    "CalibratedScore",
    "Calibration",
    "LabeledScores",
    "OtherEncoderWarning",
    "labeled_shares",
    "rate_bounds",
    "ratio_evidence",
    "score_meanings",
]

FOLDER = SavedFolder(
    "calibration",
    ("calibration.json",),
    "uncone calibrate --save",
    1,
    "Copy the folder again, or calibrate again.",
    MissingSourceError,
    FormatError,
)
_ROUNDING = 1e-6


class OtherEncoderWarning(UserWarning):
    """A calibration was made for another encoder, so scores are returned unchanged."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """The meaning of scores in one space. The first of the `backgrounds` is the corpus itself.

    `source` describes the calibrated space: name, rows, dim, encoder, encoder_content, layer, pooling, prompt, repair;
    None if unknown. Unless `matches_encoder`, scores are returned unchanged.

    >>> tails, scores = np.array([1.0, 0.5, 0.01]), np.array([0.2, 0.6, 0.9])
    >>> background = Background("corpus", 9, None, 36, 36, 0.6, 0.5, 0.7, 0.1, tails, scores, scores, scores, {})
    >>> calibration = Calibration({"name": "corpus"}, [background])
    >>> calibration.percentile(0.6), calibration.rescale([0.6, 1.0]).tolist()
    (50.0, [0.0, 1.0])
    """

    source: Mapping[str, Any]
    backgrounds: Sequence[Background]
    thresholds: Sequence[Threshold] = ()
    corpus_size: int | None = None
    one_hit: Threshold | None = None
    labeled: LabeledPairs | None = None
    translation: Translation | None = None
    hints: Sequence[str] = ()
    notes: Sequence[str] = ()
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    matches_encoder: bool = True
    guarantees: Sequence[Guarantee] = ()

    def __post_init__(self) -> None:
        if not self.backgrounds:
            raise OptionError("A calibration needs a background: the cosines of unrelated pairs of its space.")

    def percentile(self, score: ArrayLike) -> Any:  # noqa: ANN401 - a number for a number, else an array
        """The share of unrelated pairs below a score, 0 to 100."""
        return self._converted(score, lambda scores: thresholds.percentile_at(self.backgrounds[0], scores))

    def rate(self, score: ArrayLike) -> Any:  # noqa: ANN401
        """The share of unrelated pairs at or above a score, 0 to 1; 0 above every pair that was sampled.

        Raises:
            OptionError: the calibration was made for another encoder.
        """
        self._check_encoder("rate")
        return self._converted(score, lambda scores: thresholds.rate_at(self.backgrounds[0], scores))

    def rescale(self, score: ArrayLike) -> Any:  # noqa: ANN401
        """(s - b)/(1 - b) with b the background mean: 0 is what unrelated pairs score on average, 1 stays 1."""
        b = self.backgrounds[0].mean
        return self._converted(score, lambda scores: (scores - b) / max(1 - b, 1e-15))

    def probability(self, score: ArrayLike) -> Any:  # noqa: ANN401
        """The probability that a pair with this score is similar, by the best mapping of the labeled pairs.

        Raises:
            OptionError: there were no labeled pairs.
        """
        if self.matches_encoder and (self.labeled is None or not self.labeled.mappings):
            raise OptionError(
                "This calibration has no labeled pairs to learn probabilities from. Calibrate with --pairs."
            )
        return self._converted(score, lambda scores: self.labeled.mappings[0](scores))  # type: ignore[union-attr]

    def _converted(self, score: ArrayLike, convert: Callable[[Vector], Vector]) -> Any:  # noqa: ANN401
        """The scores converted; as they are for an encoder that the calibration was not made for."""
        scores = np.asarray(score, np.float64)
        values = convert(scores) if self.matches_encoder else scores
        return float(values) if np.ndim(score) == 0 else values

    def threshold(self, fpr: float) -> Threshold:
        """The score that a share `fpr` of unrelated pairs reaches, or why there is none.

        Raises:
            OptionError: it is not between 0 and 1, or the calibration was made for another encoder.
        """
        self._check_encoder("threshold")
        return thresholds.threshold(self.backgrounds[0], fpr, self.corpus_size)

    def _check_encoder(self, figure: str) -> None:
        if not self.matches_encoder:
            raise OptionError(
                f"This calibration was made for {self.source.get('encoder')} and has no {figure} for another encoder. "
                "Calibrate that one."
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; a number that is not finite becomes None."""
        values: dict[str, Any] = plain_values(self)
        del values["matches_encoder"]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], name: str = "calibration") -> Calibration:
        """The calibration that `to_dict` described.

        Raises:
            FormatError: something is missing or of the wrong type.
        """
        try:
            calibration = build(cls, values)
            for background in calibration.backgrounds:
                _check(background)
        except (ValueError, OptionError) as error:
            raise FOLDER.damage(name, error) from error
        return calibration

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write calibration.json to a folder, whole or not at all; an older calibration is replaced.

        Raises:
            OutputError: the folder holds something else, or cannot be written.
        """
        FOLDER.write(path_of(folder), self.to_dict())

    @classmethod
    def load(
        cls, folder: str | os.PathLike[str], encoder: str | os.PathLike[str] | EncoderIdentity | None = None
    ) -> Calibration:
        """Read a calibration; `encoder` made the scores that it is needed for, by name or with its content.

        For another encoder there is a warning, and `percentile`, `rescale` and `probability` return the raw score.

        Raises:
            MissingSourceError: there is no calibration in the folder.
            FormatError: it is damaged, or from a newer uncone.
        """
        loaded = cls.from_dict(FOLDER.read(path_of(folder)), str(path_of(folder) / FOLDER.files[0]))
        if encoder is None or loaded._is_for(encoder):
            return loaded
        name = encoder.name if isinstance(encoder, EncoderIdentity) else os.fspath(encoder)
        own = loaded.source.get("encoder") or "vectors of an unknown encoder"
        warnings.warn(
            f"{folder} was made for {own}, not for {name}: scores are returned unchanged. Calibrate {name}.",
            OtherEncoderWarning,
            stacklevel=2,
        )
        return replace(loaded, matches_encoder=False)

    def _is_for(self, encoder: str | os.PathLike[str] | EncoderIdentity) -> bool:
        """Whether it was made for this encoder, by content if both are known: a copy in another folder is the same."""
        name, content = self.source.get("encoder"), self.source.get("encoder_content")
        if isinstance(encoder, EncoderIdentity):
            return encoder.content == content if content else encoder.name == name
        return name is not None and _bare(os.fspath(encoder)) == _bare(str(name))


def _check(background: Background) -> None:
    """Refuse quantiles that are out of order or out of range."""
    curves = [np.asarray(getattr(background, name)) for name in ("scores", "lows", "highs", "tails")]
    numbers = np.concatenate([[background.mean, background.sd], *(curve.ravel() for curve in curves)])
    whole = all(curve.shape == (len(background.tails),) for curve in curves) and len(background.tails) > 0
    in_order = whole and all(
        (np.diff(sign * curve) >= 0).all() for curve, sign in zip(curves, (1, 1, 1, -1), strict=True)
    )
    if not (whole and in_order and np.isfinite(numbers).all()):
        raise ValueError(f"the quantiles of {background.name!r} are not in order")
    cosines = np.concatenate([[background.mean], *curves[:3]])
    counts = [background.rows, background.all_pairs, background.pairs]
    shares = ((curves[3] > 0) & (curves[3] <= 1)).all()
    if not (shares and (np.abs(cosines) <= 1 + _ROUNDING).all() and background.sd >= 0 and min(counts) > 0):
        raise ValueError(f"{background.name!r} has values that are no cosines or shares of pairs")


def _bare(name: str) -> str:
    """The name of a model on the hub, or the whole path of a folder."""
    return str(Path(name).resolve()) if Path(name).is_dir() else name.rstrip("/")


GUESSES = (0.7, 0.75, 0.8)
"""Common guesses at a threshold."""

STRONG_RATIO = 10.0
"""A score that similar pairs reach at least ten times as often as unrelated pairs is evidence of similarity."""

NO_RATIO = 2.0
"""A score that they reach less than twice as often is not."""

_Floats = NDArray[np.float64]


class LabeledScores(NamedTuple):
    """Labeled pairs with a score: whether each is similar (n,), its cosine (n,), and their sampling units."""

    similar: _Floats
    cosines: _Floats
    units: PairUnits
    replicates: int = REPLICATES
    seed: int = 0


@dataclass(frozen=True)
class CalibratedScore:
    """A score, raw and calibrated; `guessed` if it is a common guess and not a score of the user.

    `rate` is the share of unrelated pairs that reach the score, with 95 % bounds; `hits` how many of them a query meets
    in a corpus of the given size. Of labeled pairs, `found` is the share of the similar ones that reach it,
    `let_through` that of the others, `precision` the share of similar ones among those that reach it. `ratio` is the
    likelihood ratio: how many times as often similar pairs reach it as unrelated pairs do; `labeled_ratio` the same
    against the labeled pairs that are not similar; the `n` of both counts the independent similar pairs. `evidence`
    grades the score: by the ratio if there are at least 30 of these, else by the share of unrelated pairs alone.
    """

    score: float
    guessed: bool
    percentile: float
    rate: float
    rate_low: float
    rate_high: float
    rescaled: float
    evidence: Evidence
    hits: float | None = None
    probability: float | None = None
    found: Score | None = None
    let_through: Score | None = None
    precision: Score | None = None
    ratio: Score | None = None
    labeled_ratio: Score | None = None

    @property
    def is_judged_by_ratio(self) -> bool:
        """Whether there are enough labeled similar pairs to judge the score by its likelihood ratio."""
        return self.ratio is not None and self.ratio.value is not None and self.ratio.n >= LEAST_UNITS

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "evidence": str(self.evidence)}


def score_meanings(
    calibration: Calibration, scores: Sequence[float], labeled: LabeledScores | None = None, *, guessed: bool = False
) -> list[CalibratedScore]:
    """What each of the `scores` means; `labeled` pairs add how many of them reach it."""
    shares: list[dict[str, Score]] = [{} for _ in scores] if labeled is None else labeled_shares(labeled, scores)
    return [
        _score_meaning(calibration, float(score), part, guessed) for score, part in zip(scores, shares, strict=True)
    ]


def _score_meaning(calibration: Calibration, score: float, shares: dict[str, Score], guessed: bool) -> CalibratedScore:
    background, rate = calibration.backgrounds[0], float(calibration.rate(score))
    low, high = rate_bounds(background, score)
    grade, ratio = evidence(rate, low, high, background.independent), None
    if shares:
        ratio = _ratio(shares["found"], Score(rate, low, high, 0), shares["labeled_ratio"].n)
        if ratio.value is not None and min(ratio.n, background.independent) >= LEAST_UNITS:
            grade = ratio_evidence(ratio)
    has_mapping = calibration.labeled is not None and bool(calibration.labeled.mappings)
    return CalibratedScore(
        score,
        guessed,
        calibration.percentile(score),
        rate,
        low,
        high,
        calibration.rescale(score),
        grade,
        None if calibration.corpus_size is None else rate * calibration.corpus_size,
        calibration.probability(score) if has_mapping else None,
        **shares,
        ratio=ratio,
    )


def ratio_evidence(ratio: Score) -> Evidence:
    """Grade a score by its likelihood ratio; unknown when the interval reaches from strong evidence to none.

    >>> ratio_evidence(Score(17.0, 12.0, 22.0, 200)), ratio_evidence(Score(1.3, 1.2, 1.4, 200))
    (<Evidence.STRONG: 'strong'>, <Evidence.NONE: 'none'>)
    """
    if (
        ratio.value is None
        or ratio.low is None
        or ratio.high is None
        or ratio.low < NO_RATIO <= STRONG_RATIO <= ratio.high
    ):
        return Evidence.UNKNOWN
    strong, weak = ratio.value >= STRONG_RATIO, ratio.value >= NO_RATIO
    return Evidence.STRONG if strong else Evidence.WEAK if weak else Evidence.NONE


def rate_bounds(background: Background, score: float) -> tuple[float, float]:
    """95 % bounds of the share of unrelated pairs that reach a score: the shares at the bounds of its own quantile.

    At least the share that may lie above all sampled pairs is possible.
    """
    tails, lows, highs = (np.asarray(getattr(background, name), np.float64) for name in ("tails", "lows", "highs"))
    if not (np.isfinite(lows).all() and np.isfinite(highs).all()):
        return 0.0, 1.0
    rate = float(rate_at(background, score))
    if 0 < rate < 1:
        low, high = (float(rate_at(background, score_at(background, rate, bound=end))) for end in ("highs", "lows"))
    else:
        low, high = (float(np.interp(score, ends, tails, left=1.0, right=0.0)) for ends in (lows, highs))
    return min(low, rate), max(high, rate, float(tails[-1]) if background.beyond is None else background.beyond)


def labeled_shares(labeled: LabeledScores, scores: Sequence[float]) -> list[dict[str, Score]]:
    """For each score: the similar pairs found, the others let through, the precision, and the ratio of the first two.

    The variance is that over draws of whole units. Wilson's interval is then the one of as many independent pairs as
    would vary as much: it also holds if all or none are.
    """
    similar, cosines, units, replicates, seed = labeled
    is_similar, over = similar > 0, cosines[:, None] >= np.asarray(scores, np.float64)
    every = np.ones_like(over)
    # Numerators and denominators of every share, as sums over pairs: (n, 3 scores) each.
    wholes = np.concatenate([is_similar[:, None] & every, ~is_similar[:, None] & every, over], axis=1)
    parts = wholes & np.concatenate([over, over, is_similar[:, None] & every], axis=1)

    def shares(counts: NDArray[np.int64]) -> _Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((counts @ parts.astype(np.float64)).T / (counts @ wholes.astype(np.float64)).T)

    values = shares(np.ones((1, len(is_similar)), np.int64))[:, 0]
    draws = units.replicate(shares, replicates, seed)
    each = [_share(*column, units) for column in zip(values, draws, wholes.T, strict=True)]
    pairs = len(np.unique(units.unit[is_similar]))
    result = []
    for recall, let_through, precision in zip(*np.array_split(np.array(each, object), 3), strict=True):
        ratio = _ratio(recall, let_through, pairs)
        result.append({"found": recall, "let_through": let_through, "precision": precision, "labeled_ratio": ratio})
    return result


def _share(value: float, draws: _Floats, whole: NDArray[np.bool_], units: PairUnits) -> Score:
    """A share of the pairs of `whole`, with its interval."""
    n = int(whole.sum())
    if not n:
        return Score(None, None, None, 0)
    most = effective_number(np.unique(units.unit[whole], return_inverse=True)[1])
    finite = draws[np.isfinite(draws)]
    variance = float(finite.var()) if finite.size else 0.0
    size = min(value * (1 - value) / variance, most) if variance > 0 else most
    low, high = wilson(value * size, size)
    return Score(float(value), min(float(low), float(value)), max(float(high), float(value)), n)


def _ratio(recall: Score, let_through: Score, units: int) -> Score:
    """The ratio of two shares, whose errors are independent."""
    if not recall.value or not let_through.value:
        return Score(None, None, None, units)
    value = recall.value / let_through.value
    down = math.hypot(_log_ratio(recall.value, recall.low), _log_ratio(let_through.high, let_through.value))
    up = math.hypot(_log_ratio(recall.high, recall.value), _log_ratio(let_through.value, let_through.low))
    return Score(value, value * math.exp(-down), value * math.exp(up) if math.isfinite(up) else None, units)


def _log_ratio(share: float | None, other: float | None) -> float:
    return math.log(share / other) if share and other else math.inf
