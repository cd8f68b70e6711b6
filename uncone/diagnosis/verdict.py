"""The verdict: one sentence and one level, in words that a non-specialist uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uncone.diagnosis.baseline import ScoreMeaning
from uncone.diagnosis.finding import Finding, Level, worst
from uncone.diagnosis.intervals import FEW
from uncone.diagnosis.words import cosine, count, percent

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


def judge(findings: Mapping[str, Finding], scores: Sequence[ScoreMeaning] = ()) -> Verdict:
    """The verdict on a space from its findings."""
    baseline = findings["baseline"]
    spread = worst([findings[name].level for name in ("effective_rank", "top1_share")])
    level = worst([baseline.level, spread])
    return Verdict(
        level,
        _headline(level, baseline, findings),
        _details(findings, scores),
        _why(findings, spread) if level is not Level.HEALTHY else "",
        _todo(level, findings),
    )


def _headline(level: Level, baseline: Finding, findings: Mapping[str, Finding]) -> str:
    value = float(baseline.value)  # type: ignore[arg-type]
    if level is not Level.HEALTHY and baseline.level is Level.HEALTHY:
        share = findings["top1_share"].magnitude or 0.0
        return (
            f"{str(level).capitalize()}: two random rows score {cosine(value)} on average, but one direction carries "
            f"{percent(share)} of the variance."
        )
    return f"{str(level).capitalize()}: two random rows score {cosine(value)}."


def _details(findings: Mapping[str, Finding], scores: Sequence[ScoreMeaning]) -> str:
    quantiles = findings["pair_cosine_quantiles"].value
    assert isinstance(quantiles, dict)
    low, high = quantiles["0.025"], quantiles["0.975"]
    parts = [f"95 % of random pairs lie between {cosine(low)} and {cosine(high)}."]
    if scores:
        parts += [score.meaning for score in scores]
    elif high < 0.995:
        parts.append(f"A score has to be over {cosine(high)} to stand out from them.")
    else:
        parts.append("Even the highest scores do not stand out from them.")
    return " ".join([*parts, *_caution(findings)])


def _caution(findings: Mapping[str, Finding]) -> list[str]:
    baseline = findings["baseline"]
    if baseline.n >= FEW:
        return []
    if baseline.low is None:
        return [f"Measured on only {count(baseline.n, 'row')}: too few to say how sure this is."]
    return [
        f"Measured on only {count(baseline.n, 'row')}: the mean may be anywhere from {cosine(baseline.low)} "
        f"to {cosine(baseline.high)}."
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


def _todo(level: Level, findings: Mapping[str, Finding]) -> str:
    if findings["looks_transposed"].magnitude:
        return findings["looks_transposed"].advice
    if findings["baseline"].n < 10:
        return "Measure on more rows before you decide anything."
    if level is Level.HEALTHY:
        return "Leave it as it is."
    return (
        findings["baseline"].advice
        if findings["baseline"].level is not Level.HEALTHY
        else findings["top1_share"].advice
    )
