"""The tables of docs/evaluate.md: four models at several layers on the seven STS sets, raw and repaired.

make tables                                   needs $UNCONE_DATA, and the models in the folder beside it
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.page import put
from uncone import evaluate
from uncone.data.demo import demo_model
from uncone.evaluation.table import EvaluationTable, Row

DOCS = Path(__file__).parents[1] / "docs" / "evaluate.md"
MODELS = {
    "bert-tiny": ("1", "2"),
    "bert-mini": ("2", "4"),
    "stories-15m": ("3", "6"),
    "all-MiniLM-L6-v2": ("0", "5", "6"),
}


def table(results: EvaluationTable) -> list[str]:
    head = [*results.datasets, "average", "vs. raw", "IsoScore"]
    lines = [f"| layer | method | {' | '.join(head)} |", f"|---|---|{'---:|' * len(head)}"]
    raw: Row | None = None
    for row in results.rows:
        raw = row if row.method.protocol == "raw" and not row.method.repair else raw
        layer = row.method.layer if raw is None else raw.method.layer  # the static mean has none of its own
        cells = []
        for cell in row.cells:
            value = "–" if cell.spearman.all is None else f"{100 * cell.spearman.all:.1f}"
            proven = cell.difference is not None and cell.difference.significant
            cells.append(value + ("*" if proven else ""))
        average = "–" if row.average is None else f"{100 * row.average:.1f}"
        comparable = row.average is not None and raw is not None and raw.average is not None and row is not raw
        gain = f"{100 * (row.average - raw.average):+.1f}" if comparable else ""  # type: ignore[operator, union-attr]
        isoscores = [cell.isoscore for cell in row.cells if cell.isoscore is not None]
        isoscore = f"{sum(isoscores) / len(isoscores):.2f}" if isoscores else "–"
        lines.append(f"| {layer} | {row.method.name} | {' | '.join(cells)} | {average} | {gain} | {isoscore} |")
    return lines


def main() -> None:
    if not os.environ.get("UNCONE_DATA"):
        print("benchmarks.evaluations needs the datasets: set UNCONE_DATA.")
        return
    models = Path(os.environ["UNCONE_DATA"]).parent / "models"
    parts = []
    for name, layers in MODELS.items():
        model = demo_model() if name.startswith("all-MiniLM") else models / name
        results = evaluate(model, layer=list(layers), pooling="mean", fit_on="train", gmm=False, seeds=1).table
        parts += [f"**{name}**", "", *table(results), ""]
        print("\n".join(parts[-len(results.rows) - 6 :]), file=sys.stderr, flush=True)
    put("\n".join(parts), "tables", DOCS)


if __name__ == "__main__":
    main()
