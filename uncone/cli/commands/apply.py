"""`uncone apply`: a saved repair on new vectors, on texts, or on one sentence."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

from cyclopts import Parameter

from uncone.cli.output import say
from uncone.errors import OptionError
from uncone.verbs.options.fix import ApplyOptions

__all__ = ["apply"]


def apply(
    repair: Annotated[str, Parameter(help="A folder that uncone fix --save has written.")],
    source: Annotated[str | None, Parameter(help="Vectors; with --model, texts. Not with --text alone.")] = None,
    /,
    *,
    options: ApplyOptions,
) -> int:
    """Apply.

    Texts are encoded in the layer and pooling that the repair was fitted on.

    Example: uncone apply repair new.npy -o new-fixed.npy
    """
    from uncone.cli.progress import progress_bar
    from uncone.verbs.fix import apply as run

    if source is None:
        return _repair_texts(repair, options)
    if options.out is None:
        raise OptionError("Say where the repaired vectors go: -o fixed.npy.")
    with progress_bar() as progress:
        done: Any = run(repair, source, options=options, progress=progress)
    lines = [f"{done.rows:,} rows of {done.dim} dimensions ({done.dtype})"]
    lines += [f"{done.unusable:,} rows that are not finite stay so"] if done.unusable else []
    lines += [f"no place for {', '.join(done.dropped)}"] if done.dropped else []
    say("".join(f"  {line}\n" for line in [*lines, f"wrote {options.out}"]))
    return 0


def _repair_texts(repair: str, options: ApplyOptions) -> int:
    """Texts from the command line: their vectors as JSON lines, or as a file."""
    texts = options.text
    if not texts:
        raise OptionError("Name what to repair: a file of vectors, or --text with --model.")
    if options.model is None:
        raise OptionError("A text needs the model that the repair was fitted for: name it with --model.")
    blank = next((text for text in texts if not text.strip()), None)
    if blank is not None:
        raise OptionError(f"--text {blank!r} is blank, and a blank text has no vector. Write a sentence.")
    from uncone.verbs.fix import apply as run

    vectors: Any = run(repair, list(texts), options=options, text=())
    if options.out is not None:
        say(f"  wrote {options.out}\n")
        return 0
    for text, vector in zip(texts, vectors.tolist(), strict=True):
        if not all(map(math.isfinite, vector)):
            raise OptionError(f"--text {text[:40]!r} has no vector: the model sees no token in it. Write a sentence.")
        say(json.dumps({"text": text, "embedding": vector}, ensure_ascii=False) + "\n")
    return 0
