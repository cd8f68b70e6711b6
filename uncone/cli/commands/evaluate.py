"""`uncone evaluate`: the tables of the literature for any model, raw and repaired, with intervals."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from uncone.cli.output import check_outputs, deliver, printed, say
from uncone.verbs.options.evaluate import EvaluateOptions, EvaluateOutput

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[str, Parameter(help="A model folder, a name on the hub, or a file of word vectors.")],
    /,
    *,
    options: EvaluateOptions,
    output: EvaluateOutput,
) -> int:
    """Evaluate.

    Example: uncone evaluate model/ --dataset pairs.csv --methods raw
    """
    # A task is read from what follows its colon.
    files = [*options.tasks, *(task.partition(":")[2] for task in options.tasks)]
    check_outputs(output, [model, options.fit_on, *(options.datasets or ()), *options.methods, *filter(None, files)])
    from uncone.cli.progress import progress_bar
    from uncone.verbs.evaluate import evaluate as run

    if output.suite is not None or output.out is not None:
        return _suite(model, options, output)
    with progress_bar("done") as progress:
        result = run(model, options=options, progress=progress)
    return deliver(result, output, {} if output.csv is None else {output.csv: result.to_csv()})


def _suite(model: str, options: EvaluateOptions, output: EvaluateOutput) -> int:
    """Every table of the papers, one after the other."""
    output.check_suite(options)
    assert output.out is not None
    from uncone.cli.progress import progress_bar
    from uncone.verbs.evaluate import reproduce

    with progress_bar("done") as progress:
        for table, result in reproduce(model, output.out, options=options, progress=progress):
            say(f"{table.title}\n{table.source}\n\n")
            if result is None:
                say(f"  was made before: {output.out / table.name}.html\n\n")
            else:
                say(printed(result, [output.out / f"{table.name}.html"]) + "\n")
    return 0
