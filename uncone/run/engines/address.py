"""Addresses of clusters: a look whether anybody listens there, before a client waits for minutes."""

from __future__ import annotations

import re
import socket

from uncone.errors import OptionError, WorkerError

__all__ = ["check_address"]

_SECONDS = 5


def check_address(address: str, name: str) -> None:
    """Refuse an address that is none, or where nothing answers.

    Raises:
        OptionError: it has no port.
        WorkerError: nothing listens there.
    """
    match = re.fullmatch(r"(?:[a-z0-9+]+://)?([^:/\s]+|\[[0-9a-fA-F:]+\]):([0-9]{1,5})(?:[/;].*)?", address)
    if match is None:
        raise OptionError(f"--address {address} is not the address of a cluster. Write host:port, as {name} gave it.")
    host, port = match[1].strip("[]"), int(match[2])
    try:
        socket.create_connection((host, port), timeout=_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise WorkerError(f"There is no {name} cluster at {address} ({reason}). Check the address.") from error
