"""The verdict: one sentence and one level, in words that a non-specialist uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uncone.analysis.cosine.baseline import ScoreMeaning
from uncone.analysis.intervals.intervals import FEW, LEAST_UNITS
from uncone.analysis.measures.finding import Finding, Level, worst
from uncone.analysis.number_format import cosine, count, percent

__all__ = ["Verdict", "judge"]


@dataclass(frozen=True)
class Verdict:
    """`headline` says how it is, `details` what a score means here, `why` what is behind it, `todo` what to do."""

    level: Level
    headline: str
    details: str
    why: str
    todo: str

    @property
    def text(self) -> str:
        """All of it as running text."""
        return " ".join(part for part in (self.headline, self.details, self.why, self.todo) if part)


def judge(findings: Mapping[str, Finding], scores: Sequence[ScoreMeaning] = (), *, repaired: bool = False) -> Verdict:
    """The verdict on a space from its findings; on fewer than 30 distinct vectors there is none.

    A repaired space is at best rounder: whether it is better, only labelled pairs can say.
    """
    baseline, distinct = findings["baseline"], _distinct(findings)
    if baseline.value is None:
        return Verdict(Level.NOTE, f"No verdict: {baseline.meaning}", _details(findings, scores), "", "")
    if 1 < distinct < LEAST_UNITS or baseline.n < LEAST_UNITS:
        return Verdict(Level.NOTE, _too_few(baseline, distinct), _details(findings, scores), "", _more(findings))
    spread = worst([findings[name].level for name in ("effective_rank", "top1_share")])
    level = worst([baseline.level, spread])
    return Verdict(
        Level.NOTE if repaired and level is Level.HEALTHY else level,
        _headline(level, baseline, findings, repaired),
        _details(findings, scores),
        _why(findings, spread) if level is not Level.HEALTHY else "",
        _todo(level, findings, repaired),
    )


def _distinct(findings: Mapping[str, Finding]) -> int:
    n, share = findings["baseline"].n, findings["duplicate_share"].magnitude or 0.0
    return n - round(share * n)


def _too_few(baseline: Finding, distinct: int) -> str:
    value = float(baseline.value)  # type: ignore[arg-type]
    return (
        f"Too few vectors for a verdict: {distinct} distinct, and we need at least {LEAST_UNITS}. Two random ones "
        f"score {cosine(value)} on average."
    )


def _more(findings: Mapping[str, Finding]) -> str:
    transposed = findings["looks_transposed"]
    return transposed.advice if transposed.magnitude else "Measure more vectors before you decide anything."


def _headline(level: Level, baseline: Finding, findings: Mapping[str, Finding], repaired: bool) -> str:
    value = float(baseline.value)  # type: ignore[arg-type]
    word = "Rounder" if repaired and level is Level.HEALTHY else str(level).capitalize()
    if level is not Level.HEALTHY and baseline.level is Level.HEALTHY:
        share = findings["top1_share"].magnitude or 0.0
        return (
            f"{word}: two random rows score {cosine(value)} on average, but one direction carries "
            f"{percent(share)} of the variance."
        )
    return f"{word}: two random rows score {cosine(value)}."


def _details(findings: Mapping[str, Finding], scores: Sequence[ScoreMeaning]) -> str:
    quantiles = findings["pair_cosine_quantiles"].value
    if not isinstance(quantiles, dict):
        return " ".join(score.meaning for score in scores)
    low, high = quantiles["0.025"], quantiles["0.975"]
    parts = [f"95 % of random pairs lie between {cosine(low)} and {cosine(high)}."]
    if scores:
        parts += [score.meaning for score in scores]
    elif _distinct(findings) < LEAST_UNITS:
        pass  # what stands out of so few is chance
    elif high < 0.995:
        parts.append(f"A score has to be over {cosine(high)} to stand out from them.")
    else:
        parts.append("Even the highest scores do not stand out from them.")
    return " ".join([*parts, *_caution(findings)])


def _caution(findings: Mapping[str, Finding]) -> list[str]:
    baseline, distinct = findings["baseline"], _distinct(findings)
    if distinct >= FEW:
        return []
    vectors = count(distinct, "distinct vector")
    if baseline.low is None:
        return [f"Measured on only {vectors}: too few to say how sure this is."]
    return [
        f"Measured on only {vectors}: the mean may be anywhere from {cosine(baseline.low)} to {cosine(baseline.high)}."
    ]


def _why(findings: Mapping[str, Finding], spread: Level) -> str:
    rogue, share = findings["rogue_dimensions"], findings["rogue_share_3"].magnitude or 0.0
    if isinstance(rogue.value, list) and rogue.value and rogue.level is Level.CROWDED:
        few, verb = count(len(rogue.value), "dimension"), "carries" if len(rogue.value) == 1 else "carry"
        return f"{few} ({', '.join(map(str, rogue.value))}) {verb} most of every similarity."
    if findings["mean_over_rms"].level is Level.CROWDED:
        mean = findings["mean_over_rms"].magnitude or 0.0
        return f"All rows share a common part: the mean vector is {percent(min(mean, 1.0))} as long as a typical row."
    if spread is not Level.HEALTHY:
        return findings["top1_share"].meaning
    return f"The three strongest dimensions carry {percent(min(share, 1.0))} of the mean cosine." if share else ""


def _todo(level: Level, findings: Mapping[str, Finding], repaired: bool) -> str:
    if findings["looks_transposed"].magnitude:
        return findings["looks_transposed"].advice
    if level is Level.HEALTHY:
        return "" if repaired else "Leave it as it is."
    worse = "top1_share" if findings["baseline"].level is Level.HEALTHY else "baseline"
    return findings[worse].advice
