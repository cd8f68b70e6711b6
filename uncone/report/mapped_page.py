"""A map as one page that works offline, and as a fragment for notebooks."""

from __future__ import annotations

import base64
import json
from typing import Any

from markupsafe import Markup

from uncone._version import __version__
from uncone.diagnosis.words import count
from uncone.maps.results import Panel
from uncone.report.mapped import Map
from uncone.report.mapped_lines import (
    METHODS,
    READING,
    held_of,
    source_name,
    stamp,
    subtitle,
    trust_text,
    unit,
    unparted,
)
from uncone.report.mapped_store import store, view_of
from uncone.report.page import environment, today
from uncone.report.text import printable, provenance_facts

__all__ = ["notebook", "render"]

_HIDDEN = ("in_memory", "path")


def render(result: Map) -> str:
    """The whole page, with the JSON that it offers for download."""
    return (
        environment()
        .get_template("mapped.html")
        .render(
            **_words(result),
            whole=True,
            first={"provenance": {"uncone": result.provenance.get("uncone", __version__)}},
            name=printable(source_name(result)),
            figures=[_figure(result, place, panel) for place, panel in enumerate(result.panels)],
            images=_images(result) if result.static else [],
            store=None if result.static else _json(store(result)),
            provenance=provenance_facts(
                {**{k: v for k, v in result.source.items() if k not in _HIDDEN}, **result.provenance}
            ),
            summary=result.to_json(),
            today=today(),
        )
    )


def notebook(result: Map) -> str:
    """The sentences and the trust of every picture: what a notebook shows."""
    return environment().get_template("mapped.html").render(**_words(result), whole=False)


def _words(result: Map) -> dict[str, Any]:
    return {
        "result": result,
        "subtitle": subtitle(result),
        "unit": unit(result),
        "lines": [unparted(line) for line in result.lines()],
        "reading": READING.get(result.method, ""),
        "held": held_of(result),
        "notes": [note for note in result.notes if note],
    }


def _figure(result: Map, place: int, panel: Panel) -> dict[str, Any]:
    """A picture's title, what it shows in words, and what it leaves out at first."""
    outside = view_of(panel.points).outside
    name = METHODS.get(result.method, result.method)
    told = f"{name} in {result.dims} dimensions of {count(len(panel.points), unit(result))}"
    beyond = (
        f"{count(outside, 'point')} {'lies' if outside == 1 else 'lie'} outside at first: zoom out." if outside else ""
    )
    return {
        "id": f"map-{place}",
        "title": printable(panel.name) if len(result.panels) > 1 else f"{name}, {result.dims}-D",
        "alt": " ".join(part for part in (f"{told}.", panel.trust.sentence) if part),
        "trust": unparted(trust_text(result, panel.trust)),
        "outside": beyond,
        "stamp": stamp(result, panel),
    }


def _images(result: Map) -> list[dict[str, str]]:
    """The pictures that cannot be turned, as they are written to files."""
    made = []
    for name, data in result.pictures().items():
        if name.endswith(".png"):
            code = base64.b64encode(data).decode("ascii")
            made.append({"name": name, "data": f"data:image/png;base64,{code}"})
    return made


def _json(value: dict[str, Any]) -> Markup:
    """JSON that no text in it can end; letters of other scripts stay letters, which is a third of the size."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", errors="replace").decode("utf-8")  # half a surrogate pair has no bytes
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)
