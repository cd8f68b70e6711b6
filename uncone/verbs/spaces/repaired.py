"""Spaces and their repairs: vectors as they are, or tokens of texts that are pooled after they are repaired."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from uncone.data.batch import Matrix
from uncone.data.source import Rows, Source
from uncone.data.storage.path import path_of
from uncone.data.texts.texts import TextSource
from uncone.data.writing.atomic import check_output
from uncone.data.writing.databases.target import open_target
from uncone.data.writing.manifest import versions
from uncone.data.writing.rewrite import FOLDER, Output, Rewritten, open_output, output_suffix, rewrite
from uncone.data.writing.side_columns import files_of
from uncone.encoders.cached import CachedTexts
from uncone.encoders.encoder import Encoder, EncoderIdentity
from uncone.encoders.open import Loading, open_encoder, pooled_encoder
from uncone.encoders.pooling import Pooling
from uncone.encoders.rows.rows import LEVELS
from uncone.encoders.text_vectors import ModelTexts, RepairedTexts, TokenRows, check_weighted
from uncone.errors import DamagedRepairError, FitError, OptionError, OtherSpaceError
from uncone.repairs.repair import Mapped, Repair, level_problem
from uncone.repairs.saving import digest_of, load
from uncone.report.documents.check import Diagnosis
from uncone.run.job import Executor
from uncone.run.measure import Plan, step_progress
from uncone.run.models import sent_model
from uncone.run.shards import write_folder
from uncone.run.threads import in_order
from uncone.verbs.spaces.encoding import Encoding, Progress, encoded, encoded_like, pooling_of

__all__ = ["RepairSpace", "check_fitted", "space_like", "space_of"]


@dataclass
class RepairSpace(ABC):
    """The vectors of a fit: `rows` are fitted, `before` are the user's vectors, which may be pooled from them."""

    rows: Source
    before: Source
    encoding: Encoding | None
    """The model and how it is used, for texts."""

    @abstractmethod
    def after(self, repair: Repair) -> Source:
        """The same as `before`, repaired; equal vectors stay equal to the last digit."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """The encoder, layer, pooling and level, as they are saved with a repair."""

    def write(
        self,
        repair: Repair,
        out: str | os.PathLike[str],
        progress: Progress | None = None,
        engine: Executor | None = None,
        any_kernel: bool = False,
    ) -> Rewritten:
        """The repaired vectors as a file, or as a folder of files that an engine may write."""
        source, map_rows, dim = self._mapping(repair)
        if output_suffix(out, folder=True) != FOLDER:
            report = step_progress(progress, "rows", source.rows)
            return rewrite(source, out, map_rows, dim=dim, progress=report, each=in_order)
        identity = {"repair": digest_of(repair), **self.identity()}
        model = None
        if self.encoding is not None and (engine is not None or not isinstance(self.encoding.model, Encoder)):
            identity["batch_size"] = self.encoding.batch_size
            model = sent_model(source, self.encoding.model, self.encoding.loading or Loading())
        folder = write_folder(
            source,
            out,
            map_rows,
            dim=dim,
            model=model,
            identity=identity,
            engine=engine,
            any_kernel=any_kernel,
            progress=("rows", progress),
        )
        return folder.written

    @contextmanager
    def output(self, repair: Repair, out: str | os.PathLike[str]) -> Iterator[tuple[Source, Output]]:
        """The repaired vectors, which are written to a file while they are read for the first time."""
        source, map_rows, dim = self._mapping(repair)
        with open_output(source, out, map_rows, dim=dim, each=in_order) as output:
            yield _Teed(self.after(repair), output), output

    @abstractmethod
    def _mapping(self, repair: Repair) -> tuple[Source, Callable[[Matrix], Matrix] | None, int | None]:
        """The rows, and what makes repaired vectors of them, if they are not repaired yet."""

    def mapped(self, repair: Repair) -> Matrix:
        """The repaired vectors in memory; NaN where a row could not be used."""
        return np.concatenate([np.array(rows.vectors) for rows in self.after(repair).read()])

    def check_rereadable(self) -> None:
        """Refuse rows that a fit cannot read again.

        Raises:
            FitError: they can be read only once.
        """
        if not self.rows.rereadable:
            raise FitError(
                f"{self.rows.name} can be read only once, but a repair needs several passes. Save it to a file first."
            )

    def check_output(self, out: str | os.PathLike[str] | None) -> None:
        """Check the output before a long run.

        Raises:
            OptionError: an unknown ending, or a file that is also the input.
            OutputError: it cannot be written.
        """
        if (target := open_target(out)) is not None:
            target.check()
        elif out is not None and output_suffix(out, folder=True) != FOLDER:
            check_output(path_of(out), files_of(self.before))

    def check_fits(self, repair: Repair) -> None:
        """Refuse rows of another dimension.

        Raises:
            OtherSpaceError: they are.
        """
        if self.rows.dim != repair.n_features_in_:
            raise OtherSpaceError(
                f"The repair takes vectors of dimension {repair.n_features_in_}; these have {self.rows.dim}. Were they "
                "made by the encoder it was fitted for?"
            )
        if repair.has_weights and not isinstance(self, _Tokens):
            raise OtherSpaceError(
                f"{repair.kind} weighs the tokens of texts, and these are vectors. Apply it to texts, with --model."
            )

    def check_level(self, repair: Repair) -> None:
        """Refuse to fit a repair of tokens on vectors of texts, and to weigh tokens that are not averaged.

        Raises:
            OptionError: it needs tokens, and these are none; or their mean.
        """
        if isinstance(self, _Tokens) and repair.weighs_tokens:
            check_weighted(self.pooling)
        elif not isinstance(self, _Tokens) and (problem := level_problem(repair, of_texts=self.encoding is not None)):
            raise OptionError(problem)

    def notes(self, repair: Repair) -> list[str]:
        """Notes on decisions and problems."""
        spoiled = [f"{self.before.note}."] if self.before.unit_length else []
        return [*([repair.note_] if repair.note_ else []), *spoiled, *getattr(self.before, "notes", ())]

    def provenance(self, before: Diagnosis, plan: Plan, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - plain values
        """The inputs and settings of the fit, to reproduce it and to check the vectors it is applied to."""
        return {
            "fitted_on": before.source["name"],
            "kind": self.rows.kind,
            "n": self.rows.rows if self.rows is not self.before and self.rows.rows else before["baseline"].n,
            **self.identity(),
            **{key: value for key, value in options.items() if value is not None},
            "precision": np.dtype(plan.dtype).name,
            **versions("scikit-learn", "faiss-cpu", "torch", "transformers"),
        }


class _Teed(Source):
    """Repaired vectors on their way into a file. The first reading is that of the file, later ones repair again."""

    def __init__(self, after: Source, output: Output) -> None:
        self.after, self.output = after, output
        self.name, self.kind, self.dtype = after.name, after.kind, after.dtype
        self.dim, self.rows, self.unit_length = after.dim, after.rows, after.unit_length
        self._is_written = False

    def with_texts(self, texts: TextSource) -> Source | None:
        return self.after.with_texts(texts)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        if self._is_written:
            yield from self.after.read(start, stop)
            return
        self._is_written = True
        yield from self.output.rows
        self.random_access, self.divisible = self.after.random_access, self.after.divisible


@dataclass
class _Vectors(RepairSpace):
    """Vectors as they are: from a file, or one per text."""

    def after(self, repair: Repair) -> Source:
        return Mapped(self.rows, repair)

    def _mapping(self, repair: Repair) -> tuple[Source, Callable[[Matrix], Matrix] | None, int | None]:
        return self.rows, repair.map, repair._n_features_out

    def identity(self) -> dict[str, Any]:
        source = self.rows.source if isinstance(self.rows, CachedTexts) else self.rows
        if not isinstance(source, ModelTexts):
            return {"level": "sentence", "encoder": None}
        identity = source.identity()
        shared = {key: identity[key] for key in ("level", "layer", "pooling", "prompt")}
        normalize = identity.get("normalize", False)
        return {**shared, "normalize": normalize, "encoder": source.model, "encoder_content": identity["fingerprint"]}


@dataclass
class _Tokens(RepairSpace):
    """The tokens of texts, repaired before they are pooled."""

    texts: TextSource
    encoder: Encoder
    pooling: Pooling
    least: int = 2

    def after(self, repair: Repair) -> Source:
        assert self.encoding is not None
        settings = (repair._n_features_out, self.encoding.batch_size, self.encoding.limit, self.least)
        weigh = repair.token_weight if repair.has_weights else None
        return RepairedTexts(self.texts, self.encoder, self.pooling, repair.map, *settings, weigh=weigh)

    def _mapping(self, repair: Repair) -> tuple[Source, Callable[[Matrix], Matrix] | None, int | None]:
        return self.after(repair), None, None

    def identity(self) -> dict[str, Any]:
        encoder = {"encoder": self.encoder.name, "encoder_content": self.encoder.fingerprint()}
        return {"level": "token", **self.pooling.values, **encoder}


def space_of(source: Source | TextSource, encoding: Encoding | None = None, level: str = "sentence") -> RepairSpace:
    """The space of a source of vectors, or of texts through a model.

    Raises:
        OptionError: there is no such level, or CLS is asked for at token level.
    """
    if level not in LEVELS:
        raise OptionError(f"There is no level {level!r}; choose from {' and '.join(LEVELS)}.")
    if isinstance(source, Source):
        return _Vectors(source, source, encoding)
    assert encoding is not None
    if level == "sentence":
        vectors = encoded(source, encoding)
        return _Vectors(vectors, vectors, encoding)
    encoder, pooling = pooled_encoder(
        encoding.model, layer=encoding.layer, pooling=encoding.pooling, prompt=encoding.prompt, loading=encoding.loading
    )
    return _tokens(source, encoder, pooling, encoding)


def space_like(
    texts: TextSource, encoding: Encoding, provenance: Mapping[str, Any], repair: str | os.PathLike[str] | Repair
) -> RepairSpace:
    """The space that a saved repair was fitted on, of other texts.

    Raises:
        OtherSpaceError: the model, the layer or the pooling is another.
    """
    if not provenance.get("encoder"):  # fitted on vectors of unknown origin
        vectors = encoded(texts, encoding, least=1)
        return _Vectors(vectors, vectors, encoding)
    _check_provenance(provenance, repair)
    check_fitted(provenance, layer=encoding.layer, pooling=encoding.pooling, prompt=encoding.prompt or None)
    if provenance["level"] == "token":
        encoder = open_encoder(encoding.model, encoding.loading)
        space: RepairSpace = _tokens(texts, encoder, pooling_of(provenance, encoder.layers), encoding, least=1)
    else:
        vectors = encoded_like(texts, encoding, provenance)
        space = _Vectors(vectors, vectors, encoding)
    if not isinstance(repair, Repair):
        identity = space.identity()
        load(repair, encoder=EncoderIdentity(identity["encoder"], identity["encoder_content"]))
    return space


def check_fitted(provenance: Mapping[str, Any], **requested: str | int | None) -> None:
    """Refuse a layer, pooling or level other than that of the fit; a repair fitted on vectors has none.

    Raises:
        OtherSpaceError: it is another.
    """
    for option, value in requested.items() if provenance.get("encoder") else ():
        if value is not None and option in provenance and str(value) != str(provenance[option]):
            raise OtherSpaceError(
                f"The repair was fitted on {option} {provenance[option]}, but --{option} {value} is another "
                f"space. Leave --{option} out."
            )


def _check_provenance(provenance: Mapping[str, Any], repair: str | os.PathLike[str] | Repair) -> None:
    """Refuse provenance that does not describe the encoding of the fit: it was edited, or saved by hand."""
    forms = {"level": str, "layer": str | int, "pooling": str, "prompt": str, "normalize": bool}
    wrong = [name for name, form in forms.items() if not isinstance(provenance.get(name), form)]
    if wrong or provenance["level"] not in LEVELS:
        name = "The repair" if isinstance(repair, Repair) else os.fspath(repair)
        raise DamagedRepairError(
            f"{name} names the encoder that it was fitted for, but its {', '.join(wrong) or 'level'} cannot be read. "
            "Copy the folder again, fit it again with uncone fix, or apply it to vectors."
        )


def _tokens(texts: TextSource, encoder: Encoder, pooling: Pooling, encoding: Encoding, least: int = 2) -> RepairSpace:
    rows = TokenRows(texts, encoder, pooling, encoding.batch_size, encoding.limit)
    before = RepairedTexts(texts, encoder, pooling, None, None, encoding.batch_size, encoding.limit, least)
    return _Tokens(rows, before, encoding, texts, encoder, pooling, least)
