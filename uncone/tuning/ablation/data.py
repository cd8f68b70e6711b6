"""A biased training set: the same training on a balanced draw, on a second one, and on a skewed one.

The second balanced draw is the control: without it, every difference looks like bias.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from uncone.analysis.layers.representations import TrainedVectors
from uncone.analysis.measures.registry import families
from uncone.data.batch import IntVector, Matrix
from uncone.errors import OptionError, ShapeError
from uncone.evaluation.tasks.sts import isotropy
from uncone.tuning.ablation.pairing import PairedAccuracy, paired_accuracies
from uncone.tuning.ablation.runs import RunContext
from uncone.tuning.classifier import Classifier, FitSettings, build, fit, layer_vectors, predict
from uncone.tuning.examples import Examples
from uncone.tuning.results import DrawRun, LayerTrace, Skew
from uncone.tuning.tasks import ClassTask, Items

__all__ = ["DRAWS", "DataStudy", "study_data"]

DRAWS = ("balanced", "control", "skewed")
"""The draws of every seed: the reference, a second balanced one, and the skewed one."""
OBJECTIVES = ("classify", "contrastive")
_PROBE_TEXTS = 1_000


@dataclass(frozen=True, eq=False)
class DataStudy:
    """All draws of a task under all seeds: accuracy and recall on a balanced test, and every layer."""

    task: str
    split: str
    classes: Sequence[str]
    skew: Skew
    skewed_to: str
    n_train: int
    n_test: int
    settings: FitSettings
    runs: Sequence[DrawRun]
    accuracies: Mapping[str, PairedAccuracy]
    recalls: Mapping[str, Mapping[str, float]]

    @property
    def seeds(self) -> list[int]:
        """The seeds of the trainings."""
        return sorted({run.seed for run in self.runs})

    def curve(self, objective: str, draw: str, name: str) -> list[float | None]:
        """A measure by layer, averaged over seeds; None where it is undefined."""
        runs = [run for run in self.runs if (run.objective, run.draw) == (objective, draw)]
        columns = [[getattr(run.layers[at], name) for run in runs] for at in range(len(runs[0].layers))]
        return [float(np.mean(values)) if all(value is not None for value in values) else None for values in columns]


def study_data(
    model: str | Path,
    task: ClassTask,
    skew: Skew,
    settings: FitSettings,
    n_train: int,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    objectives: Sequence[str] = OBJECTIVES,
    against: Items | None = None,
    context: RunContext,
) -> DataStudy:
    """Train on every draw with every seed; finished trainings come from the store.

    Args:
        model: the model.
        task: its training items are drawn from, its test is made balanced.
        skew: what is skewed; ignored with `against`.
        settings: how every model is trained.
        n_train: the size of every draw.
        seeds: of draws and trainings.
        objectives: a head with cross-entropy, and two dropout views of every text.
        against: another corpus, drawn instead of a skewed one.
        context: keeps finished trainings, and knows how the model is loaded.

    Raises:
        ShapeError: a class has too few items to draw.
        ModelError: the model cannot be trained.
    """
    skew = skew if skew.value is not None or against is not None else replace(skew, value=task.classes[-1])
    test = _balanced(task.test.labels, None, np.random.default_rng(settings.seed), task.name)
    study = _Study(model, replace(task, test=task.test.select(test)), skew, settings, against, context)
    runs = [run for objective in objectives for seed in seeds for run in study.runs(objective, seed, n_train)]
    return _summary(study.task, skew, "another corpus" if against else str(skew.value), n_train, settings, runs)


@dataclass(frozen=True, eq=False)
class _Study:
    """What all trainings of a study share; the test of its task is balanced."""

    model: str | Path
    task: ClassTask
    skew: Skew
    settings: FitSettings
    against: Items | None
    context: RunContext

    def runs(self, objective: str, seed: int, n_train: int) -> list[DrawRun]:
        """The draws of a seed. They are compared with the balanced model, so one that is missing needs that again."""
        stored = [self.context.store.recall(f"{objective}/{draw}", seed) for draw in DRAWS]
        if all(values is not None for values in stored):
            return [DrawRun.from_dict(values) for values in stored if values is not None]
        runs: list[DrawRun] = []
        reference: Sequence[Matrix] | None = None
        probe_items = _probe_items(self.task, seed)
        for draw, items in _draws(self.task, self.skew, n_train, seed, self.against).items():
            own, began = replace(self.settings, seed=seed), time.monotonic()
            classifier = _train(self.model, items, self.task.classes, own, objective, self.context)
            vectors = layer_vectors(classifier, self.task.test, _pooling(objective))
            values = items.labels if self.against is not None else self.skew.values(items)
            run = DrawRun(
                objective,
                draw,
                seed,
                dict(Counter(values)),
                _predictions(classifier, self.task.test) if objective == "classify" else [],
                _traces(classifier, self.task, probe_items, vectors, reference, objective),
                time.monotonic() - began,
            )
            reference = vectors if reference is None else reference
            self.context.store.remember(f"{objective}/{draw}", seed, run.to_dict())
            runs.append(run)
        return runs


def _pooling(objective: str) -> str:
    return "cls" if objective == "classify" else "mean"


def _balanced(
    values: Sequence[str], n: int | None, rng: np.random.Generator, name: str, exclude: Sequence[int] | IntVector = ()
) -> IntVector:
    """Rows with every value equally often: n in all, or as many as the rarest allows."""
    codes = np.asarray(values, object).astype(str)
    names = sorted(set(codes.tolist()))
    per_value = (n // len(names)) if n is not None else min(int((codes == value).sum()) for value in names)
    rows = []
    for value in names:
        own = _apart(np.flatnonzero(codes == value), exclude, per_value)
        if len(own) < per_value or per_value == 0:
            raise ShapeError(
                f"{name} has {len(own):,} items of {value!r}, and a balanced draw needs {per_value:,}. Use fewer with "
                "--train."
            )
        rows.append(rng.permutation(own)[:per_value])
    return np.sort(np.concatenate(rows))


def _apart(rows: IntVector, others: Sequence[int] | IntVector, n: int) -> IntVector:
    """The rows that are not among the others, if there are n of them; else all."""
    free = np.setdiff1d(rows, others)
    return free if len(free) >= n else rows


def _draws(task: ClassTask, skew: Skew, n: int, seed: int, against: Items | None) -> dict[str, Items]:
    """The balanced draw, the control and the skewed one, which share no item with the first if there are enough."""
    rng, items, values = np.random.default_rng(seed), task.train, skew.values(task.train)
    first = _balanced(values, n, rng, task.name)
    control = _balanced(values, n, rng, task.name, exclude=first)
    if against is not None:
        rows = rng.permutation(len(against))[: len(first)]
        if len(rows) < len(first):
            raise ShapeError(f"The other corpus has {len(against):,} items, and we need {len(first):,}. Use --train.")
        return {"balanced": items.select(first), "control": items.select(control), "skewed": against.select(rows)}
    codes = np.asarray(values, object).astype(str)
    if skew.value not in codes:
        names = ", ".join(sorted(set(codes.tolist()))[:8])
        raise OptionError(f"{task.name} has no item with {skew.value!r} to skew by; there is {names}.")
    n_many = round(len(first) * skew.share)
    many, few = (
        _apart(np.flatnonzero((codes == skew.value) == is_many), first, n)
        for is_many, n in ((True, n_many), (False, len(first) - n_many))
    )
    for have, need, content in ((many, n_many, repr(skew.value)), (few, len(first) - n_many, "other values")):
        if len(have) < need:
            raise ShapeError(
                f"{task.name} has {len(have):,} items of {content}, and a skew needs {need:,}. Use --train."
            )
    picked = [rng.permutation(many)[:n_many], rng.permutation(few)[: len(first) - n_many]]
    parts = {"balanced": first, "control": control, "skewed": np.sort(np.concatenate(picked))}
    return {name: items.select(rows) for name, rows in parts.items()}


def _probe_items(task: ClassTask, seed: int) -> Items:
    """A balanced sample that linear probes learn from, the same for all draws."""
    rng = np.random.default_rng([seed, 1])
    counts = Counter(task.train.labels)
    n = min(_PROBE_TEXTS, len(counts) * min(counts.values()))
    return task.train.select(_balanced(task.train.labels, n, rng, task.name))


def _train(
    model: str | Path,
    items: Items,
    classes: Sequence[str],
    settings: FitSettings,
    objective: str,
    context: RunContext,
) -> Classifier:
    """A model trained on a draw; a contrastive one in a classifier without a trained head, to read its layers."""
    progress, loading = context.progress, context.loading
    if objective == "classify":
        return fit(model, items, classes, settings, progress=progress, loading=loading)
    from uncone.tuning.model import load_pipeline, transformer_of
    from uncone.tuning.objectives import default_lr
    from uncone.tuning.probes import Prober
    from uncone.tuning.trainer import TrainingSettings, train

    texts = list(dict.fromkeys(text for side in (items.left, items.right or ()) for text in side))
    pipeline = load_pipeline(model, "mean", loading)
    steps = max(1, settings.epochs * len(texts) // settings.batch_size)
    own = TrainingSettings(
        steps=steps,
        lr=default_lr(int(transformer_of(pipeline).config.hidden_size)),
        batch_size=settings.batch_size,
        max_length=settings.max_length,
        seed=settings.seed,
        probe_every=steps,
    )

    def report(step: str, amount: int, total: int, _: str) -> None:
        if progress is not None:
            progress(step, amount, total)

    with tempfile.TemporaryDirectory() as folder:
        examples = Examples("texts", "contrastive", (texts,))
        place = Path(folder) / "run"
        train(pipeline, examples, own, Prober(texts[:32], None), folder=place, identity={}, progress=report)
    classifier = build(model, classes, settings, loading=loading)
    classifier.encoder.load_state_dict(transformer_of(pipeline).state_dict(), strict=False)
    return classifier


def _predictions(classifier: Classifier, items: Items) -> list[int]:
    return [int(code) for code in predict(classifier, items).argmax(axis=1)]


def _traces(
    classifier: Classifier,
    task: ClassTask,
    probe_items: Items,
    vectors: Sequence[Matrix],
    reference: Sequence[Matrix] | None,
    objective: str,
) -> list[LayerTrace]:
    learned = layer_vectors(classifier, probe_items, _pooling(objective))
    traces = []
    for layer, rows in enumerate(vectors):
        others = None if reference is None else reference[layer]
        space = TrainedVectors(learned[layer], None, probe_items.labels, rows, task.test.labels)
        isoscore, baseline = isotropy(rows)
        probe, cka = _measure("linear_probe", space), _measure("cka", TrainedVectors(rows, others))
        traces.append(LayerTrace(cka, probe, baseline, isoscore))
    return traces


def _measure(name: str, space: TrainedVectors) -> float | None:
    """A declared measure of training; None if it is undefined."""
    family = next(family for family in families("training") if name in family.names)
    (finding,) = family.findings(space)
    return None if finding.failed or finding.value is None else float(finding.value)  # type: ignore[arg-type]


def _summary(
    task: ClassTask, skew: Skew, skewed_to: str, n_train: int, settings: FitSettings, runs: Sequence[DrawRun]
) -> DataStudy:
    truth = np.array([task.classes.index(label) for label in task.test.labels], np.int64)
    own = {draw: [run for run in runs if run.objective == "classify" and run.draw == draw] for draw in DRAWS}
    hits = {draw: [np.array(run.predictions) == truth for run in some] for draw, some in own.items() if some}
    recalls = {
        draw: {
            name: float(np.mean([hit[truth == code].mean() for hit in some])) for code, name in enumerate(task.classes)
        }
        for draw, some in hits.items()
    }
    accuracies = paired_accuracies(hits, task.test.keys, settings.seed) if hits else {}
    return DataStudy(
        task=task.name,
        split=task.split,
        classes=task.classes,
        skew=skew,
        skewed_to=skewed_to,
        n_train=n_train,
        n_test=len(task.test),
        settings=settings,
        runs=runs,
        accuracies=accuracies,
        recalls=recalls,
    )
