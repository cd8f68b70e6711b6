"""Addresses of clusters: a look whether a cluster answers there, before a client waits for minutes."""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from uncone.errors import OptionError, WorkerError

__all__ = ["SECONDS", "check_address", "quiet"]

SECONDS = 4
"""How long a connection may take, and then an answer."""
_PATTERN = r"(?:[a-z0-9+]+://)*([^:/\s]+|\[[0-9a-fA-F:]+\]):([0-9]{1,5})(?:[/;].*)?"

_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client of gRPC begins: the preface of HTTP/2, and a frame of no settings. The server answers with its own."""
_NO_FILE = b"/files/uncone"
_STREAM = struct.pack(">qbi", 13 + len(_NO_FILE), 6, len(_NO_FILE)) + _NO_FILE
"""How Spark's processes ask each other for a file: for one that no master has, which fails without a trace."""


def _call(method: str) -> bytes:
    """A call of gRPC with an empty message. A server of another kind answers that it has no such method."""
    fields = {":method": "POST", ":scheme": "http", ":path": method, ":authority": "uncone"}
    fields |= {"content-type": "application/grpc", "te": "trailers"}
    block = b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields.items()
    )
    frames = ((1, 4, block), (0, 1, bytes(5)))
    return b"".join(
        len(content).to_bytes(3, "big") + bytes([kind, flags, 0, 0, 0, 1]) + content for kind, flags, content in frames
    )


def _speaks_ray(answer: bytes) -> bool:
    return answer[3:4] == b"\x04" and re.search(b"grpc-status.12", answer, re.S) is None


_GREETINGS: dict[str, tuple[bytes, Callable[[bytes], bool]]] = {
    "Dask": (b"", lambda answer: b"pickle-protocol" in answer),
    "Ray": (_HTTP2 + _call("/ray.rpc.NodeInfoGcsService/CheckAlive"), _speaks_ray),
    "Ray Client": (_HTTP2 + _call("/ray.rpc.RayletDriver/ClusterInfo"), _speaks_ray),
    "Spark Connect": (_HTTP2, lambda answer: answer[3:4] == b"\x04"),
    "Spark": (_STREAM, lambda answer: answer[8:9] == b"\x08"),
}
"""What a client sends first, and whether the answer is that of such a server. One that wants TLS hangs up."""
_ENCRYPTED = "tls://"
"""Of such an address only TLS would get an answer, so it is enough that somebody listens."""


def check_address(address: str, name: str) -> None:
    """Refuse an address that is none, or where no cluster answers; of several hosts, one is enough.

    Raises:
        OptionError: it has no port.
        WorkerError: nothing listens there, or nothing that speaks as the cluster would.
    """
    scheme, _, hosts = address.rpartition("://")
    problem: WorkerError | None = None
    for host in hosts.split(","):
        try:
            return _check_host(f"{scheme}://{host}" if scheme else host, address, name)
        except WorkerError as error:
            problem = error
    raise problem or WorkerError(f"There is no {name} cluster at {address}.")


def _check_host(host: str, address: str, name: str) -> None:
    match = re.fullmatch(_PATTERN, host)
    if match is None:
        raise OptionError(f"--address {address} is not the address of a cluster. Write host:port, as {name} gave it.")
    try:
        with socket.create_connection((match[1].strip("[]"), int(match[2])), timeout=SECONDS) as connection:
            reason = None if host.startswith(_ENCRYPTED) else _answer_problem(connection, name)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    if reason:
        raise WorkerError(f"There is no {name} cluster at {address} ({reason}). Check the address.")


def _answer_problem(connection: socket.socket, name: str) -> str | None:
    """What is wrong with the answer to the first words of a client."""
    if name not in _GREETINGS:
        return None
    words, is_right = _GREETINGS[name]
    try:
        connection.sendall(words)
        answer = connection.recv(4096)
        while b"ray.rpc" in words and answer[3:4] == b"\x04" and b"application/grpc" not in answer:
            more = connection.recv(4096)
            if not more:
                break
            answer += more
    except TimeoutError:
        return f"no answer within {SECONDS} seconds"
    except OSError:
        return None  # it hung up: perhaps on a client without TLS
    return None if not answer or is_right(answer) else "another kind of server answers"


@contextmanager
def quiet() -> Iterator[None]:
    """Send standard error nowhere, that of processes started here too: their errors come as exceptions."""
    try:
        before = os.dup(2)
    except OSError:  # this process has none
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)
