"""`uncone calibrate`: what a score means in a space, and where to cut."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from uncone.cli.output import check_outputs, deliver
from uncone.verbs.options.calibrate import CalibrateOptions, CalibrateOutput

__all__ = ["calibrate"]


def calibrate(
    source: Annotated[
        str | None, Parameter(help="Vectors; with --model, texts. Or use --queries and --documents.")
    ] = None,
    /,
    *,
    options: CalibrateOptions,
    output: CalibrateOutput,
) -> int:
    """Find out what a score means: how many unrelated pairs reach it, where to cut, and how sure that is.

    Unrelated pairs are random pairs of the corpus. A threshold for a false-positive rate comes with its interval, or
    with the number of vectors it would need. Labeled pairs add precision, recall and probabilities. The calibration is
    saved without code, for use from Python: uncone.Calibration.load("calibration").percentile(0.75).

    Example: uncone calibrate vectors.npy --score 0.75 --corpus-size 100000
    """
    read = [source, options.background, options.queries, options.documents, options.pairs, *options.files_read]
    read += [options.document] if options.model is None else []
    folders = {"the repair": options.repair, "the old calibration": options.old, "the model": options.model}
    check_outputs(output, read, saved={"the calibration": options.save}, folders=folders)
    from uncone.cli.progress import progress_bar
    from uncone.verbs.calibrate import calibrate as run

    with progress_bar() as progress:
        return deliver(run(source, options=options, progress=progress), output)
