"""The Trainer of transformers around a classifier: its arguments, its callbacks, and the loss at the end."""

from __future__ import annotations

import gc
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch.utils.data import Dataset
from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerCallback, TrainerState, TrainingArguments

from uncone.encoders.open import quiet

if TYPE_CHECKING:
    from uncone.tuning.classifier import Classifier, Progress, Watcher

__all__ = ["run_trainer"]


class _Rows(Dataset[Mapping[str, Any]]):
    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> Mapping[str, Any]:
        return self.rows[row]


class _Watch(TrainerCallback):  # type: ignore[misc]  # transformers is not typed
    """Calls the watchers before and after each epoch, and reports every step."""

    def __init__(
        self, classifier: Classifier, before: Watcher | None, after: Watcher | None, progress: Progress | None
    ) -> None:
        self.classifier, self.before, self.after, self.progress = classifier, before, after, progress
        self.epoch = 0

    def on_epoch_begin(self, *_: object, **__: object) -> None:
        self.epoch += 1
        if self.before is not None:
            self.before(self.classifier, self.epoch)

    def on_epoch_end(self, *_: object, **__: object) -> None:
        if self.after is not None:
            self.after(self.classifier, self.epoch)

    def on_step_end(self, args: object, state: TrainerState, *_: object, **__: object) -> None:
        if self.progress is not None:
            self.progress("training steps", 1, state.max_steps)


def run_trainer(
    classifier: Classifier,
    rows: Sequence[Mapping[str, Any]],
    collate: Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]],
    *,
    before: Watcher | None,
    after: Watcher | None,
    progress: Progress | None,
) -> float:
    """Train on the rows, and return the mean loss of all steps. Nothing is saved."""
    settings = classifier.settings
    device = next(classifier.parameters()).device
    with tempfile.TemporaryDirectory() as folder, quiet(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pin_memory.*")
        args = TrainingArguments(
            output_dir=folder,
            num_train_epochs=settings.epochs,
            per_device_train_batch_size=settings.batch_size,
            learning_rate=settings.lr,
            seed=settings.seed,
            data_seed=settings.seed,
            use_cpu=device.type == "cpu",
            save_strategy="no",
            logging_strategy="no",
            logging_nan_inf_filter=False,  # a loss that is no number has to show
            report_to="none",
            disable_tqdm=True,
            dataloader_num_workers=0,
            dataloader_pin_memory=False,
            remove_unused_columns=False,
        )
        trainer = Trainer(
            model=classifier,
            args=args,
            train_dataset=_Rows(rows),
            data_collator=collate,
            callbacks=[_Watch(classifier, before, after, progress)],
        )
        for callback in (PrinterCallback, ProgressCallback):
            trainer.remove_callback(callback)
        gc.freeze()  # accelerate collects garbage at the end, and would walk through torch and the model for a second
        try:
            outcome = trainer.train()
        finally:
            gc.unfreeze()
    classifier.eval()
    return float(outcome.training_loss)
