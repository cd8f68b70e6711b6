"""`uncone fix`: fit a repair, look at the space before and after it, write the repair and the repaired vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from uncone.cli.output import check_outputs, deliver, printed, say
from uncone.verbs.options.fix import FixOptions, FixOutput, PrescribeOptions

if TYPE_CHECKING:
    from uncone.evaluation.prescription import Prescription

__all__ = ["fix"]


def fix(
    source: Annotated[str, Parameter(help="Vectors; with --model, texts.")],
    /,
    *,
    method: Annotated[
        str,
        Parameter(
            help="center, standardize, droptop, whiten, mute, clustered, flow or normalize; several joined by commas "
            "are applied one after the other. auto tries them on --pairs and takes the best, or none.",
            allow_leading_hyphen=True,
        ),
    ],
    options: FixOptions,
    output: FixOutput,
) -> int:
    """Repair.

    The repair is fitted as a stream, compared before and after, and saved without code, so that `uncone apply` can use
    it on other vectors. Re-index your documents and apply the same repair to queries.

    Example: uncone fix vectors.npy --method droptop -o fixed.npy --save repair
    """
    outs = [("-o", options.out)]
    check_outputs(output, [source, options.pairs, *options.files_read], others=outs, saved={"the repair": options.save})
    options.check_choice(method)
    from uncone.cli.progress import progress_bar
    from uncone.verbs.fix import fix as run

    if method == "auto":
        with progress_bar("fits") as progress:
            advice = _choose(source, options.cast(PrescribeOptions, progress=progress, replicates=None))
        if not _report(advice, output) or advice.recommended is None:
            return 0
        chosen = advice.recommended
        others = {"prescription": advice, "others": dict(chosen.options), "pairs": None, "left": None, "right": None}
        method, options = chosen.repair, options.cast(FixOptions, **others, score=None)
    with progress_bar() as progress:
        return deliver(run(source, method, options=options, progress=progress), output)


def _choose(source: str, options: PrescribeOptions) -> Prescription:
    from uncone.verbs.evaluate import prescribe

    return prescribe(source, options=options)


def _report(advice: Prescription, output: FixOutput) -> bool:
    """Print the advice; if it is to leave the space alone, that is the report."""
    from uncone.report.documents.prescribe import Prescribed

    result, has_repair = Prescribed(advice), advice.recommended is not None
    if not has_repair:
        deliver(result, output)
    if output.json != "-":
        say(f"{printed(result, [])}\n" if has_repair else "  No repair and no vectors were written.\n")
    return has_repair
