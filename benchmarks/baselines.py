"""The tables of docs/layers.md: real models on real corpora, by layer. Needs $UNCONE_DATA and the models beside it."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.page import put
from uncone import layers
from uncone.data.demo import demo_model
from uncone.encoders.open import open_encoder
from uncone.report.documents.layers import LayerStudy

MEASURES = {
    "baseline": "Anisotropy baseline: mean cosine of two words from different sentences",
    "selfsim_adjusted": "Self-similarity of words, minus the baseline",
    "intrasim_adjusted_matched": "Intra-sentence similarity, minus that of as many unrelated words",
    "isoscore_corrected": "IsoScore, corrected for the number of rows",
}
PAGE = Path(__file__).parents[1] / "docs" / "layers.md"


def studies() -> list[tuple[str, str, LayerStudy]]:
    models = Path(os.environ["UNCONE_DATA"]).parent / "models"
    folders = {name: models / name for name in ("bert-tiny", "bert-mini", "stories-15m")}
    results = []
    for name, folder in {**folders, "all-MiniLM-L6-v2": demo_model()}.items():
        encoder = open_encoder(folder)
        for corpus in ("snli", "wikitext2"):
            results.append((name, corpus, layers(encoder, corpus)))
            if name == "stories-15m":
                special = layers(encoder, corpus, rows="tokens", special=True)
                results.append((f"{name}, `--rows tokens --special`", corpus, special))
    return results


def table(results: list[tuple[str, str, LayerStudy]], measure: str) -> str:
    most = max(len(study.layers) for _, _, study in results)
    lines = ["| model | corpus | " + " | ".join(f"layer {i}" for i in range(most)) + " |", "|---" * (most + 2) + "|"]
    for name, corpus, study in results:
        cells = []
        for layer in study.layers:
            finding = layer.findings[measure]
            cells.append("–" if finding.value is None else f"{finding.value:.3f}")
        lines.append(f"| {name} | {corpus} | " + " | ".join(cells + [""] * (most - len(cells))) + " |")
    return "\n".join(lines)


def main() -> None:
    results = studies()
    parts = [f"{title}:\n\n{table(results, name)}" for name, title in MEASURES.items()]
    sizes = "; ".join(
        f"{corpus} {study.source['texts']:,} texts" for name, corpus, study in results if name == "bert-tiny"
    )
    text = "\n\n".join([f"Seed 0, all texts ({sizes}), words as rows unless said.", *parts])
    print(text)
    put(text, "tables", PAGE)


if __name__ == "__main__":
    main()
