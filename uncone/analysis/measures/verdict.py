"""All findings of a space, and the verdict on it: one level and a few sentences that a non-specialist understands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from uncone.analysis.advice.rules import LOW, Advice, spoken
from uncone.analysis.cosine.baseline import ScoreMeaning
from uncone.analysis.intervals.intervals import FEW, LEAST_UNITS
from uncone.analysis.measures.finding import Finding, Level, worst
from uncone.analysis.measures.registry import families, placed
from uncone.analysis.number_format import cosine, count, percent
from uncone.analysis.space.space import Space
from uncone.run.threads import one_blas_thread

__all__ = ["Verdict", "advise", "examine", "judge"]


def examine(space: Space) -> dict[str, Finding]:
    """Every finding by name."""
    space.sample.order  # noqa: B018 - taken before two threads ask for it
    every = families("check")
    # One BLAS thread: eigenvalues of a few hundred dimensions take longer on two that wait for each other. So there is
    # a core left, for the neighborhoods.
    with one_blas_thread(), ThreadPoolExecutor(1) as thread:
        waiting = {family: thread.submit(family.findings, space) for family in every if family.turn == "aside"}
        by_family = {family: family.findings(space) for family in every if family.turn == "first"}
        by_family |= {family: future.result() for family, future in waiting.items()}
        by_family |= {family: family.findings(space) for family in every if family.turn == "last"}
    # Few vectors are measured but not judged, unless all are the same.
    few, health = 1 < space.distinct < LEAST_UNITS, placed("check", "health")
    findings = {finding.name: finding for family in every for finding in by_family[family]}
    notes = {name: replace(finding, level=Level.NOTE) for name, finding in findings.items() if name not in health}
    return findings | notes if few else findings


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


def advise(
    findings: Mapping[str, Finding],
    *,
    dim: int | None = None,
    diverse: float | None = None,
    witness: float | None = None,
) -> Advice:
    """The advice of the rules on a space, from its findings and what else is known: see `advice.rules`."""
    baseline, vectors = findings["baseline"].magnitude, _distinct(findings)
    return spoken(baseline, vectors=vectors, dim=dim, diverse=diverse, witness=witness)


def judge(
    findings: Mapping[str, Finding],
    scores: Sequence[ScoreMeaning] = (),
    *,
    repaired: bool = False,
    advice: Advice | None = None,
) -> Verdict:
    """The verdict on a space from its findings; on fewer than 30 distinct vectors there is none.

    A repaired space is at best more isotropic: only labeled pairs can show whether it is better. Without `advice`, it
    is that on vectors alone.
    """
    baseline, distinct, details = findings["baseline"], _distinct(findings), _details(findings, scores)
    if baseline.value is None:
        return Verdict(Level.NOTE, f"No verdict: {baseline.meaning}", details, "", "")
    mean = cosine(float(baseline.value))  # type: ignore[arg-type]
    transposed = findings["looks_transposed"]
    if 1 < distinct < LEAST_UNITS or baseline.n < LEAST_UNITS:
        few = f"Too few vectors for a verdict: {distinct} distinct, and at least {LEAST_UNITS} are needed."
        more = transposed.advice if transposed.magnitude else "Measure more vectors before you decide anything."
        return Verdict(Level.NOTE, f"{few} Unrelated vectors score {mean} on average.", details, "", more)
    spread = worst([findings[name].level for name in ("effective_rank", "top1_share")])
    level = worst([baseline.level, spread])
    healthy, narrow = level is Level.HEALTHY, baseline.level is Level.HEALTHY and level is not Level.HEALTHY
    word = "More isotropic" if repaired and healthy else str(level).capitalize()
    share = f"one direction carries {percent(findings['top1_share'].magnitude or 0.0)} of the variance"
    headline = f"{word}: unrelated vectors score {mean} on average{f', but {share}' if narrow else ''}."
    todo = findings["top1_share" if narrow else "baseline"].advice
    if repaired:
        todo = "" if healthy else todo
    elif not narrow:
        todo = _todo(todo, healthy, advice or advise(findings))
    return Verdict(
        Level.NOTE if repaired and healthy else level,
        headline,
        details,
        "" if healthy else " ".join(filter(None, (_reason(findings, spread), _topic(findings)))),
        transposed.advice if transposed.magnitude else todo,
    )


def _todo(comparison: str, healthy: bool, advice: Advice) -> str:
    """What to do: how to read the scores of a crowded space, and whether a repair is known to help."""
    if healthy and advice.rule is None and (advice.baseline or 0.0) <= LOW:
        return "Leave it as it is."
    return advice.text if healthy else f"{comparison} {advice.text}"


def _distinct(findings: Mapping[str, Finding]) -> int:
    n, share = findings["baseline"].n, findings["duplicate_share"].magnitude or 0.0
    return n - round(share * n)


def _details(findings: Mapping[str, Finding], scores: Sequence[ScoreMeaning]) -> str:
    quantiles = findings["pair_cosine_quantiles"].value
    if not isinstance(quantiles, dict):
        return " ".join(score.meaning for score in scores)
    low, high = quantiles["0.025"], quantiles["0.975"]
    parts = [f"Unrelated pairs score {cosine(low)} to {cosine(high)} here (95 %)."]
    if scores:
        parts += [score.meaning for score in scores]
    elif _distinct(findings) >= LEAST_UNITS:  # what stands out among fewer is chance
        parts.append(
            f"A score above {cosine(high)} stands out." if high < 0.995 else "Even the highest scores do not stand out."
        )
    return " ".join([*parts, *_caution(findings)])


def _caution(findings: Mapping[str, Finding]) -> list[str]:
    baseline, distinct = findings["baseline"], _distinct(findings)
    if distinct >= FEW:
        return []
    vectors = count(distinct, "distinct vector")
    if baseline.low is None:
        return [f"Measured on only {vectors}: too few to say how certain this is."]
    return [f"Measured on only {vectors}: the mean may be {cosine(baseline.low)} to {cosine(baseline.high)}."]


def _topic(findings: Mapping[str, Finding]) -> str:
    """Whose the crowding is, if the model was measured on diverse text; or why it was not."""
    diverse, share = findings.get("diverse_baseline"), findings.get("topic_share")
    if diverse is None or share is None:
        return ""
    return diverse.meaning if diverse.value is None else share.meaning if share.value is not None else ""


def _reason(findings: Mapping[str, Finding], spread: Level) -> str:
    rogue, share = findings["rogue_dimensions"], findings["rogue_share_3"].magnitude or 0.0
    if isinstance(rogue.value, list) and rogue.value and rogue.level is Level.CROWDED:
        few, verb = count(len(rogue.value), "dimension"), "carries" if len(rogue.value) == 1 else "carry"
        return f"{few} ({', '.join(map(str, rogue.value))}) {verb} most of every similarity."
    if findings["mean_over_rms"].level is Level.CROWDED:
        mean = findings["mean_over_rms"].magnitude or 0.0
        return f"All vectors share a common part: the mean is {percent(min(mean, 1.0))} as long as a typical vector."
    if spread is not Level.HEALTHY:
        return findings["top1_share"].meaning
    return f"The three strongest dimensions carry {percent(min(share, 1.0))} of the mean cosine." if share else ""
