"""What an engine is asked in its tests: every answer has to be the same text as that of threads."""

from __future__ import annotations

import json

import uncone


def answers(folder, **options):
    """The findings of check, the threshold of calibrate and the numbers of a repair, as text."""
    seen = uncone.check(folder, exact=True, **options).to_dict()["findings"]
    cuts = uncone.calibrate(folder, **options).to_dict()
    repaired = uncone.fix(folder, "whiten", skip_bad=True, **options)
    for values in (cuts, repaired.to_dict()):
        values.pop("provenance", None)
    return json.dumps([seen, cuts, repaired.to_dict()["after"], repaired.repair.matrix_.tolist()], default=str)
