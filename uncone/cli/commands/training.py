"""Commands that train: `tune` and the three kinds of `ablate`."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from uncone.cli.output import check_outputs, deliver, progress_bar
from uncone.verbs.options.ablate import (
    AblateDataOptions,
    AblateLayersOptions,
    AblateOptions,
    AblateOutput,
    AblateRepairOptions,
)
from uncone.verbs.options.tune import TuneOptions, TuneOutput

__all__ = ["ablate_data", "ablate_layers", "ablate_repair", "tune"]

_Model = Annotated[str, Parameter(help="A model folder, or a name on the Hugging Face hub.")]


def tune(
    model: _Model,
    /,
    *sources: Annotated[
        str,
        Parameter(
            help="What to train on: texts (.txt), a table (.csv, .tsv, .jsonl, .parquet), or snli, stsb:train, "
            "sst2:train and the like. Several sources are joined."
        ),
    ],
    options: TuneOptions,
    output: TuneOutput,
) -> int:
    """Train.

    The objective follows from what the source holds: texts alone are pulled apart (contrastive), NLI pairs become
    triplets, scored pairs are ranked, texts of one class attract each other. Probes on held-out texts show the cone
    opening, and the best step is kept. The tuned model loads in sentence-transformers without uncone.

    Example: uncone tune model/ texts.txt -o tuned --steps 20 --batch-size 16
    """
    check_outputs(output, sources, folders={"the model": model}, saved={"the tuned model": options.out})
    from uncone.verbs.training.tune import tune as run

    with progress_bar("") as progress:
        result = run(model, *sources, options=options, progress=progress)
    return deliver(result, output)


def ablate_layers(model: _Model, /, *, options: AblateLayersOptions, output: AblateOutput) -> int:
    """Compare layers.

    Fine-tunes the model with each layer frozen, dropped or re-initialized, the first ones frozen, and the head alone,
    with several seeds. Differences from the whole model are paired by seed and test item. Finished trainings are
    kept, so an interrupted study resumes.

    Example: uncone ablate layers model/ --task texts.csv --train 60 --epochs 1 --batch-size 16 --seeds 1
    """
    return _ablate("layers", model, options, output)


def ablate_data(model: _Model, /, *, options: AblateDataOptions, output: AblateOutput) -> int:
    """Compare draws.

    Trains the model on a balanced draw, on a second one (the control), and on a skewed one of the same size. Reports
    accuracy and recall on a balanced test, and CKA, a linear probe and isotropy for every layer.

    Example: uncone ablate data model/ --task texts.csv --train 60 --epochs 1 --batch-size 16 --seeds 1 --skew 0.8
    """
    return _ablate("data", model, options, output)


def ablate_repair(model: _Model, /, *, options: AblateRepairOptions, output: AblateOutput) -> int:
    """Compare repairs.

    Trains the model with the cluster-based repair between encoder and head: with the statistics of the batch, as
    published, with running averages, or fitted before every epoch. Reports accuracy, isotropy, and which predictions
    depend on the batch.

    Example: uncone ablate repair model/ --task texts.csv --train 60 --epochs 1 --methods none,batch/2/1
    """
    return _ablate("repair", model, options, output)


def _ablate(kind: str, model: str, options: AblateOptions, output: AblateOutput) -> int:
    tasks = getattr(options, "tasks", None) or [options.task]  # type: ignore[attr-defined]
    check_outputs(output, [*tasks, getattr(options, "against", None)], folders={"the model": model})
    from uncone.verbs.training import ablate

    def announce(line: str) -> None:
        print(f"uncone: {line}", file=sys.stderr, flush=True)  # noqa: T201 - before a long run

    with progress_bar("") as progress:
        run = getattr(ablate, f"ablate_{kind}")
        result = run(model, options=options, progress=progress, announce=announce)
    return deliver(result, output)
