"""The JSON Schema of results: `schema` gives it, `validate` checks a saved result against it.

Dataclasses that are written as their fields stand are declared where they are computed; `_shapes` declares the rest.
"""

from __future__ import annotations

import json
import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from uncone.analysis.calibration.calibration import CalibratedScore, Calibration
from uncone.analysis.calibration.results import Background
from uncone.analysis.cosine.baseline import ScoreMeaning
from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.layers.contrast import Curve
from uncone.analysis.layers.deep_results import Deep, Dimension
from uncone.analysis.measures.finding import Level
from uncone.analysis.measures.registry import all_families
from uncone.analysis.projections.results import Trust
from uncone.analysis.similarity.results import Crowd, Group, Groups, Labels, Pair, PerLabel
from uncone.analysis.space.chart_data import Pictures
from uncone.data.cache import Entry
from uncone.errors import FormatError, OptionError
from uncone.evaluation.frequency import SpaceBias
from uncone.evaluation.table import Row, TaskRow
from uncone.report.documents.evaluate.scores import Gain
from uncone.report.documents.layers import LARGE_FIELDS
from uncone.report.documents.plan import How
from uncone.run.estimate import Limit
from uncone.tuning.ablation.pairing import PairedAccuracy
from uncone.tuning.results import Agreement, DrawRun, LabelTrace, LayerGeometry, LayerRun, Probe, Skew
from uncone.verbs.encode import Encoded

__all__ = ["VERSION", "schema", "validate"]

VERSION = 1
"""The number under `schema` in every result."""

_PLAIN = (Enum, msgspec.Struct, str, int)
_OBJECT = dict[str, Any]
_TEXTS, _PATH = list[str], str | None
_NUMBERS: dict[str, Any] = {"number": float, "integer": int | None, "array": list[Any] | None}
_SUMMARY: dict[str, Any] = {"headline": str, "lines": _TEXTS}


def schema(verb: str | None = None) -> dict[str, Any]:
    """The JSON Schema of the results of a verb, or of all verbs.

    >>> sorted(schema("encode")["$defs"]["Encoded"]["properties"])[:3]
    ['blank', 'dim', 'dropped']

    Raises:
        OptionError: there is no such verb, or it has no JSON.
    """
    shapes = [shape for _, shape in _shapes_of(verb)]
    references, definitions = msgspec.json.schema_components(shapes, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Results of uncone{'' if verb is None else f' {verb}'}, schema {VERSION}",
        "anyOf": list(references),
        "$defs": definitions,
    }


def validate(text: str | bytes, name: str = "The result", verb: str | None = None) -> str:
    """Check the JSON text of a result, and return its verb: the best match of the keys, if none is named.

    Raises:
        FormatError: it is not JSON, not a result of uncone, or not a valid one; the message says where.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{name} is not JSON: {error}.") from error
    whose = "uncone" if verb is None else f"uncone {verb}"
    if not isinstance(values, dict):
        raise FormatError(f"{name} is not a result of {whose}: it is not a JSON object.")
    own = values.keys() - {"schema"}
    owner, shape = max(_shapes_of(verb), key=lambda pair: _overlap(own, pair[1].__struct_fields__))
    if not _overlap(own, shape.__struct_fields__):
        raise FormatError(f"{name} is not a result of {whose}: it has none of the expected keys.")
    version = values.get("schema")
    if isinstance(version, int) and version > VERSION:
        raise FormatError(
            f"{name} was written by a newer uncone: it has schema {version}, but this version knows {VERSION}."
        )
    try:
        msgspec.convert(values, shape)
    except msgspec.ValidationError as error:
        raise FormatError(f"{name} is not a valid result of uncone {owner}: {error}.") from error
    return owner


def _overlap(keys: Collection[str], names: Collection[str]) -> float:
    return len(set(keys) & set(names)) / len(set(keys) | set(names))


def _shapes_of(verb: str | None) -> list[tuple[str, Any]]:
    shapes = _shapes()
    if verb is not None and verb not in shapes:
        raise OptionError(f"{verb} has no JSON result; choose from {', '.join(shapes)}.")
    return [(name, shape) for name, several in shapes.items() if verb in (None, name) for shape in several]


def _object(name: str, keys: Mapping[str, Any], optional: Mapping[str, Any] | None = None, module: str = "") -> Any:  # noqa: ANN401
    """A JSON object with these keys, perhaps those of `optional`, and no others."""
    required = tuple((key, _json(hint)) for key, hint in keys.items())
    return _struct(name, module, required, tuple((optional or {}).items()))


@cache
def _struct(name: str, module: str, required: tuple[Any, ...], optional: tuple[Any, ...]) -> type[msgspec.Struct]:
    unset = [(key, _or_unset(_json(hint)), msgspec.UNSET) for key, hint in optional]
    return msgspec.defstruct(name, [*required, *unset], module=module, forbid_unknown_fields=True, kw_only=True)


def _values(kind: type, omitted: Collection[str] = (), name: str = "", **added: Any) -> Any:  # noqa: ANN401 - a type
    """A dataclass as it is written: its fields under their names, without those `omitted` at any depth."""
    names = {field.name for field in fields(kind)} - set(omitted)
    hints = {name: hint for name, hint in get_type_hints(kind, localns={"RowFacts": Any}).items() if name in names}
    keys = {
        name.rstrip("_"): _OBJECT | None if kind in get_args(hint) else _json(hint, omitted)  # recursive
        for name, hint in hints.items()
    }
    paper = {"paper": float} if kind is Dimension else {}
    return _object(name or kind.__name__, {**keys, **paper, **added}, module=kind.__module__)


def _json(hint: Any, omitted: Collection[str] = ()) -> Any:  # noqa: ANN401 - any type
    """The type of the JSON value that a value of this type is written as."""
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if hint is float:
        return float | None  # what is not finite is null
    if origin in (Union, types.UnionType):
        return Union[tuple(_json(part, omitted) for part in parts)]  # noqa: UP007 - of types in a list
    if hint in (Any, type(None)) or not isinstance(origin, type) or issubclass(origin, _PLAIN):
        return hint
    if is_dataclass(origin):
        return _values(origin, omitted)
    if issubclass(origin, Mapping):
        return dict[str, _json(parts[1], omitted)]  # type: ignore[misc]
    if not issubclass(origin, Sequence) or issubclass(origin, tuple):  # arrays, and tuples of several types
        return list[Any]
    return _list(_json(parts[0], omitted))


def _list(item: Any) -> Any:  # noqa: ANN401 - a type
    return types.GenericAlias(list, (_json(item),))


def _or_null(kind: Any) -> Any:  # noqa: ANN401 - a type
    return Union[kind, None]  # noqa: UP007 - not of an annotation


def _or_unset(kind: Any) -> Any:  # noqa: ANN401 - a type
    return Union[kind, msgspec.UnsetType]  # noqa: UP007 - not of an annotation


def _finding(kind: str = "") -> Any:  # noqa: ANN401 - a type
    """A finding whose value is of a JSON type, or of any."""
    bound = float if kind in _NUMBERS else Any
    keys = {"value": _NUMBERS.get(kind, Any), "low": bound, "high": bound, "n": int, "threshold": float}
    rows = {"rows": list[_OBJECT]}
    return _object(f"{kind.capitalize()}Finding", {**keys, "level": Level, "meaning": str, "advice": str}, rows)


def _findings() -> Any:  # noqa: ANN401 - a type
    """The findings of `check`: all of uncone's own, and perhaps some of packages, installed here or not."""
    keys: list[Any] = []
    for family in (family for family in all_families() if "check" in family.verbs):
        for measure in family.measures:
            described = msgspec.Meta(title=measure.title, description=measure.definition)
            kind: Any = Annotated[_finding(measure.unit.json), described]
            keys.append((measure.name, _or_unset(kind), msgspec.UNSET) if family.package else (measure.name, kind))
    return msgspec.defstruct("Findings", keys, kw_only=True)


def _shapes() -> dict[str, list[Any]]:
    """The shapes of the results of each verb."""
    version = {"schema": int}
    space = _space()
    diagnosis = _object("Diagnosis", {**version, **space})
    compared = _list(_object("ComparedSpace", space))
    calibrated = _object("Calibrated", {**version, **_calibration()})
    repaired = _object("Repaired", {**version, **_repair(), "before": diagnosis, "after": diagnosis})
    study, study_options, differences = _study()
    studies = _list(_object("ComparedStudy", study, study_options))
    biases = _list(_values(SpaceBias, LARGE_FIELDS))
    prescription = _prescription()
    demo = {"check": diagnosis, "calibrate": calibrated, "fix": repaired, "prescribe": prescription}
    entries = dict.fromkeys(("entries", "cleared"), _list(Entry))
    return {
        "check": [diagnosis, _object("Comparison", {**version, "sources": compared})],
        "layers": [
            _object("LayerStudy", {**version, **study}, study_options),
            _object("LayerComparison", {**version, "studies": studies, "differences": differences}),
            _object("LayerPapers", {**version, "studies": studies, "differences": differences, "frequency": biases}),
        ],
        "similarity": [_object("Similarity", {**version, **_similarity()})],
        "map": [_object("Map", {**version, **_map()}, {"rows": list[int]})],
        "calibrate": [calibrated],
        "plan": [_object("Planned", {**version, **_plan()})],
        "encode": [_values(Encoded, schema=int, verb=str)],
        "fix": [repaired, _object("Prescribed", {**version, "prescription": prescription})],
        "evaluate": [_object("Evaluated", {**version, **_evaluation()}, {"made_as": _OBJECT})],
        "tune": [_object("Tuned", {**version, **_tuning(study, study_options, differences)})],
        "ablate layers": [_object("LayerAblation", {**version, **_layer_ablation()})],
        "ablate data": [_object("DataAblation", {**version, **_data_ablation()})],
        "ablate repair": [_object("RepairAblation", {**version, **_repair_ablation()})],
        "cache": [_object("Cache", {"folder": str, "limit": int, "bytes": int}, entries)],
        "demo": [_object("Demo", {**version, **demo, "prescribe_last_layer": prescription})],
    }


def _space() -> dict[str, Any]:
    verdict = {"level": Level, "text": str, "headline": str, "why": str, "advice": str, "next": _PATH}
    return {
        "source": _OBJECT,
        "verdict": _object("Verdict", verdict),
        "findings": _findings(),
        "scores": _list(ScoreMeaning),
        "charts": _values(Pictures, ["points"]),
        "provenance": _OBJECT,
    }


def _study() -> tuple[dict[str, Any], dict[str, Any], Any]:
    """The keys of a study, those that it may have, and the differences of studies."""
    findings = types.GenericAlias(dict, (str, _finding()))
    layers = _list(_object("Layer", {"layer": int, "findings": findings}))
    word = {"word": str, "kind": str, "count": int, "contexts": int, "selfsim": list[float], "mev": list[float]}
    study = {
        "source": _OBJECT,
        "story": _TEXTS,
        "notes": _TEXTS,
        "layers": layers,
        "words": _list(_object("Word", {**word, "mev_n": int})),
        "published": _list(_values(Curve, name="PublishedCurve")),
        "provenance": _OBJECT,
    }
    curve = _list(_object("StudySize", {"texts": int, "layers": layers}))
    pairs = _list(_object("LayerDifference", {"to": int, "of": int, "findings": findings}))
    difference = _object("StudyDifference", {"of": str, "to": str, "paired": bool, "layers": pairs})
    return study, {"deep": _values(Deep, LARGE_FIELDS), "curve": curve}, _list(difference)


def _similarity() -> dict[str, Any]:
    pairs = {"found": int, "why": str, "pairs": _list(Pair)}
    listed = _object("Pairs", pairs)
    heatmap = {"name": str, "order": str, "rows": list[int], "blocks": list[_OBJECT], "linkage": list[Any] | None}
    groups = _list(_values(Group, text=str))
    columns = {"table": _list(PerLabel), "auc": dict[str, list[float]], "differs": str}
    step = {"key": str, "title": str, "text": str, "numbers": dict[str, float]}
    return {
        "source": _OBJECT,
        **_SUMMARY,
        "next": _PATH,
        "background": Background,
        "histogram": dict[str, list[float]],
        "pictures": _list(_object("Heatmap", {**heatmap, "note": str})),
        "labels": Labels | None,
        "pairs": listed,
        "near": _or_null(_object("Near", {"text": str, **pairs})),
        "duplicates": listed,
        "crowd": Crowd | None,
        "groups": _list(_values(Groups, ["members", "groups"], groups=groups)),
        "two_columns": _or_null(_object("TwoColumns", columns)),
        "steps": _list(_object("Step", step)),
        "projections": dict[str, list[Any]],
        "cleaned": dict[str, int],
        "notes": _TEXTS,
        "written": dict[str, str],
        "provenance": _OBJECT,
    }


def _map() -> dict[str, Any]:
    panel = {"name": str, "layer": int | None, "points": int, "trust": Trust | None}
    points = {"rows": list[int], "coordinates": list[list[float]]}
    return {
        "source": _OBJECT,
        **_SUMMARY,
        "next": _PATH,
        "method": str,
        **dict.fromkeys(("dims", "shown", "total", "seed"), int),
        "static": bool,
        "panels": _list(_object("Panel", panel, points)),
        "colorings": list[_OBJECT],
        "highlight": _TEXTS,
        "notes": _TEXTS,
        "written": dict[str, str],
        "provenance": _OBJECT,
    }


def _calibration() -> dict[str, Any]:
    calibration = _values(Calibration, ["matches_encoder"])
    values = {"level": Level, **_SUMMARY, "scores": _list(CalibratedScore), "calibration": calibration}
    return {**values, "saved": _PATH, "provenance": _OBJECT}


def _repair() -> dict[str, Any]:
    step = _object("RepairStep", {"kind": str, "parameters": _OBJECT, "note": str})
    return {
        "method": str,
        "repair": _object("Repair", {"steps": _list(step), "dim_in": int, "dim_out": int}),
        **_SUMMARY,
        "was_healthy": bool,
        "warning": str,
        "reminder": str,
        "next": _PATH,
        "notes": _TEXTS,
        "history": _list(_object("Epoch", {"epoch": int, "train": float, "held_out": float})),
        "saved": _PATH,
        "written": _PATH,
        "provenance": _OBJECT,
    }


def _plan() -> dict[str, Any]:
    figure = _object("Figure", {"value": float, "unit": str, "how": How, "meaning": str})
    seconds = dict.fromkeys(("cpu_seconds_per_vector", "cpu_seconds_per_merge"), float)
    sizes = ("bytes_read", "bytes_written", "between_workers", "to_driver")
    sums = {**dict.fromkeys(("flops", "cpu_seconds", "seconds"), float), **dict.fromkeys(sizes, int)}
    parts = {"measured": _object("PassMeasured", seconds), "computed": _object("PassComputed", sums)}
    return {
        "source": _OBJECT,
        "verb": str,
        "engine": str,
        **_SUMMARY,
        "limit": Limit,
        "figures": types.GenericAlias(dict, (str, figure)),
        "passes": _list(_object("Pass", {"step": str, **parts})),
        "provenance": _OBJECT,
    }


def _prescription() -> Any:  # noqa: ANN401 - a type
    method = {"name": str, "method": str, "options": _OBJECT}
    tried = {**method, "score": float, "difference": Difference, "chosen": int, "note": str}
    values = {
        "verdict": str,
        "recommended": _or_null(_object("Recommended", method)),
        "proven": bool,
        "reason": str,
        "gain": _object("GainInterval", {"value": float, "low": float, "high": float}),
        "raw": float,
        "measure": str,
        **dict.fromkeys(("pairs", "independent_pairs", "folds"), int),
        "name": str,
        "level": float,
        "least_gain": float,
        "notes": _TEXTS,
        "table": _list(_object("Tried", tried)),
    }
    return _object("Prescription", values)


def _tuning(study: dict[str, Any], study_options: dict[str, Any], differences: Any) -> dict[str, Any]:  # noqa: ANN401
    studies = _list(_object("ComparedStudy", study, study_options))
    layers = _object("TunedLayers", {"studies": studies, "differences": differences})
    repair = {"name": str, "method": str, "options": _OBJECT, "dev": float, "seconds": float, "tried": int}
    return {
        **dict.fromkeys(("model", "out", "objective", "source", "dev"), str),
        **_SUMMARY,
        **dict.fromkeys(("examples", "best_step", "steps", "resumed_at"), int),
        "settings": _OBJECT,
        "seconds": float,
        "losses": _list(_object("Loss", {"step": int, "loss": float})),
        "probes": _list(Probe),
        "repair": _or_null(_object("BestRepair", repair)),
        "rows": _list(_values(Row, name="ContenderRow")),
        "beyond_repair": Difference | None,
        "layers": _or_null(layers),
        "notes": _TEXTS,
    }


def _ablation() -> dict[str, Any]:
    """What the studies of trainings share."""
    own = {"model": str, **_SUMMARY, "task": str, "split": str, "train": int, "test": int}
    return {**own, "seeds": list[int], "settings": _OBJECT}


def _layer_ablation() -> dict[str, Any]:
    variant = {"variant": str, "kind": str, "layer": int | None, "accuracy": Score, "difference": Difference | None}
    variants = _list(_object("Variant", {**variant, "runs": _list(LayerRun)}))
    sizes = {"layers": int, "majority": float, "independent_items": int, "seconds": float}
    return {**_ablation(), **sizes, "variants": variants}


def _data_ablation() -> dict[str, Any]:
    return {
        **_ablation(),
        "classes": _TEXTS,
        "skew": Skew,
        "skewed_to": str,
        "accuracies": dict[str, _json(PairedAccuracy)],  # type: ignore[misc]
        "recalls": dict[str, dict[str, float]],
        "runs": _list(DrawRun),
    }


def _repair_ablation() -> dict[str, Any]:
    method = {
        "method": str,
        "accuracy": Score,
        "accuracy_by_seed": list[float],
        "difference": Difference | None,
        **dict.fromkeys(("log10_isotropy", "isotropy", "changed_in_other_batches", "changed_alone"), float),
        "clusters_and_classes": Agreement | None,
        "label": LabelTrace | None,
        "layers": _list(LayerGeometry),
    }
    published = {"method": str, "accuracy": float, "isotropy": float}
    task = {
        **dict.fromkeys(("task", "split"), str),
        **dict.fromkeys(("n_train", "n_test", "units"), int),
        "majority": float,
        "settings": _OBJECT,
        "methods": _list(_object("RepairMethod", method)),
        "published": _list(_object("PublishedRepair", published)),
    }
    return {"model": str, **_SUMMARY, "tasks": _list(_object("RepairTask", task)), "notes": _TEXTS}


def _evaluation() -> dict[str, Any]:
    return {
        "model": str,
        **_SUMMARY,
        "helps": bool,
        "datasets": _TEXTS,
        "rows": _list(_values(Row, name="MethodRow", label=str, gain=Gain | None)),
        "tasks": _list(TaskRow),
        "published": _list(Row),
        "notes": _TEXTS,
        "provenance": _OBJECT,
    }
