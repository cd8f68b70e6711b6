"""The document of a plan: its words, for figures that are always the same, and its renderings."""

from __future__ import annotations

import pytest
from report.snapshots import assert_wording

from uncone import Planned
from uncone.run.estimate import Estimate, Reading
from uncone.run.fold import CHUNK
from uncone.run.rehearsal import Pass

ROWS = 1_000_000_000


def planned(engine="ray", verb="check", passes=1, alone="", rows=ROWS, **changes):
    chunks = -(-rows // CHUNK)
    each = Pass(
        "measuring", rows, chunks, -(-chunks // 32), 6.4e-6, 2e-3, 590_592.0, 13 * 10**9, 8 * 10**8, 10**7, 5 * 10**8
    )
    apply = Pass("apply", rows, chunks, -(-chunks // 32), 9e-6, 0.0, 1_179_648.0, folding=10**7, written=rows * 3072)
    settings = {
        "passes": (each, each, each, apply)[-passes:] if passes > 1 else (each,),
        "dim": 768,
        "reading": Reading(3072.0, 4e-7, 2.5e9),
        "own_seconds": 1.4,
        "process_bytes": 37_000_000,
        "workers": 16,
        "bandwidth": 25e9 / 8,
        "cluster": engine != "threads" and not alone,
        "divisible": not alone,
        "unit": CHUNK,
    }
    source = {"name": "shards (61 files)", "kind": "parquet", "rows": rows, "dimensions": 768, "dtype": "float"}
    return Planned(
        estimate=Estimate(**{**settings, **changes}),
        source={**source, "sampled": 49_152},
        verb=verb,
        engine=engine,
        cores=2,
        alone=alone,
        provenance={"uncone": "0", "BLAS": "SkylakeX", "cores": 2},
        given=("workers",),
    )


def test_wording():
    assert_wording("plan_cluster", planned())
    assert_wording("plan_fix", planned("threads", "fix --method whiten", passes=4, bandwidth=None, workers=2))


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (planned(), "The network is the limit: more than 7 workers gain nothing at this bandwidth."),
        (planned(bandwidth=None), "The processor is the limit: twice the workers take about half the time."),
        (planned(bandwidth=1e11), "The processor is the limit: twice the workers take about half the time, up to"),
        (planned(bandwidth=None, own_seconds=9_000.0), "Work that isn't shared takes most of the time"),
        (
            planned(bandwidth=None, workers=5_000, own_seconds=70.0),
            "There are only 954 parts to share, so more workers don't help.",
        ),
        (planned(rows=1_000_000), "One machine is enough: about 5 seconds on the 2 cores of this one."),
        (planned(alone="x.csv can only be read from the beginning"), "so Ray can't share the work. Convert it to"),
        (planned("threads", bandwidth=None), "On a cluster, 12 workers would need about 10 minutes: --engine ray"),
    ],
)
def test_advice(found, line):
    assert line in " ".join(found.lines())


def test_renderings(assert_renderings):
    assert_renderings(planned(passes=4), screen=80)
    found = planned()
    assert "about" in repr(found).lower() and found["memory"].text == "562 MB"


@pytest.mark.exhaustive
def test_page(assert_page_works):
    assert_page_works(planned(), planned("threads", passes=4, bandwidth=None))
