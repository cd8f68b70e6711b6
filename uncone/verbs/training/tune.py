"""Tuning: `tune` trains a model against the cone, and says whether a repair would have done as well."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncone import __version__
from uncone.data.storage.path import local_folder
from uncone.errors import ModelError, OptionError, SourceError, require
from uncone.verbs.options.tune import TuneOptions
from uncone.verbs.spaces.verb import verb

if TYPE_CHECKING:
    from uncone.data.tasks.sts import PairTask
    from uncone.evaluation.spaces import Settings
    from uncone.report.documents.layers import LayerComparison
    from uncone.report.documents.tune import Tuned
    from uncone.tuning.comparison import Comparison, RepairChoice
    from uncone.tuning.examples import Examples
    from uncone.tuning.trainer import Training, TrainingSettings

__all__ = ["tune"]

_MOST_CONTRASTIVE = 200
"""Steps of a contrastive run by default: the cone opens within 100, and more make the space rounder but not better."""
_OF_SIMILARITY = ("contrastive", "nli", "scored")
"""Objectives that are judged by STS-B if it is at hand, the others by held-out pairs."""
_STUDY_TEXTS = 400
_NO_DROPOUT = (
    "{name} has no dropout, so the two views of a text would be the same: training would push all texts apart and "
    "learn nothing about which are similar. Set one with --dropout 0.1, or choose another objective."
)


@verb(TuneOptions)
def tune(model: str | os.PathLike[str], *sources: Any, options: TuneOptions) -> Tuned:  # noqa: ANN401 - paths or tables
    """Train a model on texts, pairs, triplets or classes, and compare it with the untuned model and its best repair.

    `model` is a folder or a name on the hub; `sources` are files, named datasets (snli, stsb:train, sst2:train, ...),
    tables in memory or lists of texts. The tuned model is a stock sentence-transformers folder.
    """
    require("torch", "sentence_transformers", "datasets", "accelerate", extra="tune")
    from uncone.data.writing.atomic import write_all
    from uncone.report.documents.tune import Tuned
    from uncone.tuning.examples import Columns, open_examples, split_held_out
    from uncone.tuning.model import save_pipeline
    from uncone.tuning.trainer import run_folder

    if not sources:
        raise OptionError("Name what to train on: a file of texts or examples, or a dataset such as snli.")
    assert options.out is not None
    out = local_folder(options.out, "-o")
    _check_out(out, options.resume)
    columns = Columns(options.text, options.label, options.score)
    examples = open_examples(sources, options.objective, columns, options.data, options.limit)
    train_part, dev_part, test_part = split_held_out(examples, options.seed)
    dev, datasets = _dev_pairs(options, dev_part), _datasets(options, examples.objective, test_part)
    pipeline, settings, history = _train(model, out, train_part, (dev_part or train_part).distinct_texts, dev, options)
    result = Tuned(
        model=os.fspath(model),
        out=str(out),
        objective=examples.objective,
        source=examples.name,
        examples=len(train_part),
        settings=_summary(options, settings),
        training=history,
        dev="" if dev is None else dev.name if dev.split == "all" else f"{dev.name}:{dev.split}",
        notes=[*examples.notes],
    )
    if out.is_dir():
        shutil.rmtree(out)  # empty, or of the same run, interrupted after it had saved the model
    save_pipeline(pipeline, out, result.card())
    repair, comparison, notes = _compare(model, out, train_part.distinct_texts, dev, datasets, options)
    layers, reasons = _layers(model, out, (test_part or train_part).distinct_texts, options)
    notes = [*result.notes, *notes, *reasons]
    result = replace(result, repair=repair, comparison=comparison, layers=layers, notes=notes)
    write_all({out / "README.md": result.card()})
    shutil.rmtree(run_folder(out), ignore_errors=True)
    return result


def _train(
    model: str | os.PathLike[str],
    out: Path,
    examples: Examples,
    held_out: Sequence[str],
    dev: PairTask | None,
    options: TuneOptions,
) -> tuple[Any, TrainingSettings, Training]:
    """The trained pipeline, its settings, and the history of the training."""
    from uncone.tuning.model import load_pipeline, set_dropout, transformer_of
    from uncone.tuning.probes import Prober
    from uncone.tuning.surgery import operate, planned_surgery
    from uncone.tuning.trainer import run_folder, train

    pipeline = load_pipeline(model, options.pooling, options.loading, options.dropout)
    body = transformer_of(pipeline)
    if examples.objective == "contrastive" and set_dropout(body, None) == 0:
        raise ModelError(_NO_DROPOUT.format(name=model))
    surgery = planned_surgery(body, ",".join(options.freeze), ",".join(options.drop_layers), ",".join(options.reinit))
    operate(body, surgery, options.seed)
    settings = _training_settings(options, examples, int(body.config.hidden_size))
    history = train(
        pipeline,
        examples,
        settings,
        Prober(held_out, dev, options.seed),
        folder=run_folder(out),
        identity=_identity(model, options, examples, settings),
        resume=options.resume,
        progress=options.progress,
    )
    return pipeline, settings, history


def _check_out(out: Path, resume: bool) -> None:
    from uncone.data.writing.atomic import check_output_folder
    from uncone.tuning.trainer import run_folder

    if not (resume and run_folder(out).is_dir()):
        check_output_folder(out)


def _dev_pairs(options: TuneOptions, held_out: Examples | None) -> PairTask | None:
    """The pairs that choose the best step: those named, held-out examples, or the dev set of STS-B if it is here."""
    from uncone.data.tasks.sts import local_pairs, open_pairs

    if options.dev is not None:
        return open_pairs("stsb:dev" if options.dev == "stsb" else options.dev, options.data)
    own = None if held_out is None else held_out.pairs(options.seed)
    return own if own is not None else local_pairs("stsb", "dev", options.data)


def _datasets(options: TuneOptions, objective: str, held_out: Examples | None) -> list[Any]:
    """The datasets of the comparison: those named, all seven with `then`, STS-B for similarity, or held-out pairs."""
    from uncone.data.tasks.sts import STS, local_pairs, open_pairs

    names = options.datasets or (STS if options.then else ())
    if names:
        return [open_pairs(name, options.data) for name in names]
    own = None if held_out is None else held_out.pairs(options.seed)
    if own is None or objective in _OF_SIMILARITY:
        own = local_pairs("stsb", "test", options.data) or own
    return [] if own is None else [own]


def _training_settings(options: TuneOptions, examples: Examples, width: int) -> TrainingSettings:
    from uncone.tuning.objectives import default_lr
    from uncone.tuning.trainer import TrainingSettings

    per_epoch = max(1, len(examples) // (options.batch_size * options.gradient_accumulation))
    steps = options.steps or math.ceil((options.epochs or 1) * per_epoch)
    if options.steps is None and options.epochs is None and examples.objective == "contrastive":
        steps = min(steps, _MOST_CONTRASTIVE)
    return TrainingSettings(
        steps=steps,
        lr=options.lr or default_lr(width),
        batch_size=options.batch_size,
        gradient_accumulation=options.gradient_accumulation,
        scale=options.scale,
        max_length=options.max_length,
        seed=options.seed,
        dtype=options.dtype,
        patience=options.patience,
        probe_every=options.probe_every,
    )


def _identity(
    model: str | os.PathLike[str], options: TuneOptions, examples: Examples, settings: TrainingSettings
) -> dict[str, Any]:
    """Everything that the weights depend on."""
    from dataclasses import asdict

    from uncone.encoders.open import open_encoder

    rows = json.dumps([*examples.texts, list(examples.scores), list(examples.labels)]).encode()
    layers = {name: ",".join(getattr(options, name)) for name in ("freeze", "drop_layers", "reinit")}
    own = {"objective": examples.objective, "pooling": options.pooling, "dropout": options.dropout, **layers}
    content = {"the_model": open_encoder(model, options.loading).fingerprint()}
    content["the_examples"] = hashlib.sha256(rows).hexdigest()
    return {**asdict(settings), **own, **content, "dev": str(options.dev), "uncone": __version__}


def _summary(options: TuneOptions, settings: TrainingSettings) -> dict[str, Any]:
    """The settings as the report and the model card show them."""
    from dataclasses import asdict

    values = asdict(settings)
    layers = {name: ",".join(getattr(options, name)) or None for name in ("freeze", "drop_layers", "reinit")}
    return {**values, **layers, "pooling": options.pooling, "dropout": options.dropout, "then": options.then}


def _compare(
    model: str | os.PathLike[str],
    out: Path,
    texts: Sequence[str],
    dev: PairTask | None,
    datasets: list[Any],
    options: TuneOptions,
) -> tuple[RepairChoice | None, Comparison | None, list[str]]:
    from uncone.evaluation.spaces import Settings
    from uncone.tuning.comparison import choose_repair, compare

    before = Settings(
        pooling=options.pooling, loading=options.loading, data=options.data, seed=options.seed, progress=_three(options)
    )
    repair = choose_repair(model, texts, dev, before)
    if not datasets:
        note = "No labeled pairs were at hand, so nothing is known about scores. Name some with --dataset."
        return repair, None, [note]
    fit_on: Any = texts[:5000]
    before = replace(before, fit_on=fit_on)
    after: Settings = replace(before, pooling=None)
    return repair, compare(model, out, datasets, repair, options.then, before, after), []


def _three(options: TuneOptions) -> Callable[[str, int, int | None], None] | None:
    """The progress of the steps after training, which have no loss to show."""
    report = options.progress
    return None if report is None else lambda step, amount, total: report(step, amount, total, "")


def _layers(
    model: str | os.PathLike[str], out: Path, texts: Sequence[str], options: TuneOptions
) -> tuple[LayerComparison | None, list[str]]:
    """Every layer before and after; nothing, and the reason, if the texts are too few."""
    from uncone.verbs.layers import compare_layers

    try:
        result = compare_layers(
            [model, out], [list(texts[:_STUDY_TEXTS])], seed=options.seed, device=options.device, mev_words=30
        )
    except SourceError as error:
        return None, [f"The layers were not compared: {error}"]
    return result, []
