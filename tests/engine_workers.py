"""Worker processes of engines that were started here, to be killed."""

from __future__ import annotations

import contextlib
import os
import signal
import threading

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


def spark_workers():
    """The Python processes that work for Spark: those that its daemon has forked."""
    return [pid for pid, words, parent in _processes() if "pyspark.daemon" in words and "pyspark.daemon" in parent]


def spark_executors():
    """The Java processes of a local cluster that run tasks."""
    return [pid for pid, words, _ in _processes() if any("CoarseGrainedExecutorBackend" in word for word in words)]


def _processes():
    import psutil

    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            yield process.pid, process.cmdline(), process.parent().cmdline()


def killer_of(workers):
    """A progress callback that kills -9 one of the workers, when something is done and others are under way."""
    killed = []

    def kill(step, amount, total):
        if not killed and (busy := workers()):
            os.kill(busy[0], signal.SIGKILL)
            killed.append(busy[0])

    return kill, killed


@contextlib.contextmanager
def one_killed(workers, seconds):
    """Kill -9 one of the workers as soon as it has computed for so many CPU seconds; gives the list of the killed."""
    import psutil

    killed, over, spent = [], threading.Event(), {}

    def watch():
        while not killed and not over.wait(0.02):
            for pid in workers():
                with contextlib.suppress(psutil.Error):
                    used = sum(psutil.Process(pid).cpu_times()[:2])
                    if used - spent.setdefault(pid, used) >= seconds and not killed:
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()
