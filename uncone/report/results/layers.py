"""The results of `layers`: the findings of every layer of a model on a corpus, and comparisons of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from uncone.analysis.layers.contrast import Contrast, Curve
from uncone.analysis.layers.deep_results import Deep, Dimension
from uncone.analysis.layers.layer import Layer, SentenceTable, StudySize, WordTable
from uncone.analysis.measures.finding import finite
from uncone.report.result import Result, json_values
from uncone.run.checkpoint import Checkpoint

__all__ = ["LARGE_FIELDS", "LayerComparison", "LayerStudy"]

_WORDS = 25
"""Words of the JSON at either end; the whole table is a file of its own."""
LARGE_FIELDS = {"labels", "points", "points_rows", "points_positions", "path", "shown", "logs", "facts", "rows"}
"""Fields of deep results that hold a number per vector: charts are drawn from them, JSON leaves them out."""


@dataclass(frozen=True)
class LayerStudy(Result):
    """One model on one corpus, layer by layer.

    `source` says which: model, corpus, layers (with layer 0), dimensions, texts, rows and what a row is.
    `story` holds sentences written from the numbers, `notes` what was left out, cut or sampled; `deep` holds what
    `--deep` found behind the cone.
    """

    _module: ClassVar[str] = "layers"

    source: Mapping[str, Any]
    layers: Sequence[Layer]
    words: WordTable | None
    sentences: SentenceTable | None
    story: Sequence[str]
    notes: Sequence[str]
    provenance: Mapping[str, Any]
    published: Sequence[Curve] = field(default_factory=tuple)
    deep: Deep | None = None
    sizes: Sequence[StudySize] = field(default_factory=tuple)
    """With `--curve`, the measures on parts of the texts and on all of them; each part holds the one before."""
    run: Checkpoint | None = field(default=None, repr=False, compare=False)

    def settle(self) -> None:
        """Remove the saved state of the run, for instance when its report is written."""
        if self.run is not None:
            self.run.clear()

    @property
    def parts(self) -> Sequence[LayerStudy]:
        """The studies it is made of: itself."""
        return [self]

    @property
    def name(self) -> str:
        """The model on the corpus, in short."""
        model, corpus = (str(self.source[key]).rstrip("/").rsplit("/", 1)[-1] for key in ("model", "corpus"))
        return f"{model} on {corpus}"

    def __getitem__(self, layer: int) -> Layer:
        """A layer; negative numbers count from the end."""
        return self.layers[layer]

    def curve(self, name: str) -> list[float | None]:
        """A measure at every layer."""
        return [finite(layer.value(name)) for layer in self.layers]

    def _values(self) -> dict[str, Any]:
        return {
            "source": dict(self.source),
            "story": list(self.story),
            "notes": list(self.notes),
            "layers": [
                {"layer": layer.number, "findings": {name: one.to_dict() for name, one in layer.findings.items()}}
                for layer in self.layers
            ],
            "words": [] if self.words is None else _word_values(self.words),
            "published": [curve.to_dict() for curve in self.published],
            "provenance": dict(self.provenance),
            **({} if self.deep is None else {"deep": _deep_values(self.deep)}),
            **({"curve": [one.to_dict() for one in self.sizes]} if self.sizes else {}),
        }

    def __repr__(self) -> str:
        """The study in a line."""
        return f"<LayerStudy of {self.name}: {len(self.layers)} layers>"


@dataclass(frozen=True)
class LayerComparison(Result):
    """Several studies side by side, with the differences of each to the first."""

    _module: ClassVar[str] = "layers"

    studies: Sequence[LayerStudy]
    differences: Sequence[Contrast]

    @property
    def parts(self) -> Sequence[LayerStudy]:
        """The studies."""
        return self.studies

    def _values(self) -> dict[str, Any]:
        return {
            "studies": [one._values() for one in self.studies],
            "differences": [one.to_dict() for one in self.differences],
        }


def _word_values(table: WordTable) -> list[dict[str, Any]]:
    """The words that the user named, those with MEV, and those at both ends of self-similarity in the last layer."""
    last = table.selfsim[:, -1]
    order = np.argsort(np.where(np.isnan(last), np.inf, last), kind="stable")[: int((~np.isnan(last)).sum())]
    chosen = {*order[:_WORDS].tolist(), *order[-_WORDS:].tolist(), *np.flatnonzero(table.mev_n).tolist()}
    chosen |= {place for word in table.named if (place := table.place(word)) >= 0}
    return [
        {
            "word": table.words[i],
            "kind": table.kinds[i],
            "count": int(table.counts[i]),
            "contexts": int(table.contexts[i]),
            "selfsim": finite(table.selfsim[i].tolist()),
            "mev": finite(table.mev[i].tolist()),
            "mev_n": int(table.mev_n[i]),
        }
        for i in sorted(chosen)
    ]


def _deep_values(value: Any) -> Any:  # noqa: ANN401 - whatever the deep results are made of
    """Deep results as plain JSON values under the names of their fields, without what holds a number per vector."""
    if is_dataclass(value):
        parts = ((one.name, getattr(value, one.name)) for one in fields(value) if one.name not in LARGE_FIELDS)
        values = {name.rstrip("_"): _deep_values(part) for name, part in parts}
        return {**values, "paper": value.paper} if isinstance(value, Dimension) else values
    if isinstance(value, Mapping):
        return {str(key): _deep_values(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_deep_values(part) for part in value]
    return json_values(value)
