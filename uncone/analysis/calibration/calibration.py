"""A calibrated space: what its scores mean, as plain values that can be asked, saved and loaded."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.calibration import saving, thresholds
from uncone.analysis.calibration.results import Background, Labelled, ScoreMapping, Threshold, Translation
from uncone.encoders.encoder import EncoderIdentity
from uncone.errors import FormatError, OptionError

__all__ = ["Calibration", "OtherEncoderWarning", "mapped"]

Floats = NDArray[np.float64]

_ROUNDING = 1e-6


class OtherEncoderWarning(UserWarning):
    """A calibration was made for another encoder, so scores are given back as they are."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """What scores mean in one space. The first of the `backgrounds` is the corpus itself.

    `source` tells what was calibrated: name, rows, dim, encoder, encoder_content, layer, pooling, prompt, repair; None
    where it is not known. One that is not `known` for the encoder at hand gives scores back as they are.

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

    @overload
    def percentile(self, score: float) -> float: ...
    @overload
    def percentile(self, score: ArrayLike) -> Any: ...  # noqa: ANN401 - an array of the shape of the scores
    def percentile(self, score: ArrayLike) -> Any:
        """The share of unrelated pairs below a score, 0 to 100."""
        if not self.known:
            return _as_given(score, np.asarray(score, np.float64))
        return _as_given(score, 100 * (1 - thresholds.rate_at(self.backgrounds[0], score)))

    @overload
    def rate(self, score: float) -> float: ...
    @overload
    def rate(self, score: ArrayLike) -> Any: ...  # noqa: ANN401
    def rate(self, score: ArrayLike) -> Any:
        """The share of unrelated pairs at or above a score, 0 to 1; 0 above every pair that was sampled.

        Raises:
            OptionError: the encoder is another, so that nobody knows.
        """
        self._check_known("a rate")
        return _as_given(score, thresholds.rate_at(self.backgrounds[0], score))

    @overload
    def rescale(self, score: float) -> float: ...
    @overload
    def rescale(self, score: ArrayLike) -> Any: ...  # noqa: ANN401
    def rescale(self, score: ArrayLike) -> Any:
        """(s - b)/(1 - b) with b the background mean: 0 is what unrelated pairs score on average, 1 stays 1."""
        values = np.asarray(score, np.float64)
        b = self.backgrounds[0].mean
        return _as_given(score, (values - b) / max(1 - b, 1e-15) if self.known else values)

    @overload
    def probability(self, score: float) -> float: ...
    @overload
    def probability(self, score: ArrayLike) -> Any: ...  # noqa: ANN401
    def probability(self, score: ArrayLike) -> Any:
        """The probability that a pair of this score is alike, by the best mapping of the labelled pairs.

        Raises:
            OptionError: there were no labelled pairs.
        """
        values = np.asarray(score, np.float64)
        if not self.known:
            return _as_given(score, values)
        if self.labelled is None or not self.labelled.mappings:
            raise OptionError(
                "This calibration has no labelled pairs, so it knows no probabilities: calibrate with --pairs."
            )
        return _as_given(score, mapped(self.labelled.mappings[0], values))

    def threshold(self, fpr: float) -> Threshold:
        """The score that a share `fpr` of unrelated pairs reaches, or why there is none.

        Raises:
            OptionError: it is not between 0 and 1, or the encoder is another.
        """
        self._check_known("a threshold")
        return thresholds.threshold(self.backgrounds[0], fpr, self.corpus_size)

    def _check_known(self, what: str) -> None:
        if not self.known:
            raise OptionError(
                f"This calibration was made for {self.source.get('encoder')}, and gives no {what.split()[-1]} for "
                "another encoder: calibrate that one."
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; a number that is not finite becomes None."""
        return dict(saving.plain(self, without=("known",)))

    @classmethod
    def from_dict(cls, said: Mapping[str, Any], name: str = "calibration") -> Calibration:
        """The calibration that `to_dict` described.

        Raises:
            FormatError: something is missing or of the wrong form.
        """
        found = saving.built(cls, said, name, without=("known",))
        for background in found.backgrounds:
            _check(background, name)
        return found

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write calibration.json to a folder, whole or not at all; a calibration that was there is replaced.

        Raises:
            OutputError: the folder holds something else, or cannot be written.
        """
        saving.write(Path(folder), self.to_dict())

    @classmethod
    def load(
        cls, folder: str | os.PathLike[str], encoder: str | os.PathLike[str] | EncoderIdentity | None = None
    ) -> Calibration:
        """Read a calibration; `encoder` is the one of the scores it is wanted for, by name or with its content.

        For another encoder than its own there is a warning, and `percentile`, `rescale` and `probability` give the raw
        score back.

        Raises:
            MissingSourceError: there is no calibration in the folder.
            FormatError: it is damaged, or from a newer uncone.
        """
        loaded = cls.from_dict(saving.read(Path(folder)), str(Path(folder) / saving.FILE))
        if encoder is None or loaded._is_for(encoder):
            return loaded
        named = encoder.name if isinstance(encoder, EncoderIdentity) else os.fspath(encoder)
        made_for = loaded.source.get("encoder") or "vectors of an unknown encoder"
        warnings.warn(
            f"{folder} was made for {made_for}, not for {named}: scores are given back as they are. Calibrate {named}.",
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


def _check(background: Background, name: str) -> None:
    """Refuse quantiles that are none: they would be looked up all the same."""
    curves = [np.asarray(getattr(background, one)) for one in ("scores", "lows", "highs", "tails")]
    numbers = np.concatenate([[background.mean, background.sd], *(curve.ravel() for curve in curves)])
    whole = all(curve.shape == (len(background.tails),) for curve in curves) and len(background.tails) > 0
    in_order = whole and all(
        (np.diff(sign * curve) >= 0).all() for curve, sign in zip(curves, (1, 1, 1, -1), strict=True)
    )
    if not (whole and in_order and np.isfinite(numbers).all()):
        raise FormatError(f"{name} is damaged: the quantiles of {background.name!r} are not in order. {saving.AGAIN}")
    cosines = np.concatenate([[background.mean], *curves[:3]])
    counts = [background.rows, background.all_pairs, background.pairs]
    shares = ((curves[3] > 0) & (curves[3] <= 1)).all()
    if not (shares and (np.abs(cosines) <= 1 + _ROUNDING).all() and background.sd >= 0 and min(counts) > 0):
        raise FormatError(f"{name} is damaged: {background.name!r} has no cosines and shares of pairs. {saving.AGAIN}")


def _bare(name: str) -> str:
    """A name of the hub as it is; a folder by its whole path, however it was written."""
    return str(Path(name).resolve()) if Path(name).is_dir() else name.rstrip("/")


def mapped(mapping: ScoreMapping, values: Floats) -> Floats:
    """The probabilities that a mapping gives to scores."""
    if mapping.kind == "logistic" and mapping.slope is not None and mapping.intercept is not None:
        return np.asarray(1 / (1 + np.exp(-(mapping.slope * values + mapping.intercept).clip(-700, 700))))
    knots = np.asarray(mapping.knots, np.float64)
    return np.asarray(np.interp(values, knots[:, 0], knots[:, 1]))


def _as_given(score: ArrayLike, found: Floats) -> Any:  # noqa: ANN401 - a number for a number, an array for an array
    return float(found) if np.ndim(score) == 0 else found
