"""Rules that name a repair, or none, without labels: each is data, with a record that `benchmarks.advice` measured.

    spoken(baseline, *, vectors, dim=None, diverse=None, witness=None) -> Advice

`baseline` is the mean cosine of the vectors' own unrelated pairs, `vectors` how many distinct ones there are, of `dim`
dimensions. `diverse` is the model's baseline on diverse text, and `witness` the agreement with words after the repair
`WITNESSED` (fitted on the same texts) minus that before it, if they are known. The `Advice` has the `rule` that speaks,
or None, in which case `text` says why none does. `Advice.repair` is what it recommends: `Remedy.options(dim)` are
keywords for `repairs.registry.make(remedy.method, ...)`, and `Remedy.flags(dim)` are those of `uncone fix`.

Records are read from `records.json`, by the name of the rule. A rule that names a repair speaks only for the uses in
which its record is good: at least `LEAST_GOOD` of its cases, with at most `MOST_HARM` harmed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from uncone.analysis.number_format import cosine, percent

__all__ = [
    "FEWEST_DIMENSIONS",
    "FEWEST_VECTORS",
    "LEAST_GOOD",
    "LOW",
    "MOST_HARM",
    "RULES",
    "USES",
    "USE_NAMES",
    "WITNESSED",
    "Advice",
    "AdviceValues",
    "Condition",
    "Record",
    "Records",
    "Remedy",
    "RepairValues",
    "Rule",
    "Use",
    "first_rule",
    "spoken",
    "stored_records",
]

Use = Literal["similarity", "search", "classes"]
"""What cosines are used for: similarity scores of pairs, search by a query, or the classes of nearest neighbors."""
USES: tuple[Use, ...] = get_args(Use)

LEAST_GOOD = 0.92
"""The share of its measured cases in which a rule that names a repair gained a point or more."""
MOST_HARM = 0.04
"""The share of them in which it lost half a point or more."""
LOW = 0.15
"""A baseline from which down no repair is known to help."""
FEWEST_VECTORS = 1_000
"""Distinct vectors from which a rule speaks: the repairs of the records were fitted on 1,400 to 4,000."""
FEWEST_DIMENSIONS = 64
"""Dimensions from which a rule speaks: those of the records were 128 to 384."""

USE_NAMES: dict[Use, str] = {
    "similarity": "similarity scores",
    "search": "search",
    "classes": "classes of nearest neighbors",
}


@dataclass(frozen=True)
class Record:
    """The measured cases in which a rule spoke, how many gained a point or more, how many lost half a point or more.

    `worst` is the smallest gain, in points.
    """

    cases: int
    good: int
    harm: int
    worst: float

    @property
    def reliable(self) -> bool:
        """Whether a repair may be named on this record."""
        return self.cases > 0 and self.good >= LEAST_GOOD * self.cases and self.harm <= MOST_HARM * self.cases

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return self.__dict__.copy()


Records = Mapping[str, Mapping[Use, Record]]
"""The records of rules by their names, for each use."""


@dataclass(frozen=True)
class Remedy:
    """A repair as `uncone fix --method` names it; `half` keeps half of the dimensions."""

    method: str
    title: str
    k: int | None = None
    half: bool = False

    def options(self, dim: int) -> dict[str, int]:
        """The options of the repair for vectors of `dim` dimensions."""
        return ({} if self.k is None else {"k": self.k}) | ({"dim": max(1, dim // 2)} if self.half else {})

    def flags(self, dim: int) -> list[str]:
        """The same as flags of the command line."""
        return [
            "--method",
            self.method,
            *(part for key, value in self.options(dim).items() for part in (f"--{key}", str(value))),
        ]


@dataclass(frozen=True)
class Condition:
    """Bounds on what was measured, each included; what is not `required` has to lie within them only if it is known."""

    baseline: tuple[float, float] = (-1.0, 1.0)
    diverse: tuple[float, float] = (-1.0, 1.0)
    witness: tuple[float, float] = (-2.0, 2.0)
    required: tuple[str, ...] = ("baseline",)

    def holds(self, baseline: float, diverse: float | None = None, witness: float | None = None) -> bool:
        """Whether what was measured is enough, and within the bounds."""
        pairs = (("baseline", baseline), ("diverse", diverse), ("witness", witness))
        values = {name: value for name, value in pairs if value is not None}
        within = all(getattr(self, name)[0] <= value <= getattr(self, name)[1] for name, value in values.items())
        return within and values.keys() >= set(self.required)


@dataclass(frozen=True)
class Rule:
    """A condition on what was measured, and the repair that it recommends for some uses; None is to leave it alone."""

    name: str
    condition: Condition
    repair: Remedy | None
    uses: tuple[Use, ...]
    because: str
    """What the condition says, as the end of "measured cases with ..."."""

    def reliable_uses(self, records: Records) -> tuple[Use, ...]:
        """The uses for which it may speak: a repair is named only on a good record."""
        own = records.get(self.name, {})
        return tuple(use for use in self.uses if self.repair is None or (use in own and own[use].reliable))


DROPTOP_7 = Remedy("droptop", "remove the seven strongest directions", k=7)
"""All-but-the-top on the vectors themselves: of all repairs, the one that did least harm in crowded spaces."""
WITNESSED = Remedy("whiten", "whiten to half of the dimensions", half=True)
"""The repair before and after which agreement with words is compared."""

RULES: tuple[Rule, ...] = (
    Rule(
        "low-on-diverse-text",
        Condition(diverse=(-1.0, LOW), required=("diverse",)),
        None,
        USES,
        "a baseline of 0.15 or less on diverse text",
    ),
    Rule(
        "crowded",
        Condition(baseline=(0.4, 1.0), diverse=(0.4, 1.0)),
        DROPTOP_7,
        ("similarity", "search"),
        "a baseline of 0.4 or more",
    ),
    Rule(
        "words-agree",
        Condition(baseline=(0.35, 1.0), diverse=(0.35, 1.0), witness=(0.0, 2.0), required=("baseline", "witness")),
        WITNESSED,
        ("similarity", "search"),
        "a baseline of 0.35 or more, in which the repair brought cosines closer to shared words",
    ),
)
"""The rules; the first that holds speaks."""


@dataclass(frozen=True)
class Advice:
    """The rule that speaks, for which uses and with which record; or None, and in `text` why none does."""

    rule: Rule | None
    uses: tuple[Use, ...]
    text: str
    baseline: float | None = None
    diverse: float | None = None
    witness: float | None = None

    @property
    def repair(self) -> Remedy | None:
        """What it recommends; None if no rule speaks, and for the rule to leave it alone."""
        return None if self.rule is None else self.rule.repair

    @property
    def records(self) -> dict[Use, Record]:
        """The record of the rule for each use that it speaks for."""
        own = {} if self.rule is None else stored_records().get(self.rule.name, {})
        return {use: own[use] for use in self.uses if use in own}

    def values(self, dim: int, commands: Mapping[str, str] | None = None) -> AdviceValues:
        """The advice for vectors of `dim` dimensions as it is written, with the commands that go on from it."""
        lines = commands or {}
        return AdviceValues(
            rule=None if self.rule is None else self.rule.name,
            repair=None if self.repair is None else RepairValues(self.repair.method, self.repair.options(dim)),
            uses=list(self.uses),
            record={str(use): own for use, own in self.records.items()},
            text=self.text,
            baseline=self.baseline,
            diverse=self.diverse,
            witness=self.witness,
            prove=lines.get("prove"),
            apply=lines.get("apply"),
        )


@dataclass(frozen=True)
class RepairValues:
    """A repair as `repairs.registry.make` takes it."""

    method: str
    options: dict[str, int]


@dataclass(frozen=True)
class AdviceValues:
    """An advice as JSON has it; `prove` and `apply` are commands."""

    rule: str | None
    repair: RepairValues | None
    uses: list[str]
    record: dict[str, Record]
    text: str
    baseline: float | None
    diverse: float | None
    witness: float | None
    prove: str | None
    apply: str | None


def spoken(
    baseline: float | None,
    *,
    vectors: int,
    dim: int | None = None,
    diverse: float | None = None,
    witness: float | None = None,
) -> Advice:
    """The first rule that holds for what was measured, or why none does.

    >>> spoken(0.02, vectors=5000, diverse=0.03).rule.name
    'low-on-diverse-text'
    >>> spoken(0.3, vectors=5000).rule is None
    True
    """
    if baseline is None:
        return Advice(None, (), "Without a baseline there is no advice.")
    if vectors < FEWEST_VECTORS:
        text = f"Advice on repairs needs {FEWEST_VECTORS:,} distinct vectors, and there are {vectors:,}. {_DECIDES}"
        return Advice(None, (), text, baseline, diverse, witness)
    if dim is not None and dim < FEWEST_DIMENSIONS:
        text = f"Advice on repairs needs vectors of {FEWEST_DIMENSIONS} dimensions, and these have {dim}. {_DECIDES}"
        return Advice(None, (), text, baseline, diverse, witness)
    rule, uses = first_rule(stored_records(), baseline, diverse, witness)
    advice = Advice(rule, uses, "", baseline, diverse, witness)
    return replace(
        advice, text=_silence(diverse) if rule is None else _sentences(rule, advice.records, alone=diverse is None)
    )


def first_rule(
    records: Records, baseline: float, diverse: float | None, witness: float | None
) -> tuple[Rule | None, tuple[Use, ...]]:
    """The first rule that holds and may speak on these records, and for which uses."""
    for rule in RULES:
        uses = rule.reliable_uses(records)
        if uses and rule.condition.holds(baseline, diverse, witness):
            return rule, uses
    return None, ()


_DECIDES = "Labeled pairs decide: uncone fix --method auto --pairs."


def _silence(diverse: float | None) -> str:
    """Why no rule speaks, and what would tell."""
    if diverse is not None:
        return (
            f"The model scores {cosine(diverse)} on diverse text: no rule is known to be right with such a baseline. "
            f"{_DECIDES}"
        )
    return (
        "The model may cause this baseline, or a topic that all texts share: these vectors can't tell. The model can, "
        f"on diverse text: uncone check TEXTS --model. {_DECIDES}"
    )


def _sentences(rule: Rule, records: Mapping[Use, Record], *, alone: bool) -> str:
    cases, good, harm = (sum(getattr(own, name) for own in records.values()) for name in ("cases", "good", "harm"))
    if rule.repair is None:
        text = f"Leave it alone: with {rule.because}, repairs "
        text += f"{_shares(good, harm, cases)} of {cases:,} measured tries." if cases else "are not known to help."
        return text
    uses = " and ".join(USE_NAMES[use] for use in records)
    shares = f"{_shares(good, harm, cases)} of {cases:,} measured cases with {rule.because}"
    topic = " A narrow topic can raise a baseline too: see uncone check TEXTS --model." if alone else ""
    return f"For {uses}, {rule.repair.title}: that {shares}. It's an estimate.{topic} {_DECIDES}"


def _shares(good: int, harm: int, cases: int) -> str:
    return f"gained a point or more in {percent(good / cases)} and lost half a point or more in {percent(harm / cases)}"


@cache
def stored_records() -> Records:
    """The records of the last run of `benchmarks.advice`."""
    path = Path(__file__).with_name("records.json")
    rules = json.loads(path.read_text(encoding="utf-8"))["rules"]
    return {name: {use: Record(**record) for use, record in own.items()} for name, own in rules.items()}
