"""Commands that train: `tune` and the three kinds of `ablate`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from uncone.cli.output import check_outputs, deliver, progress_bar
from uncone.verbs.options.tune import TuneOptions, TuneOutput

__all__ = ["tune"]


def tune(
    model: Annotated[str, Parameter(help="A model folder, or a name on the Hugging Face hub.")],
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
