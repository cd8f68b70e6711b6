"""What `layers` returns: the findings of every layer of a model on a corpus, with their renderings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uncone.backends.checkpoint import Checkpoint
from uncone.diagnosis.contrast import Contrast
from uncone.diagnosis.deep_results import Deep
from uncone.diagnosis.finding import finite
from uncone.diagnosis.layer import Layer, SentenceTable, WordTable
from uncone.diagnosis.published import Curve
from uncone.diagnosis.study_sizes import StudySize
from uncone.report.plain import json_text
from uncone.report.study_deep import deep_values

__all__ = ["STUDY_SCHEMA", "LayerComparison", "LayerStudy"]

STUDY_SCHEMA = 1
_LISTED = 25
"""Words of the JSON at either end; the whole table is a file of its own."""


class _RenderedStudy(ABC):
    """The renderings that one study and a comparison share."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[LayerStudy]:
        """The studies it is made of."""

    @property
    def contrasts(self) -> Sequence[Contrast]:
        """Differences to the first study; none when there is only one."""
        return ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The summary: plain JSON values, versioned by `schema`."""

    def to_json(self) -> str:
        """The summary as JSON text."""
        return json_text(self.to_dict())

    def to_html(self) -> str:
        """The report: one self-contained page."""
        from uncone.report.study_page import render

        return render(self.parts, self.contrasts, self.to_json())

    def to_markdown(self) -> str:
        """The curves as markdown tables."""
        from uncone.report.study_markdown import render

        return render(self.parts, self.contrasts)

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentences and the table of layers."""
        from uncone.report.study_page import notebook

        return notebook(self.parts)


@dataclass(frozen=True)
class LayerStudy(_RenderedStudy):
    """One model on one corpus, layer by layer.

    `source` says which: model, corpus, layers (with layer 0), dimensions, texts, rows and what a row is.
    `story` are sentences written from the numbers, `notes` what was left out, cut or sampled on the way; `deep` is what
    lies behind the cone, where that was asked for.
    """

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
    """The measures on parts of the texts and on all, when that was asked for; each part holds the one before."""
    run: Checkpoint | None = field(default=None, repr=False, compare=False)

    def settle(self) -> None:
        """Remove what was saved of the run, for instance when its report is written."""
        if self.run is not None:
            self.run.clear()

    @property
    def parts(self) -> Sequence[LayerStudy]:
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

    def to_dict(self) -> dict[str, Any]:
        return {"schema": STUDY_SCHEMA, **self._body()}

    def _body(self) -> dict[str, Any]:
        return {
            "source": dict(self.source),
            "story": list(self.story),
            "notes": list(self.notes),
            "layers": [
                {"layer": layer.number, "findings": {name: one.to_dict() for name, one in layer.findings.items()}}
                for layer in self.layers
            ],
            "words": [] if self.words is None else _listed(self.words),
            "published": [curve.to_dict() for curve in self.published],
            "provenance": dict(self.provenance),
            **({} if self.deep is None else {"deep": deep_values(self.deep)}),
            **({"curve": [one.to_dict() for one in self.sizes]} if self.sizes else {}),
        }

    def __repr__(self) -> str:
        """The study in a line."""
        return f"<LayerStudy of {self.name}: {len(self.layers)} layers>"


@dataclass(frozen=True)
class LayerComparison(_RenderedStudy):
    """Several studies side by side, with the differences of each to the first."""

    studies: Sequence[LayerStudy]
    differences: Sequence[Contrast]

    @property
    def parts(self) -> Sequence[LayerStudy]:
        return self.studies

    @property
    def contrasts(self) -> Sequence[Contrast]:
        return self.differences

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": STUDY_SCHEMA,
            "studies": [one._body() for one in self.studies],
            "differences": [one.to_dict() for one in self.differences],
        }


def _listed(table: WordTable) -> list[dict[str, Any]]:
    """The words asked for, those with MEV, and those at both ends of self-similarity in the last layer."""
    last = table.selfsim[:, -1]
    order = np.argsort(np.where(np.isnan(last), np.inf, last), kind="stable")[: int((~np.isnan(last)).sum())]
    chosen = {*order[:_LISTED].tolist(), *order[-_LISTED:].tolist(), *np.flatnonzero(table.mev_n).tolist()}
    chosen |= {place for word in table.asked if (place := table.place(word)) >= 0}
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
