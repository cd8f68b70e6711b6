"""Repairs: `fix` fits one, `apply` uses it, `export` takes it elsewhere."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uncone.analysis.advice.words import WordSample, word_sample
from uncone.data.storage.path import path_of
from uncone.data.vectors.databases.url import is_database, without_secrets
from uncone.data.writing.atomic import check_outside
from uncone.errors import FitError, ShapeError
from uncone.verbs.check import diagnosis_of, measure_source
from uncone.verbs.options.check import CheckOptions
from uncone.verbs.options.fix import ApplyOptions, ExportOptions, FixOptions
from uncone.verbs.spaces.encoding import Encoding, Progress, open_space, open_texts_of
from uncone.verbs.spaces.verb import verb

if TYPE_CHECKING:
    from uncone.analysis.advice.witness import AgreementChange
    from uncone.data.batch import Matrix
    from uncone.data.source import Source
    from uncone.data.writing.rewrite import Rewritten
    from uncone.exports.export import Exported
    from uncone.repairs.repair import Repair
    from uncone.repairs.saving import Saved
    from uncone.report.documents.check import Diagnosis
    from uncone.report.documents.fix import Repaired
    from uncone.verbs.spaces.repaired import RepairSpace

__all__ = ["apply", "export", "fix"]


@verb(FixOptions)
def fix(source: Any, method: str, *, options: FixOptions) -> Repaired:  # noqa: ANN401 - vectors or texts
    """Fit a repair, diagnose the space before and after it, and write the repaired vectors and the repair.

    `method` is center, standardize, droptop, whiten, zipf, sif, mute, clustered, flow, normalize, or several joined by
    commas.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> fixed = fix(rng.normal(size=(500, 32)) + 1.0, "center")
    >>> round(fixed.before["baseline"].value, 2), abs(round(fixed.after["baseline"].value, 2))
    (0.5, 0.0)
    """
    from uncone.data.writing.rewrite import output_suffix
    from uncone.repairs.registry import make_seeded
    from uncone.repairs.saving import FOLDER
    from uncone.repairs.saving import save as save_repair
    from uncone.report.documents.fix import Repaired

    parameters, out, save = options.method_options, options.out, options.save
    options.check_choice(method)
    repair = make_seeded(method, parameters, options.seed)
    if out is not None:
        output_suffix(out, folder=True)
    if save is not None:
        FOLDER.check(path_of(save))
    _check_places(out, options.model, (save, "the repair"))
    space = _space(source, options, "token" if repair.is_of_tokens else "sentence")
    space.check_level(repair)
    space.check_rereadable()
    space.check_output(out)
    checking = _checking(options, "before")
    measured_space = measure_source(space.before, checking)
    before, words = diagnosis_of(measured_space, checking), measured_space.derived(word_sample)
    del measured_space  # with its sample of vectors
    if not options.skip_bad and before["bad_rows"].value:
        raise FitError(
            f"{before['bad_rows'].meaning} A repair can't use them. Fix them, or leave them out with --skip-bad."
        )
    _check_differ(before, space.before.dim, options.float64)
    repair.fit_source(space.rows, options.plan, _step(options.progress, method))
    after, change, output = _diagnose_and_write(space, repair, options, words)
    provenance = space.provenance(
        before, options.plan, method=method, options=parameters, seed=options.seed, limit=options.limit
    )
    if options.prescription is not None:
        provenance["prescription"] = options.prescription.to_dict()
    result = Repaired(before, after, method, repair, provenance, space.notes(repair), history_of(repair), change=change)
    if out is not None and output is not None:
        notes = [f"{output.path.name} has no place for {', '.join(output.dropped)}."] if output.dropped else []
        notes += [f"{output.unusable:,} vectors could not be repaired and are NaN."] if output.unusable else []
        notes += [output.note] if output.note else []
        result = replace(result, written=without_secrets(os.fspath(out)), notes=[*result.notes, *notes])
    if save is not None:
        save_repair(repair, path_of(save), provenance)
        result = replace(result, saved=os.fspath(save))
    return result


def _diagnose_and_write(
    space: RepairSpace, repair: Repair, options: FixOptions, words: WordSample | str | None
) -> tuple[Diagnosis, AgreementChange | None, Rewritten | None]:
    """The diagnosis of the repaired vectors, the change of their agreement with words, and what was written of them.

    All in one pass, if this machine does all.
    """
    from uncone.data.writing.rewrite import FOLDER, output_suffix

    checking, out, engine = _checking(options, "after"), options.out, options.executor
    if out is not None and engine is None and output_suffix(out, folder=True) != FOLDER:
        with space.output(repair, out) as (rows, output):
            after, change = _diagnose_repaired(rows, checking, words)
            output.finish()
        return after, change, output.result
    after, change = _diagnose_repaired(space.after(repair), checking, words)
    if out is None:
        return after, change, None
    return after, change, space.write(repair, out, _step(options.progress, "writing"), engine, options.any_kernel)


def _diagnose_repaired(
    source: Source, checking: CheckOptions, words: WordSample | str | None
) -> tuple[Diagnosis, AgreementChange | None]:
    space = measure_source(source, checking)
    try:
        change = words.change(space) if isinstance(words, WordSample) else None
    except ShapeError:  # too few rows are usable after the repair, as the findings say
        change = None
    return diagnosis_of(space, checking, repaired=True), change


def _space(source: Any, options: FixOptions, level: str) -> RepairSpace:  # noqa: ANN401 - as for fix
    """The space to repair, at the `level` that the method needs unless another is named."""
    from uncone.verbs.spaces.repaired import space_of

    if options.encoding is None:
        return space_of(open_space(source, options))
    texts = open_texts_of(source, options.text, options.label, options.data)
    return space_of(texts, options.encoding, options.level or level)


def _checking(options: FixOptions, step: str) -> CheckOptions:
    return options.cast(CheckOptions, progress=_step(options.progress, step))


@verb(ApplyOptions)
def apply(
    repair: str | os.PathLike[str] | Repair,
    source: Any,  # noqa: ANN401 - vectors or texts
    *,
    options: ApplyOptions,
) -> Matrix | Rewritten:
    """Repair new vectors, or texts through the model that the repair was fitted for.

    `repair` is the folder of a saved repair, or a fitted one. Without `out` the repaired vectors are returned. Layer,
    pooling and prompt are those that the repair was fitted on; name them only for a repair fitted on vectors.

    >>> import numpy as np
    >>> fixed = fix(np.eye(8) + 1.0, "center")
    >>> apply(fixed.repair, np.ones((1, 8))).round(3).tolist()
    [[-0.125, -0.125, -0.125, -0.125, -0.125, -0.125, -0.125, -0.125]]
    """
    from uncone.verbs.spaces.repaired import space_like, space_of

    saved = _saved(repair)
    _check_places(options.out, options.model, (repair, "the repair"))
    if options.encoding is None:
        space = space_of(open_space(source, options))
    else:
        texts = open_texts_of(source, options.text, None, options.data)
        space = space_like(texts, options.encoding, saved.provenance, repair)
    space.check_fits(saved.repair)
    space.check_output(options.out)
    if options.out is None:
        return space.mapped(saved.repair)
    progress = _step(options.progress, "writing")
    return space.write(saved.repair, options.out, progress, options.executor, options.any_kernel)


@verb(ExportOptions)
def export(
    repair: str | os.PathLike[str] | Repair, to: str, out: str | os.PathLike[str], *, options: ExportOptions
) -> Exported:
    """Write a repair as something that a system without uncone can run.

    `repair` is the folder of a saved repair, or a fitted one; `to` is sentence-transformers, onnx, faiss, numpy or sql;
    `out` is a folder, or for onnx and faiss a file.

    Raises:
        OtherSpaceError: the model, or what is said of it, is not what the repair was fitted on.
    """
    from uncone.encoders.open import model_folder
    from uncone.exports.export import export as write
    from uncone.verbs.spaces.repaired import check_fitted, space_like

    saved, model = _saved(repair), options.model
    names = ("layer", "pooling", "level")
    spec: dict[str, Any] = {name: value for name in names if (value := getattr(options, name)) is not None}
    check_fitted(saved.provenance, **spec)
    folder = None if model is None else model_folder(os.fspath(model), options.loading)
    if saved.provenance.get("encoder_content") and model is not None:
        encoding = Encoding(model, loading=options.loading, cache=False)
        space_like(open_texts_of(["a"]), encoding, saved.provenance, repair)
    return write(saved.repair, to, out, model=folder, provenance=saved.provenance, **spec)


def _saved(repair: str | os.PathLike[str] | Repair) -> Saved:
    from uncone.repairs.repair import Repair as AnyRepair
    from uncone.repairs.saving import Saved, load

    return Saved(repair, {}) if isinstance(repair, AnyRepair) else load(repair)


def history_of(repair: Repair) -> list[tuple[int, float, float | None]]:
    """The learning curve of a flow, alone or in a chain; empty for all else."""
    for step in getattr(repair, "steps_", [repair]):
        if hasattr(step, "history_"):
            return [(epoch.epoch, epoch.train, epoch.held_out) for epoch in step.history_]
    return []


def _check_places(out: str | os.PathLike[str] | None, model: object, *others: tuple[object, str]) -> None:
    """Never write into the model, nor into the folder of a repair."""
    for folder, owner in ((model, "the model"), *others):
        if out is not None and not is_database(os.fspath(out)) and isinstance(folder, str | os.PathLike):
            check_outside("-o", path_of(out), path_of(folder), owner)


def _check_differ(before: Diagnosis, dim: int, float64: bool) -> None:
    if before["constant_dimensions"].magnitude == dim:
        n, single = before["constant_dimensions"].n, "" if float64 else " in single precision"
        raise FitError(
            f"{before.source['name']}: all {n:,} vectors are equal{single}, so there is nothing to learn from them. "
            f"Add other vectors{'' if float64 else ', or try --float64'}."
        )


def _step(progress: Progress | None, name: str) -> Progress | None:
    if progress is None:
        return None
    return lambda step, n, total: progress(step if step.startswith(name) else f"{name}: {step}", n, total)
