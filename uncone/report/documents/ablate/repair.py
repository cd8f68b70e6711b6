"""The result of `ablate repair`: accuracy and isotropy with a repair in the loop, and what depends on the batch."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import cosine, count, percent
from uncone.report import document as doc
from uncone.report.charts.model import Axis, Chart, Dash, Line
from uncone.report.charts.theme import series_color
from uncone.report.documents.ablate.repair_sentences import (
    clusters_in,
    counterexample,
    dependence_sentence,
    explanation,
    gain_of,
    isotropy_sentence,
    isotropy_text,
    limits,
    mean_sentence,
    published_sentence,
)
from uncone.report.documents.ablate.scores import STARS, accuracy_cell, difference_cell, forest
from uncone.report.documents.evaluate.scores import points, signed_points, trend
from uncone.report.result import Result
from uncone.report.text import last_name, listed, number_text

if TYPE_CHECKING:
    from uncone.tuning.ablation.repair import RepairRow, TaskAblation
    from uncone.tuning.results import Agreement

__all__ = ["RepairAblation"]

_SOURCE = "Rajaee and Pilehvar 2021, A Cluster-based Approach for Improving Isotropy in Contextual Embedding Space"


@dataclass(frozen=True, eq=False)
class RepairAblation(Result):
    """A model fine-tuned on one task or more, with and without a repair between encoder and head."""

    model: str
    tasks: Sequence[TaskAblation]
    notes: Sequence[str] = field(default_factory=list)

    @property
    def _repaired(self) -> list[tuple[TaskAblation, RepairRow]]:
        return [(task, row) for task in self.tasks for row in task.rows if row.method != "none"]

    @property
    def headline(self) -> str:
        """Whether a repair in the loop helps the classifier, in a sentence."""
        rows = self._repaired
        if not rows:
            return "No repair was tried: name some with --methods, such as batch/3/2."
        gains, losses = ([(task, row) for task, row in rows if trend(row.difference) == way] for way in (1, -1))
        worse = f"{len(losses)} of {count(len(rows), 'training')} with a repair lost accuracy, proven"
        if gains:
            task, row = max(gains, key=lambda pair: gain_of(pair[1]))
            best = f"{row.method} gains {points(gain_of(row))} points of accuracy on {task.task}, proven"
            return f"{best}. {worse}." if losses else f"{best}."
        if losses:
            return f"No repair in the loop improves the classifier: {worse}, and none gained."
        return "No repair in the loop changes the accuracy by more than chance."

    def lines(self) -> list[str]:
        """The findings, in sentences written from the numbers."""
        lines = [line for task in self.tasks for line in (isotropy_sentence(task), published_sentence(task)) if line]
        lines.append(dependence_sentence(self._repaired))
        lines += [sentence(task) for task in self.tasks for sentence in (explanation, counterexample, mean_sentence)]
        return [line for line in [*lines, limits(self.tasks)] if line]

    @property
    def is_published_model(self) -> bool:
        """Whether the published rows are of this model."""
        return re.fullmatch(r"bert-base-(un)?cased", last_name(self.model).lower()) is not None

    def _values(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "headline": self.headline,
            "lines": self.lines(),
            "tasks": [_task_values(task) for task in self.tasks],
            "notes": self.notes,
        }

    def document(self) -> doc.Document:
        """The table of the source for each task, the layers, and what depends on the batch."""
        level = Level.HEALTHY if any(trend(row.difference) > 0 for _, row in self._repaired) else Level.NOTE
        verdict = doc.Verdict(self.headline, level, self.lines(), bulleted=True, marked=level is Level.HEALTHY)
        runs = sum(len(row.runs) for task in self.tasks for row in task.rows)
        names = ", ".join(f"{task.task} ({task.split})" for task in self.tasks)
        sections = [section for task in self.tasks for section in self._task_sections(task)]
        notes = [doc.Section("Notes", [doc.Notes(self.notes)], brief=[doc.Notes(self.notes)])] if self.notes else []
        return doc.Document(
            title=self.headline,
            name=last_name(self.model),
            subtitle=f"repair in the loop · {names} · {count(runs, 'result')}",
            verdicts=[verdict],
            sections=[*sections, *notes, doc.Section("Provenance", [doc.Facts(_facts(self))])],
        )

    def _task_sections(self, task: TaskAblation) -> list[doc.Section]:
        scores = _score_table(task, self.is_published_model)
        pairs = [(row.method, row.scores) for row in task.rows[1:]]
        chart = forest(f"differences-{task.task}", f"{task.task}: differences from no repair", "none", pairs)
        dependence = _dependence_table(task)
        every_layer = doc.Fold("Every layer and method", [_layer_table(task)])
        return [
            doc.Section(
                f"{task.task}: accuracy and isotropy", [scores, *([chart] if pairs else [])], brief=[_brief_table(task)]
            ),
            doc.Section(f"{task.task}: predictions that depend on the batch", [dependence], _DEPENDENCE),
            doc.Section(f"{task.task}: does the repair remove the label?", [_label_table(task)], _LABEL),
            doc.Section(f"{task.task}: CLS by layer", [*_layer_charts(task), every_layer]),
        ]

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<RepairAblation {last_name(self.model)}: {self.headline}>"


_DEPENDENCE = "Predictions for the same texts, in other batches or each text alone, compared with the test itself."
_LABEL = (
    "The clusters of each batch against the classes: mutual information is 0 by chance and 1 if they are the same, and "
    "purity is the share of texts in the majority class of their cluster. The probe is a linear classifier, "
    "cross-validated on the test texts: what it finds in CLS and no longer in what the head sees, the repair removed. "
    "The control repairs each batch with random clusters of the same sizes."
)


def _score_table(task: TaskAblation, same_model: bool) -> doc.Table:
    rows = [
        doc.Row(
            [
                doc.Cell(row.method),
                accuracy_cell(row.accuracy),
                difference_cell(row.difference),
                doc.Cell(isotropy_text(row.log10_isotropy)),
                doc.Cell(cosine(row.log10_isotropy, 1)),
            ]
        )
        for row in task.rows
    ]
    source = "published" if same_model else "published, BERT-base (not run)"
    for row in task.published:
        loss = (row.accuracy - task.published[0].accuracy) / 100
        log10 = None if row.isotropy is None else math.log10(row.isotropy)
        cells = (
            f"{row.method}, {source}",
            f"{row.accuracy:.1f}",
            signed_points(loss) if loss else "",
            isotropy_text(log10),
            "",
        )
        rows.append(doc.Row([doc.Cell(cell) for cell in cells], muted=True))
    heads = ["method", doc.Column("accuracy", "95 % interval"), doc.Column("vs. none", "paired"), "I(W)", "log₁₀ I"]
    remarks = [
        f"Accuracy on {count(task.n_test, 'text')} ({task.split}), {percent(task.majority)} of them in the largest "
        "class. Methods are mode/clusters/directions. I(W) is the isotropy of what the head sees; 1 is isotropic.",
        STARS,
    ]
    if task.published:
        remarks.append(f"Published rows: {_SOURCE}. Its clusters and directions are chosen by task.")
    return doc.table(heads, rows, name=f"scores-{task.task}", remarks=remarks)


def _brief_table(task: TaskAblation) -> doc.Table:
    """A line per method for a terminal."""
    rows = []
    for row in task.rows:
        accuracy, difference = accuracy_cell(row.accuracy), difference_cell(row.difference)
        cells = [replace(cell, small="") for cell in (accuracy, difference)]
        rows.append(
            [row.method, *cells, isotropy_text(row.log10_isotropy), percent(row.moved), percent(row.moved_alone)]
        )
    heads = ["method", "accuracy", "vs. none", "I(W)", "other batches", "alone"]
    return doc.table(heads, rows, name=f"brief-{task.task}", title=task.task)


def _dependence_table(task: TaskAblation) -> doc.Table:
    heads = [
        "method",
        doc.Column("other batches", "predictions that change"),
        doc.Column("alone", "predictions that change"),
    ]
    return doc.table(
        heads,
        [[row.method, percent(row.moved), percent(row.moved_alone)] for row in task.rows],
        name=f"dependence-{task.task}",
    )


def _label_table(task: TaskAblation) -> doc.Table:
    """The clusters against the classes, and what a probe finds of the class."""
    rows = []
    for row in task.rows:
        own, label = _shown_agreement(task, row), row.label
        clusters = (None, None, None) if own is None else (own.ami, own.purity, own.chance)
        shares = (None, None, None) if label is None else (label.before, label.after, label.control)
        figures = [number_text(value, percent) for value in (*clusters[1:], *shares)]
        rows.append([row.method, number_text(clusters[0], cosine), *figures])
    heads = [
        "method",
        doc.Column("mutual information", "clusters and classes"),
        doc.Column("purity", "of clusters"),
        doc.Column("purity by chance", "shuffled labels"),
        doc.Column("probe, CLS", "finds the class", divider=True),
        doc.Column("probe, head", "finds the class"),
        doc.Column("control", "random clusters"),
    ]
    return doc.table(heads, rows, name=f"label-{task.task}")


def _shown_agreement(task: TaskAblation, row: RepairRow) -> Agreement | None:
    """The agreement of a method's own clusters; for none, that of the largest number of clusters in the study."""
    k = max(map(clusters_in, task.rows)) if row.method == "none" else clusters_in(row)
    return row.agreement(k)


def _shown_methods(task: TaskAblation) -> list[RepairRow]:
    """None, and of each mode that trains with a repair the one that does most: charts of all would be unreadable."""
    best: dict[str, RepairRow] = {}
    for row in task.rows:
        mode, *numbers = row.method.split("/")
        if mode != "offline" and (
            mode not in best or [*map(int, numbers)] > [*map(int, best[mode].method.split("/")[1:])]
        ):
            best[mode] = row
    return list(best.values())


def _layer_charts(task: TaskAblation) -> list[Chart]:
    """log10 I(W) and the distance from zero mean by layer, after the first and the last epoch."""
    epochs = sorted({1, task.settings.epochs})
    figures = {
        "isotropy": ("log10_isotropy", "log₁₀ I(W)", "Isotropy of CLS by layer", "0 is isotropic."),
        "offset": (
            "offset",
            "|mean| / rms norm",
            "Distance of CLS from zero mean",
            "0 is zero-mean, 1 a single point.",
        ),
    }
    charts = []
    for name, (key, axis, title, meaning) in figures.items():
        lines = []
        for at, row in enumerate(_shown_methods(task)):
            for epoch in epochs:
                geometry = row.geometry(epoch)
                if geometry is None:
                    continue
                values: Sequence[float] = getattr(geometry, key)
                label = f"{row.method}, {count(epoch, 'epoch')}"
                dash: Dash = "solid" if epoch == epochs[-1] else "dash"
                places = [float(layer) for layer in range(len(values))]
                lines.append(Line(places, list(values), label, series_color(at), dash=dash, points=True))
        caption = f"CLS of the {task.split} texts before the repair, after {listed([str(epoch) for epoch in epochs])} "
        caption += f"{'epochs' if len(epochs) > 1 else 'epoch'}. {meaning}"
        x, y = Axis("layer", "layer", whole=True), Axis(axis, name, zero=key == "offset")
        charts.append(Chart(f"{name}-{task.task}", f"{task.task}: {title[0].lower()}{title[1:]}", caption, lines, x, y))
    return charts


def _layer_table(task: TaskAblation) -> doc.Table:
    rows: list[list[str]] = []
    n_layers = 0
    for row in task.rows:
        for epoch in range(1, task.settings.epochs + 1):
            geometry = row.geometry(epoch)
            if geometry is not None:
                n_layers = len(geometry.offset)
                pairs = zip(geometry.log10_isotropy, geometry.offset, strict=True)
                rows.append([row.method, str(epoch), *(f"{cosine(log, 1)} · {cosine(far)}" for log, far in pairs)])
    layers = [f"layer {layer}" if layer else "embeddings" for layer in range(n_layers)]
    return doc.table(
        ["method", "epoch", *layers], rows, intro="log₁₀ I(W) · |mean| / rms norm of CLS.", name=f"layers-{task.task}"
    )


def _facts(result: RepairAblation) -> list[tuple[str, str]]:
    facts = [("model", last_name(result.model))]
    for task in result.tasks:
        settings, seeds = task.settings, [run.seed for run in task.rows[0].runs]
        facts.append(
            (
                task.task,
                f"{task.n_train:,} texts to train on, {task.n_test:,} to test on ({task.split}), "
                f"{count(settings.epochs, 'epoch')}, batches of {settings.batch_size}, learning rate {settings.lr:g}, "
                f"at most {settings.max_length} tokens, {settings.pooling}, seeds {', '.join(map(str, seeds))}",
            )
        )
    return facts


def _task_values(task: TaskAblation) -> dict[str, Any]:
    return {
        "task": task.task,
        "split": task.split,
        "n_train": task.n_train,
        "n_test": task.n_test,
        "units": task.units,
        "majority": task.majority,
        "settings": asdict(task.settings),
        "methods": [
            {
                "method": row.method,
                "accuracy": asdict(row.accuracy),
                "accuracy_by_seed": row.by_seed,
                "difference": None if row.difference is None else asdict(row.difference),
                "log10_isotropy": row.log10_isotropy,
                "isotropy": 10**row.log10_isotropy,
                "changed_in_other_batches": row.moved,
                "changed_alone": row.moved_alone,
                "clusters_and_classes": None if (own := _shown_agreement(task, row)) is None else asdict(own),
                "label": None if row.label is None else asdict(row.label),
                "layers": [
                    asdict(geometry)
                    for epoch in range(1, task.settings.epochs + 1)
                    if (geometry := row.geometry(epoch))
                ],
            }
            for row in task.rows
        ],
        "published": [asdict(row) for row in task.published],
    }
