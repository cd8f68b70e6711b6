"""Worker processes of engines that were started here, to be killed."""

from __future__ import annotations

import contextlib
import os

KILLS = int(os.environ.get("UNCONE_KILLS", "3"))
"""Runs per engine."""


def ray_workers():
    import psutil

    busy = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            if process.cmdline()[:1] in (["ray::_fold"], ["ray::_join"]):
                busy.append(process.pid)
    return busy


def dask_workers():
    from distributed import default_client

    return [nanny.process.pid for nanny in default_client().cluster.workers.values() if nanny.process]
