"""Diagnosing a space: `check` and `compare`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from uncone.analysis.advice.rules import Advice
from uncone.analysis.cosine.baseline import score_meaning
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.measures.registry import placed
from uncone.analysis.measures.verdict import advise, examine, judge
from uncone.analysis.neighbors.neighborhood import ANN_ROWS, neighborhood_of
from uncone.analysis.space.chart_data import STATISTICS, draw
from uncone.analysis.space.space import Space, measure_space
from uncone.data.source import Source
from uncone.data.writing.manifest import versions
from uncone.errors import OptionError
from uncone.report.documents.check import Comparison, Diagnosis
from uncone.run.measure import step_progress
from uncone.verbs.options.check import CheckOptions
from uncone.verbs.spaces.commands import command_line, repair_commands, source_flags
from uncone.verbs.spaces.encoding import open_space
from uncone.verbs.spaces.evidence import diverse_baseline, repair_witness
from uncone.verbs.spaces.verb import verb

__all__ = ["check", "compare", "diagnose", "diagnosis_of", "measure_source"]


@verb(CheckOptions)
def check(source: Any, *, options: CheckOptions) -> Diagnosis:  # noqa: ANN401 - vectors or texts
    """Diagnose a set of embeddings: how crowded it is, what a cosine score means, and what to do about it.

    `source` is a path (file, folder, glob, `-`), an (n, d) array, a table in memory, a column of vectors, or an
    iterator of (m, d) blocks; with `model`, texts.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> diagnosis = check(rng.normal(size=(500, 32)) + 1.0)
    >>> diagnosis.verdict.level, round(diagnosis["baseline"].value, 2)
    (<Level.CROWDED: 'crowded'>, 0.5)
    """
    diagnosis = diagnose(open_space(source, options, options.repair), options, repaired=options.repair is not None)
    suggestion = None if options.model is not None else _suggestion(source, diagnosis, options)
    return replace(diagnosis, suggestion=suggestion, commands=repair_commands(source, diagnosis, options))


def diagnose(source: Source, options: CheckOptions, *, repaired: bool = False) -> Diagnosis:
    """The diagnosis of an open source, such as repaired vectors."""
    return diagnosis_of(measure_source(source, options), options, repaired=repaired)


def measure_source(source: Source, options: CheckOptions) -> Space:
    """An open source, measured."""
    whole = options.deep or options.ann
    if whole and not source.rereadable:
        flag = "--ann" if options.ann else "--deep"
        raise OptionError(
            f"{flag} needs another pass, but {source.name} can be read only once. Save it to a file first."
        )
    space = measure_space(
        source,
        options.plan,
        seed=options.seed,
        sample=options.sample,
        exact=options.exact,
        also=(*STATISTICS, "prints"),
        progress=options.progress,
    )
    if whole:
        report = step_progress(options.progress, "neighbors", source.rows)
        space.neighborhood = neighborhood_of(space, whole=True, ann=options.ann, plan=options.plan, progress=report)
    space.diverse = diverse_baseline(source, options.diverse, options.plan, options.seed)
    return space


def diagnosis_of(space: Space, options: CheckOptions, *, repaired: bool = False) -> Diagnosis:
    """The diagnosis of a measured space."""
    source, findings, pictures = space.source, examine(space), draw(space)
    if source.unit_length:
        findings |= {name: _withheld(findings[name], source.kind) for name in _OF_NORMS}
        pictures = replace(pictures, norm_edges=[], norm_counts=[])
    meanings = [score_meaning(space, score) for score in options.scores]
    advice = None if repaired else _advise(space, findings)
    verdict = judge(findings, meanings, repaired=repaired, advice=advice)
    return Diagnosis(
        source={
            "name": options.name or source.name,
            "kind": source.kind,
            "rows": space.unusable.n_read,
            "dimensions": source.dim,
            "dtype": source.dtype,
        },
        findings=_unpraised(findings) if repaired else findings,
        verdict=verdict,
        scores=meanings,
        pictures=pictures,
        provenance=_provenance(space, options),
        advice=advice,
    )


def _unpraised(findings: Mapping[str, Finding]) -> dict[str, Finding]:
    """The findings on repaired vectors: more isotropic is not healthy, nor better. What is bad still is."""
    health = placed("check", "health")
    return {
        name: replace(finding, level=Level.NOTE) if finding.level is Level.HEALTHY and name not in health else finding
        for name, finding in findings.items()
    }


def _advise(space: Space, findings: Mapping[str, Finding]) -> Advice:
    """The advice of the rules, with what texts and their model tell beside the vectors."""
    diverse = findings.get("diverse_baseline")
    return advise(
        findings,
        dim=space.dim,
        diverse=None if diverse is None else diverse.magnitude,
        witness=repair_witness(space),
    )


_OF_NORMS = ("norm_mean", "norm_outliers", "partition_isotropy_log10")


def _withheld(finding: Finding, database: str) -> Finding:
    """A finding about norms, without its value: the database has scaled every vector to length 1."""
    meaning = f"{database.capitalize()} stores every vector of this collection at length 1, so its norms say nothing."
    return Finding(finding.name, None, finding.n, meaning)


def compare(*sources: Any, **options: Any) -> Comparison:  # noqa: ANN401 - as for check
    """Diagnose several spaces, to be read side by side; the options are those of `check`."""
    return Comparison([check(source, **options) for source in sources])


def _search(space: Space, options: CheckOptions) -> str:
    if not options.deep and not options.ann:
        return "exact search, row sample"
    if space.n > ANN_ROWS and options.ann:
        return "approximate search (HNSW), all rows"
    return "exact search, all rows" + (f" (--ann: from {ANN_ROWS:,} rows on)" if options.ann else "")


def _provenance(space: Space, options: CheckOptions) -> dict[str, Any]:
    return {
        **versions(),
        "seed": space.seed,
        "precision": space.moments.dtype.name,
        "sampled_rows": space.sample.n,
        "pairs": space.cosines.pairs,
        "partition_function": "all rows" if options.exact else "row sample",
        "local_dimension": _search(space, options),
        **({"reading": space.source.note} if space.source.note else {}),
    }


def _suggestion(source: object, diagnosis: Diagnosis, options: CheckOptions) -> str | None:
    """A follow-up command with --score, if the vectors are in a file and no score was requested."""
    quantiles = diagnosis.findings["pair_cosine_quantiles"].value
    if options.scores or not isinstance(source, str | os.PathLike) or source == "-" or not isinstance(quantiles, dict):
        return None
    if quantiles["0.975"] >= 0.995:
        return None  # no score stands out
    words = [*source_flags(options), "--score", f"{quantiles['0.975']:.2f}"]
    return command_line("check", os.fspath(source), words)
