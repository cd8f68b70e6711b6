"""Which charts a study has: curves over the layers, each with a sentence that says how to read it."""

from __future__ import annotations

from collections.abc import Sequence

from uncone.diagnosis.contrast import Contrast
from uncone.diagnosis.measures.registry import measures, placed
from uncone.diagnosis.published import Curve
from uncone.report.deep_clouds import clouds_by_study
from uncone.report.deep_panels import deep_panels
from uncone.report.overlay_panels import overlaid
from uncone.report.panel import Dots, Panel, Picture, Series, course, curve, further_panels, there
from uncone.report.study import LayerStudy
from uncone.report.study_lines import entry, noun, short_names, sinks
from uncone.report.word_panels import word_heat, word_mev

__all__ = ["pictures", "sections"]


def pictures(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> list[Picture]:
    """What is there to draw, in the order of the page."""
    return [picture for drawn in sections(parts, contrasts).values() for picture in drawn]


def sections(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> dict[str, list[Picture]]:
    """The same by the section of the page: the cone, what is behind it, word frequency and manifolds of each study."""
    found: dict[str, list[Picture]] = {"cone": _cone(parts, contrasts), "behind": list(deep_panels(parts))}
    for place, (words, rows) in enumerate(clouds_by_study(parts)):
        found |= {f"frequency {place}": list(words), f"manifold {place}": list(rows)}
    return found


def _cone(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> list[Picture]:
    if all(len(study.layers) == 1 for study in parts):
        dots = _dots(parts)
        return [dots] if dots.series else []
    if len(parts) > 1:
        return list(overlaid(parts, contrasts))
    study = parts[0]
    makers = (
        *(_baseline, _selfsim, _intrasim, _mev, word_mev, word_heat, _types),
        *(_isoscore, _partition, _rogue, _norms, _mean),
    )
    drawn = [picture for make in makers if (picture := make(study)) is not None]
    return [*drawn, *further_panels(study, measures("layers").values(), drawn)]


def _baseline(study: LayerStudy) -> Panel | None:
    main = curve(study, "baseline", "measured", "accent")
    if main is None:
        return None
    which = "random pairs" if noun(study) == "pairs" else f"two random {noun(study)} from different texts"
    caption = f"Mean cosine of {which}: {course(main)}{_sources(study, 'baseline')}"
    title = f"How alike random {noun(study)} are"
    drawn = there(main, *_published(study, "baseline"))
    return Panel("baseline", title, caption, "mean cosine, baseline", drawn, wide=True)


def _selfsim(study: LayerStudy) -> Panel | None:
    main = curve(study, "selfsim_adjusted", "adjusted", "accent")
    raw = curve(study, "selfsim", "raw", "accent", "light")
    if main is None and raw is None:
        return None
    caption = (
        f"Mean cosine of a word with itself in other texts, minus that of random {noun(study)}: "
        f"{course(main or raw)} At zero it is no more alike than any two.{_sources(study, 'selfsim')}"
    )
    drawn = there(
        main,
        raw,
        curve(study, "baseline", f"random {noun(study)}", "muted", "thin"),
        *_published(study, "selfsim", "raw, published"),
    )
    return Panel("selfsim", "A word across contexts: self-similarity", caption, "cosine, SelfSim", drawn, zero=True)


def _intrasim(study: LayerStudy) -> Panel | None:
    main = curve(study, "intrasim_adjusted_matched", "adjusted", "accent")
    raw = curve(study, "intrasim", "raw", "accent", "light")
    if main is None and raw is None:
        return None
    caption = (
        f"Mean cosine of a sentence's words with their mean, minus that of as many unrelated words: "
        f"{course(main or raw)} Minus the baseline, as published, it is not zero for unrelated words."
        f"{_sources(study, 'intrasim')}"
    )
    drawn = there(
        main,
        curve(study, "intrasim_adjusted", "minus baseline", "second", "thin"),
        raw,
        curve(study, "baseline", f"random {noun(study)}", "muted", "thin"),
        *_published(study, "intrasim", "raw, published"),
    )
    title = "The words of a sentence: intra-sentence similarity"
    return Panel("intrasim", title, caption, "cosine, IntraSim", drawn, zero=True)


def _mev(study: LayerStudy) -> Panel | None:
    main = curve(study, "mev_adjusted", "adjusted", "accent")
    raw = curve(study, "mev", "raw", "accent", "light")
    if main is None and raw is None:
        return None
    caption = (
        "Share of a word's occurrences that one vector can stand for, minus that of as many occurrences of "
        f"different words: {course(main or raw)}"
    )
    drawn = there(main, raw, curve(study, "mev_matched", f"random {noun(study)}", "muted", "thin"))
    return Panel("mev", "Could one vector stand for a word? MEV", caption, "share explained, MEV", drawn, zero=True)


def _types(study: LayerStudy) -> Panel | None:
    within, between = curve(study, "s_intra", "within", "accent"), curve(study, "s_inter", "between", "muted")
    if within is None and between is None:
        return None
    caption = (
        "Mean cosine within types (S_intra: occurrences of one word) and between them (S_inter: occurrences of "
        "two different words). The closer the two curves, the less a cosine tells words apart."
    )
    return Panel("types", "Within and between types", caption, "mean cosine", there(within, between))


def _isoscore(study: LayerStudy) -> Panel | None:
    main = curve(study, "isoscore_corrected", "IsoScore", "accent")
    if main is None:
        return None
    caption = f"1 uses all directions alike, 0 only one: {course(main)} Corrected, so that n does not matter."
    return Panel("isoscore", "Isotropy: IsoScore", caption, "IsoScore, corrected", [main])


def _partition(study: LayerStudy) -> Panel | None:
    main = curve(study, "partition_isotropy_unit_log10", "log₁₀ I", "accent")
    if main is None:
        return None
    caption = f"0 is the same in every direction; -3 means a thousandfold: {course(main)} Measured at mean norm 1."
    return Panel("partition", "Isotropy: partition function", caption, "log₁₀ I, at mean norm 1", [main])


def _rogue(study: LayerStudy) -> Panel | None:
    three = curve(study, "rogue_share_3", "top 3", "accent")
    drawn = there(
        curve(study, "rogue_share_5", "top 5", "accent", "light"),
        three,
        curve(study, "rogue_share_1", "top 1", "accent", "thin"),
    )
    if not drawn:
        return None
    caption = (
        f"What the strongest dimensions carry of the mean cosine. Of {study.source['dimensions']:,} dimensions, a few "
        "rogue ones can make up most of it. There are no shares where the baseline is below 0.05."
    )
    return Panel("rogue", "Rogue dimensions", caption, "share of the baseline", drawn, share=True)


def _norms(study: LayerStudy) -> Panel | None:
    main = curve(study, "norm_mean", "mean norm", "accent")
    if main is None:
        return None
    counts = {number: one.magnitude for number, one in sinks(study)}
    rings = [
        (x, y, f"{counts[layer]:,.0f}")
        for x, y, layer in zip(main.x, main.y, main.layers, strict=True)
        if y is not None and layer in counts
    ]
    known = [value for value in main.y if value is not None and value > 0]
    log = bool(known) and len(known) == len(main.y) and max(known) > 20 * min(known)
    caption = f"Mean length of a row: {course(main)}"
    if rings:
        caption += " Circled: layers with sinks (how many), rows over 10 times the median norm."
    return Panel("norms", "Lengths of the rows", caption, "mean norm, |x|", [main], log=log, rings=rings)


def _mean(study: LayerStudy) -> Panel | None:
    main = curve(study, "mean_over_rms", "|mean|/rms", "accent")
    if main is None:
        return None
    caption = f"0 is a space centred at zero; at 1 all rows are the same: {course(main)}"
    return Panel("mean", "Distance from zero mean", caption, "|mean of x| / rms", [main])


def _dots(parts: Sequence[LayerStudy]) -> Dots:
    """One line per measure: what a study of one layer has instead of curves."""
    names = [name for name in placed("layers", "dots") if any(curve(study, name, "", "") for study in parts)]
    labels = short_names(parts)
    series = [
        Series(one.study, name, labels[place], one.colour, [float(row)], one.y, one.low, one.high, one.n, one.layers)
        for row, name in enumerate(names)
        for place, study in enumerate(parts)
        if (one := curve(study, name, "", ("accent", "second", "muted")[place % 3])) is not None
    ]
    caption = "There is one layer, so no curves: every measure with its 95 % interval, where it has one."
    titles = [entry(name, parts[0]).title for name in names]
    return Dots("measures", "The measures on one scale", caption, titles, series)


def _published(study: LayerStudy, measure: str, label: str = "") -> list[Series]:
    """What a paper has measured on the same model."""
    return [
        Series(
            f"{one.model} on {one.corpus} ({one.source})",
            measure,
            label or _author(one),
            "muted",
            [float(layer) for layer in range(len(one.values))],
            list(one.values),
            [None] * len(one.values),
            [None] * len(one.values),
            [0] * len(one.values),
            list(range(len(one.values))),
            "dashed",
        )
        for one in study.published
        if one.measure == measure
    ]


def _sources(study: LayerStudy, measure: str) -> str:
    named = [f"{one.model} on {one.corpus} ({_author(one)})" for one in study.published if one.measure == measure]
    return f" Dashed: {'; '.join(named)}." if named else ""


def _author(one: Curve) -> str:
    """Who and when; the title of the paper stands with the definitions and the provenance."""
    return one.source.split(",")[0]
