"""The tables of docs/training.md: tuning beside the best repair, and the three ablations.

make tables                                   needs $UNCONE_DATA, and the models in the folder beside it

Finished trainings are kept in the user's cache, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.page import put
from uncone import DataAblation, LayerAblation, RepairAblation, Tuned, ablate_data, ablate_layers, ablate_repair, tune

DOCS = Path(__file__).parents[1] / "docs" / "training.md"
TEXTS = ("snli", "snli:test", "stsb:train", "wikitext2", "wikitext2:test")
RUNS = {
    "contrastive": (TEXTS, {"objective": "contrastive", "scale": 10.0, "steps": 150}),
    "contrastive, 600 steps": (TEXTS, {"objective": "contrastive", "scale": 10.0, "steps": 600}),
    "nli": (("snli", "snli:test"), {"steps": 150}),
    "scored": (("stsb:train",), {"steps": 180}),
}


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    names = list(heads)
    lines = [f"| {' | '.join(names)} |", f"|---|{'---:|' * (len(names) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def points(value: float | None, sign: str = "") -> str:
    return "–" if value is None else f"{100 * value:{sign}.1f}"


def tuned(results: Iterable[tuple[str, str, Tuned]]) -> str:
    rows = []
    for model, name, result in results:
        assert result.comparison is not None and result.repair is not None
        by_name = {row.method.name: row for row in result.comparison.table.rows}
        untuned, repaired, own = by_name["untuned"], by_name[f"untuned, {result.repair.name}"], by_name["tuned"]
        gain = own.difference
        assert gain is not None
        bounds = f"{points(gain.low, '+')} to {points(gain.high, '+')}"
        cosines = f"{result.first.baseline:.2f} → {result.last.baseline:.2f}"
        isoscores = f"{result.first.isoscore:.2f} → {result.last.isoscore:.2f}"
        times = f"{result.training.seconds:.0f} / {max(result.repair.seconds, 1):.0f}"
        scores = [points(row.average) for row in (untuned, repaired, own)]
        rows.append([model, name, cosines, isoscores, scores[0], scores[1], scores[2], bounds, times])
    heads = [
        "model",
        "trained on",
        "random cosine",
        "IsoScore",
        "untuned",
        "best repair",
        "tuned",
        "gain",
        "seconds, tuning / repair",
    ]
    return table(heads, rows)


def layers(result: LayerAblation) -> str:
    rows = []
    for row in result.study.rows:
        gain = row.score.difference
        text = ""
        if gain is not None:
            star = "*" if gain.significant else ""
            text = f"{points(gain.value, '+')}{star} ({points(gain.low, '+')} to {points(gain.high, '+')})"
        traces = [row.trace(name) for name in ("selfsim", "intrasim")]
        cells = ["–" if value is None else f"{value:.2f}" for value in traces]
        rows.append([row.variant.name, points(row.score.accuracy.value), text, *cells])
    return table(["variant", "accuracy", "difference", "SelfSim", "IntraSim"], rows)


def titled(model: str, text: str) -> str:
    return f"{Path(model).name}:\n\n{text}"


def data(result: DataAblation) -> str:
    study = result.study
    parts = []
    for name, score in study.accuracies.items():
        recalls = [points(study.recalls[name][label]) for label in study.classes]
        parts.append([name, points(score.accuracy.value), *recalls])
    heads = ["trained on", "accuracy", *(f"recall of {label}" for label in study.classes)]
    blocks = [table(heads, parts)] if parts else []
    for objective in dict.fromkeys(run.objective for run in study.runs):
        rows = []
        for measure in ("cka", "probe", "baseline", "isoscore"):
            for draw in ("balanced", "control", "skewed"):
                values = study.curve(objective, draw, measure)
                if any(value is not None for value in values):
                    rows.append([f"{measure}, {draw}", *("–" if v is None else f"{v:.2f}" for v in values)])
        blocks.append(f"Layers, {objective}:")
        blocks.append(table(["layer", *(str(layer) for layer in range(len(rows[0]) - 1))], rows))
    return "\n\n".join(blocks)


def repair(results: Iterable[RepairAblation]) -> str:
    rows = []
    for model, task in ((Path(result.model).name, task) for result in results for task in result.tasks):
        for row in task.rows:
            gain = row.difference
            text = (
                ""
                if gain is None
                else f"{points(gain.value, '+')} ({points(gain.low, '+')} to {points(gain.high, '+')})"
            )
            isotropy = f"{10**row.log10_isotropy:.1g}"
            moved = [f"{100 * value:.0f} %" for value in (row.moved, row.moved_alone)]
            rows.append([model, task.task, row.method, points(row.accuracy.value), text, isotropy, *moved])
    heads = ["model", "task", "mode/k/p", "accuracy", "difference", "I(W)", "change in other batches", "change alone"]
    return table(heads, rows)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    if not os.environ.get("UNCONE_DATA"):
        print("benchmarks.training needs the datasets: set UNCONE_DATA.")
        return
    parts = sys.argv[1:] or ["data", "repair", "layers", "tuning"]
    models = Path(os.environ["UNCONE_DATA"]).parent / "models"
    tiny, mini = models / "bert-tiny", models / "bert-mini"
    if "data" in parts:
        heads = [
            ablate_data(model, task="sst2", lr=3e-4, objectives=["classify"], announce=say) for model in (tiny, mini)
        ]
        views = ablate_data(mini, task="sst2", lr=3e-4, objectives=["contrastive"], seeds=1, announce=say)
        put("\n\n".join(titled(each.model, data(each)) for each in (*heads, views)), "data", DOCS)
    if "repair" in parts:
        few = ["none", "batch/1/0", "batch/3/2", "running/1/0", "frozen/3/2"]
        results = [
            ablate_repair(tiny, tasks=["sst2:dev"], methods=few, announce=say),
            ablate_repair(mini, tasks=["sst2:dev"], announce=say),
            ablate_repair(mini, tasks=["rte"], methods=few, train=2490, seeds=3, announce=say),
        ]
        put(repair(results), "repair", DOCS)
    if "layers" in parts:
        studies = [ablate_layers(model, task="sst2:dev+test", announce=say) for model in (tiny, mini)]
        put("\n\n".join(titled(each.model, layers(each)) for each in studies), "layers", DOCS)
    if "tuning" in parts:
        results = []
        with tempfile.TemporaryDirectory() as folder:
            for model in ("bert-tiny", "bert-mini"):
                for place, (name, (sources, options)) in enumerate(RUNS.items()):
                    if model == "bert-mini" and options["steps"] > 200:
                        continue  # a quarter of an hour, for the same lesson
                    out = Path(folder) / f"{model}-{place}"
                    result = tune(models / model, *sources, out=out, max_length=32, dev="stsb", **options)
                    results.append((model, name, result))
                    say(f"{model} {name}: {result.headline} {' '.join(result.lines())}")
        put(tuned(results), "tuning", DOCS)


if __name__ == "__main__":
    main()
