"""What a chart of layers shows, as plain values: the page and the figures for a paper draw the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from uncone.diagnosis.finding import Finding
from uncone.diagnosis.measures.measure import Measure
from uncone.diagnosis.words import cosine, plain
from uncone.report.deep_cloud import Cloud
from uncone.report.study import LayerStudy

__all__ = [
    "OKABE_ITO",
    "STUDY_COLOURS",
    "Dots",
    "Heat",
    "Number",
    "Panel",
    "Picture",
    "Series",
    "course",
    "curve",
    "further_panels",
    "spread",
    "there",
    "traced",
]

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""A categorical palette that colour-blind readers can tell apart, without its yellow, which vanishes on white."""

STUDY_COLOURS = ("accent", "second", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")

Number = float | None


@dataclass(frozen=True)
class Series:
    """One curve: a value, an interval and the rows behind it at every x.

    `weight` is how it is drawn: the main curve, a thin one, a lighter one, dashed for what others have published, a
    level line, or points with error bars where nothing is known between them.
    `layers` are the layers behind every x, and `against` those of the study that a difference is to. `word` is set
    where the curve is that of a word.
    """

    study: str
    measure: str
    label: str
    colour: str
    x: Sequence[float]
    y: Sequence[Number]
    low: Sequence[Number]
    high: Sequence[Number]
    n: Sequence[int]
    layers: Sequence[int]
    weight: str = "main"
    word: str = ""
    against: Sequence[int] = ()

    @property
    def end(self) -> float | None:
        """The last known value, where its label stands."""
        return next((value for value in reversed(self.y) if value is not None), None)


@dataclass(frozen=True)
class Panel:
    """Curves over the layers.

    `zero` draws a zero line, `tight` leaves zero out of view; `rings` are circled points with a text.
    """

    name: str
    title: str
    caption: str
    y_title: str
    series: Sequence[Series]
    x_title: str = "layer (0 = embeddings)"
    zero: bool = False
    log: bool = False
    share: bool = False
    relative: bool = False
    wide: bool = False
    tight: bool = False
    rings: Sequence[tuple[float, float, str]] = field(default_factory=tuple)

    @property
    def is_points(self) -> bool:
        """Whether there are points alone, which need air on both sides."""
        return all(one.weight == "points" for one in self.series)

    @property
    def bounds(self) -> tuple[float, float]:
        """What the y axis has to show, in log10 where it is logarithmic."""
        values = [
            value
            for one in self.series
            for values in (one.y, one.low, one.high)
            for value in values
            if value is not None and (value > 0 or not self.log)
        ]
        if self.log:
            low, high = math.log10(min(values)), math.log10(max(values))
        else:
            # Zero is the meaningful end of nearly every measure here; a log isotropy has it on top.
            origin = [] if self.tight else [0.0]
            low, high = min([*origin, *values]), max([*origin, *values])
        if not low and not high and not self.log:
            return 0.0, 1.0
        pad = 0.07 * ((high - low) or 1.0)
        # A zero line on the frame would not be seen.
        open_end = self.log or self.zero
        return (low - pad if low or open_end else low), (high + pad if high or open_end else high)


@dataclass(frozen=True)
class Dots:
    """Measures of studies that have one layer: a value with its interval per line; x and y change places."""

    name: str
    title: str
    caption: str
    rows: Sequence[str]
    series: Sequence[Series]
    wide: bool = True


@dataclass(frozen=True)
class Heat:
    """Words by layers, the least contextual word last."""

    name: str
    title: str
    caption: str
    study: str
    words: Sequence[str]
    contexts: Sequence[int]
    layers: Sequence[int]
    values: Sequence[Sequence[Number]]
    wide: bool = True


Picture = Panel | Dots | Heat | Cloud


def curve(study: LayerStudy, measure: str, label: str, colour: str, weight: str = "main") -> Series | None:
    """A measure of a study over its layers; nothing when no layer has it."""
    found = [layer.findings.get(measure) for layer in study.layers]
    drawn = traced(found, study.name, measure, label, colour, weight)
    if drawn is None:
        return None
    numbers = [layer.number for layer in study.layers]
    return replace(drawn, x=[float(number) for number in numbers], layers=numbers)


def traced(
    found: Sequence[Finding | None], study: str, measure: str, label: str, colour: str, weight: str = "main"
) -> Series | None:
    """A curve through findings, at x = 0, 1, ...; nothing when none has a value."""
    y = [None if one is None else _finite(one.magnitude) for one in found]
    if all(value is None for value in y):
        return None
    places = range(len(found))
    return Series(
        study,
        measure,
        label,
        colour,
        [float(place) for place in places],
        y,
        [None if one is None else _finite(one.low) for one in found],
        [None if one is None else _finite(one.high) for one in found],
        [0 if one is None else one.n for one in found],
        list(places),
        weight,
    )


def further_panels(study: LayerStudy, measures: Iterable[Measure], drawn: Iterable[Picture]) -> list[Panel]:
    """Curves of the measures that no panel draws yet."""
    # Of a measure whose sign is arbitrary, the size is drawn.
    series = [one for picture in drawn if isinstance(picture, Panel) for one in picture.series]
    known = {one.measure.removesuffix("_size") for one in series}
    return [
        Panel(
            measure.name,
            chart.title,
            f"{chart.caption} {course(main)}",
            chart.axis,
            [main],
            zero=chart.zero,
            share=measure.unit.is_share,
        )
        for measure in measures
        if measure.name not in known
        and (chart := measure.chart) is not None
        and (main := curve(study, measure.name, measure.title.lower(), "accent")) is not None
    ]


def there(*series: Series | None) -> list[Series]:
    """The curves that there are."""
    return [one for one in series if one is not None]


def course(series: Series | None) -> str:
    """A curve in a sentence: where it starts, where it ends, and where it is highest if that is elsewhere."""
    if series is None:
        return ""
    known = [(layer, value) for layer, value in zip(series.layers, series.y, strict=True) if value is not None]
    (first, start), (last, end) = known[0], known[-1]
    if len(known) == 1:
        return f"{_said(start)} at layer {first}."
    top, most = max(known, key=lambda pair: pair[1])
    text = f"{_said(start)} at layer {first}, {_said(end)} at layer {last}"
    is_seen = _said(most) not in (_said(start), _said(end))
    return f"{text}, highest at layer {top} ({_said(most)})." if is_seen else f"{text}."


def spread(wanted: Sequence[float], gap: float, top: float) -> list[float]:
    """Places in [0, top] as near to those wanted as labels `gap` apart can stand, in the same order.

    >>> spread([50.0, 52.0, 90.0], 10.0, 100.0)
    [46.0, 56.0, 90.0]
    >>> spread([95.0, 99.0], 10.0, 100.0)
    [90.0, 100.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    # Without the gaps, the places only have to rise: pools of those that do not share their mean.
    pools: list[list[float]] = []
    for rank, i in enumerate(order):
        pools.append([wanted[i] - rank * gap])
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    room = max(top - gap * (len(order) - 1), 0.0)
    risen = [min(max(_mean(pool), 0.0), room) for pool in pools for _ in pool]
    placed = dict(zip(order, (value + rank * gap for rank, value in enumerate(risen)), strict=True))
    return [placed[i] for i in range(len(wanted))]


def _said(value: float) -> str:
    return cosine(value) if abs(value) < 10 else plain(value)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
