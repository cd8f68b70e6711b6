"""When does a repair help? The grid of docs/advice.md, and the records of the rules: `make bench`.

    UNCONE_DATA=DIR python -m benchmarks.advice                            the shared models
    UNCONE_DATA=DIR python -m benchmarks.advice --models DIR               and the models of a folder
    UNCONE_DATA=DIR python -m benchmarks.advice --cap 100 --only bert-tiny smaller

Every layer of every model, ten tasks, seven repairs that were fitted without labels on the task's own texts or on
others. A cell is the gain of a repair over the raw vectors, in points: it is good from 1 on, and harm from -0.5 down.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.page import put
from benchmarks.records import NAMES, Cell, cases, records, refitted_table, repairs_table, scatter, summary
from benchmarks.spaces import Layer, Task, distinct, layers, model_folders, other_texts, tasks
from uncone.analysis.advice import rules
from uncone.analysis.advice.witness import WordPairs, word_pairs
from uncone.analysis.cosine.units import unit_rows
from uncone.data.batch import Matrix
from uncone.data.texts.diverse import DIVERSE
from uncone.errors import FitError
from uncone.evaluation.prescribe import fit_all
from uncone.evaluation.table import Method
from uncone.repairs.repair import Repair

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "advice.md"
SMALL = 1_000
"""Pairs of a task below which a run is a trial: it prints, but changes neither page nor records."""


@dataclass(frozen=True)
class Texts:
    """The texts of the grid: the tasks with the words that their texts share, other texts, and diverse ones."""

    tasks: Sequence[Task]
    words: Mapping[str, WordPairs]
    others: Sequence[str]
    diverse: Sequence[str]

    @classmethod
    def drawn(cls, cap: int) -> Texts:
        own = tasks(cap)
        return cls(
            own,
            {task.name: word_pairs(task.own) for task in own},
            other_texts(3 * cap // 2),
            DIVERSE.read_text(encoding="utf-8").splitlines(),
        )

    @property
    def all(self) -> list[str]:
        return distinct(*(task.texts for task in self.tasks), self.others)


def candidates(dim: int) -> list[Method]:
    tops = [(f"droptop {k}", "droptop", {"k": k}) for k in (1, 3, 7, 15)]
    listed: list[tuple[str, str, dict[str, Any]]] = [("center", "center", {}), *tops]
    listed += [("whiten", "whiten", {}), ("whiten to d/2", "whiten", {"dim": dim // 2})]
    return [Method(name, kind, options) for name, kind, options in listed]


def baseline(vectors: Matrix) -> float:
    """The mean cosine of all pairs of distinct rows."""
    units = unit_rows(usable(vectors)).astype(np.float64)
    n = len(units)
    return float((np.square(units.sum(axis=0)).sum() - n) / (n * (n - 1)))


def usable(vectors: Matrix) -> Matrix:
    return vectors[np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)]


def spread(vectors: Matrix) -> float:
    """The share of the directions that carry 95 % of the variance."""
    values = np.linalg.eigvalsh(np.cov(usable(vectors).T.astype(np.float64)))[::-1].cumsum()
    return float((np.searchsorted(values, 0.95 * values[-1]) + 1) / len(values))


def cells(layer: Layer, texts: Texts, diverse: float) -> Iterator[Cell]:
    methods = candidates(layer.matrix.shape[1])
    foreign = fit_all(methods, usable(layer.vectors(texts.others)), seed=0)
    for task in texts.tasks:
        vectors, words = layer.vectors(task.own), texts.words[task.name]
        level, share, raw, before = (
            baseline(vectors),
            spread(vectors),
            task.score(layer.vectors),
            agreement(words, vectors),
        )
        for fitted, repairs in (("own", fit_all(methods, usable(vectors), seed=0)), ("others", foreign)):
            for method, repair in zip(methods, repairs, strict=True):
                if isinstance(repair, FitError):
                    print(f"{layer.model} {layer.name} {task.name} {method.name}: {repair}", file=sys.stderr)
                    continue
                mapped = repaired(layer, repair, task.texts)
                named = fitted == "own" and method.name in NAMES.values()
                after = agreement(words, mapped.vectors(task.own)) if named else None
                change = None if before is None or after is None else after - before
                place = (layer.model, layer.name, layer.last, task.name, task.use, method.name, fitted)
                yield Cell(*place, level, diverse, share, raw, task.score(mapped.vectors) - raw, change)


def repaired(layer: Layer, repair: Repair, texts: Sequence[str]) -> Layer:
    vectors = layer.vectors(texts)
    rows = np.full((len(texts), repair._n_features_out), np.nan, np.float32)
    finite = np.isfinite(vectors).all(axis=1)
    rows[finite] = repair.map(vectors[finite])
    return Layer(layer.model, layer.name, {text: row for row, text in enumerate(texts)}, rows, layer.last)


def agreement(pairs: WordPairs, vectors: Matrix) -> float | None:
    return pairs.agreement(vectors, replicates=2).value


def grid(texts: Texts, folders: Mapping[str, Path], cache: Path | None, only: Sequence[str]) -> list[Cell]:
    results: list[Cell] = []
    for name, folder in folders.items():
        if only and name not in only:
            continue
        start = time.perf_counter()
        diverse = {layer.name: baseline(layer.matrix) for layer in layers(name, folder, texts.diverse, cache)}
        for layer in layers(name, folder, texts.all, cache):
            results += cells(layer, texts, diverse[layer.name])
            print(f"{name} {layer.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return results


def write_records(results: Sequence[Cell]) -> None:
    """The records that the rules of the package read."""
    by_rule = {
        name: {use: record.to_dict() for use, record in by_use.items()}
        for name, by_use in records(cases(results)).items()
    }
    text = json.dumps({"models": list(dict.fromkeys(cell.model for cell in results)), "rules": by_rule}, indent=2)
    (ROOT / "uncone" / "analysis" / "advice" / "records.json").write_text(text + "\n")
    rules.stored_records.cache_clear()


def draw(results: Sequence[Cell]) -> None:
    """The scatter of the page."""
    from uncone.report.charts.matplotlib import draw as pictures

    folder = PAGE.parent / "advice"
    folder.mkdir(exist_ok=True)
    data = next(data for ending, data in pictures(scatter(cases(results))).items() if ending == "svg")
    path = folder / "droptop.svg"
    path.write_bytes(data) if isinstance(data, bytes) else path.write_text(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, help="folder with further models")
    parser.add_argument("--only", default="", help="names of models, with commas")
    parser.add_argument("--cap", type=int, default=2_000, help="most pairs of a task")
    parser.add_argument("--cache", type=Path, help="folder that keeps the vectors of texts")
    parser.add_argument("--cells", type=Path, help="read the cells of an earlier run, or write them there")
    arguments = parser.parse_args()
    start = time.perf_counter()
    if arguments.cells is not None and arguments.cells.is_file():
        results = [Cell(**cell) for cell in json.loads(arguments.cells.read_text())]
    else:
        only = [name for name in arguments.only.split(",") if name]
        results = grid(Texts.drawn(arguments.cap), model_folders(arguments.models), arguments.cache, only)
    if arguments.cells is not None:
        arguments.cells.write_text(json.dumps([asdict(cell) for cell in results]))
    own = cases(results)
    parts = {
        "advice summary": f"{len(results):,} cells; {len(own):,} cases, a task at a layer each.\n\n{summary(own)}",
        "advice refitted": refitted_table(own),
        "advice repairs": repairs_table(results),
    }
    for text in parts.values():
        print(text, end="\n\n")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    if arguments.only or arguments.cap < SMALL:
        return
    write_records(results)
    for mark, text in parts.items():
        put(text, mark, PAGE)
    draw(results)


if __name__ == "__main__":
    main()
