"""Ray: chunks are folded and merged by tasks of the cluster, each on one core."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from uncone.errors import WorkerError, require
from uncone.run.engines.address import check_address, quiet
from uncone.run.job import Job, Progress, Range

require("ray", extra="ray")

__all__ = ["Ray"]

S = TypeVar("S")
_RETRIES = 20  # of a task whose worker died; errors of ours are no reason to try again


class Ray:
    """A Ray cluster: `address` is "auto", host:port or ray://host:port; without one, Ray is started here.

    A cluster that is connected already is used as it is.
    """

    def __init__(self, address: str | None = None, workers: int = 0) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray

        if ray.is_initialized():
            return
        if address not in (None, "auto", "local"):
            check_address(str(address), "Ray Client" if str(address).startswith("ray://") else "Ray")
        own = {"num_cpus": workers or None, "include_dashboard": False} if address is None else {}
        try:
            with quiet():
                ray.init(address or "local", logging_level=logging.ERROR, log_to_driver=False, **own)
        except Exception as error:  # Ray raises a dozen kinds, from ConnectionError to its own
            reason = str(error).splitlines()[0]
            raise WorkerError(
                f"There is no Ray cluster at {address} that lets us in ({reason}). Start one with `ray start`, or "
                "set RAY_AUTH_TOKEN if it wants a token."
            ) from error

    def groups(self, job: Job[S], groups: Sequence[Sequence[Range]], progress: Progress | None = None) -> Iterator[S]:
        """The result of each group, in order; the next is under way while one is merged."""
        import ray

        gpus = getattr(job, "gpus", 0)
        if gpus > ray.cluster_resources().get("GPU", 0):
            raise WorkerError("The Ray cluster has no GPU. Start a node that has one, or take --device cpu.")
        sent = ray.put(job)
        fold, join = (ray.remote(num_cpus=1, max_retries=_RETRIES)(task) for task in (_fold, _join))
        if gpus:  # by default, a worker with a GPU ends after a task, and its model with it
            fold = ray.remote(num_cpus=1, num_gpus=gpus, max_calls=0, max_retries=_RETRIES)(_fold)
        try:
            folded = [[fold.remote(sent, chunk) for chunk in group] for group in groups]
            joined = [join.remote(sent, *chunks) for chunks in folded]
            for group, chunks, state in zip(groups, folded, joined, strict=True):
                _report(dict(zip(chunks, group, strict=True)), progress)
                chunks.clear()
                yield job.received(ray.get(state).tobytes())
        except ray.exceptions.RayError as error:
            raise WorkerError(f"Ray could not finish: {str(error).splitlines()[0]}") from error


# Bytes travel as an array, which Ray copies once; of bytes it makes a pickle first.


def _fold(job: Job[Any], chunk: Range) -> NDArray[np.uint8]:
    return np.frombuffer(job.fold(chunk), np.uint8)


def _join(job: Job[Any], *parts: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(job.join([part.tobytes() for part in parts]), np.uint8)


def _report(chunks: dict[Any, Range], progress: Progress | None) -> None:
    """Wait for the chunks of a group, and report each as it is done."""
    import ray

    waiting = list(chunks)
    while waiting and progress is not None:
        finished, waiting = ray.wait(waiting, fetch_local=False)
        for chunk in finished:
            start, stop = chunks[chunk]
            progress(stop - start)
