"""Repairs: `fix` fits one, `apply` uses it, `export` takes it elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.space.space import SAMPLE_ROWS
from uncone.data.open import open_source
from uncone.data.source import Options
from uncone.data.writing.atomic import check_outside
from uncone.errors import FitError, OptionError
from uncone.run.measure import Plan
from uncone.verbs.check import check_options, diagnosed
from uncone.verbs.encoding import Encoding, Progress, open_texts_of

if TYPE_CHECKING:
    from uncone.data.batch import Matrix
    from uncone.data.writing.rewrite import Rewritten
    from uncone.encoders.open import Loading
    from uncone.evaluation.prescribe.verdict import Prescription
    from uncone.exports.export import Exported
    from uncone.repairs.repair import Repair
    from uncone.report.results.check import Diagnosis
    from uncone.report.results.fix import Repaired

__all__ = ["apply", "export", "fix"]


def fix(
    source: Any,  # noqa: ANN401 - a path or whatever holds vectors or texts
    method: str,
    *,
    out: str | os.PathLike[str] | None = None,
    save: str | os.PathLike[str] | None = None,
    name: str | None = None,
    column: str | None = None,
    tensor: str | None = None,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    model: Any = None,  # noqa: ANN401 - a name, a path or an encoder
    layer: str | int | None = None,
    pooling: str | None = None,
    level: str = "sentence",
    prompt: str = "",
    batch_size: int | None = None,
    limit: int | None = None,
    data: str | os.PathLike[str] | None = None,
    loading: Loading | None = None,
    cache: bool = True,
    skip_bad: bool = False,
    float64: bool = False,
    workers: int = 0,
    sample: int = SAMPLE_ROWS,
    seed: int = 0,
    prescription: Prescription | None = None,
    progress: Progress | None = None,
    **options: Any,  # noqa: ANN401 - those of the method
) -> Repaired:
    """Fit a repair, diagnose the space before and after it, and write the repaired vectors and the repair.

    Args:
        source: vectors, as for `check`; with `model`, texts.
        method: center, standardize, droptop, whiten, mute, clustered, flow, normalize, or several joined by commas.
        out: a file for the repaired vectors; its ending tells the kind. Other columns are carried through.
        save: a folder for the repair.
        name: what to call the source in the report.
        column: the column, field or array that holds the vectors, where there are several.
        tensor: the tensor of a .safetensors file.
        text: the column or columns with texts.
        label: the column with labels.
        model: encode `source`, which holds texts, with this model.
        layer: the layer of the model, -1 is the last; "1,-1" averages two.
        pooling: how the tokens of a text become one vector: mean, cls, max or last.
        level: sentence repairs pooled vectors; token repairs the vectors of subwords, then pools.
        prompt: put before every text, for models that want one.
        batch_size: texts encoded at once, at most.
        limit: take the first texts only.
        data: the folder with named corpora, when `source` names one.
        loading: revision, device, precision, and what a stranger's model may do.
        cache: keep the vectors of texts on disk, and take those that are there.
        skip_bad: leave rows that are not finite out of the fit and write them as NaN, where they are an error else.
        float64: products in double precision.
        workers: processes to measure with; 0 uses threads.
        sample: rows kept for the two diagnoses.
        seed: chooses every sample and every start.
        prescription: what the method was chosen by, to be saved with the repair.
        progress: called with the step, the rows done since the last call, and the rows there are.
        **options: of the method: k, p, dim, rotation, shrinkage, how, dimensions, assign, epochs, lr ...

    >>> rng = np.random.default_rng(0)
    >>> fixed = fix(rng.normal(size=(500, 32)) + 1.0, "center")
    >>> round(fixed.before["baseline"].value, 2), abs(round(fixed.after["baseline"].value, 2))
    (0.5, 0.0)
    """
    from uncone.data.writing.rewrite import output_suffix
    from uncone.repairs.registry import make
    from uncone.repairs.saving import FOLDER
    from uncone.repairs.saving import save as save_repair
    from uncone.report.results.fix import Repaired
    from uncone.verbs.repaired_spaces import space_of

    check_options((), workers, sample, seed)
    repair = seeded(make(method, **options), seed)
    if out is not None:
        output_suffix(out)
    if save is not None:
        FOLDER.check(Path(save))
    _check_places(out, model, (save, "the repair"))
    asked = None if model is None else Encoding(model, layer, pooling, prompt, batch_size, limit, loading, cache)
    if asked is None:
        _check_vectors(level, layer=layer, pooling=pooling, limit=limit)
        space = space_of(open_source(source, Options(column, tensor, _one(text), label)))
    else:
        space = space_of(open_texts_of(source, text, label, data), asked, level)
    space.check_rereadable()
    space.check_output(out)
    plan = Plan(workers=workers, dtype=np.float64 if float64 else np.float32)
    before = diagnosed(space.before, plan, name=name, sample=sample, seed=seed, progress=_step(progress, "before"))
    if not skip_bad and before["bad_rows"].value:
        raise FitError(
            f"{before['bad_rows'].meaning} A repair cannot use them: mend them, or leave them out with --skip-bad."
        )
    _check_differ(before, space.before.dim, float64)
    repair.fit_source(space.rows, plan, _step(progress, method))
    mended = space.after(repair)
    again = _step(progress, "after")
    after = diagnosed(mended, plan, name=name, sample=sample, seed=seed, progress=again, repaired=True)
    provenance = space.provenance(before, plan, method=method, options=options, seed=seed, limit=limit)
    if prescription is not None:
        provenance["prescription"] = prescription.to_dict()
    found = Repaired(before, after, method, repair, provenance, space.notes(repair), history_of(repair))
    if out is not None:
        written = space.write(repair, out, _step(progress, "writing"))
        told = [f"{written.path.name} has no place for {', '.join(written.dropped)}."] if written.dropped else []
        told += [f"{written.unusable:,} rows could not be repaired and are NaN."] if written.unusable else []
        found = replace(found, written=os.fspath(out), notes=[*found.notes, *told])
    if save is not None:
        save_repair(repair, Path(save), provenance)
        found = replace(found, saved=os.fspath(save))
    return found


def apply(
    repair: str | os.PathLike[str] | Repair,
    source: Any,  # noqa: ANN401 - as for fix
    *,
    out: str | os.PathLike[str] | None = None,
    column: str | None = None,
    tensor: str | None = None,
    text: str | Sequence[str] | None = None,
    model: Any = None,  # noqa: ANN401 - a name, a path or an encoder
    layer: str | int | None = None,
    pooling: str | None = None,
    batch_size: int | None = None,
    limit: int | None = None,
    data: str | os.PathLike[str] | None = None,
    loading: Loading | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> Matrix | Rewritten:
    """Repair new vectors, or texts through the model that the repair was fitted for.

    Args:
        repair: the folder of a saved repair, or a fitted one.
        source: vectors; with `model`, texts: a path, a corpus or strings.
        out: a file for the repaired vectors; without it they are returned.
        column: the column, field or array that holds the vectors, where there are several.
        tensor: the tensor of a .safetensors file.
        text: the column or columns with texts.
        model: the model; layer, pooling, level and prompt are those that the repair was fitted on.
        layer: only for a repair that was fitted on vectors, which does not know; as for `fix`.
        pooling: the same.
        batch_size: texts encoded at once, at most.
        limit: take the first texts only.
        data: the folder with named corpora, when `source` names one.
        loading: revision, device, precision, and what a stranger's model may do.
        cache: keep the vectors of texts on disk, and take those that are there.
        progress: called with the step, the rows done since the last call, and the rows there are.

    >>> fixed = fix(np.eye(8) + 1.0, "center")
    >>> apply(fixed.repair, np.ones((1, 8))).round(3).tolist()
    [[-0.125, -0.125, -0.125, -0.125, -0.125, -0.125, -0.125, -0.125]]
    """
    from uncone.repairs.repair import Repair as AnyRepair
    from uncone.repairs.saving import Saved, load
    from uncone.verbs.repaired_spaces import space_like, space_of

    saved = Saved(repair, {}) if isinstance(repair, AnyRepair) else load(repair)
    _check_places(out, model, (repair, "the repair"))
    if model is None:
        space = space_of(open_source(source, Options(column, tensor, _one(text))))
    else:
        asked = Encoding(model, layer, pooling, "", batch_size, limit, loading, cache)
        space = space_like(open_texts_of(source, text, None, data), asked, saved.provenance, repair)
    space.check_fits(saved.repair)
    space.check_output(out)
    if out is None:
        return space.mapped(saved.repair)
    return space.write(saved.repair, out, _step(progress, "writing"))


def export(
    repair: str | os.PathLike[str] | Repair,
    to: str,
    out: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    loading: Loading | None = None,
    **fitted: Any,  # noqa: ANN401 - layer, pooling, level
) -> Exported:
    """Write a repair as something that a system without uncone can run.

    Args:
        repair: the folder of a saved repair, or a fitted one.
        to: sentence-transformers, onnx, faiss, numpy or sql.
        out: a folder, or for onnx and faiss a file.
        model: the model that goes before it, a folder or a name on the hub: for sentence-transformers, and for onnx
            when both are to be one graph.
        loading: revision of the model.
        **fitted: layer, pooling and level that it was fitted on, where the repair does not know.

    Raises:
        OtherSpaceError: the model, or what is said of it, is not what the repair was fitted on.
    """
    from uncone.encoders.open import Loading as HowToLoad
    from uncone.encoders.open import model_folder
    from uncone.exports.export import export as write
    from uncone.repairs.repair import Repair as AnyRepair
    from uncone.repairs.saving import Saved, load
    from uncone.verbs.repaired_spaces import check_fitted, space_like

    saved = Saved(repair, {}) if isinstance(repair, AnyRepair) else load(repair)
    check_fitted(saved.provenance, **fitted)
    folder = None if model is None else model_folder(os.fspath(model), loading or HowToLoad())
    if saved.provenance.get("encoder_content") and model is not None:
        space_like(open_texts_of(["a"]), Encoding(model, loading=loading, cache=False), saved.provenance, repair)
    return write(saved.repair, to, out, model=folder, provenance=saved.provenance, **fitted)


def seeded(repair: Repair, seed: int) -> Repair:
    """The same with this seed in every step that draws."""
    for step in getattr(repair, "steps", [repair]):
        if "seed" in step.get_params(deep=False) and step.get_params(deep=False)["seed"] == 0:
            step.set_params(seed=seed)
    return repair


def history_of(repair: Repair) -> list[tuple[int, float, float | None]]:
    """The learning curve of a flow, alone or in a chain; empty for all else."""
    for step in getattr(repair, "steps_", [repair]):
        if hasattr(step, "history_"):
            return [(one.epoch, one.train, one.held_out) for one in step.history_]
    return []


def _check_vectors(level: str, **given: object) -> None:
    wrong = [name for name, value in given.items() if value is not None]
    if wrong or level != "sentence":
        option = f"--{wrong[0]}" if wrong else f"--level {level}"
        raise OptionError(f"{option} is for texts: name a model with --model.")


def _check_places(out: str | os.PathLike[str] | None, model: object, *others: tuple[object, str]) -> None:
    """Never write into the model, nor into the folder of a repair."""
    for folder, what in ((model, "the model"), *others):
        if out is not None and isinstance(folder, str | os.PathLike):
            check_outside("-o", Path(out), Path(folder), what)


def _check_differ(before: Diagnosis, dim: int, float64: bool) -> None:
    if before["constant_dimensions"].magnitude == dim:
        n, single = before["constant_dimensions"].n, "" if float64 else " in single precision"
        raise FitError(
            f"{before.source['name']}: all {n:,} rows are equal{single}, so there is nothing to learn from them. Add "
            f"other rows{'' if float64 else ', or try --float64'}."
        )


def _one(text: str | Sequence[str] | None) -> str | None:
    if text is None or isinstance(text, str):
        return text
    if len(text) > 1:
        raise OptionError(f"Vectors have one column of texts, not {len(text)}: {', '.join(text)}.")
    return text[0] if text else None


def _step(progress: Progress | None, name: str) -> Progress | None:
    if progress is None:
        return None
    return lambda step, done, total: progress(step if step.startswith(name) else f"{name}: {step}", done, total)
