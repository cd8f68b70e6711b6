"""The JSON Schema of results: `schema` gives it, `validate` checks a saved result against it.

Dataclasses that are written as their fields stand are declared where they are computed; `_shapes` declares the rest.
"""

from __future__ import annotations

import json
import types
from collections.abc import Collection
from typing import Any

import msgspec

from uncone.analysis.advice.rules import AdviceValues
from uncone.analysis.advice.witness import AgreementChange
from uncone.analysis.calibration.calibration import CalibratedScore, Calibration
from uncone.analysis.calibration.results import Background
from uncone.analysis.cosine.baseline import ScoreMeaning
from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.layers.contrast import Curve
from uncone.analysis.layers.deep_results import Deep
from uncone.analysis.measures.finding import Level
from uncone.analysis.projections.results import Trust
from uncone.analysis.similarity.results import Crowd, Group, Groups, Labels, Pair, PerLabel
from uncone.analysis.space.chart_data import Pictures
from uncone.data.cache import Entry
from uncone.errors import FormatError, OptionError
from uncone.evaluation.advised import AdvisedValues
from uncone.evaluation.frequency import SpaceBias
from uncone.evaluation.table import Hubs, Row, TaskRow
from uncone.report.documents.advice import KnownUse
from uncone.report.documents.evaluate.papers import PaperTables
from uncone.report.documents.evaluate.scores import Gain
from uncone.report.documents.layers import LARGE_FIELDS
from uncone.report.documents.plan import How
from uncone.run.estimate import Limit
from uncone.tuning.ablation.pairing import PairedAccuracy
from uncone.tuning.results import Agreement, DrawRun, LabelTrace, LayerGeometry, LayerRun, Probe, Skew
from uncone.verbs.encode import Encoded
from uncone.verbs.schema.json_types import (
    OBJECT,
    json_finding,
    json_findings,
    json_list,
    json_object,
    json_type,
    json_values,
    or_null,
)

__all__ = ["VERSION", "schema", "validate"]

VERSION = 1
"""The number under `schema` in every result."""

_TEXTS, _PATH = list[str], str | None
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


def _shapes() -> dict[str, list[Any]]:
    """The shapes of the results of each verb."""
    version = {"schema": int}
    space = _space()
    diagnosis = json_object("Diagnosis", {**version, **space})
    compared = json_list(json_object("ComparedSpace", space))
    calibrated = json_object("Calibrated", {**version, **_calibration()})
    repaired = json_object("Repaired", {**version, **_repair(), "before": diagnosis, "after": diagnosis})
    study, study_options, differences = _study()
    studies = json_list(json_object("ComparedStudy", study, study_options))
    prescription, by_rule = _prescription(), json_object("ByRule", {**version, "advised": json_values(AdvisedValues)})
    biases = json_list(json_values(SpaceBias, LARGE_FIELDS))
    demo = {"check": diagnosis, "calibrate": calibrated, "fix": repaired, "prescribe": prescription}
    entries = dict.fromkeys(("entries", "cleared"), json_list(Entry))
    return {
        "check": [diagnosis, json_object("Comparison", {**version, "sources": compared})],
        "layers": [
            json_object("LayerStudy", {**version, **study}, study_options),
            json_object("LayerComparison", {**version, "studies": studies, "differences": differences}),
            json_object(
                "LayerPapers", {**version, "studies": studies, "differences": differences, "frequency": biases}
            ),
        ],
        "similarity": [json_object("Similarity", {**version, **_similarity()})],
        "map": [json_object("Map", {**version, **_map()}, {"rows": list[int]})],
        "calibrate": [calibrated],
        "plan": [json_object("Planned", {**version, **_plan()})],
        "encode": [json_values(Encoded, schema=int, verb=str)],
        "fix": [repaired, json_object("Prescribed", {**version, "prescription": prescription}), by_rule],
        "evaluate": [
            json_object("Evaluated", {**version, **_evaluation()}, {"made_as": OBJECT}),
            json_values(PaperTables, ["resumed"], schema=int, published=list[OBJECT], **_SUMMARY),
        ],
        "tune": [json_object("Tuned", {**version, **_tuning(study, study_options, differences)})],
        "ablate layers": [json_object("LayerAblation", {**version, **_layer_ablation()})],
        "ablate data": [json_object("DataAblation", {**version, **_data_ablation()})],
        "ablate repair": [json_object("RepairAblation", {**version, **_repair_ablation()})],
        "cache": [json_object("Cache", {"folder": str, "limit": int, "bytes": int}, entries)],
        "demo": [json_object("Demo", {**version, **demo, "prescribe_last_layer": prescription})],
    }


def _space() -> dict[str, Any]:
    verdict = {"level": Level, "text": str, "headline": str, "why": str, "advice": str, "next": _PATH}
    return {
        "source": OBJECT,
        "verdict": json_object("Verdict", verdict),
        "findings": json_findings(),
        "scores": json_list(ScoreMeaning),
        "charts": json_values(Pictures, ["points"]),
        "provenance": OBJECT,
        "advice": json_values(AdviceValues) | None,
    }


def _study() -> tuple[dict[str, Any], dict[str, Any], Any]:
    """The keys of a study, those that it may have, and the differences of studies."""
    findings = types.GenericAlias(dict, (str, json_finding()))
    layers = json_list(json_object("Layer", {"layer": int, "findings": findings}))
    word = {"word": str, "kind": str, "count": int, "contexts": int, "selfsim": list[float], "mev": list[float]}
    study = {
        "source": OBJECT,
        "story": _TEXTS,
        "notes": _TEXTS,
        "layers": layers,
        "words": json_list(json_object("Word", {**word, "mev_n": int})),
        "published": json_list(json_values(Curve, name="PublishedCurve")),
        "provenance": OBJECT,
    }
    curve = json_list(json_object("StudySize", {"texts": int, "layers": layers}))
    pairs = json_list(json_object("LayerDifference", {"to": int, "of": int, "findings": findings}))
    difference = json_object("StudyDifference", {"of": str, "to": str, "paired": bool, "layers": pairs})
    return study, {"deep": json_values(Deep, LARGE_FIELDS), "curve": curve}, json_list(difference)


def _similarity() -> dict[str, Any]:
    pairs = {"found": int, "why": str, "pairs": json_list(Pair)}
    listed = json_object("Pairs", pairs)
    heatmap = {"name": str, "order": str, "rows": list[int], "blocks": list[OBJECT], "linkage": list[Any] | None}
    groups = json_list(json_values(Group, text=str))
    columns = {"table": json_list(PerLabel), "auc": dict[str, list[float]], "differs": str}
    step = {"key": str, "title": str, "text": str, "numbers": dict[str, float]}
    return {
        "source": OBJECT,
        **_SUMMARY,
        "next": _PATH,
        "background": Background,
        "histogram": dict[str, list[float]],
        "pictures": json_list(json_object("Heatmap", {**heatmap, "note": str})),
        "labels": Labels | None,
        "pairs": listed,
        "near": or_null(json_object("Near", {"text": str, **pairs})),
        "duplicates": listed,
        "crowd": Crowd | None,
        "groups": json_list(json_values(Groups, ["members", "groups"], groups=groups)),
        "two_columns": or_null(json_object("TwoColumns", columns)),
        "steps": json_list(json_object("Step", step)),
        "projections": dict[str, list[Any]],
        "cleaned": dict[str, int],
        "notes": _TEXTS,
        "written": dict[str, str],
        "provenance": OBJECT,
    }


def _map() -> dict[str, Any]:
    panel = {"name": str, "layer": int | None, "points": int, "trust": Trust | None}
    points = {"rows": list[int], "coordinates": list[list[float]]}
    return {
        "source": OBJECT,
        **_SUMMARY,
        "next": _PATH,
        "method": str,
        **dict.fromkeys(("dims", "shown", "total", "seed"), int),
        "static": bool,
        "panels": json_list(json_object("Panel", panel, points)),
        "colorings": list[OBJECT],
        "highlight": _TEXTS,
        "notes": _TEXTS,
        "written": dict[str, str],
        "provenance": OBJECT,
    }


def _calibration() -> dict[str, Any]:
    scores, calibration = json_list(CalibratedScore), json_values(Calibration, ["matches_encoder"])
    values = {"level": Level, **_SUMMARY, "scores": scores, "calibration": calibration}
    return {**values, "saved": _PATH, "topic": types.GenericAlias(dict, (str, json_finding())), "provenance": OBJECT}


def _repair() -> dict[str, Any]:
    step = json_object("RepairStep", {"kind": str, "parameters": OBJECT, "note": str})
    return {
        "method": str,
        "repair": json_object("Repair", {"steps": json_list(step), "dim_in": int, "dim_out": int}),
        **_SUMMARY,
        "use": KnownUse,
        "agreement": AgreementChange | None,
        "was_healthy": bool,
        "warning": str,
        "reminder": str,
        "next": _PATH,
        "notes": _TEXTS,
        "history": json_list(json_object("Epoch", {"epoch": int, "train": float, "held_out": float})),
        "saved": _PATH,
        "written": _PATH,
        "provenance": OBJECT,
    }


def _plan() -> dict[str, Any]:
    figure = json_object("Figure", {"value": float, "unit": str, "how": How, "meaning": str})
    seconds = dict.fromkeys(("cpu_seconds_per_vector", "cpu_seconds_per_merge"), float)
    sizes = ("bytes_read", "bytes_written", "between_workers", "to_driver")
    sums = {**dict.fromkeys(("flops", "cpu_seconds", "seconds"), float), **dict.fromkeys(sizes, int)}
    parts = {"measured": json_object("PassMeasured", seconds), "computed": json_object("PassComputed", sums)}
    return {
        "source": OBJECT,
        "verb": str,
        "engine": str,
        **_SUMMARY,
        "limit": Limit,
        "figures": types.GenericAlias(dict, (str, figure)),
        "passes": json_list(json_object("Pass", {"step": str, **parts})),
        "provenance": OBJECT,
    }


def _prescription() -> Any:  # noqa: ANN401 - a type
    method = {"name": str, "method": str, "options": OBJECT}
    tried = {**method, "score": float, "difference": Difference, "chosen": int, "note": str}
    values = {
        "verdict": str,
        "recommended": or_null(json_object("Recommended", method)),
        "proven": bool,
        "reason": str,
        "gain": json_object("GainInterval", {"value": float, "low": float, "high": float}),
        "raw": float,
        "measure": str,
        **dict.fromkeys(("pairs", "independent_pairs", "folds"), int),
        "name": str,
        "level": float,
        "least_gain": float,
        "notes": _TEXTS,
        "table": json_list(json_object("Tried", tried)),
    }
    return json_object("Prescription", values)


def _tuning(study: dict[str, Any], study_options: dict[str, Any], differences: Any) -> dict[str, Any]:  # noqa: ANN401
    studies = json_list(json_object("ComparedStudy", study, study_options))
    layers = json_object("TunedLayers", {"studies": studies, "differences": differences})
    repair = {"name": str, "method": str, "options": OBJECT, "dev": float, "seconds": float, "tried": int}
    return {
        **dict.fromkeys(("model", "out", "objective", "source", "dev"), str),
        **_SUMMARY,
        **dict.fromkeys(("examples", "best_step", "steps", "resumed_at"), int),
        "settings": OBJECT,
        "seconds": float,
        "losses": json_list(json_object("Loss", {"step": int, "loss": float})),
        "probes": json_list(Probe),
        "repair": or_null(json_object("BestRepair", repair)),
        "rows": json_list(json_values(Row, name="ContenderRow")),
        "beyond_repair": Difference | None,
        "layers": or_null(layers),
        "notes": _TEXTS,
    }


def _ablation() -> dict[str, Any]:
    """What the studies of trainings share."""
    own = {"model": str, **_SUMMARY, "task": str, "split": str, "train": int, "test": int}
    return {**own, "seeds": list[int], "settings": OBJECT}


def _layer_ablation() -> dict[str, Any]:
    variant = {"variant": str, "kind": str, "layer": int | None, "accuracy": Score, "difference": Difference | None}
    sizes = {"layers": int, "majority": float, "independent_items": int, "seconds": float}
    return {
        **_ablation(),
        **sizes,
        "variants": json_list(json_object("Variant", {**variant, "runs": json_list(LayerRun)})),
    }


def _data_ablation() -> dict[str, Any]:
    return {
        **_ablation(),
        "classes": _TEXTS,
        "skew": Skew,
        "skewed_to": str,
        "accuracies": dict[str, json_type(PairedAccuracy)],  # type: ignore[misc]
        "recalls": dict[str, dict[str, float]],
        "runs": json_list(DrawRun),
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
        "layers": json_list(LayerGeometry),
    }
    published = {"method": str, "accuracy": float, "isotropy": float}
    task = {
        **dict.fromkeys(("task", "split"), str),
        **dict.fromkeys(("n_train", "n_test", "units"), int),
        "majority": float,
        "settings": OBJECT,
        "methods": json_list(json_object("RepairMethod", method)),
        "published": json_list(json_object("PublishedRepair", published)),
    }
    return {"model": str, **_SUMMARY, "tasks": json_list(json_object("RepairTask", task)), "notes": _TEXTS}


def _evaluation() -> dict[str, Any]:
    return {
        "model": str,
        **_SUMMARY,
        "helps": bool,
        "datasets": _TEXTS,
        "rows": json_list(json_values(Row, name="MethodRow", label=str, gain=Gain | None)),
        "tasks": json_list(TaskRow),
        "published": json_list(Row),
        "notes": _TEXTS,
        "provenance": OBJECT,
        "hubs": Hubs | None,
    }
