"""The results of `fix`: a space before and after a repair, or the advice to use none, and their documents."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.measures.finding import Finding, Level, finite
from uncone.analysis.measures.registry import measure, placed
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.report import document as doc
from uncone.report.charts.model import Axis, Chart, Histogram, Line, Points
from uncone.report.documents import check
from uncone.report.documents.advice import KnownUse, known_use, record_table, witness_sentence
from uncone.report.documents.check import Diagnosis
from uncone.report.documents.evaluate.scores import interval as gain_interval
from uncone.report.documents.evaluate.scores import points, signed_points
from uncone.report.result import Result
from uncone.report.text import between, interval, last_name, number, number_text, provenance_facts

if TYPE_CHECKING:
    from uncone.analysis.advice.witness import AgreementChange
    from uncone.evaluation.prescription import Prescription
    from uncone.repairs.repair import Repair

__all__ = ["REMINDER", "Change", "Prescribed", "Repaired", "candidate_blocks", "changes", "chosen_epoch", "learning"]

_QUANTILES = {
    "0.025": "2.5 % of pairs are below",
    "0.5": "Median pair",
    "0.975": "97.5 % of pairs are below",
}
_TITLES = {
    "baseline": "Unrelated pairs, mean cosine",
    "rogue_share_3": "Share of top 3 dimensions",
    "top1_share": "Variance in top direction",
    "partition_isotropy_unit_log10": "Partition isotropy, log₁₀",
}
"""Titles of measures whose own title is unclear in this table."""
_MARKS = {"rises": "↑", "falls": "↓", "wider": "↔", "narrower": "↔", "same": "="}
_NEGATIVE = "Negative bits per dimension are normal: they measure a density, which may exceed 1. Lower is better."
REMINDER = "Re-index your documents and apply the same repair to queries: raw and repaired vectors can't be compared."
_WARNING = (
    "The space was not crowded before the repair. Don't use the repair unless labeled pairs show that it helps: uncone "
    "fix --method auto --pairs."
)
_OVERLAP = "Each number has its 95 % interval, if there is one. If two intervals overlap, the change is not clear."


@dataclass(frozen=True)
class Change:
    """A finding before and after: the values and their intervals in short, which way it went, and how sure that is."""

    title: str
    before: Finding
    after: Finding
    values: tuple[str, str]

    @property
    def way(self) -> str:
        """The direction of the change; empty if it is unknown."""
        old, new = self.before.value, self.after.value
        if isinstance(old, dict) and isinstance(new, dict):
            ends, words = [value["0.975"] - value["0.025"] for value in (old, new)], ("wider", "narrower")
        else:
            ends, words = [finite(self.before.magnitude), finite(self.after.magnitude)], ("rises", "falls")
        if None in ends:
            return ""
        return "same" if self.values[0] == self.values[1] else words[0] if ends[1] > ends[0] else words[1]

    @property
    def overlap(self) -> bool | None:
        """Whether the 95 % intervals overlap; None if one is unknown or nothing changed."""
        if self.way == "same" or not interval(self.before) or not interval(self.after):
            return None
        return bool(self.before.low <= self.after.high and self.after.low <= self.before.high)

    @property
    def certainty(self) -> str:
        """Whether the intervals overlap, in two words."""
        return "" if self.overlap is None else "intervals overlap" if self.overlap else "intervals apart"


@dataclass(frozen=True)
class Repaired(Result):
    """One space before and after a repair.

    `method` is the repair as it was asked for, `repair` the fitted one. `provenance` says what it was fitted on: n,
    encoder, layer, pooling, level, seed, versions. `notes` are what was decided or left out on the way. `history` is
    the learning curve of a flow: epoch, bits per dimension of the rows trained on, and of those held out. `saved` is
    the folder of the repair, `written` the file of the repaired vectors, where there are any.
    """

    before: Diagnosis
    after: Diagnosis
    method: str
    repair: Repair
    provenance: Mapping[str, Any]
    notes: Sequence[str] = ()
    history: Sequence[tuple[int, float, float | None]] = ()
    saved: str | None = None
    written: str | None = None
    change: AgreementChange | None = None
    """The agreement with words before and after, for vectors of texts."""
    reminder = REMINDER

    @property
    def use(self) -> KnownUse:
        """What is known of the use of this repair on these vectors."""
        dim = int(self.before.source["dimensions"])
        return known_use(self.provenance, self.before.advice, self.repair, dim, self.change)

    @property
    def headline(self) -> str:
        """Before and after in a sentence."""
        was, now = self.before.verdict.level, self.after.verdict.level
        if was is Level.HEALTHY and now is Level.NOTE:
            change = "Not crowded before or after the repair"
        elif was is now:
            change = "Too few vectors for a verdict" if now is Level.NOTE else f"Still {now}"
        elif now.rank < was.rank:
            change = f"More isotropic: {was} before the repair" + ("" if now is Level.NOTE else f", {now} after")
        else:
            change = f"Less isotropic: {now} after the repair"
        means = [space["baseline"].magnitude for space in (self.before, self.after)]
        if None in means:
            return f"{change}."
        old, new = (cosine(mean or 0.0) for mean in means)
        end = "as before" if old == new else f"down from {old}" if float(new) < float(old) else f"up from {old}"
        return f"{change}. Unrelated vectors score {new} on average, {end}."

    def lines(self) -> list[str]:
        """Sentences on what changed: the baseline, IsoScore, partition isotropy, directions and thresholds."""
        by_name = {change.before.name: change for change in changes(self)}
        even, isotropic = "1 uses all directions equally", "0 is isotropic"
        partition = by_name.get("partition_isotropy_unit_log10")
        power: Callable[[float], str] = lambda value: plain(value) if abs(value) >= 0.01 else "0.00"  # noqa: E731
        lines = [
            _moved(by_name.get("baseline"), "The mean cosine of unrelated pairs", cosine),
            _moved(by_name.get("isoscore_corrected"), "IsoScore, corrected for n,", cosine, even),
            _moved(partition, "Partition isotropy (log₁₀, norm 1)", power, isotropic),
            _directions(self),
            _threshold(by_name.get("pair_cosine_quantiles")),
            "" if self.change is None else witness_sentence(self.change),
        ]
        if self.provenance.get("fitted_on") == self.before.source["name"]:
            lines.append(
                "These numbers are for the vectors that the repair was fitted on. On other vectors, it may help less."
            )
        return [line for line in lines if line]

    @property
    def healthy(self) -> bool:
        """Whether there was nothing to repair."""
        return self.before.verdict.level is Level.HEALTHY

    @property
    def warning(self) -> str:
        """A warning if the space was healthy before the repair; else empty."""
        return _WARNING if self.healthy else ""

    @property
    def suggestion(self) -> str | None:
        """A command that repairs new vectors or texts, ready to paste; None when the repair was not saved."""
        if self.saved is None:
            return None
        encoder = self.provenance.get("encoder")
        new = "new.npy -o new-fixed.npy" if encoder is None else f"new.csv --model {shlex.quote(str(encoder))}"
        return f"uncone apply {shlex.quote(self.saved)} {new}"

    @property
    def spaces(self) -> Sequence[Diagnosis]:
        """The two diagnoses, named before and after."""
        pairs = (("before", self.before), ("after", self.after))
        return [replace(space, source={**space.source, "name": name}) for name, space in pairs]

    def _values(self) -> dict[str, Any]:
        steps: Sequence[Repair] = getattr(self.repair, "steps_", [self.repair])
        return {
            "method": self.method,
            "repair": {
                "steps": [
                    {"kind": step.kind, "parameters": step.get_params(deep=False), "note": step.note_} for step in steps
                ],
                "dim_in": self.repair.n_features_in_,
                "dim_out": self.repair._n_features_out,
            },
            "headline": self.headline,
            "lines": self.lines(),
            "use": self.use,
            "agreement": self.change,
            "was_healthy": self.healthy,
            "warning": self.warning,
            "reminder": REMINDER,
            "next": self.suggestion,
            "notes": self.notes,
            "history": [dict(zip(("epoch", "train", "held_out"), entry, strict=True)) for entry in self.history],
            "saved": self.saved,
            "written": self.written,
            "provenance": self.provenance,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }

    def document(self) -> doc.Document:
        """Both verdicts, the change of every main finding, charts, and how the repair was made."""
        spaces, old, new = self.spaces, check.shape(self.before), check.shape(self.after)
        cosines = check.cosine_chart(spaces)
        histograms = [mark for mark in cosines.marks if isinstance(mark, Histogram)]
        charts = [cosines, check.eigenvalue_chart(spaces), *([_learning_chart(self)] if self.history else [])]
        notes, outputs = [note for note in self.notes if note], _outputs(self)
        choice, use = self.provenance.get("prescription"), doc.Sentences([self.use.text], "use")
        side_by_side = doc.Fold("All findings side by side", [check.findings_table(spaces)])
        verdict = doc.Verdict(self.headline, self.after.verdict.level, self.lines())
        brief: list[doc.Block] = [Chart("cosines", cosines.title, "", histograms), _change_table(self)]
        return doc.Document(
            title=self.headline,
            name=last_name(self.before.source["name"]),
            subtitle=f"repaired by {self.method} · {old if old == new else f'{old} → {new}'}",
            warning=self.warning,
            verdicts=[
                replace(verdict, advice=[REMINDER], command=self.suggestion or "", bulleted=True),
                *(check.verdict(space, with_name=True, with_advice=space is spaces[-1], half=True) for space in spaces),
            ],
            sections=doc.present(
                doc.Section("", charts, brief=brief),
                doc.Section("Before and after", [_change_table(self, quantiles=True), side_by_side], _OVERLAP),
                None if choice is None else doc.Section("Why this repair", _reasons(self, choice), choice["reason"]),
                _training(self),
                doc.Section("Notes", [doc.Notes(notes)], brief=[doc.Notes(notes, most=2)]) if notes else None,
                doc.Section("Provenance", _provenance(self), brief=[doc.Facts(outputs)] if outputs else []),
                doc.Section("What is known of its use", [replace(use, label="")], brief=[use]),
            ),
        )

    def __repr__(self) -> str:
        """Before and after in a line."""
        return f"<Repaired {self.before.source['name']} by {self.method}: {self.headline}>"


def _reasons(result: Repaired, choice: Mapping[str, Any]) -> list[doc.Block]:
    """Every candidate on the pairs; without pairs, the record of the rule."""
    if "table" in choice:
        return candidate_blocks(choice)
    advice = result.before.advice
    return [record_table(advice)] if advice is not None and advice.records else []


def _change_table(result: Repaired, *, quantiles: bool = False) -> doc.Table:
    rows = []
    for change in changes(result, quantiles=quantiles):
        both = zip(change.values, (change.before, change.after), strict=True)
        cells = [doc.Cell(value, interval(finding), finding.level, hover=finding.meaning) for value, finding in both]
        title = doc.Cell(change.title, hover=measure(change.before.name).definition)
        rows.append([title, *cells, doc.Cell(f"{_MARKS.get(change.way, '')} {change.way}".strip(), change.certainty)])
    first, last = doc.Column("finding", align="left", wrap=not quantiles), doc.Column("change", align="left")
    return doc.table([first, "before", "after", last], rows)


def _learning_chart(result: Repaired) -> Chart:
    """Bits per dimension by epoch; a ring around the epoch that was used."""
    epochs = [float(epoch) for epoch, *_ in result.history]
    train, held_out = ([finite(entry[at]) for entry in result.history] for at in (1, 2))
    lines = [
        Line(epochs, train, "trained on", "muted", dash="dash", points=True),
        Line(epochs, held_out, "held out", "second", points=True),
    ]
    marks = [line for line in lines if any(value is not None for value in line.y)]
    best, curve = chosen_epoch(result), held_out if any(value is not None for value in held_out) else train
    ring = Points([epochs[best]], [curve[best]], color="ink", size=14, ring=True, texts=["used"])
    x, y = Axis("epoch", "epoch", whole=True), Axis("bits per dimension", "bits_per_dimension")
    return Chart("learning", "Learning curve", f"{learning(result)} {_NEGATIVE}", [*marks, ring], x, y)


def _training(result: Repaired) -> doc.Section | None:
    if not result.history:
        return None
    intro = f"{learning(result)} {_NEGATIVE}"
    rows = [
        [f"{epoch:,}", *(number_text(bits, "{:.3f}".format) for bits in (train, held_out))]
        for epoch, train, held_out in result.history
    ]
    epochs = doc.table(["epoch", doc.Column("trained on", "bits per dimension"), "held out"], rows)
    return doc.Section("Training", [doc.Fold("Every epoch", [epochs])], intro, [doc.Notes([intro], "flow")])


def _provenance(result: Repaired) -> list[doc.Block]:
    repair = [("method", result.method), ("repair", str(result.repair).replace("\n", " "))]
    repair += [fact for fact in provenance_facts(result.provenance) if fact[0] not in ("method", "prescription")]
    measurement = doc.Facts(check.source_facts(result.before), "The measurement")
    return [doc.Facts([*repair, *_outputs(result)], "The repair"), measurement]


def _outputs(result: Repaired) -> list[tuple[str, str]]:
    places = {"saved to": result.saved, "repaired vectors": result.written}
    return [(name, place) for name, place in places.items() if place]


def changes(result: Repaired, *, quantiles: bool = False) -> list[Change]:
    """The main findings before and after; the cosines of random pairs by quantile, or in one line."""
    pairs: list[tuple[str, Finding, Finding]] = []
    for name in placed("check", "fix"):
        if name not in result.before.findings or name not in result.after.findings:
            continue
        old, new = result.before[name], result.after[name]
        if quantiles and isinstance(old.value, dict) and isinstance(new.value, dict):
            pairs += [(text, _quantile(old, at), _quantile(new, at)) for at, text in _QUANTILES.items()]
        else:
            pairs.append((_TITLES.get(name, measure(name).title), old, new))

    def value_text(finding: Finding, space: Diagnosis) -> str:
        of = finding.name == "effective_rank" and finite(finding.value) is not None
        return f"{number(finding)} of {space.source['dimensions']:,}" if of else number(finding)

    return [
        Change(title, old, new, (value_text(old, result.before), value_text(new, result.after)))
        for title, old, new in pairs
    ]


def learning(result: Repaired) -> str:
    """A sentence on the training of a flow; empty without training."""
    if not result.history:
        return ""
    place, column = chosen_epoch(result), 1 if finite(result.history[0][2]) is None else 2
    (first, *_), (best, *_), (last, *_) = (result.history[at] for at in (0, place, -1))
    start, bits = (finite(result.history[at][column]) for at in (0, place))
    if place == 0 or start is None or bits is None:
        return f"Training did not improve on epoch {first}, which is used."
    vectors = f"bits per dimension on the {'held-out' if column == 2 else 'training'} vectors"
    return f"Epoch {best} of {last} is used: {plain(bits)} {vectors}, from {plain(start)} at epoch {first}."


def chosen_epoch(result: Repaired) -> int:
    """The place in the history of the epoch that is used: the best on held-out vectors, or the last without any."""
    bits = [finite(held_out) for *_, held_out in result.history]
    places = [place for place, value in enumerate(bits) if value is not None]
    return min(places, key=lambda place: bits[place]) if places else len(bits) - 1


def _quantile(finding: Finding, at: str) -> Finding:
    parts = (finding.value, finding.low, finding.high)
    value, low, high = (part[at] if isinstance(part, dict) else None for part in parts)
    return Finding(finding.name, value, finding.n, finding.meaning, low=low, high=high)


def _moved(change: Change | None, subject: str, show: Callable[[float], str], scale: str = "") -> str:
    """A sentence on the change of a number, with its certainty and its scale."""
    if change is None:
        return ""
    old, new = finite(change.before.magnitude), finite(change.after.magnitude)
    if old is None or new is None:
        return ""  # the table shows which is not known
    if show(old) == show(new):
        moved = f"{subject} stays at {show(new)}"
    else:
        moved = f"{subject} {'rises' if new > old else 'falls'} from {show(old)} to {show(new)}"
        if change.overlap is not None:
            sure = "overlap: no clear change" if change.overlap else "don't overlap"
            moved += f"; the 95 % intervals {sure}"
    return f"{moved}{f' ({scale})' if scale else ''}."


def _directions(result: Repaired) -> str:
    old, new = (finite(space["effective_rank"].magnitude) for space in (result.before, result.after))
    if old is None or new is None:
        return ""
    before, after = result.before.source["dimensions"], result.after.source["dimensions"]
    top = result.after["top1_share"].magnitude
    strongest = "" if top is None else f"; the strongest now carries {percent(top)} of the variance"
    if (plain(old), before) == (plain(new), after):
        return f"{plain(new)} of {after:,} directions are in use, as before{strongest}."
    return f"{plain(old)} of {before:,} directions were in use, now {plain(new)} of {after:,}{strongest}."


def _threshold(change: Change | None) -> str:
    if change is None or not isinstance(change.before.value, dict) or not isinstance(change.after.value, dict):
        return ""
    old, new = (between(value["0.025"], value["0.975"], cosine) for value in (change.before.value, change.after.value))
    since = "as before." if old == new else f"{old} before. Choose new thresholds."
    return f"Unrelated pairs score {new} (95 %), {since}"


@dataclass(frozen=True, eq=False)
class Prescribed(Result):
    """The choice of a repair by labeled pairs, as `fix --method auto` reports it if none helps."""

    prescription: Prescription

    def _values(self) -> dict[str, Any]:
        return {"prescription": self.prescription.to_dict()}

    def document(self) -> doc.Document:
        """The advice, its reason, and what every candidate gains."""
        prescription = self.to_dict()["prescription"]
        recommended, pairs, units = (prescription[key] for key in ("recommended", "pairs", "independent_pairs"))
        headline = "Leave it alone." if recommended is None else f"Use {recommended['name']}."
        level = Level.HEALTHY if recommended is None else Level.CROWDED
        blocks = candidate_blocks(prescription)
        return doc.Document(
            title=headline,
            name=prescription["name"],
            subtitle=f"{count(pairs, 'pair')}, {units:,} independent · {count(prescription['folds'], 'fold')}",
            verdicts=[doc.Verdict(headline, level, [prescription["reason"]])],
            sections=[doc.Section("Candidates", blocks, brief=blocks)],
        )


def candidate_blocks(prescription: Mapping[str, Any], *, illustration: bool = False) -> list[doc.Block]:
    """Every candidate with its score on held-out pairs and its difference from raw vectors.

    Pairs that were written for an `illustration` prove nothing.
    """
    folds, recommended = prescription["folds"], prescription["recommended"]
    level = doc.Column("vs. raw", f"{100 * prescription['level']:g} % interval")
    rows: list[list[object]] = [["raw", points(prescription["raw"]), "", ""]]
    notes = list(prescription["notes"])
    for candidate in prescription["table"]:
        keys = ("name", "method", "options")
        is_chosen = recommended is not None and all(candidate[key] == recommended[key] for key in keys)
        wins = f"{candidate['chosen']} of {folds}" if candidate["chosen"] else ""
        name, difference = doc.Cell(candidate["name"], strong=is_chosen), _difference(candidate["difference"])
        rows.append([name, points(candidate["score"]), difference, wins])
        notes += [f"{candidate['name']}: {candidate['note']}"] if candidate["note"] else []
    held_out = "Each pair is scored by repairs that were fitted without its texts."
    proof = "A star marks a proven difference, ↓* a proven loss, corrected for the number of candidates."
    if illustration:
        proof = "A star marks an interval above zero, ↓* one below zero, corrected for the number of candidates."
    elif prescription["independent_pairs"] < LEAST_UNITS:
        proof = f"A proof needs {LEAST_UNITS} independent pairs."
    heads = ["candidate", f"{prescription['measure']} x 100", level, doc.Column("chosen", "folds")]
    candidates = doc.table(heads, rows, remarks=[held_out, proof], name="candidates")
    return [candidates, *([doc.Notes(notes, most=len(notes))] if notes else [])]


def _difference(difference: Mapping[str, Any]) -> doc.Cell:
    value, proven = difference["value"], difference["significant"]
    loss = proven and value < 0
    level, mark = Level.CROWDED if loss else Level.NOTE, "↓*" if loss else "*" if proven else ""
    return doc.Cell(signed_points(value), gain_interval(difference["low"], difference["high"]), level, mark=mark)
