"""The result of `ablate data`: what a biased training set does to the head, and what it leaves in every layer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import count, percent, plain
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
from uncone.report.text import last_name, number_text

if TYPE_CHECKING:
    from uncone.tuning.ablation.data import DataStudy

__all__ = ["DataAblation"]

_NAMES = {"balanced": "balanced", "control": "second balanced draw", "skewed": "skewed"}
_COLORS = {"balanced": "muted", "control": "accent", "skewed": "second"}
_TITLES = {"classify": "with a head", "contrastive": "with a contrastive objective"}
_MEASURES = {
    "cka": ("CKA with the balanced model", "CKA", "1 means the same space but for rotation and scale."),
    "probe": ("What a linear probe finds", "accuracy", "Accuracy of logistic regression on the vectors of a layer."),
    "baseline": ("Unrelated texts", "mean cosine", "Mean cosine of two texts of the test."),
    "isoscore": ("IsoScore", "IsoScore", "From 0 (one direction) to 1 (all directions equal)."),
}


@dataclass(frozen=True, eq=False)
class DataAblation(Result):
    """The same training on a balanced draw, a second one, and a skewed one."""

    model: str
    study: DataStudy

    @property
    def headline(self) -> str:
        """What the skew costs, in a sentence."""
        score = self.study.accuracies.get("skewed")
        gain = None if score is None else score.difference
        if score is None or gain is None or gain.value is None:
            return self._layer_headline()
        value = points(score.accuracy.value)
        if trend(gain) < 0:
            return f"The bias costs {points(-gain.value)} points of accuracy: {value} % of a balanced test are right."
        return f"The bias costs nothing that could be proven: {difference_text(gain)}."

    def _layer_headline(self) -> str:
        objective = self.study.runs[0].objective
        control, skewed = (self.study.curve(objective, draw, "cka")[-1] for draw in ("control", "skewed"))
        return (
            f"CKA of the last layer with the balanced model is {number_text(skewed)} after biased training, and "
            f"{number_text(control)} after a second balanced draw."
        )

    def lines(self) -> list[str]:
        """What a reader needs to know, in sentences written from the numbers."""
        study, lines = self.study, []
        if study.accuracies:
            rare = min(study.classes, key=lambda name: study.recalls["skewed"][name])
            before, after = (study.recalls[draw][rare] for draw in ("balanced", "skewed"))
            lines.append(f"Recall of {rare!r} falls from {percent(before)} to {percent(after)}.")
            control = study.accuracies["control"].difference
            if control is not None:
                lines.append(f"The control, a second balanced draw, differs by {difference_text(control)}.")
        for objective in dict.fromkeys(run.objective for run in study.runs):
            lines += self._layer_lines(objective)
        return [*lines, *([ONE_SEED] if len(study.seeds) == 1 else [])]

    def _layer_lines(self, objective: str) -> list[str]:
        study, lines = self.study, []
        control, skewed = (study.curve(objective, draw, "cka")[-1] for draw in ("control", "skewed"))
        if control is not None and skewed is not None:
            less = skewed < control - 0.05
            amount, than = ("less", "than") if less else ("about as much", "as")
            lines.append(
                f"Trained {_TITLES[objective]}, the last layer of the biased model has {amount} in common with the "
                f"balanced model {than} the control has: CKA {plain(skewed)}, control {plain(control)}."
            )
        balanced, probe = (study.curve(objective, draw, "probe")[-1] for draw in ("balanced", "skewed"))
        if objective == "classify" and balanced is not None and probe is not None:
            accuracy = study.accuracies["skewed"].accuracy.value
            if accuracy is not None and probe > accuracy + 0.05:
                lines.append(
                    f"A linear probe on the last layer of the biased model still finds {percent(probe)} (balanced: "
                    f"{percent(balanced)}): the layers keep the class, the head does not."
                )
        return lines

    def _values(self) -> dict[str, Any]:
        study = self.study
        return {
            "model": self.model,
            "headline": self.headline,
            "lines": self.lines(),
            "task": study.task,
            "split": study.split,
            "classes": study.classes,
            "skew": asdict(study.skew),
            "skewed_to": study.skewed_to,
            "train": study.n_train,
            "test": study.n_test,
            "seeds": study.seeds,
            "settings": asdict(study.settings),
            "accuracies": {name: asdict(score) for name, score in study.accuracies.items()},
            "recalls": study.recalls,
            "runs": [run.to_dict() for run in study.runs],
        }

    def document(self) -> doc.Document:
        """Accuracy and recall, then every layer."""
        study = self.study
        verdict = doc.Verdict(self.headline, Level.NOTE, self.lines(), bulleted=True, marked=False)
        objectives = list(dict.fromkeys(run.objective for run in study.runs))
        sections = [
            doc.Section(f"Every layer, trained {_TITLES[objective]}", self._layer_blocks(objective))
            for objective in objectives
        ]
        if study.accuracies:
            rows = [(_NAMES[name], score) for name, score in study.accuracies.items()]
            chart = forest("draws", "Differences from the balanced draw", "the balanced draw", rows)
            intro = "On a balanced test. The second balanced draw is the control: two balanced draws differ too."
            sections.insert(0, doc.Section("Accuracy", [_table(study), chart], intro, [_table(study, brief=True)]))
        facts = [("model", last_name(self.model)), ("task", f"{study.task}, tested on {study.split}")]
        facts += [("skewed to", study.skewed_to), ("share", percent(study.skew.share))]
        facts += [(name.replace("_", " "), str(value)) for name, value in asdict(study.settings).items()]
        sections.append(doc.Section("Settings", [doc.Facts(facts)]))
        share = f"{percent(study.skew.share)} {study.skewed_to!r}" if study.skew.value else study.skewed_to
        return doc.Document(
            title=self.headline,
            name=last_name(self.model),
            subtitle=f"{study.task} · {share} · {count(study.n_train, 'item')} · {count(len(study.runs), 'training')}",
            verdicts=[verdict],
            sections=sections,
        )

    def _layer_blocks(self, objective: str) -> list[doc.Block]:
        study, blocks = self.study, []
        for name, (title, axis, caption) in _MEASURES.items():
            lines = []
            for draw, label in _NAMES.items():
                values = study.curve(objective, draw, name)
                if any(value is not None for value in values):
                    places = [float(layer) for layer in range(len(values))]
                    lines.append(Line(places, values, label, _COLORS[draw], points=True))
            if lines:
                x, y = Axis("layer (0 = embeddings)", "layer", whole=True), Axis(axis, name)
                blocks.append(Chart(f"{objective}-{name}", title, caption, lines, x, y))
        return [*blocks, doc.Fold("Every number", [_layer_table(study, objective)])]

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<DataAblation {self.model}: {self.headline}>"


def _table(study: DataStudy, *, brief: bool = False) -> doc.Table:
    rows = [
        [
            _NAMES[name],
            accuracy_cell(score.accuracy),
            difference_cell(score.difference),
            *(f"{points(study.recalls[name][label])} %" for label in study.classes),
        ]
        for name, score in study.accuracies.items()
    ]
    heads = ["trained on", "accuracy", doc.Column("vs. balanced", "points")]
    heads += [doc.Column(f"recall of {label}") for label in study.classes]
    return doc.table(heads, rows, remarks=[] if brief else [STARS], name="draws")


def _layer_table(study: DataStudy, objective: str) -> doc.Table:
    rows = []
    for name, (title, _, _) in _MEASURES.items():
        for draw, label in _NAMES.items():
            values = study.curve(objective, draw, name)
            if any(value is not None for value in values):
                rows.append([f"{title}: {label}", *(number_text(value) for value in values)])
    return doc.table(["layer", *(str(layer) for layer in range(len(values)))], rows, name=f"{objective}-layers")
