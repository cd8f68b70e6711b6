"""What each layer is worth: fine-tuning with a layer frozen, dropped or re-initialized, beside the whole model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from uncone.analysis.layers.settings import StudySettings
from uncone.analysis.layers.study import study
from uncone.analysis.number_format import count
from uncone.data.texts.selection import Selection
from uncone.data.texts.texts import ListTexts
from uncone.encoders.open import Loading
from uncone.encoders.transformer import Transformer
from uncone.errors import ShapeError
from uncone.tuning.ablation.pairing import PairedAccuracy, paired_accuracies
from uncone.tuning.ablation.runs import RunStore
from uncone.tuning.classifier import Classifier, FitSettings, Progress, build, predict, train
from uncone.tuning.results import ContextTrace, LayerRun
from uncone.tuning.surgery import Surgery, blocks_of
from uncone.tuning.tasks import ClassTask

__all__ = ["KINDS", "LayerRow", "LayersStudy", "Variant", "duration", "study_layers", "variants_of"]

KINDS = ("freeze", "drop", "reinit", "first", "head")
"""What is tried with the layers."""
_STUDY_TEXTS = 400
_TIMED_STEPS = 5
_ENCODING_SHARE = 1 / 3
"""What encoding a text costs, of what training on it does."""


@dataclass(frozen=True)
class Variant:
    """A way to train: its kind, the layers it is about, and the surgery."""

    name: str
    kind: str
    surgery: Surgery
    layer: int | None = None


@dataclass(frozen=True)
class LayerRow:
    """A variant over all seeds."""

    variant: Variant
    score: PairedAccuracy
    runs: Sequence[LayerRun]

    def trace(self, name: str, when: str = "after") -> float | None:
        """A measure of the last layer, averaged over seeds."""
        values = [getattr(getattr(run, when), name) for run in self.runs]
        return float(np.mean(values)) if values and all(value is not None for value in values) else None


@dataclass(frozen=True, eq=False)
class LayersStudy:
    """All variants of a model on a task, the whole model first."""

    task: str
    split: str
    layers: int
    n_train: int
    n_test: int
    majority: float
    settings: FitSettings
    seeds: Sequence[int]
    rows: Sequence[LayerRow]
    seconds: float


def variants_of(n_layers: int, kinds: Sequence[str] = KINDS) -> list[Variant]:
    """The variants for a model of n layers, the whole model first.

    >>> [variant.name for variant in variants_of(2, ["freeze", "first", "head"])]
    ['all layers trained', 'layer 1 frozen', 'layer 2 frozen', 'embeddings and layer 1 frozen', 'head alone trained']
    """
    every = range(1, n_layers + 1)
    variants = [Variant("all layers trained", "none", Surgery())]
    words = {"freeze": "frozen", "drop": "dropped", "reinit": "re-initialized"}
    for kind, word in words.items():
        if kind in kinds and not (kind == "drop" and n_layers == 1):
            variants += [
                Variant(f"layer {layer} {word}", kind, Surgery(**{kind: frozenset({layer})}), layer) for layer in every
            ]
    if "first" in kinds:
        for k in range(1, n_layers):
            layers = "layer 1" if k == 1 else f"layers 1–{k}"
            frozen = frozenset(range(k + 1))
            variants.append(Variant(f"embeddings and {layers} frozen", "first", Surgery(freeze=frozen), k))
    if "head" in kinds:
        variants.append(Variant("head alone trained", "head", Surgery(freeze=frozenset(range(n_layers + 1)))))
    return variants


def study_layers(
    model: str | Path,
    task: ClassTask,
    settings: FitSettings,
    *,
    kinds: Sequence[str] = KINDS,
    seeds: Sequence[int] = (0, 1, 2),
    store: RunStore,
    announce: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    loading: Loading | None = None,
) -> LayersStudy:
    """Train every variant with every seed; finished trainings come from the store.

    `announce` is told before the first training how many there are and how long they take, by a few timed steps, and
    after it how long the rest takes.

    Raises:
        ModelError: the model cannot be trained.
        ShapeError: fewer items than a batch.
    """
    n_layers = len(blocks_of(build(model, task.classes, settings, loading=loading).encoder))
    variants = variants_of(n_layers, kinds)
    plan = [(variant, seed) for seed in seeds for variant in variants]
    missing = [pair for pair in plan if store.recall(pair[0].name, pair[1]) is None]
    if announce is not None:
        announce(_forecast(plan, missing, lambda: _estimate(model, task, settings, loading)))
    began, runs = time.monotonic(), {}
    for variant, seed in plan:
        stored = store.recall(variant.name, seed)
        if stored is None:
            run = _run(model, task, variant, replace(settings, seed=seed), progress, loading)
            stored = asdict(run)
            store.remember(variant.name, seed, stored)
            if announce is not None and (variant, seed) == missing[0] and len(missing) > 1:
                rest = duration(run.seconds * (len(missing) - 1))
                announce(f"The first training took {duration(run.seconds)}; the rest take {rest} or less.")
        runs[variant.name, seed] = LayerRun.from_dict(stored)
        if progress is not None:
            progress("trainings", 1, len(plan))
    return _summary(task, settings, n_layers, variants, seeds, runs, time.monotonic() - began)


def _forecast(plan: Sequence[object], missing: Sequence[object], estimate: Callable[[], float]) -> str:
    """How many trainings there are, how many of them are done, and how long the others take."""
    finished = len(plan) - len(missing)
    start = (
        f"{count(len(plan), 'training')}, {finished} of which were done before"
        if finished
        else f"{len(plan)} trainings"
    )
    return (
        f"{start}: about {duration(estimate() * len(missing))} at most." if missing else f"{start}: nothing to train."
    )


def _estimate(model: str | Path, task: ClassTask, settings: FitSettings, loading: Loading | None) -> float:
    """The seconds of a training without frozen layers, from a few timed steps."""
    began: list[float] = []
    few = task.train.select(range(min(_TIMED_STEPS * settings.batch_size, len(task.train))))
    classifier = build(model, task.classes, replace(settings, epochs=1), loading=loading)
    train(classifier, few, progress=lambda *_: began.append(time.monotonic()))
    step = float(np.median(np.diff(began))) if len(began) > 1 else 0.0
    encoded = len(task.test) + 2 * min(_STUDY_TEXTS, len(task.test))
    return step * (settings.epochs * len(task.train) + encoded * _ENCODING_SHARE) / settings.batch_size


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> duration(8.4), duration(600), duration(9000)
    ('8 seconds', '10 minutes', '2.5 hours')
    """
    if seconds < 120:
        return count(max(round(seconds), 1), "second")
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def _run(
    model: str | Path,
    task: ClassTask,
    variant: Variant,
    settings: FitSettings,
    progress: Progress | None,
    loading: Loading | None,
) -> LayerRun:
    began = time.monotonic()
    classifier = build(model, task.classes, settings, surgery=variant.surgery, loading=loading)
    before = _context(classifier, task)
    train(classifier, task.train, progress=progress)
    predictions = [int(code) for code in predict(classifier, task.test).argmax(axis=1)]
    correct = sum(task.classes[code] == label for code, label in zip(predictions, task.test.labels, strict=True))
    after = _context(classifier, task)
    return LayerRun(variant.name, settings.seed, predictions, correct, before, after, time.monotonic() - began)


def _context(classifier: Classifier, task: ClassTask) -> ContextTrace:
    """The last layer on the words of some test texts; nothing if they are too few."""
    texts = list(dict.fromkeys(task.test.left))[:_STUDY_TEXTS]
    encoder = Transformer("model", classifier.encoder, classifier.tokenizer)
    try:
        last = study(encoder, Selection(ListTexts(texts)), StudySettings(mev_words=0)).layers[-1]
    except ShapeError:
        return ContextTrace(None, None, None)
    names = ("baseline", "selfsim_adjusted", "intrasim_adjusted_matched")
    return ContextTrace(*(last.findings[name].magnitude if name in last.findings else None for name in names))


def _summary(
    task: ClassTask,
    settings: FitSettings,
    n_layers: int,
    variants: Sequence[Variant],
    seeds: Sequence[int],
    runs: Mapping[tuple[str, int], LayerRun],
    seconds: float,
) -> LayersStudy:
    truth = np.array([task.classes.index(label) for label in task.test.labels], np.int64)
    by_variant = {variant.name: [runs[variant.name, seed] for seed in seeds] for variant in variants}
    hits = {name: [np.array(run.predictions) == truth for run in own] for name, own in by_variant.items()}
    scores = paired_accuracies(hits, task.test.keys, settings.seed)
    rows = [LayerRow(variant, scores[variant.name], by_variant[variant.name]) for variant in variants]
    majority = float(np.bincount(truth).max() / len(truth))
    sizes = (len(task.train), len(task.test))
    return LayersStudy(task.name, task.split, n_layers, *sizes, majority, settings, list(seeds), rows, seconds)
