"""A calibration as one page that works offline."""

from __future__ import annotations

from typing import Any

from uncone.diagnosis.words import percent
from uncone.report.calibrated import Calibrated
from uncone.report.calibrated_charts import background, reach
from uncone.report.calibrated_curves import labelled
from uncone.report.calibrated_lines import cut, headline, hits, main, rare, score, share, subtitle, told, translated
from uncone.report.calibrated_tables import backgrounds, mappings, operating, scores, thresholds
from uncone.report.diagnosis_charts import Figure
from uncone.report.lines import MARKS
from uncone.report.page import environment, plotly_script, today
from uncone.report.text import provenance_facts

__all__ = ["charts", "notebook", "render"]


def render(result: Calibrated) -> str:
    """The whole page, with the JSON that it offers for download."""
    made = result.calibration
    translation = None if made.translation is None else translated(result, made.translation)
    return _template(
        result,
        whole=True,
        first={"provenance": {"uncone": made.versions.get("uncone", "")}},
        cards=_cards(result),
        charts=charts(result),
        background=[background(result)],
        reach=[reach(result)],
        curves=labelled(result),
        operating=operating(result),
        mappings=mappings(result),
        backgrounds=backgrounds(result),
        translation=translation,
        notes=[*made.notes, *(made.labelled.notes if made.labelled is not None else ())],
        provenance=provenance_facts(result.provenance),
        plotly=plotly_script(),
        summary=result.to_json(),
        today=today(),
    )


def notebook(result: Calibrated) -> str:
    """The sentences, what scores mean and where to cut, without charts: what a notebook shows."""
    return _template(result, whole=False)


def charts(result: Calibrated) -> list[Figure]:
    """Every chart of the page, in its order."""
    return [background(result), reach(result), *labelled(result)]


def _template(result: Calibrated, **more: Any) -> str:  # noqa: ANN401 - what a template takes
    name = str(result.calibration.source.get("name")).rstrip("/").rsplit("/", 1)[-1]
    return (
        environment()
        .get_template("calibrated.html")
        .render(
            result=result,
            name=name,
            subtitle=subtitle(result),
            headline=headline(result),
            mark=MARKS[result.level],
            told=told(result),
            scores=scores(result),
            thresholds=thresholds(result),
            **more,
        )
    )


def _cards(result: Calibrated) -> list[dict[str, str]]:
    """Four numbers, each with its meaning under it."""
    made, one = result.calibration, main(result)
    first, limit = made.backgrounds[0], made.thresholds[0]
    cards = [
        {"value": score(result, first.mean), "label": "mean score of unrelated pairs"},
        {"value": share(one), "label": f"of unrelated pairs reach {one.score:g}"},
        {"value": cut(result, limit), "label": f"is the cut that {rare(limit.rate)} of them reach"},
    ]
    if made.labelled is not None and made.labelled.roc_auc.value is not None:
        label = "is how often an alike pair scores higher than an unlike one"
        return [*cards, {"value": percent(made.labelled.roc_auc.value), "label": label}]
    size = made.corpus_size or 1_000_000
    label = f"unrelated hits per query at that cut, in {size:,} rows"
    return [*cards, {"value": "–" if limit.value is None else hits(limit.rate * size), "label": label}]
