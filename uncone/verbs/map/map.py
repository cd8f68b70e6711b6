"""Rows of a space as points of a picture: `map`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from uncone.data.open import open_source
from uncone.data.source import Options, Source
from uncone.errors import OptionError
from uncone.extras import versions
from uncone.verbs.check import check_options
from uncone.verbs.encoding import Encoding, Progress, open_texts_of

if TYPE_CHECKING:
    from uncone.analysis.projections.word_list import WordList
    from uncone.encoders.open import Loading
    from uncone.repairs.saving import Saved
    from uncone.report.results.map import Map
    from uncone.verbs.map.rows import Gathered

__all__ = ["MOST_POINTS", "map"]

MOST_POINTS = 200_000
"""Points that a page can hold."""
_POINTS = {"pca": 50_000, "svd": 50_000}
_FEWER = 5_000
"""Points by default: a flat picture costs little, the others minutes, and there are many layers."""
_FITTED = 50_000
"""Rows that the axes of a static picture are learnt from."""
_ROWS = ("sentences", "words", "tokens", "cls")


def map(
    source: Any,  # noqa: ANN401 - a path or whatever holds vectors or texts
    *,
    method: str = "pca",
    dims: int = 2,
    points: int | None = None,
    colour: str | None = None,
    words: Sequence[str] = (),
    k: int | None = None,
    repair: str | os.PathLike[str] | None = None,
    name: str | None = None,
    column: str | None = None,
    tensor: str | None = None,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    texts: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    model: Any = None,  # noqa: ANN401 - a name, a path or an encoder
    layer: str | int | None = None,
    rows: str = "sentences",
    pooling: str | None = None,
    prompt: str = "",
    batch_size: int | None = None,
    limit: int | None = None,
    sample: int | None = None,
    split: bool | None = None,
    data: str | os.PathLike[str] | None = None,
    loading: Loading | None = None,
    cache: bool = True,
    static: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Map:
    """Show the rows of a space as points, say what they are, and how far the picture can be trusted.

    Args:
        source: vectors, as for `check`; with `model`, texts: a path, a corpus or strings.
        method: pca, svd (PCA without centring), tsne or umap.
        dims: 2 or 3.
        points: rows shown at most; of more, a sample by the hash of their numbers, the same for every layer and for
            both sides of a repair. 50,000 by default for PCA and SVD of one layer, else 5,000; a page holds 200,000.
        colour: what is shown at the start: frequency, kind, position, cluster, label, words, norm or none. By default
            the word list, then labels, then the kind of words and tokens, then clusters.
        words: a list of words; rows that hold them are shown beside the sample, and marked.
        k: how many clusters; by default as many as have the largest silhouette.
        repair: the folder of a saved repair: the same rows before and after it, side by side.
        name: what to call the source in the report.
        column: the column, field or array that holds the vectors, where there are several.
        tensor: the tensor of a .safetensors file.
        text: the column with the rows' texts; for a file without columns, a text file with one text a line.
        label: the same for labels.
        texts: the rows' texts themselves, for vectors in memory.
        labels: the rows' labels themselves, for vectors in memory.
        model: encode `source`, which holds texts, with this model.
        layer: the layer of the model, -1 is the last; "1,-1" averages two; "all" gives every layer a picture.
        rows: what a point is, with a model: sentences (a text each), words, tokens or cls.
        pooling: how the tokens of a text become one vector: mean, cls, max or last.
        prompt: put before every text, for models that want one.
        batch_size: texts encoded at once, at most.
        limit: take the first texts only.
        sample: take a seeded sample of the texts.
        split: cut texts into sentences; by default those of line files, for words and tokens.
        data: the folder with named corpora, when `source` names one.
        loading: revision, device, precision, and what a stranger's model may do.
        cache: keep the vectors of texts on disk, and take those that are there.
        static: allow more than 200,000 points, as a picture that cannot be turned: vectors are streamed for it.
        seed: chooses rows, starts and clusters; the same seed gives the same picture.
        progress: called with the step, what is done since the last call, and how much there is.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> found = map(rng.normal(size=(60, 8)) * np.arange(8, 0, -1), labels=["a", "b"] * 30)
    >>> found.panels[0].points.shape, found.colorings[0].names, round(found.panels[0].trust.explained, 1)
    ((60, 2), ('a', 'b'), 0.5)
    """
    from uncone.analysis.projections.word_list import WordList
    from uncone.verbs.map.texts import TextsAsked, text_rows

    check_options((), 0, 2, seed)
    wanted = _Wanted(method, dims, _points(points, method, layer, static), colour, WordList(words), k, seed, progress)
    wanted.check()
    saved = _loaded(repair)
    asked: dict[str, Any] = {"column": column, "tensor": tensor, "text": _joined(text), "label": label}
    asked |= {"layer": layer, "pooling": pooling, "prompt": prompt or None, "limit": limit, "sample": sample}
    asked["repair"] = None if repair is None else os.fspath(repair)
    told: dict[str, Any] = {
        "name": name,
        "path": _path(source),
        "in_memory": True if _path(source) is None else None,
        "model": _name(model),
        **asked,
    }
    if model is None:
        _refuse(layer=layer, pooling=pooling, prompt=prompt or None, limit=limit, sample=sample, split=split)
        _refuse(batch_size=batch_size, rows=None if rows == "sentences" else rows)
        opened = open_source(source, Options(column, tensor, _one(text), label), texts=texts, labels=labels)
        gathered = _vectors(opened, wanted, saved, told)
    else:
        if texts is not None or labels is not None:
            raise OptionError("texts= and labels= are those of vectors; with a model the source holds the texts.")
        if rows not in _ROWS:
            raise OptionError(f"--rows is {', '.join(_ROWS)}, not {rows!r}.")
        encoding = Encoding(model, layer, pooling, prompt, batch_size, limit, loading, cache)
        read = open_texts_of(source, text, label, data)
        told["name"] = told["name"] or read.name
        seen = (rows, wanted.points, seed, sample, split, wanted.words, saved, repair or "", told)
        gathered = text_rows(TextsAsked(read, encoding, *seen), progress)
    return _map(gathered, wanted)


@dataclass(frozen=True)
class _Wanted:
    """The picture that is asked for."""

    method: Any
    dims: int
    points: int
    colour: str | None
    words: WordList
    k: int | None
    seed: int
    progress: Progress | None = field(default=None, compare=False)

    @property
    def too_many(self) -> bool:
        """More than a page holds."""
        return self.points > MOST_POINTS

    def check(self) -> None:
        """Refuse what cannot be drawn before anything is read.

        Raises:
            OptionError: one of the options.
            MissingPackageError: the package of the method is not installed.
        """
        from uncone.analysis.projections.projection import check_method
        from uncone.verbs.map.colors import check_colour

        if self.dims not in (2, 3):
            raise OptionError(f"--dims is 2 or 3, not {self.dims!r}.")
        check_method(self.method, self.dims)
        check_colour(self.colour)
        if self.k is not None and self.k < 2:
            raise OptionError(f"--k is a number of clusters, at least 2, not {self.k}.")
        if self.colour == "words" and not len(self.words):
            raise OptionError("--colour words needs a list of words: --words a,b,c.")
        if self.too_many and self.dims == 3:
            raise OptionError(
                f"A static picture of more than {MOST_POINTS:,} points is flat: take --dims 2, or fewer --points."
            )

    def told(self) -> Callable[[str], None] | None:
        """Tells what is being done, in a sentence."""
        progress = self.progress
        return None if progress is None else lambda sentence: progress(sentence, 0, None)


def _points(points: int | None, method: str, layer: str | int | None, static: bool) -> int:
    if points is None:
        return _FEWER if layer == "all" else _POINTS.get(method, _FEWER)
    if points < 2:
        raise OptionError(f"--points is a number of rows, at least 2, not {points}.")
    if points > MOST_POINTS and not static:
        raise OptionError(
            f"A page holds up to {MOST_POINTS:,} points, and --points {points:,} asks for more: ask for fewer, or for "
            "a static picture with --png."
        )
    return points


def _vectors(opened: Source, wanted: _Wanted, saved: Saved | None, told: Mapping[str, Any]) -> Gathered:
    """The rows of a source of vectors; for a static picture only as many as its axes are learnt from."""
    from uncone.analysis.projections.projection import FLAT
    from uncone.verbs.map.rows import vector_rows
    from uncone.verbs.map.static import check_streams

    points = wanted.points
    streamed = wanted.too_many and wanted.method in FLAT and (opened.rows is None or opened.rows > MOST_POINTS)
    if streamed:
        points = _FITTED if opened.rows is not None else MOST_POINTS
    found = vector_rows(opened, points, wanted.seed, wanted.words, saved, wanted.progress)
    found = replace(found, told={**told, **found.told, "name": told["name"] or opened.name})
    if streamed and found.total > MOST_POINTS:
        check_streams(found, opened.name)
        return found
    return replace(found, streams={})


def _map(gathered: Gathered, wanted: _Wanted) -> Map:
    """The pictures of gathered rows, coloured."""
    from uncone.analysis.projections.pictures import pictures_of
    from uncone.report.results.map import Map
    from uncone.verbs.map.colors import Colours
    from uncone.verbs.map.static import static_densities

    colours = Colours(gathered, gathered.words, wanted.k, wanted.seed)
    made = colours.all(wanted.colour)
    pictures = pictures_of(gathered.spaces, gathered.rows, wanted.method, wanted.dims, wanted.seed, wanted.told())
    is_static = bool(gathered.streams) or gathered.n > MOST_POINTS
    density, notes = None, [*gathered.notes]
    if is_static:
        first = made[0] if made else None
        density, more = static_densities(gathered, pictures, colours, first, wanted.points, wanted.progress)
        notes += more
    return Map(
        source={key: value for key, value in gathered.told.items() if value is not None},
        method=wanted.method,
        dims=wanted.dims,
        panels=[picture.panel for picture in pictures],
        places=gathered.rows,
        texts=gathered.texts,
        colorings=made,
        total=gathered.total,
        seed=wanted.seed,
        notes=notes,
        provenance=_provenance(gathered, wanted),
        static=is_static,
        highlight=gathered.words.words,
        density=density,
    )


def _provenance(gathered: Gathered, wanted: _Wanted) -> dict[str, Any]:
    packages = {"tsne": ["openTSNE"], "umap": ["umap-learn"]}.get(wanted.method, [])
    drawn = "all" if gathered.n >= gathered.total else "by the hash of their numbers"
    return {
        **versions(*packages),
        "seed": wanted.seed,
        "points": gathered.n,
        "rows_drawn": drawn,
        "distance": "Euclidean",
    }


def _refuse(**given: object) -> None:
    wrong = next((option for option, value in given.items() if value is not None), None)
    if wrong is not None:
        raise OptionError(f"--{wrong.replace('_', '-')} is for texts: name a model with --model.")


def _loaded(repair: str | os.PathLike[str] | None) -> Saved | None:
    if repair is None:
        return None
    from uncone.repairs.saving import load

    return load(repair)


def _one(text: str | Sequence[str] | None) -> str | None:
    if text is None or isinstance(text, str):
        return text
    if len(text) > 1:
        raise OptionError(f"Vectors have one column of texts, not {len(text)}: {', '.join(text)}.")
    return text[0] if text else None


def _joined(text: str | Sequence[str] | None) -> str | None:
    return text if text is None or isinstance(text, str) else ",".join(text) or None


def _name(value: object) -> str | None:
    if value is None or isinstance(value, str | os.PathLike):
        return None if value is None else os.fspath(value)
    found = getattr(value, "name", None)
    return found if isinstance(found, str) else None


def _path(source: object) -> str | None:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else None
