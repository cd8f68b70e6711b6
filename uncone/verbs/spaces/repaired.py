"""Spaces and their repairs: vectors as they are, or tokens of texts that are pooled after they are repaired."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from uncone.analysis.number_format import count
from uncone.data.batch import Matrix
from uncone.data.lazy_property import once
from uncone.data.open import open_source, suffix_of
from uncone.data.source import Options, Rows, Source
from uncone.data.storage.path import ObjectPath, path_of
from uncone.data.texts.texts import ListTexts, TextSource, text_suffix
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
from uncone.errors import DamagedRepairError, FitError, OptionError, OtherSpaceError, SourceError
from uncone.repairs.repair import Mapped, Repair, level_problem
from uncone.repairs.saving import Saved, digest_of, load
from uncone.report.documents.check import Diagnosis
from uncone.run.job import Executor
from uncone.run.measure import Plan, step_progress
from uncone.run.models import sent_model
from uncone.run.shards import write_folder
from uncone.run.threads import in_order
from uncone.verbs.options.shared import SpaceOptions
from uncone.verbs.spaces.encoding import Encoding, Progress, encoded, encoded_like, open_texts_of, pooling_of

__all__ = ["RepairSpace", "SpaceOpener", "check_fitted", "last_part", "space_like", "space_of"]

_WITH_COLUMNS = {".npz", ".parquet", ".jsonl", ".ndjson", ".csv", ".tsv"}


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


@dataclass(frozen=True)
class SpaceOpener:
    """Opens sources by their options, through a repair if there is one, and queries with their own prompt."""

    options: SpaceOptions
    repair: str | os.PathLike[str] | None = None
    query_prompt: str | None = None

    @once
    def saved(self) -> Saved | None:
        """The repair."""
        return None if self.repair is None else load(self.repair)

    @once
    def encoding(self) -> Encoding | None:
        """The model and how it is used; None for vectors."""
        return self.options.encoding

    def space(self, source: Any, *, query: bool = False, least: int = 2) -> tuple[Source, dict[str, Any]]:  # noqa: ANN401
        """The vectors of a source, repaired if there is a repair, and the identity of their encoder.

        Raises:
            OtherSpaceError: the repair was fitted for other vectors.
            SourceError: it cannot be read.
        """
        if self.encoding is None:
            space = space_of(open_source(source, self._options(source)))
        else:
            encoding, prompt = self.encoding, self.query_prompt if query else None
            if prompt is not None:
                encoding = replace(encoding, prompt=prompt)
            texts = self._texts(source)
            if self.saved is None or self.repair is None:
                space = space_of(texts, encoding) if least > 1 else space_of(encoded(texts, encoding, least=1))
            else:
                provenance = self.saved.provenance
                if prompt is not None:
                    provenance = {**provenance, "prompt": prompt}
                elif encoding.prompt:
                    check_fitted(provenance, prompt=encoding.prompt)
                space = space_like(texts, encoding, provenance, self.repair)
        if self.saved is None:
            return space.before, space.identity()
        space.check_fits(self.saved.repair)
        return space.after(self.saved.repair), space.identity()

    def names(self, source: Any, column: str | None, option: str = "--id") -> list[str] | None:  # noqa: ANN401
        """The value of a column (or the line of a file) for each row; None without a column.

        Raises:
            SourceError: there is none of that name; the message speaks of the `option` that it was named with.
        """
        if column is None:
            return None
        try:
            return self._names(source, column)
        except SourceError as error:  # read like labels
            raise type(error)(str(error).replace("for --label", f"for {option}")) from error

    def documents(self, source: Any, column: str | None) -> tuple[list[str] | None, list[str]]:  # noqa: ANN401
        """The document of each row, and a note on rows that name none, each of which counts as its own document.

        Raises:
            SourceError: there is no such column.
        """
        names = self.names(source, column, "--document")
        blank = [row for row, name in enumerate(names or ()) if not (name or "").strip()]
        if names is None or not blank:
            return names, []
        for row in blank:
            names[row] = f"\0row {row}"
        share = f"{len(blank):,} of {count(len(names), 'row')}"
        return names, [f"{share} in {column} name no document; each of these counts as one of its own."]

    def labeled(self, source: Any, column: str) -> Source:  # noqa: ANN401 - as for space
        """The vectors of a source with a name of each row as its label: a column, or a file with a line per row."""
        return open_source(source, replace(self._options(source), label=column))

    def _names(self, source: Any, column: str) -> list[str]:  # noqa: ANN401 - as for space
        if self.encoding is not None:
            limit = self.encoding.limit
            rows = self._texts(source, column).read()
            return [label or "" for number, _, label in rows if limit is None or number < limit]
        names: list[str] = []
        for part in self.labeled(source, column).read():
            if part.labels is None:
                raise OptionError(
                    f"{source} has no row names in {column!r}. Name a column, or a file with one name per line."
                )
            names += part.labels
        return names

    def vectors(self, texts: Sequence[str], *, query: bool = False) -> Matrix:
        """The vectors of texts in memory, in their order; each distinct one is encoded once."""
        assert self.encoding is not None
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        bare = replace(self, options=replace(self.options, text=(), limit=None))
        source, _ = bare.space(ListTexts(list(distinct)), query=query, least=1)
        vectors = np.concatenate([np.array(rows.vectors, np.float32) for rows in source.read()])
        return np.asarray(vectors[[distinct[text] for text in texts]])

    def _texts(self, source: Any, label: str | None = None) -> TextSource:  # noqa: ANN401 - as for space
        """The texts of a source; column names are ignored for a source without columns, such as lines or a corpus."""
        bare = isinstance(source, str | os.PathLike) and _bare(os.fspath(source))
        return open_texts_of(source, None if bare else self.options.text or None, label, self.options.data)

    def _options(self, source: Any) -> Options:  # noqa: ANN401 - as for space
        """The options that apply to this kind of file; a second file may be of another kind."""
        ending = suffix_of(_as_path(source))
        column = self.options.column if ending is None or ending in _WITH_COLUMNS else None
        return Options(column, self.options.tensor if ending in (None, ".safetensors") else None)


def last_part(name: str) -> str:
    """The last part of a path.

    >>> last_part("vectors/new.npy"), last_part("shards/")
    ('new.npy', 'shards')
    """
    return name.rstrip("/").rsplit("/", 1)[-1] or name


def _bare(path: str) -> bool:
    ending = text_suffix(_as_path(path))
    return ending == ".txt" or path == "-" or (ending is None and not _is_folder(path))


def _is_folder(path: str) -> bool:
    where = path_of(path)
    return where.is_dir() if isinstance(where, ObjectPath) else os.path.isdir(path)  # noqa: PTH112 - never raises


def _as_path(source: object) -> Path:
    """The path of a source; an empty one if it has none."""
    return path_of(source) if isinstance(source, str | os.PathLike) else Path()
