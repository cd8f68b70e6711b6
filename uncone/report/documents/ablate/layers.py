"""The result of `ablate layers`: what each layer is worth for a task, and what training does to the last one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import cosine, count, percent
from uncone.report import document as doc
from uncone.report.charts.model import Axis, Chart, Line
from uncone.report.documents.ablate.scores import (
    ONE_SEED,
    STARS,
    accuracy_cell,
    difference_cell,
    difference_text,
    forest,
)
from uncone.report.documents.evaluate.scores import points, trend
from uncone.report.result import Result
from uncone.report.text import last_name, listed, number_text

if TYPE_CHECKING:
    from uncone.tuning.ablation.layers import LayerRow, LayersStudy

__all__ = ["LayerAblation"]

_TASK_TITLES = {"sst2": "SST-2", "rte": "RTE", "wic": "WiC"}
_COLORS = {"freeze": "accent", "drop": "second", "reinit": "ink"}
_WORDS = {"freeze": "frozen", "drop": "dropped", "reinit": "re-initialized", "first": "first layers frozen"}
_ACTIONS = {
    "drop": "Dropping a layer",
    "reinit": "Re-initializing a layer",
    "freeze": "Freezing a layer",
    "first": "Freezing the embeddings and the first layers",
}
_CHANGE = 0.02
"""A change of the intra-sentence similarity that is worth a sentence."""


@dataclass(frozen=True, eq=False)
class LayerAblation(Result):
    """A model fine-tuned with each layer frozen, dropped or re-initialized."""

    model: str
    study: LayersStudy

    @property
    def base(self) -> LayerRow:
        """The model with all layers trained."""
        return self.study.rows[0]

    @property
    def headline(self) -> str:
        """The layers that the task needs, in a sentence."""
        dropped = [row for row in self.study.rows if row.variant.kind == "drop"]
        losses = [row for row in dropped if _is_loss(row)]
        if not dropped:
            names = [row.variant.name for row in self.study.rows if _is_loss(row)]
            return f"Proven losses: {listed(names)}." if names else "No variant is proven worse than the whole model."
        if not losses:
            most = max((-end for row in dropped if (end := _low(row)) is not None), default=0.0)
            return (
                f"{self._title}: dropping any one of the {self.study.layers} layers costs nothing that could be "
                f"proven, and at most {points(max(most, 0.0))} points of accuracy."
            )
        numbers, cost = listed([str(row.variant.layer) for row in losses]), points(-min(map(_value, losses)))
        if len(losses) == 1:
            return f"{self._title} needs layer {numbers}: dropping it costs {cost} points of accuracy, proven."
        return f"{self._title} needs layers {numbers}: dropping one costs up to {cost} points of accuracy, proven."

    @property
    def _title(self) -> str:
        return _TASK_TITLES.get(self.study.task, self.study.task)

    def lines(self) -> list[str]:
        """What a reader needs to know, in sentences written from the numbers."""
        study, accuracy = self.study, self.base.score.accuracy
        lines = [
            f"With all layers trained, {points(accuracy.value)} % of {study.n_test:,} test items are right "
            f"({count(len(study.seeds), 'seed')}); the most frequent class alone gives {percent(study.majority)}."
        ]
        for kind in ("drop", "reinit", "freeze", "first"):
            rows = [row for row in study.rows if row.variant.kind == kind]
            losses = [row for row in rows if _is_loss(row)]
            worst = min(rows, key=_value, default=None)
            if worst is None or worst.score.difference is None:
                continue
            text = f"{difference_text(worst.score.difference)}, with {worst.variant.name}"
            if losses:
                cases = f"in {len(losses)} of {count(len(rows), 'case')}, proven"
                lines.append(f"{_ACTIONS[kind]} costs accuracy {cases}; at worst {text}.")
            else:
                lines.append(f"{_ACTIONS[kind]} costs nothing that could be proven; at worst {text}.")
        head = next((row for row in study.rows if row.variant.kind == "head"), None)
        if head is not None and head.score.difference is not None:
            value = points(head.score.accuracy.value)
            lines.append(f"The head alone reaches {value} %: {difference_text(head.score.difference)}.")
        lines += [context] if (context := self._context_sentence()) else []
        return [*lines, *([ONE_SEED] if len(study.seeds) == 1 else [])]

    def _context_sentence(self) -> str:
        """Whether the last layer goes on to rise when it is frozen."""
        last = next(
            (row for row in self.study.rows if row.variant.kind == "freeze" and row.variant.layer == self.study.layers),
            None,
        )
        before, full = self.base.trace("intrasim", "before"), self.base.trace("intrasim")
        frozen = None if last is None else last.trace("intrasim")
        if before is None or full is None or frozen is None:
            return ""
        return (
            f"Words in a sentence are {cosine(before)} more similar than unrelated words at the last layer before "
            f"training, {cosine(full)} after it, and {cosine(frozen)} if that layer itself is frozen. "
            f"{_frozen_verdict(full - before, frozen - before)}"
        )

    def _values(self) -> dict[str, Any]:
        study = self.study
        rows = [
            {
                "variant": row.variant.name,
                "kind": row.variant.kind,
                "layer": row.variant.layer,
                "accuracy": row.score.accuracy,
                "difference": row.score.difference,
                "runs": [asdict(run) for run in row.runs],
            }
            for row in study.rows
        ]
        return {
            "model": self.model,
            "headline": self.headline,
            "lines": self.lines(),
            "task": study.task,
            "split": study.split,
            "layers": study.layers,
            "train": study.n_train,
            "test": study.n_test,
            "majority": study.majority,
            "independent_items": self.base.score.units,
            "seeds": study.seeds,
            "settings": asdict(study.settings),
            "seconds": study.seconds,
            "variants": rows,
        }

    def document(self) -> doc.Document:
        """The table of variants, a forest chart, and the last layer before and after."""
        study = self.study
        trainings = len(study.rows) * len(study.seeds)
        rows = [(row.variant.name, row.score) for row in study.rows]
        verdict = doc.Verdict(self.headline, Level.NOTE, self.lines(), bulleted=True, marked=False)
        chart = forest("layers", "Differences from the whole model", "all layers trained", rows)
        facts = [("model", last_name(self.model)), ("task", f"{study.task}, tested on {study.split}")]
        facts += [(name.replace("_", " "), str(value)) for name, value in asdict(study.settings).items()]
        concluded = (
            "Layers are removed or frozen one at a time: two that the task can do without alone may not both be "
            "dispensable. Another task can need other layers."
        )
        return doc.Document(
            title=self.headline,
            name=last_name(self.model),
            subtitle=f"{study.task} · {count(study.n_train, 'training item')} · {count(trainings, 'training')}",
            verdicts=[verdict],
            sections=doc.present(
                doc.Section("Accuracy", [chart, _table(self)], concluded, [_table(self, brief=True)]),
                doc.Section(
                    "The last layer", doc.present(_context_chart(self, "selfsim"), _context_chart(self, "intrasim"))
                ),
                doc.Section("Settings", [doc.Facts(facts)]),
            ),
        )

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<LayerAblation {self.model}: {self.headline}>"


def _value(row: LayerRow) -> float:
    difference = row.score.difference
    return 0.0 if difference is None or difference.value is None else difference.value


def _frozen_verdict(full: float, frozen: float) -> str:
    """Whether a frozen layer follows the others, by the change of a measure with and without it."""
    if abs(full) < _CHANGE:
        return "Training hardly changes it."
    way = "rises" if full > 0 else "falls"
    if abs(frozen) < _CHANGE or (frozen > 0) != (full > 0):
        return f"It {way} only if the layer itself is trained."
    return f"It {way} although the layer is frozen: the layers below it change what it is given."


def _low(row: LayerRow) -> float | None:
    return None if row.score.difference is None else row.score.difference.low


def _is_loss(row: LayerRow) -> bool:
    return row.score.difference is not None and trend(row.score.difference) < 0


def _table(result: LayerAblation, *, brief: bool = False) -> doc.Table:
    rows = []
    for row in result.study.rows:
        cells = [doc.Cell(row.variant.name), accuracy_cell(row.score.accuracy), difference_cell(row.score.difference)]
        if not brief:
            spread = ", ".join(_accuracy(result, row))
            cells += [doc.Cell(spread), *(doc.Cell(number_text(row.trace(name), cosine)) for name in _TRACES)]
        rows.append(cells)
    heads: list[Any] = ["variant", "accuracy", doc.Column("vs. all trained", "points")]
    if not brief:
        heads += [doc.Column("by seed", wrap=True), *(doc.Column(title, "last layer") for title in _TRACES.values())]
    return doc.table(heads, rows, remarks=[] if brief else [STARS], name="variants")


_TRACES = {"baseline": "baseline", "selfsim": "SelfSim", "intrasim": "IntraSim"}


def _accuracy(result: LayerAblation, row: LayerRow) -> list[str]:
    """The accuracy of every seed."""
    base = row.score.accuracy.n
    return [points(run.correct / base) for run in row.runs]


def _context_chart(result: LayerAblation, name: str) -> Chart | None:
    """SelfSim or IntraSim of the last layer after training, by the layer that was changed."""
    study, marks = result.study, []
    for kind, color in _COLORS.items():
        rows = [row for row in study.rows if row.variant.kind == kind and row.variant.layer is not None]
        values = [row.trace(name) for row in rows]
        if any(value is not None for value in values):
            layers = [float(row.variant.layer or 0) for row in rows]
            marks.append(Line(layers, values, _WORDS[kind], color, points=True))
    full, before = result.base.trace(name), result.base.trace(name, "before")
    if not marks or full is None or before is None:
        return None
    ends = [1.0, float(study.layers)]
    marks += [
        Line(ends, [full, full], "all trained", "muted", dash="dash"),
        Line(ends, [before, before], "before training", "muted", dash="dot"),
    ]
    titles = {
        "selfsim": ("Self-similarity of the last layer", "SelfSim − baseline", "Mean cosine of a word with itself"),
        "intrasim": (
            "Intra-sentence similarity of the last layer",
            "IntraSim − unrelated",
            "Similarity of a sentence's words",
        ),
    }
    title, axis, caption = titles[name]
    x = Axis("layer that was changed", "layer", whole=True)
    return Chart(
        f"context-{name}",
        title,
        f"{caption} after training, by the layer that was changed.",
        marks,
        x,
        Axis(axis, name),
    )
