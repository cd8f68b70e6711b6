"""Repairs of given vectors: fitted on the vectors themselves or on others, as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from uncone.data.batch import Matrix
from uncone.data.source import Source
from uncone.errors import OptionError, ShapeError
from uncone.evaluation.methods import Fits, parse_methods, with_raw
from uncone.evaluation.spaces import Sentences, Settings
from uncone.evaluation.table import Method
from uncone.repairs.registry import make_seeded
from uncone.repairs.repair import Repair
from uncone.repairs.saving import load

__all__ = ["METHODS", "VectorFits", "vector_methods"]

METHODS = "raw,center,standardize,droptop,whiten,mute"
"""The methods by default: those that are fitted in one or two passes."""


def vector_methods(methods: str | Iterable[str | Method] | None, fit_on: Source | None) -> list[Method]:
    """The methods to try on given vectors, the raw ones first: fitted on themselves, or on `fit_on`.

    Raises:
        OptionError: a method needs a model, or other vectors to be fitted on.
    """
    protocol = "transductive" if fit_on is None else "inductive"
    listed = with_raw(parse_methods(METHODS if methods is None else methods, protocols=(protocol,)))
    for method in listed:
        if method.repair == "static":
            raise OptionError("static needs a model, because it reads the model's input embeddings: leave it out.")
        # A saved repair knows what it was fitted on.
        if method.protocol == "inductive" and fit_on is None and not method.fitted_on:
            raise OptionError(f"{method.name}@inductive needs other vectors to be fitted on. Name some with --fit-on.")
    return listed


class VectorFits(Fits):
    """The fitted repairs of a source of vectors; only the last ones are kept.

    `rows` are some of the vectors in memory, by name, which pairs are made of.
    """

    def __init__(
        self,
        source: Source,
        settings: Settings,
        *,
        fit_on: Source | None = None,
        queries: Source | None = None,
        rows: tuple[Sequence[str], Matrix] | None = None,
    ) -> None:
        names, matrix = rows or ((), np.empty((0, source.dim), np.float32))
        super().__init__(Sentences(names, matrix, {"layer": "", "pooling": ""}, ""), source.name, settings)
        self.source, self.fit_on, self.queries = source, fit_on, queries
        self._last: dict[tuple[str, bool], Repair] = {}
        self._key = ""

    def check(self, methods: Sequence[Method]) -> None:
        """Refuse saved repairs of other vectors, and vectors to fit on that are of another dimension.

        Raises:
            OtherSpaceError: there is such a repair.
            ShapeError: the dimensions differ.
        """
        if self.fit_on is not None and self.fit_on.dim != self.source.dim:
            raise ShapeError(
                f"{self.fit_on.name} has {self.fit_on.dim} dimensions and {self.source.name} has {self.source.dim}. "
                "Fit on vectors of the same model."
            )
        for method in methods:
            refusal = self.refusal(method)
            if refusal is not None:
                raise refusal

    def in_space(self, method: Method) -> Method:
        """The method with what it was fitted on."""
        fitted_on = method.fitted_on or ("" if self.fit_on is None else self.fit_on.name)
        if not method.repair:
            fitted_on = ""
        elif method.protocol == "transductive":
            fitted_on = self.source.name
            if method.sides == "separate" and self.queries is not None:
                fitted_on += f", queries on {self.queries.name}"
        protocol = method.protocol if method.repair else "raw"
        return replace(method, layer="", pooling="", level="vector", protocol=protocol, fitted_on=fitted_on)

    def repair(self, method: Method, seed: int, own: Sequence[str] = (), name: str = "") -> Repair | None:
        """The repair, fitted on all vectors, or on others if the method is inductive; None for raw vectors.

        Raises:
            RepairError: it cannot be learned from these vectors, or was saved for others.
        """
        return self.fit(method, seed) if method.repair else None

    def fit(self, method: Method, seed: int, *, queries: bool = False) -> Repair:
        """The repair of the vectors, or of the queries among them."""
        key = json.dumps([method.repair, dict(method.options), method.protocol, seed], default=str)
        if key != self._key:
            self._key, self._last = key, {}
        if (key, queries) not in self._last:
            self._last[key, queries] = self._fit(method, seed, queries)
        return self._last[key, queries]

    def _fit(self, method: Method, seed: int, queries: bool) -> Repair:
        if method.protocol != "transductive" and method.fitted_on:
            return self._load(Path(method.repair))
        source = self.queries if queries else self.source if method.protocol == "transductive" else self.fit_on
        assert source is not None
        return make_seeded(method.repair, method.options, seed).fit_source(source)

    def _load(self, folder: Path) -> Repair:
        return load(folder, dim=self.space.dim).repair
