"""Training: sentence-transformers' own trainer, with probes, the best step, early stopping, and runs that resume.

A run folder beside the output holds checkpoints while a model is being trained. One counts only once its `state.json`
is written, so what a killed run leaves behind is never half a checkpoint.
"""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from uncone.data.batch import Matrix
from uncone.data.writing.atomic import replacing, writing
from uncone.errors import ModelError, OptionError, ShapeError, StateError, require
from uncone.tuning.examples import Examples
from uncone.tuning.probes import Prober
from uncone.tuning.results import Probe

require("torch", "sentence_transformers", "datasets", "accelerate", extra="tune")

import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from sentence_transformers import (  # noqa: E402
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.util import batch_to_device  # noqa: E402
from transformers import PrinterCallback, TrainerCallback  # noqa: E402

from uncone.encoders.open import quiet  # noqa: E402
from uncone.tuning.model import disk_errors  # noqa: E402
from uncone.tuning.objectives import batch_sampler, make_dataset, make_loss  # noqa: E402

__all__ = ["Training", "TrainingSettings", "run_folder", "train"]

Progress = Callable[..., None]
_STATE, _BEST, _LOSS, _RUN = "state.json", "best.safetensors", "loss.safetensors", "run.json"
_PROBE_SHARE = 0.06
"""The share of the training time that probes may take; an encoded text costs a third of a trained one."""
_SAVE_SHARE = 0.04
_FEWEST_PROBES = 4


@dataclass(frozen=True)
class TrainingSettings:
    """The settings of a training run."""

    steps: int
    lr: float
    batch_size: int = 64
    gradient_accumulation: int = 1
    scale: float = 20.0
    max_length: int = 64
    seed: int = 0
    dtype: str = "float32"
    patience: int = 0
    probe_every: int | None = None


@dataclass
class Training:
    """The history of a run: the loss by step, the probes, and the step whose weights are kept."""

    losses: list[tuple[int, float]] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    step: int = 0
    seconds: float = 0.0
    resumed: int = 0
    """The step that an interrupted run was resumed at."""

    @property
    def best(self) -> Probe:
        """The probe with the best dev score; the last if there is none."""
        scored = [probe for probe in self.probes if probe.dev is not None]
        return max(scored, key=lambda probe: (probe.dev or 0.0, -probe.step)) if scored else self.probes[-1]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"losses": self.losses, "probes": [asdict(probe) for probe in self.probes], "seconds": self.seconds}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], step: int) -> Training:
        """A history as it was saved at a step."""
        probes = [Probe(**probe) for probe in values["probes"]]
        losses = [(int(at), float(loss)) for at, loss in values["losses"]]
        return cls(losses, probes, step, float(values["seconds"]), resumed=step)


def run_folder(out: Path) -> Path:
    """Where the checkpoints of a run lie until it is finished: beside its output."""
    return out.resolve().with_name(f"{out.resolve().name}.run")


def train(
    model: SentenceTransformer,
    examples: Examples,
    settings: TrainingSettings,
    prober: Prober,
    *,
    folder: Path,
    identity: Mapping[str, Any],
    resume: bool = False,
    progress: Progress | None = None,
) -> Training:
    """Train a model in place, and leave it with the weights of the best step.

    Args:
        model: the model; frozen parameters stay as they are.
        examples: what to train on.
        settings: how.
        prober: measures held-out texts and dev pairs on the way.
        folder: the run folder; emptied first unless the run is resumed. The caller removes it in the end.
        identity: everything that the weights depend on, to refuse to resume another run.
        resume: whether to continue from the last checkpoint.
        progress: called with the step, the amount done, the total, and a text with loss and speed.

    Raises:
        ShapeError: fewer examples than a batch.
        ModelError: the loss is not finite any more.
        StateError: there is nothing to resume, or another run.
        OutputError: a checkpoint cannot be written; the last one stays.
    """
    if len(examples) < settings.batch_size:
        raise ShapeError(
            f"{examples.name} has {len(examples):,} examples to train on, fewer than a batch of {settings.batch_size}. "
            f"Use --batch-size {_smaller(len(examples))}, or add texts."
        )
    checkpoint = _prepare_folder(folder, identity, resume)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)  # a head starts from the seed alone
        loss = make_loss(model, examples, settings.scale).to(model.device)
    training = Training()
    if checkpoint is not None:
        values = json.loads((checkpoint / _STATE).read_text(encoding="utf-8"))
        training = Training.from_dict(values, int(checkpoint.name.rpartition("-")[2]))
        own = load_file(checkpoint / _LOSS) if (checkpoint / _LOSS).is_file() else {}
        loss.load_state_dict(own, strict=False)
    dataset = make_dataset(examples)
    n_texts = len([name for name in dataset.column_names if name not in ("score", "label")])
    watch = _Watch(model, loss, settings, prober, n_texts, folder, training, progress)
    own_length = model.max_seq_length
    model.max_seq_length = settings.max_length if own_length is None else min(settings.max_length, own_length)
    try:
        with quiet(), _no_bars(), writing(folder), disk_errors():
            trainer = SentenceTransformerTrainer(
                model=model,
                args=_arguments(model, examples, settings, folder),
                train_dataset=dataset,
                loss=loss,
                callbacks=[watch],
            )
            trainer.remove_callback(PrinterCallback)
            trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
            watch.keep_best()
    finally:
        model.max_seq_length = own_length
        _remove_incomplete(folder)
    return training


@contextmanager
def _no_bars() -> Iterator[None]:
    """Without the progress bars of datasets, which prepares the examples of a model card."""
    import datasets

    enabled = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if enabled:
            datasets.enable_progress_bars()


def _smaller(n: int) -> int:
    return max(2, 1 << (n.bit_length() - 1)) if n >= 2 else 2


def _arguments(
    model: SentenceTransformer, examples: Examples, settings: TrainingSettings, folder: Path
) -> SentenceTransformerTrainingArguments:
    on_cpu = model.device.type == "cpu"
    if on_cpu and settings.dtype == "float16":
        raise OptionError("float16 can't be trained on the CPU. Leave --dtype out, or use a GPU.")
    return SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        max_steps=settings.steps,
        learning_rate=settings.lr,
        warmup_steps=settings.steps // 10,
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        batch_sampler=batch_sampler(examples.objective),
        bf16=settings.dtype == "bfloat16",
        fp16=settings.dtype == "float16",
        seed=settings.seed,
        data_seed=settings.seed,
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="no",
        save_total_limit=2,
        report_to="none",
        disable_tqdm=True,
        use_cpu=on_cpu,
        dataloader_num_workers=0,
        dataloader_drop_last=True,
    )


class _Watch(TrainerCallback):  # type: ignore[misc]  # transformers is not typed
    """What happens beside the steps: progress, probes, the best weights, early stopping and checkpoints."""

    def __init__(
        self,
        model: SentenceTransformer,
        loss: torch.nn.Module,
        settings: TrainingSettings,
        prober: Prober,
        texts_per_example: int,
        folder: Path,
        training: Training,
        progress: Progress | None,
    ) -> None:
        self.model, self.loss, self.settings, self.prober = model, loss, settings, prober
        self.texts_per_example = texts_per_example
        self.folder, self.training, self.progress = folder, training, progress
        self.every = settings.probe_every or self._spacing()
        # The cone opens early, so the first stretch has two more probes.
        self.early = () if settings.probe_every else (self.every // 4, self.every // 2)
        self.began = time.monotonic()
        self.saving = 0.0
        self.last_save = -math.inf
        self.save_began = 0.0

    def _spacing(self) -> int:
        """Steps between probes: few enough that they cost little, but four probes in any run."""
        settings = self.settings
        per_step = 3 * self.texts_per_example * settings.batch_size * settings.gradient_accumulation
        spacing = math.ceil(self.prober.cost / (_PROBE_SHARE * per_step))
        return max(1, min(max(spacing, settings.steps // 20), settings.steps // _FEWEST_PROBES))

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401
        """Probe the untrained model; report the steps of a run that is resumed."""
        self.began = time.monotonic() - self.training.seconds
        if not self.training.probes:
            self._probe(0)
        if self.progress is not None and state.global_step:
            self.progress("training", state.global_step, self.settings.steps, "")

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, float], **_: Any) -> None:  # noqa: ANN401
        """Remember the loss; one that is not finite ends the run."""
        loss = logs.get("loss")
        if loss is None:
            return
        if not math.isfinite(loss):
            raise _diverged(state.global_step, self.settings.lr, self.folder)
        self.training.losses.append((state.global_step, float(loss)))
        if self.progress is not None:
            speed = state.global_step / max(time.monotonic() - self.began, 1e-9)
            self.progress("training", 1, self.settings.steps, f"loss {loss:.3f} · {speed:.1f} steps/s")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ANN401
        """Probe at every so many steps and at the end, and ask for a checkpoint."""
        step, is_last = state.global_step, state.global_step >= self.settings.steps
        control.should_log = True
        if step % self.every and not is_last and step not in self.early:
            return control
        self._probe(step)
        if self.settings.patience and self._is_stale():
            control.should_training_stop = True
        now = time.monotonic()
        due = now - self.last_save >= self.saving / _SAVE_SHARE
        if due and not is_last and not control.should_training_stop:
            control.should_save = True
            self.save_began = now
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401
        """Complete a checkpoint: the loss's own weights, and the history last."""
        checkpoint = self.folder / f"checkpoint-{state.global_step}"
        own = {name: value for name, value in self.loss.state_dict().items() if not name.startswith("model.")}
        if own:
            save_file(own, checkpoint / _LOSS)
        self._note_time(state.global_step)
        with replacing(checkpoint / _STATE) as file:
            file.write_text(json.dumps(self.training.to_dict()), encoding="utf-8")
        self.last_save = time.monotonic()
        self.saving = self.last_save - self.save_began

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401
        """The run is over."""
        self._note_time(state.global_step)

    def _note_time(self, step: int) -> None:
        self.training.step, self.training.seconds = step, time.monotonic() - self.began

    def _probe(self, step: int) -> None:
        was_training = self.model.training
        probe = self.prober(step, self._encode, self._dropout_views)
        self.model.train(was_training)
        before = self.training.best.step if self.training.probes else None
        self.training.probes.append(probe)
        if probe.dev is not None and self.training.best.step == step and before != step:
            with replacing(self.folder / _BEST) as file:
                save_file(self._weights(), file)

    def _weights(self) -> dict[str, torch.Tensor]:
        """A copy of the weights that are trained."""
        trained = [(name, value) for name, value in self.model.named_parameters() if value.requires_grad]
        return {name: value.detach().cpu().contiguous() for name, value in trained}

    def keep_best(self) -> None:
        """Put the weights of the best step back, if it is not the last."""
        best = self.training.best
        if best.dev is None or best.step == self.training.probes[-1].step:
            return
        weights = load_file(self.folder / _BEST)
        parameters = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, value in weights.items():
                parameters[name].copy_(value)

    def _is_stale(self) -> bool:
        """Whether the dev score has not risen for as many probes as there is patience."""
        scored = [probe for probe in self.training.probes if probe.dev is not None]
        return bool(scored) and len(scored) - 1 - scored.index(self.training.best) >= self.settings.patience

    def _encode(self, texts: list[str]) -> Matrix:
        vectors = self.model.encode(texts, batch_size=64, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, np.float32)

    def _dropout_views(self, texts: list[str], seed: int) -> Matrix:
        """Vectors with dropout on, from random numbers of their own: training must not notice a probe."""
        devices = [] if self.model.device.type == "cpu" else [self.model.device]
        rows = []
        with torch.random.fork_rng(devices=devices), torch.no_grad():
            torch.manual_seed(seed)
            self.model.train()
            for first in range(0, len(texts), 64):
                features = batch_to_device(self.model.preprocess(texts[first : first + 64]), self.model.device)
                rows.append(self.model(features)["sentence_embedding"].float().cpu().numpy())
        return np.concatenate(rows)


_HIGHEST_LR = 1e-3  # that is worth a try, even for a small model


def _diverged(step: int, lr: float, folder: Path) -> ModelError:
    checkpoints = _checkpoints(folder)
    steps = [int(path.name.rpartition("-")[2]) for path in checkpoints]
    weights = f"The weights of step {steps[-1]} are in {checkpoints[-1]}" if steps else "No step was worth keeping"
    return ModelError(
        f"The loss is not a number any more after step {step}: the learning rate {lr:g} is too high. {weights}. Try "
        f"--lr {float(f'{min(lr / 3, _HIGHEST_LR):.1g}'):g}."
    )


def _checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints, the oldest first."""
    places = [path.parent for path in folder.glob(f"checkpoint-*/{_STATE}")]
    return sorted(places, key=lambda path: int(path.name.rpartition("-")[2]))


def _remove_incomplete(folder: Path) -> None:
    complete = _checkpoints(folder)
    for path in folder.glob("checkpoint-*"):
        if path not in complete:
            shutil.rmtree(path, ignore_errors=True)


def _prepare_folder(folder: Path, identity: Mapping[str, Any], resume: bool) -> Path | None:
    """An empty run folder, or the last checkpoint of the run in it.

    Raises:
        StateError: there is nothing to resume, or it is another run.
        OutputError: the folder cannot be written.
    """
    mark = json.loads(json.dumps(identity, sort_keys=True))
    if not resume:
        with writing(folder):
            if folder.is_dir():
                shutil.rmtree(folder)
            folder.mkdir()
            (folder / _RUN).write_text(json.dumps(mark, indent=2), encoding="utf-8")
        return None
    _remove_incomplete(folder)
    checkpoints = _checkpoints(folder)
    if not checkpoints:
        raise StateError(f"There is nothing to resume in {folder}: no checkpoint was saved. Leave --resume out.")
    try:
        before = json.loads((folder / _RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StateError(f"The run in {folder} is damaged. Start again without --resume.") from error
    changed = sorted(key for key in {**before, **mark} if before.get(key) != mark.get(key))
    if changed:
        names = ", ".join(key.replace("_", " ") for key in changed)
        raise StateError(
            f"The run in {folder} had other settings: {names} changed. Restore them, or leave --resume out."
        )
    return checkpoints[-1]
