"""What is known of the use of a repair: proven on pairs, expected with a record, or unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from uncone.analysis.advice.rules import USE_NAMES, Advice
from uncone.analysis.measures.finding import Level
from uncone.analysis.measures.registry import measure
from uncone.analysis.number_format import cosine, count, percent
from uncone.report import document as doc
from uncone.report.result import Result
from uncone.report.text import interval, last_name, number

if TYPE_CHECKING:
    from uncone.analysis.advice.witness import AgreementChange
    from uncone.evaluation.advised import Advised
    from uncone.repairs.repair import Repair

__all__ = ["ByRule", "KnownUse", "known_use", "record_table", "witness_sentence"]

_PAIRS = "Labeled pairs decide: uncone fix --method auto --pairs."


@dataclass(frozen=True)
class KnownUse:
    """What is known of the use of a repair, in a word and in sentences."""

    kind: Literal["proven", "expected", "advised against", "unknown"]
    text: str


def known_use(
    provenance: Mapping[str, Any], advice: Advice | None, repair: Repair, dim: int, change: AgreementChange | None
) -> KnownUse:
    """What labeled pairs proved, or what a rule leads to expect of this very repair; else it is unknown."""
    choice = provenance.get("prescription")
    if choice is not None and choice["proven"]:
        return KnownUse("proven", f"Proven for pairs like yours. {choice['reason']}")
    words = "" if change is None else f" {witness_sentence(change)}"
    sentence = provenance.get("level", "sentence") == "sentence"
    if advice is not None and advice.rule is not None and advice.repair is None:
        return KnownUse("advised against", f"Not proven, and advised against. {advice.text}{words}")
    if advice is not None and advice.repair is not None and sentence and _is_remedy(repair, advice, dim):
        return KnownUse("expected", f"Expected, not proven. {advice.text}{words}")
    other = ""
    if advice is not None and advice.repair is not None:
        other = f" The rule that speaks here names another repair: {' '.join(advice.repair.flags(dim)[1:])}."
    return KnownUse("unknown", f"Unknown: no measured rule speaks for this repair here.{other}{words} {_PAIRS}")


def _is_remedy(repair: Repair, advice: Advice, dim: int) -> bool:
    """Whether the repair is the one that the advice names, options and all."""
    from uncone.repairs.registry import make

    assert advice.repair is not None
    (step, *others), options = getattr(repair, "steps_", [repair]), advice.repair.options(dim)
    if others or step.kind != advice.repair.method:
        return False
    expected, own = (each.get_params(deep=False) for each in (make(step.kind, **options), step))
    if step.kind == "droptop":  # without k, as many as the dimensions suggest
        own["k"] = step.directions_.shape[1]
    return all(own[name] == value for name, value in expected.items() if name != "seed")


def witness_sentence(change: AgreementChange) -> str:
    """What a repair did to the agreement with words; empty if that is unknown."""
    before, after = change.before.value, change.after.value
    if before is None or after is None or change.value is None or change.low is None or change.high is None:
        return ""
    sure = "" if change.low > 0 or change.high < 0 else "; the interval includes zero"
    moved = "stays at" if cosine(before) == cosine(after) else f"goes from {cosine(before)} to"
    bounds = f"{_signed(change.low)} to {_signed(change.high)}"
    return (
        f"Agreement with {change.before.terms} {moved} {cosine(after)} (difference {_signed(change.value)}, 95 % "
        f"interval {bounds}{sure})."
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def record_table(advice: Advice) -> doc.Table:
    """The measured cases of the rule that speaks, by use."""
    columns = ["use", "measured cases", "gained 1 point or more", "lost 0.5 points or more", "worst"]
    rows = [
        [USE_NAMES[use], f"{r.cases:,}", percent(r.good / r.cases), percent(r.harm / r.cases), f"{r.worst:+.1f} points"]
        for use, r in advice.records.items()
        if r.cases
    ]
    return doc.table(columns, rows, name="record")


@dataclass(frozen=True, eq=False)
class ByRule(Result):
    """The advice without labeled pairs, as `fix --method auto` reports it if no rule names a repair."""

    advised: Advised

    def _values(self) -> dict[str, Any]:
        return {"advised": self.advised.to_dict()}

    def document(self) -> doc.Document:
        """The advice, the record of its rule, and what it was asked about."""
        advised, advice = self.advised, self.advised.advice
        method = advised.recommended
        headline = "Leave it alone." if advice.rule is not None else "Not known: no rule names a repair here."
        headline = headline if method is None else f"Try {method.name}: expected to help, not proven."
        rows = [
            [measure(name).title, doc.Cell(number(finding), interval(finding), hover=finding.meaning)]
            for name, finding in advised.findings.items()
        ]
        rows += [] if advised.change is None else [_change_row(advised.change)]
        inputs = doc.table([doc.Column("measured", align="left"), "value"], rows, name="measured")
        record = [record_table(advice)] if advice.records else []
        vectors = count(advised.findings["baseline"].n, "vector")
        return doc.Document(
            title=headline,
            name=last_name(advised.name),
            subtitle=f"{vectors} · {count(advised.dim, 'dimension')} · no labeled pairs",
            verdicts=[doc.Verdict(headline, Level.NOTE, [advised.reason])],
            sections=doc.present(
                doc.Section("What the rules were asked about", [inputs], brief=[inputs]),
                doc.Section("The record of the rule", record, brief=record) if record else None,
                doc.Section("Notes", [doc.Notes(list(advised.notes))]) if advised.notes else None,
            ),
        )


def _change_row(change: AgreementChange) -> list[object]:
    bounds = "" if change.low is None or change.high is None else f"{_signed(change.low)} – {_signed(change.high)}"
    value = "–" if change.value is None else _signed(change.value)
    return ["Agreement with words, by the repair", doc.Cell(value, bounds, hover=witness_sentence(change))]
