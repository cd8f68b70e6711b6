"""Dask: chunks are folded and merged by the workers of a distributed cluster."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from uncone.errors import WorkerError, require
from uncone.run.engines.address import check_address
from uncone.run.job import Job, Progress, Range
from uncone.run.threads import cores

require("distributed", extra="dask")

__all__ = ["Dask"]

S = TypeVar("S")
_RETRIES = 20
_SECONDS = 10
_CONNECTING = 8


class Dask:
    """A Dask cluster: `address` is tcp://host:port; without one, workers are started here.

    A client that this process has connected already is used as it is.
    """

    def __init__(self, address: str | None = None, workers: int = 0) -> None:
        from distributed import default_client

        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # a worker that dies is replaced, and that is all
        self.workers = workers or cores()
        try:
            self.client = default_client()
        except ValueError:  # this process has none
            self.client = _connect(address) if address is not None else _start(self.workers)

    def groups(self, job: Job[S], groups: Sequence[Sequence[Range]], progress: Progress | None = None) -> Iterator[S]:
        """The result of each group, in order."""
        from distributed.scheduler import KilledWorker

        gpus = getattr(job, "gpus", 0)
        resources = {"GPU": gpus} if gpus else {}
        self._check_resources(resources)
        folded = [[self._submit(job.fold, chunk, resources) for chunk in group] for group in groups]
        joined = [self._submit(job.join, chunks) for chunks in folded]
        try:
            for group, chunks, state in zip(groups, folded, joined, strict=True):
                sizes = {future.key: stop - start for future, (start, stop) in zip(chunks, group, strict=True)}
                for future in self._finished(chunks):
                    if progress is not None:
                        progress(sizes[future.key])
                chunks.clear()
                yield job.received(next(self._finished([state])).result())
        except KilledWorker as error:
            raise WorkerError("Workers of Dask died again and again, perhaps out of memory.") from error

    def _finished(self, futures: Sequence[Any]) -> Iterator[Any]:
        """The futures as they finish, with an eye on the workers."""
        from distributed import wait

        waiting = set(futures)
        while waiting:
            try:
                finished, waiting = wait(waiting, timeout=_SECONDS, return_when="FIRST_COMPLETED")
            except TimeoutError:
                self._check_workers()
                continue
            yield from finished

    def _check_workers(self) -> None:
        """Start workers of ours again whose nanny gave up; of another cluster, refuse to wait for none.

        Raises:
            WorkerError: the cluster has no worker.
        """
        n_alive = len(self.client.scheduler_info(n_workers=-1)["workers"])
        cluster = getattr(self.client, "cluster", None)
        if cluster is not None and n_alive < self.workers:
            cluster.scale(self.workers)
        elif n_alive == 0:
            raise WorkerError("The Dask cluster has no workers left. Start some, and try again.")

    def _check_resources(self, resources: dict[str, int]) -> None:
        """Refuse to wait without end for a worker that has them.

        Raises:
            WorkerError: no worker has.
        """
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values() if resources else ()
        for name, amount in resources.items():
            if all(worker["resources"].get(name, 0) < amount for worker in workers):
                raise WorkerError(
                    f"No worker of the Dask cluster has a {name}. Start workers with `dask worker --resources "
                    f"{name}={amount}`, or take --device cpu."
                )

    def _submit(self, function: Any, argument: Any, resources: dict[str, int] | None = None) -> Any:  # noqa: ANN401
        return self.client.submit(function, argument, pure=False, retries=_RETRIES, resources=resources or None)


def _connect(address: str) -> Any:  # noqa: ANN401 - distributed is not typed
    from distributed import Client

    check_address(address, "Dask")
    try:
        return Client(address, timeout=_CONNECTING)
    except (OSError, TimeoutError, ValueError) as error:
        raise WorkerError(f"There is no Dask scheduler at {address} ({error}). Check the address.") from error


def _start(workers: int) -> Any:  # noqa: ANN401
    """A client of workers on this machine."""
    import dask
    from distributed import Client, LocalCluster

    _check_guard()
    # A task isn't to blame for every worker that dies with it; the nanny's trimming of memory costs a fifth.
    dask.config.set({"distributed.scheduler.allowed-failures": _RETRIES})
    dask.config.set({"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": -1})
    cluster = LocalCluster(n_workers=workers or cores(), threads_per_worker=1, dashboard_address=":0", memory_limit=0)
    return Client(cluster)


def _check_guard() -> None:
    """Refuse to start workers from a script that would start its work again in every one of them, without end."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script is not None and Path(script).is_file() and b"__name__" not in Path(script).read_bytes():
        raise WorkerError(
            f"{script} starts worker processes, and each of them imports it again. Put its code under "
            '`if __name__ == "__main__":`, or leave the engine out.'
        )
