"""Ablations: `ablate_layers`, `ablate_data` and `ablate_repair` train a model in several ways and compare them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncone.data.storage.path import local_folder
from uncone.errors import OptionError, require
from uncone.verbs.options.ablate import AblateDataOptions, AblateLayersOptions, AblateOptions, AblateRepairOptions
from uncone.verbs.spaces.verb import verb

if TYPE_CHECKING:
    from uncone.report.documents.ablate.data import DataAblation
    from uncone.report.documents.ablate.layers import LayerAblation
    from uncone.report.documents.ablate.repair import RepairAblation
    from uncone.tuning.ablation.runs import RunStore
    from uncone.tuning.classifier import FitSettings
    from uncone.tuning.tasks import ClassTask

__all__ = ["ablate_data", "ablate_layers", "ablate_repair"]

_EXTRA = ("torch", "transformers", "sentence_transformers", "accelerate")


@verb(AblateLayersOptions)
def ablate_layers(model: str | os.PathLike[str], *, options: AblateLayersOptions) -> LayerAblation:
    """Fine-tune a model with each layer frozen, dropped or re-initialized, and compare with the whole model.

    `model` is a folder or a name on the hub. Finished trainings are kept, so that an interrupted study resumes.
    """
    require(*_EXTRA, extra="tune")
    from uncone.report.documents.ablate.layers import LayerAblation
    from uncone.tuning.ablation.layers import study_layers

    task = _task(options.task, options)
    settings = _fit_settings(model, options, task)
    store = _store(model, task, settings, options, kind="layers")
    study = study_layers(
        _name(model),
        task,
        settings,
        kinds=options.variants,
        seeds=_seeds(options),
        store=store,
        announce=options.announce,
        progress=options.progress,
        loading=options.loading,
    )
    return LayerAblation(os.fspath(model), study)


@verb(AblateDataOptions)
def ablate_data(model: str | os.PathLike[str], *, options: AblateDataOptions) -> DataAblation:
    """Train a model on a balanced draw, a second one, and a skewed one, and compare what they leave in every layer."""
    require(*_EXTRA, extra="tune")
    from uncone.report.documents.ablate.data import DataAblation
    from uncone.tuning.ablation.data import study_data
    from uncone.tuning.ablation.runs import RunContext
    from uncone.tuning.results import Skew

    skew = Skew(options.skew) if options.skew_by is None else Skew.parse(options.skew_by)
    columns = [] if skew.column is None else [skew.column]
    task = _task(options.task, options, n_train=None, columns=columns)
    against = None if options.against is None else _task(options.against, options, n_train=None).train
    settings = _fit_settings(model, options, task)
    identity = {"skew": asdict(skew), "against": None if options.against is None else str(options.against)}
    store = _store(model, task, settings, options, kind="data", n_train=options.train, **identity)
    names = [f"{objective}/{draw}" for objective in options.objectives for draw in ("balanced", "control", "skewed")]
    _announce(options, store, names)
    study = study_data(
        _name(model),
        task,
        skew,
        settings,
        options.train,
        seeds=_seeds(options),
        objectives=options.objectives,
        against=against,
        context=RunContext(store, options.progress, options.loading),
    )
    return DataAblation(os.fspath(model), study)


@verb(AblateRepairOptions)
def ablate_repair(model: str | os.PathLike[str], *, options: AblateRepairOptions) -> RepairAblation:
    """Fine-tune a model with the cluster-based repair between encoder and head, and without it."""
    require(*_EXTRA, extra="tune")
    from uncone.report.documents.ablate.repair import RepairAblation
    from uncone.tuning.ablation.repair import DEFAULT_METHODS, study_task
    from uncone.tuning.bridges import parse_methods

    methods = parse_methods(options.methods or DEFAULT_METHODS)
    tasks = [_task("sst2:dev" if name == "sst2" else name, options) for name in options.tasks]
    if repeated := [task.name for at, task in enumerate(tasks) if task.name in [other.name for other in tasks[:at]]]:
        raise OptionError(f"--task names {repeated[0]} twice. Name it once.")
    all_settings = [_fit_settings(model, options, task) for task in tasks]
    stores = [
        _store(model, task, settings, options, kind="repair")
        for task, settings in zip(tasks, all_settings, strict=True)
    ]
    for store in stores:
        _announce(options, store, [method.name for method in methods])
    studies = [
        study_task(
            _name(model),
            task,
            methods,
            settings,
            seeds=_seeds(options),
            recall=store.recall,
            remember=store.remember,
            progress=options.progress,
            loading=options.loading,
        )
        for task, settings, store in zip(tasks, all_settings, stores, strict=True)
    ]
    return RepairAblation(os.fspath(model), studies)


def _name(model: str | os.PathLike[str]) -> Path | str:
    return Path(model) if isinstance(model, os.PathLike) else model


def _seeds(options: AblateOptions) -> list[int]:
    return list(range(options.seed, options.seed + options.seeds))


def _task(
    source: Any,  # noqa: ANN401 - a name, a path or a table
    options: AblateOptions,
    n_train: int | None = -1,
    columns: Sequence[str] = (),
) -> ClassTask:
    from uncone.tuning.tasks import open_task

    return open_task(
        source,
        options.data,
        text=options.text,
        label=options.label,
        n_train=options.train if n_train == -1 else n_train,
        n_test=options.test_size,
        seed=options.seed,
        columns=columns,
    )


def _fit_settings(model: str | os.PathLike[str], options: AblateOptions, task: ClassTask) -> FitSettings:
    """The settings of the options; pairs of texts are longer, and small models learn them only at a smaller rate."""
    from uncone.encoders.open import open_encoder
    from uncone.encoders.transformer import Transformer
    from uncone.tuning.classifier import FitSettings, default_lr

    encoder = open_encoder(model, options.loading)
    if not isinstance(encoder, Transformer):
        raise OptionError(f"{model} is no transformer, and only transformers have layers to train.")
    pairs = task.train.right is not None
    return FitSettings(
        epochs=options.epochs,
        batch_size=options.batch_size,
        lr=options.lr or default_lr(encoder.dim) * (0.4 if pairs else 1.0),
        max_length=options.max_length or (128 if pairs else 64),
        seed=options.seed,
        device=str(encoder.device),
    )


def _store(
    model: str | os.PathLike[str],
    task: ClassTask,
    settings: FitSettings,
    options: AblateOptions,
    **more: object,
) -> RunStore:
    from uncone.encoders.open import open_encoder
    from uncone.run.checkpoint import runs_folder
    from uncone.tuning.ablation.runs import RunStore, task_digest

    folder = runs_folder() / "ablations" if options.runs is None else local_folder(options.runs, "--runs")
    content = open_encoder(model, replace(options.loading, device="cpu")).fingerprint()
    identity = {"model": content, "task": task_digest(task), "settings": asdict(settings), **more}
    return RunStore(folder, identity)


def _announce(options: AblateOptions, store: RunStore, names: Sequence[str]) -> None:
    """Say how many trainings there are, and how many are done already."""
    if options.announce is None:
        return
    total = len(names) * options.seeds
    n_stored = sum(store.recall(name, seed) is not None for name in names for seed in _seeds(options))
    before = f", {n_stored} of which were done before" if n_stored else ""
    options.announce(f"{total} trainings{before}.")
