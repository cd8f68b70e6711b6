"""Diagnosing a space: `check` and `compare`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.cosine.baseline import score_meaning
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.verdict import examine, judge
from uncone.analysis.neighbors.neighborhood import ANN_ROWS, Neighbourhood, neighbourhood_of
from uncone.analysis.space.chart_data import draw
from uncone.analysis.space.space import SAMPLE_ROWS, Space, measure_space
from uncone.data.open import open_source
from uncone.data.source import Options, Source
from uncone.errors import OptionError
from uncone.extras import versions
from uncone.report.results.check import Comparison, Diagnosis
from uncone.run.measure import Plan
from uncone.verbs.encoding import Encoding, Progress, encoded, open_texts_of

if TYPE_CHECKING:
    from uncone.encoders.open import Loading

__all__ = ["check", "check_options", "compare", "diagnosed"]

_MOST_WORKERS = 256


def check(
    source: Any,  # noqa: ANN401 - a path or whatever holds vectors
    *,
    name: str | None = None,
    scores: Sequence[float] = (),
    column: str | None = None,
    tensor: str | None = None,
    text: str | None = None,
    label: str | None = None,
    texts: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    model: Any = None,  # noqa: ANN401 - a name, a path or an encoder
    layer: str | int | None = None,
    pooling: str | None = None,
    prompt: str = "",
    batch_size: int | None = None,
    limit: int | None = None,
    data: str | os.PathLike[str] | None = None,
    loading: Loading | None = None,
    cache: bool = True,
    exact: bool = False,
    deep: bool = False,
    ann: bool = False,
    float64: bool = False,
    workers: int = 0,
    sample: int = SAMPLE_ROWS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Diagnosis:
    """Diagnose a space of vectors.

    Args:
        source: a path (file, folder, glob, `-`), an (n, d) array, a DataFrame column of vectors, or an iterator of
            (m, d) blocks.
        name: what to call it in the report; its path by default.
        scores: cosines to explain: how many random pairs beat each.
        column: the column, field or array that holds the vectors, where there are several.
        tensor: the tensor of a .safetensors file.
        text: the column with the rows' texts; for a file without columns, a text file with one text a line.
        label: the same for labels.
        texts: the rows' texts themselves.
        labels: the rows' labels themselves.
        model: encode `source`, which holds texts, with this model: a folder, a hub name, a file of word vectors.
        layer: the layer of the model, -1 is the last; "1,-1" averages two.
        pooling: how the tokens of a text become one vector: mean, cls, max or last.
        prompt: put before every text, for models that want one.
        batch_size: texts encoded at once, at most.
        limit: take the first texts only.
        data: the folder with named corpora, when `source` names one.
        loading: revision, device, precision, and what a stranger's model may do.
        cache: keep the vectors of texts on disk, and take those that are there.
        exact: measure the partition function on all rows, not on the sample.
        deep: take the local dimension among all rows, not among the sample.
        ann: the same; above 2 million rows in a graph (HNSW), whose recall is measured.
        float64: products in double precision: nine digits whatever the order of the rows, at half the speed.
        workers: processes to measure with; 0 uses threads. The digits are the same.
        sample: rows kept for what cannot be summed: pair cosines, partition function, map.
        seed: chooses the sample.
        progress: called with the step, the rows done since the last call, and the rows there are.

    >>> rng = np.random.default_rng(0)
    >>> diagnosis = check(rng.normal(size=(500, 32)) + 1.0)
    >>> diagnosis.verdict.level, round(diagnosis["baseline"].value, 2)
    (<Level.CROWDED: 'crowded'>, 0.5)
    """
    check_options(scores, workers, sample, seed)
    if model is None:
        opened = open_source(source, Options(column, tensor, text, label), texts=texts, labels=labels)
    else:
        asked = Encoding(model, layer, pooling, prompt, batch_size, limit, loading, cache)
        opened = encoded(open_texts_of(source, text, label, data), asked)
    plan = Plan(workers=workers, dtype=np.float64 if float64 else np.float32)
    found = diagnosed(
        opened,
        plan,
        name=name,
        scores=scores,
        exact=exact,
        deep=deep,
        ann=ann,
        sample=sample,
        seed=seed,
        progress=progress,
    )
    if model is not None:
        return found
    return replace(
        found,
        suggestion=_suggestion(source, found.findings, scores, [("--column", column), ("--tensor", tensor)], float64),
    )


def diagnosed(
    source: Source,
    plan: Plan,
    *,
    name: str | None = None,
    scores: Sequence[float] = (),
    exact: bool = False,
    deep: bool = False,
    ann: bool = False,
    sample: int = SAMPLE_ROWS,
    seed: int = 0,
    progress: Progress | None = None,
    repaired: bool = False,
) -> Diagnosis:
    """The diagnosis of a source that is open already, perhaps the vectors that a repair gave."""
    if (deep or ann) and not source.rereadable:
        asked = "--ann" if ann else "--deep"
        raise OptionError(f"{asked} reads the rows again, and {source.name} can be read only once: save it to a file.")
    space = measure_space(source, plan, seed=seed, sample=sample, exact=exact, progress=progress)
    if deep or ann:
        space.neighbourhood = _among_all(space, ann, progress)
    findings = examine(space)
    meanings = [score_meaning(space, score) for score in scores]
    return Diagnosis(
        source={
            "name": name or source.name,
            "kind": source.kind,
            "rows": space.unusable.seen,
            "dimensions": source.dim,
            "dtype": source.dtype,
        },
        findings=findings,
        verdict=judge(findings, meanings, repaired=repaired),
        scores=meanings,
        pictures=draw(space),
        provenance=_provenance(space, exact, deep, ann),
    )


def compare(*sources: Any, **options: Any) -> Comparison:  # noqa: ANN401 - as for check
    """Diagnose several spaces, to be read side by side; the options are those of `check`."""
    return Comparison([check(source, **options) for source in sources])


def check_options(scores: Sequence[float], workers: int, sample: int, seed: int) -> None:
    """Refuse numbers that cannot be.

    Raises:
        OptionError: one of them.
    """
    for score in scores:
        if not -1.0 <= score <= 1.0:
            raise OptionError(f"A score is a cosine between -1 and 1, not {score:g}.")
    if not 0 <= workers <= _MOST_WORKERS:
        raise OptionError(f"The number of workers is 0 (threads) to {_MOST_WORKERS}, not {workers}.")
    if sample < 2:
        raise OptionError(f"A sample needs at least 2 rows, not {sample}.")
    if not 0 <= seed < 1 << 32:
        raise OptionError(f"A seed is 0 or more and under {1 << 32:,}, not {seed}.")


def _among_all(space: Space, ann: bool, progress: Progress | None) -> Neighbourhood:
    """The neighbourhoods among all rows, in one more pass, or several for a graph."""
    said = None if progress is None else lambda done: progress("neighbours", done, space.source.rows)
    return neighbourhood_of(space, whole=True, ann=ann, progress=said)


def _searched(space: Space, deep: bool, ann: bool) -> str:
    if not deep and not ann:
        return "exact search, row sample"
    if space.n > ANN_ROWS and ann:
        return "approximate search (HNSW), all rows"
    return "exact search, all rows" + (f" (--ann: from {ANN_ROWS:,} rows on)" if ann else "")


def _provenance(space: Space, exact: bool, deep: bool, ann: bool) -> dict[str, Any]:
    return {
        **versions(),
        "seed": space.seed,
        "precision": space.moments.dtype.name,
        "sampled_rows": space.sample.n,
        "pairs": space.cosines.pairs,
        "partition_function": "all rows" if exact else "row sample",
        "local_dimension": _searched(space, deep, ann),
        **({"reading": space.source.note} if space.source.note else {}),
    }


def _suggestion(
    source: object,
    findings: Mapping[str, Finding],
    scores: Sequence[float],
    named: Sequence[tuple[str, str | None]],
    float64: bool,
) -> str | None:
    """The command that asks what a score means, when the vectors lie in a file and no score was asked for."""
    quantiles = findings["pair_cosine_quantiles"].value
    if scores or not isinstance(source, str | os.PathLike) or source == "-" or not isinstance(quantiles, dict):
        return None
    if quantiles["0.975"] >= 0.995:
        return None  # no score stands out
    options = [word for option, name in named if name for word in (option, name)]
    options += ["--float64"] if float64 else []
    options += ["--score", f"{quantiles['0.975']:.2f}"]
    path = os.fspath(source)
    return shlex.join(
        ["uncone", "check", *options, "--", path] if path.startswith("-") else ["uncone", "check", path, *options]
    )
