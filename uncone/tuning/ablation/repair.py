"""The cluster-based repair in the loop: what it does to accuracy and isotropy, and which predictions depend on a batch.

Rajaee and Pilehvar (2021) repair the CLS vectors of every batch between encoder and head, in training and in
prediction. `study_task` trains a model with each variant of that repair and measures it on the dev set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.space.spectrum.isotropy import log10_isotropy, mean_offset
from uncone.data.batch import IntVector, Matrix
from uncone.encoders.open import Loading
from uncone.errors import require
from uncone.tuning.ablation.pairing import PairedAccuracy, paired_accuracies
from uncone.tuning.results import Agreement, LabelTrace, LayerGeometry, RepairRun
from uncone.tuning.tasks import ClassTask, Items

require("torch", "transformers", "accelerate", extra="tune")

import torch  # noqa: E402

from uncone.tuning.bridges import BatchBridge, Bridge, FrozenBridge, RepairMethod, clusters_of, make_bridge  # noqa: E402
from uncone.tuning.classifier import (  # noqa: E402
    Classifier,
    FitSettings,
    Progress,
    build,
    head_inputs,
    layer_vectors,
    predict,
    train,
)

__all__ = [
    "DEFAULT_METHODS",
    "PublishedRow",
    "RepairRow",
    "TaskAblation",
    "agreement",
    "label_share",
    "published",
    "study_task",
    "summarize",
    "train_method",
]

DEFAULT_METHODS = (
    *("none", "batch/1/0", "batch/3/0", "batch/3/2", "running/1/0", "running/3/0", "running/3/2", "running/1/2"),
    *("frozen/3/0", "frozen/3/2", "offline/3/2"),
)
"""The methods that a study compares by default."""
_ORDERS = 3
"""Random orders of the test texts, to see which predictions depend on the batch."""
_SHUFFLES = 20
"""Random orders of the labels of a batch, for the purity that chance gives."""
_FOLDS, _PROBE_C = 5, 0.01


@dataclass(frozen=True)
class RepairRow:
    """A method over all seeds: its accuracy, the paired difference to training without a repair, and its runs."""

    method: str
    scores: PairedAccuracy
    by_seed: Sequence[float]
    runs: Sequence[RepairRun]

    @property
    def accuracy(self) -> Score:
        """The accuracy, with its interval."""
        return self.scores.accuracy

    @property
    def difference(self) -> Difference | None:
        """The difference to training without a repair; None for that itself."""
        return self.scores.difference

    @property
    def log10_isotropy(self) -> float:
        """log10 I(W) of what the head sees, averaged over seeds."""
        return float(np.mean([run.log10_isotropy for run in self.runs]))

    @property
    def moved(self) -> float:
        """The share of predictions that change in other batches."""
        return float(np.mean([run.moved for run in self.runs]))

    @property
    def moved_alone(self) -> float:
        """The share of predictions that change when a text comes alone."""
        return float(np.mean([run.moved_alone for run in self.runs]))

    def geometry(self, epoch: int) -> LayerGeometry | None:
        """The layers after an epoch, averaged over seeds."""
        own = [layer for run in self.runs for layer in run.layers if layer.epoch == epoch]
        if not own:
            return None
        isotropy, offset = (
            np.mean([getattr(layer, name) for layer in own], axis=0).tolist() for name in ("log10_isotropy", "offset")
        )
        return LayerGeometry(epoch, isotropy, offset)

    def agreement(self, k: int) -> Agreement | None:
        """The agreement of k clusters with the classes, averaged over seeds; None if it was not measured."""
        own = [run.clusters[str(k)] for run in self.runs if str(k) in run.clusters]
        if not own:
            return None
        return Agreement(
            *(float(np.mean([getattr(part, name) for part in own])) for name in ("ami", "purity", "chance"))
        )

    @property
    def label(self) -> LabelTrace | None:
        """What a linear probe finds of the class before and after the repair, averaged over seeds."""
        own = [run.label for run in self.runs if run.label is not None]
        if not own:
            return None
        controls = [trace.control for trace in own if trace.control is not None]
        before, after = fmean(trace.before for trace in own), fmean(trace.after for trace in own)
        return LabelTrace(before, after, fmean(controls) if controls else None)


@dataclass(frozen=True)
class PublishedRow:
    """Accuracy x 100 and isotropy of a method in the source, for BERT-base; None if it was not published."""

    method: str
    accuracy: float
    isotropy: float | None


@dataclass(frozen=True)
class TaskAblation:
    """All methods on a task, the one without a repair first."""

    task: str
    split: str
    n_train: int
    n_test: int
    majority: float
    units: int
    settings: FitSettings
    rows: Sequence[RepairRow]
    published: Sequence[PublishedRow]

    def row(self, method: str) -> RepairRow | None:
        """The row of a method."""
        return next((row for row in self.rows if row.method == method), None)


_PUBLISHED = {
    "rte": (PublishedRow("none", 65.3, 5e-5), PublishedRow("batch", 62.8, 0.29)),
    "wic": (PublishedRow("none", 64.04, None), PublishedRow("batch", 62.1, None)),
}


def published(task: str) -> Sequence[PublishedRow]:
    """The rows of Rajaee and Pilehvar (2021) for BERT-base, fine-tuned on CLS; none for another task."""
    return _PUBLISHED.get(task.partition(":")[0].lower(), ())


def study_task(
    model: str | Path,
    task: ClassTask,
    methods: Sequence[RepairMethod],
    settings: FitSettings,
    *,
    seeds: Sequence[int] = (0,),
    recall: Callable[[str, int], Mapping[str, Any] | None] = lambda method, seed: None,
    remember: Callable[[str, int, Mapping[str, Any]], None] = lambda method, seed, values: None,
    progress: Progress | None = None,
    loading: Loading | None = None,
) -> TaskAblation:
    """Every method with every seed on a task; `recall` gives finished runs, and `remember` is given new ones.

    Methods that train without a repair (none and offline) share one training per seed.

    Raises:
        OptionError: a method does not fit the batch or the model.
        ModelError: the model can't be trained.
    """
    runs: dict[tuple[str, int], RepairRun] = {}
    ks = _cluster_counts(methods)
    for seed in seeds:
        for group in _trainings(methods):
            stored = {method.name: recall(method.name, seed) for method in group}
            new = [method for method in group if not _is_complete(stored[method.name], method, ks)]
            fresh = (
                train_method(model, task, new, methods, replace(settings, seed=seed), progress, loading) if new else {}
            )
            for method in group:
                if method in new:
                    remember(method.name, seed, fresh[method.name].to_dict())
                runs[method.name, seed] = fresh.get(method.name) or RepairRun.from_dict(stored[method.name] or {})
    return summarize(task, settings, {m.name: [runs[m.name, seed] for seed in seeds] for m in methods})


def _cluster_counts(methods: Sequence[RepairMethod]) -> list[int]:
    return sorted({method.k for method in methods if method.k > 1})


def _is_complete(values: Mapping[str, Any] | None, method: RepairMethod, ks: Sequence[int]) -> bool:
    """Whether a run is stored; without a repair, its clusters are compared with the classes for every k of a study."""
    if values is None:
        return False
    return "label" in values and (method.mode != "none" or {str(k) for k in ks} <= set(values["clusters"]))


def _trainings(methods: Sequence[RepairMethod]) -> list[list[RepairMethod]]:
    """Methods that share a training together: those without a bridge, and each of the others."""
    without = [method for method in methods if method.mode in ("none", "offline")]
    return [without, *([method] for method in methods if method not in without)]


def train_method(
    model: str | Path,
    task: ClassTask,
    methods: Sequence[RepairMethod],
    compared: Sequence[RepairMethod],
    settings: FitSettings,
    progress: Progress | None = None,
    loading: Loading | None = None,
) -> dict[str, RepairRun]:
    """One training, measured for each of the methods that share it; `compared` are all methods of the study."""
    classifier = build(model, task.classes, settings, loading=loading)
    dim = classifier.head.in_features
    for method in compared:
        method.check(settings.batch_size, dim)
    bridge = make_bridge(methods[0], dim, settings.seed)
    classifier.bridge = None if bridge is None else bridge.to(classifier.head.weight.device)
    layers: list[LayerGeometry] = []

    def before_epoch(classifier: Classifier, _: int) -> None:
        if isinstance(bridge, FrozenBridge):
            bridge.fit(unrepaired(classifier, task.train))

    def after_epoch(classifier: Classifier, epoch: int) -> None:
        every = layer_vectors(classifier, task.test, settings.pooling)
        layers.append(LayerGeometry(epoch, [*map(log10_isotropy, every)], [*map(mean_offset, every)]))

    train(classifier, task.train, before_epoch=before_epoch, after_epoch=after_epoch, progress=progress)
    ks = _cluster_counts(compared)
    return {method.name: _measure(_prepared(classifier, task, method), task, method, ks, layers) for method in methods}


def unrepaired(classifier: Classifier, items: Items) -> Matrix:
    """The pooled vectors (n, d) of the last layer, without the bridge."""
    bridge, classifier.bridge = classifier.bridge, None
    try:
        return head_inputs(classifier, items, batch_size=64)
    finally:
        classifier.bridge = bridge


def _prepared(classifier: Classifier, task: ClassTask, method: RepairMethod) -> Classifier:
    """The classifier itself; for `offline` one with the same encoder, a repair fitted now, and a new head."""
    if method.mode != "offline":
        return classifier
    from sklearn.linear_model import LogisticRegression

    device, dim, n_classes = classifier.head.weight.device, classifier.head.in_features, len(task.classes)
    vectors = unrepaired(classifier, task.train)
    bridge = FrozenBridge(dim, method.k, method.p, classifier.settings.seed)
    bridge.fit(vectors)
    rows = bridge(torch.as_tensor(vectors)).numpy().astype(np.float64)
    scale = max(float(rows.std()), 1e-12)  # the penalty then means the same for any model
    model = LogisticRegression(max_iter=1000).fit(
        rows / scale, [task.classes.index(label) for label in task.train.labels]
    )
    weights, bias = model.coef_ / scale, model.intercept_
    if n_classes == 2:  # scikit-learn gives the log odds of the second class
        weights, bias = np.concatenate([-weights / 2, weights / 2]), np.concatenate([-bias / 2, bias / 2])
    head = torch.nn.Linear(dim, n_classes)
    with torch.no_grad():
        head.weight.copy_(torch.as_tensor(weights))
        head.bias.copy_(torch.as_tensor(bias))
    repaired = Classifier(classifier.encoder, bridge, head, classifier.tokenizer, classifier.settings)
    repaired.classes, repaired.window = classifier.classes, classifier.window
    repaired.to(device).eval()
    return repaired


def _measure(
    classifier: Classifier, task: ClassTask, method: RepairMethod, ks: Sequence[int], layers: Sequence[LayerGeometry]
) -> RepairRun:
    size, seed, n = classifier.settings.batch_size, classifier.settings.seed, len(task.test)
    rng = np.random.default_rng(seed)
    chosen_classes = predict(classifier, task.test, batch_size=size).argmax(axis=1)
    shuffled = [
        predict(classifier, task.test, batch_size=size, order=rng.permutation(n)).argmax(axis=1) for _ in range(_ORDERS)
    ]
    alone = predict(classifier, task.test, batch_size=1, order=np.arange(n)).argmax(axis=1)
    vectors, labels = unrepaired(classifier, task.test), _codes(task)
    seen_by_head = head_inputs(classifier, task.test, batch_size=size)
    bridge = classifier.bridge

    def clusters(k: int, rows: Matrix) -> IntVector:
        own = torch.as_tensor(rows, device=classifier.head.weight.device)
        cells = bridge.assign(own) if isinstance(bridge, Bridge) else clusters_of(own, k, seed)
        return np.asarray(cells.cpu().numpy())

    own_ks = ks if method.mode == "none" else [method.k] if method.k > 1 else []
    return RepairRun(
        method=method.name,
        seed=seed,
        predictions=chosen_classes.tolist(),
        log10_isotropy=log10_isotropy(seen_by_head),
        layers=layers,
        moved=float(np.mean([(other != chosen_classes).mean() for other in shuffled])),
        moved_alone=float((alone != chosen_classes).mean()),
        clusters={str(k): agreement(partial(clusters, k), vectors, labels, size) for k in own_ks},
        label=_label_trace(method, vectors, seen_by_head, labels, size, seed),
    )


class _RandomClusters(BatchBridge):
    """The control of a batch repair: clusters of the same sizes, made of random vectors."""

    def assign(self, vectors: torch.Tensor) -> torch.Tensor:
        """The clusters of the batch, dealt out at random."""
        order = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(self.seed))
        return super().assign(vectors)[order.to(vectors.device)]


def _label_trace(
    method: RepairMethod, vectors: Matrix, repaired: Matrix, labels: IntVector, batch_size: int, seed: int
) -> LabelTrace | None:
    """What a linear probe finds of the class before and after the repair; None with under two texts of a class."""
    if np.bincount(labels)[np.unique(labels)].min() < 2:
        return None
    control = None
    if method.mode == "batch" and method.k > 1:
        bridge = _RandomClusters(vectors.shape[1], method.k, method.p, seed)
        starts = range(0, len(vectors), batch_size)
        batches = [bridge(torch.as_tensor(vectors[start : start + batch_size])) for start in starts]
        control = label_share(torch.cat(batches).numpy(), labels)
    return LabelTrace(label_share(vectors, labels), label_share(repaired, labels), control)


def label_share(rows: Matrix, labels: IntVector) -> float:
    """The share of rows (n, d) whose class a linear probe finds, trained on the other folds of the same rows.

    The probe is strongly regularized, because there may be fewer rows than twice the dimensions.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folds = int(min(_FOLDS, np.bincount(labels)[np.unique(labels)].min()))
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=_PROBE_C, max_iter=2000))
    split = StratifiedKFold(folds, shuffle=True, random_state=0)
    return float(cross_val_score(probe, np.asarray(rows, np.float64), labels, cv=split).mean())


def _codes(task: ClassTask) -> IntVector:
    return np.array([task.classes.index(label) for label in task.test.labels], np.int64)


def agreement(
    clusters: Callable[[Matrix], IntVector], vectors: Matrix, labels: IntVector, batch_size: int
) -> Agreement:
    """How well the clusters of each batch of vectors (n, d), in their order, match the labels (n,)."""
    from sklearn.metrics import adjusted_mutual_info_score

    rng = np.random.default_rng(0)
    figures = []
    for start in range(0, len(vectors) - len(vectors) % batch_size or len(vectors), batch_size):
        own, cells = labels[start : start + batch_size], clusters(vectors[start : start + batch_size])
        chance = fmean(_purity(cells, rng.permutation(own)) for _ in range(_SHUFFLES))
        figures.append((float(adjusted_mutual_info_score(own, cells)), _purity(cells, own), chance))
    return Agreement(*(float(value) for value in np.mean(figures, axis=0)))


def _purity(cells: IntVector, labels: IntVector) -> float:
    """The share of items in the majority class of their cluster."""
    table = np.zeros((int(cells.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (cells, labels), 1)
    return float(table.max(axis=1).sum() / len(labels))


def summarize(task: ClassTask, settings: FitSettings, runs: Mapping[str, Sequence[RepairRun]]) -> TaskAblation:
    """Accuracies and differences to the first method, paired by item and seed, over draws of distinct items."""
    truth = _codes(task)
    hits = {name: [np.array(run.predictions) == truth for run in own] for name, own in runs.items()}
    pairs = paired_accuracies(hits, task.test.keys, settings.seed)
    rows = [
        RepairRow(name, pair, [float(own.mean()) for own in hits[name]], runs[name]) for name, pair in pairs.items()
    ]
    return TaskAblation(
        task=task.name,
        split=task.split,
        n_train=len(task.train),
        n_test=len(task.test),
        majority=float(np.bincount(truth).max() / len(truth)),
        units=next(iter(pairs.values())).units,
        settings=settings,
        rows=rows,
        published=published(task.name),
    )
