"""A calibrated space: what its scores mean, as plain values that can be saved and loaded."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.calibration import thresholds
from uncone.analysis.calibration.results import Background, Labelled, Threshold, Translation
from uncone.data.batch import Vector
from uncone.data.plain_values import build, plain_values
from uncone.data.writing.manifest import SavedFolder
from uncone.encoders.encoder import EncoderIdentity
from uncone.errors import FormatError, MissingSourceError, OptionError

__all__ = ["FOLDER", "Calibration", "OtherEncoderWarning"]

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
    """What scores mean in one space. The first of the `backgrounds` is the corpus itself.

    `source` describes what was calibrated: name, rows, dim, encoder, encoder_content, layer, pooling, prompt, repair;
    None if unknown. If it is not `known` to hold for the encoder at hand, scores are returned unchanged.

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
    labelled: Labelled | None = None
    translation: Translation | None = None
    hints: Sequence[str] = ()
    notes: Sequence[str] = ()
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    known: bool = True

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
        self._check_known("rate")
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
        if self.known and (self.labelled is None or not self.labelled.mappings):
            raise OptionError(
                "This calibration has no labeled pairs to learn probabilities from. Calibrate with --pairs."
            )
        return self._converted(score, lambda scores: self.labelled.mappings[0](scores))  # type: ignore[union-attr]

    def _converted(self, score: ArrayLike, convert: Callable[[Vector], Vector]) -> Any:  # noqa: ANN401
        """The scores converted; as they are for an encoder that the calibration was not made for."""
        scores = np.asarray(score, np.float64)
        values = convert(scores) if self.known else scores
        return float(values) if np.ndim(score) == 0 else values

    def threshold(self, fpr: float) -> Threshold:
        """The score that a share `fpr` of unrelated pairs reaches, or why there is none.

        Raises:
            OptionError: it is not between 0 and 1, or the calibration was made for another encoder.
        """
        self._check_known("threshold")
        return thresholds.threshold(self.backgrounds[0], fpr, self.corpus_size)

    def _check_known(self, what: str) -> None:
        if not self.known:
            raise OptionError(
                f"This calibration was made for {self.source.get('encoder')} and has no {what} for another encoder. "
                "Calibrate that one."
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; a number that is not finite becomes None."""
        values: dict[str, Any] = plain_values(self)
        del values["known"]
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
        FOLDER.write(Path(folder), self.to_dict())

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
        loaded = cls.from_dict(FOLDER.read(Path(folder)), str(Path(folder) / FOLDER.files[0]))
        if encoder is None or loaded._is_for(encoder):
            return loaded
        name = encoder.name if isinstance(encoder, EncoderIdentity) else os.fspath(encoder)
        own = loaded.source.get("encoder") or "vectors of an unknown encoder"
        warnings.warn(
            f"{folder} was made for {own}, not for {name}: scores are returned unchanged. Calibrate {name}.",
            OtherEncoderWarning,
            stacklevel=2,
        )
        return replace(loaded, known=False)

    def _is_for(self, encoder: str | os.PathLike[str] | EncoderIdentity) -> bool:
        """By content where both are known: a copy in another folder is the same encoder."""
        name, content = self.source.get("encoder"), self.source.get("encoder_content")
        if isinstance(encoder, EncoderIdentity):
            return encoder.content == content if content else encoder.name == name
        return name is not None and _bare(os.fspath(encoder)) == _bare(str(name))


def _check(background: Background) -> None:
    """Refuse quantiles that are out of order or out of range: they would be looked up all the same."""
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
    """A name of the hub as it is; a folder by its whole path, however it was written."""
    return str(Path(name).resolve()) if Path(name).is_dir() else name.rstrip("/")
