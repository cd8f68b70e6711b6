"""Commands that write vectors and repairs: encode, fix, apply, export."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from uncone.cli.output import check_outputs, deliver, printed, progress_bar, say
from uncone.data.vectors.databases.url import without_secrets
from uncone.errors import OptionError
from uncone.verbs.options.encode import EncodeOptions
from uncone.verbs.options.fix import ApplyOptions, ExportOptions, FixOptions, FixOutput, PrescribeOptions

if TYPE_CHECKING:
    from uncone.evaluation.advised import Advised
    from uncone.evaluation.prescription import Prescription

__all__ = ["apply", "encode", "export", "fix"]


def encode(
    texts: Annotated[str, Parameter(help="Texts: .txt, .csv, .tsv, .jsonl, .parquet, a folder, a named corpus, or -.")],
    /,
    *,
    options: EncodeOptions,
) -> int:
    """Encode.

    Texts, labels, ids and other columns are copied along. The file appears only when it is complete. To resume an
    interrupted run, run the same command again: the result is the same, byte for byte.

    Example: uncone encode texts.csv --model sentence-transformers/all-MiniLM-L6-v2 -o vectors.parquet
    """
    from uncone.verbs.encode import encode as run

    with progress_bar("texts") as progress:
        result = run(texts, options=options, progress=progress)
    say("".join(f"  {line}\n" for line in str(result).splitlines()))
    return 0


def fix(
    source: Annotated[str, Parameter(help="Vectors; with --model, texts.")],
    /,
    *,
    method: Annotated[
        str,
        Parameter(
            help="center, standardize, droptop, whiten, zipf, sif, mute, clustered, flow or normalize; several, with "
            "commas, are applied in order. auto tries them on --pairs and uses the best, or none; without pairs, it "
            "follows a rule with a measured record.",
            allow_leading_hyphen=True,
        ),
    ],
    options: FixOptions,
    output: FixOutput,
) -> int:
    """Repair.

    Fits the repair in a stream, compares the space before and after, and saves the repair for `uncone apply`; a saved
    repair contains no code. Re-index your documents and apply the same repair to queries.

    Example: uncone fix vectors.npy --method droptop -o fixed.npy --save repair
    """
    outs = [("-o", options.out)]
    check_outputs(output, [source, options.pairs, *options.files_read], others=outs, saved={"the repair": options.save})
    options.check_choice(method)
    from uncone.verbs.fix import fix as run

    if method == "auto":
        with progress_bar("fits") as progress:
            advice = _choose(source, options.cast(PrescribeOptions, progress=progress, replicates=None))
        if not _report(advice, output) or advice.recommended is None:
            return 0
        choice = advice.recommended
        others = {"prescription": advice, "others": dict(choice.options), "pairs": None, "left": None, "right": None}
        method, options = choice.repair, options.cast(FixOptions, **others, score=None)
    with progress_bar() as progress:
        return deliver(run(source, method, options=options, progress=progress), output)


def _choose(source: str, options: PrescribeOptions) -> Prescription | Advised:
    from uncone.verbs.evaluate import prescribe

    return prescribe(source, options=options)


def _report(advice: Prescription | Advised, output: FixOutput) -> bool:
    """Print the advice; if it is to leave the space alone, that is the report."""
    from uncone.evaluation.advised import Advised as WithoutPairs
    from uncone.report.documents.advice import ByRule
    from uncone.report.documents.fix import Prescribed

    result = ByRule(advice) if isinstance(advice, WithoutPairs) else Prescribed(advice)
    has_repair = advice.recommended is not None
    if not has_repair:
        deliver(result, output)
    if output.json != "-":
        say(f"{printed(result, [])}\n" if has_repair else "  No repair and no vectors were written.\n")
    return has_repair


def apply(
    repair: Annotated[str, Parameter(help="Folder written by uncone fix --save.")],
    source: Annotated[
        str | None, Parameter(help="Vectors; with --model, texts. Leave it out to repair a --text.")
    ] = None,
    /,
    *,
    options: ApplyOptions,
) -> int:
    """Apply.

    Texts are encoded with the layer and pooling that the repair was fitted on.

    Example: uncone apply repair new.npy -o new-fixed.npy
    """
    from uncone.verbs.fix import apply as run

    if source is None:
        return _repair_texts(repair, options)
    if options.out is None:
        raise OptionError("Name a file for the repaired vectors: -o fixed.npy.")
    with progress_bar() as progress:
        result: Any = run(repair, source, options=options, progress=progress)
    lines = [f"{result.rows:,} vectors of {result.dim} dimensions ({result.dtype})"]
    lines += [f"{result.unusable:,} vectors could not be repaired and are NaN"] if result.unusable else []
    lines += [f"this format cannot store {', '.join(result.dropped)}"] if result.dropped else []
    lines += [result.note] if result.note else []
    say("".join(f"  {line}\n" for line in [*lines, f"wrote {without_secrets(os.fspath(options.out))}"]))
    return 0


def _repair_texts(repair: str, options: ApplyOptions) -> int:
    """Texts from the command line: their vectors as JSON lines, or as a file."""
    texts = options.text
    if not texts:
        raise OptionError("Nothing to repair: name a file of vectors, or use --text with --model.")
    if options.model is None:
        raise OptionError("--text needs --model: the model that the repair was fitted for.")
    blank = next((text for text in texts if not text.strip()), None)
    if blank is not None:
        raise OptionError(f"--text {blank!r} is blank: a blank text has no vector.")
    from uncone.verbs.fix import apply as run

    vectors: Any = run(repair, list(texts), options=options, text=())
    if options.out is not None:
        say(f"  wrote {without_secrets(os.fspath(options.out))}\n")
        return 0
    for text, vector in zip(texts, vectors.tolist(), strict=True):
        if not all(map(math.isfinite, vector)):
            raise OptionError(f"--text {text[:40]!r} has no vector: the tokenizer finds no token in it.")
        say(json.dumps({"text": text, "embedding": vector}, ensure_ascii=False) + "\n")
    return 0


def export(
    repair: Annotated[str, Parameter(help="Folder written by uncone fix --save.")],
    /,
    *,
    to: Annotated[str, Parameter(help="Target: sentence-transformers, onnx, faiss, numpy or sql.")],
    out: Annotated[Path, Parameter(name=["--out", "-o"], help="Output folder; for onnx and faiss, a file.")],
    options: ExportOptions,
) -> int:
    """Export.

    Every export is verified against the repair on random vectors before it is kept.

    Example: uncone export repair --to numpy -o plain
    """
    from uncone.verbs.fix import export as run

    result = run(repair, to, out, options=options)
    for note in result.notes:
        print(f"uncone: note: {note}", file=sys.stderr)  # noqa: T201 - beside what is written
    say("".join(f"  wrote {path}\n" for path in result.paths))
    return 0
