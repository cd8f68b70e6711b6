"""Clusters that are not there are reported in a line, soon."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from uncone.cli.main import _run
from uncone.errors import OptionError, WorkerError
from uncone.run.engines.address import SECONDS, check_address


@pytest.fixture
def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture
def mute_port():
    """A port where clients are let in, and never answered."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def silent_port():
    """A port that drops what it is sent, as a host does that can't be reached: its queue of clients is full."""
    with socket.socket() as listener, contextlib.ExitStack() as clients:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            client = clients.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


@pytest.fixture
def other_port():
    """A port where another kind of server answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def answer():
            with contextlib.suppress(OSError):  # closed at the end
                while True:
                    client, _ = listener.accept()
                    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        yield listener.getsockname()[1]


ADDRESSES = [
    ("ray", "ray://127.0.0.1:{}"),
    ("ray", "127.0.0.1:{}"),
    ("dask", "tcp://127.0.0.1:{}"),
    ("spark", "spark://127.0.0.1:{}"),
    ("spark", "sc://127.0.0.1:{}"),
]


@pytest.mark.parametrize("port", ["free_port", "mute_port", "silent_port", "other_port"])
@pytest.mark.parametrize(("engine", "address"), ADDRESSES)
def test_no_cluster_is_one_line(engine, address, port, request, capsys):
    pytest.importorskip({"dask": "distributed", "spark": "pyspark"}.get(engine, engine))
    np.save("vectors.npy", np.eye(8, dtype=np.float32))
    number = request.getfixturevalue(port)
    assert _run(["check", "vectors.npy", "--engine", engine, "--address", address.format(number)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "There is no" in error and str(number) in error
    assert not Path("uncone-report.html").exists()


@pytest.mark.parametrize("address", ["ray://127.0.0.1:{}", "127.0.0.1:{}"])
def test_another_server_of_grpc_is_one_line(address, capsys):
    """It speaks HTTP/2, as Ray does, but has no method of Ray; Ray itself would try for a minute."""
    pytest.importorskip("ray")
    grpc = pytest.importorskip("grpc")
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        np.save("vectors.npy", np.eye(8, dtype=np.float32))
        assert _run(["check", "vectors.npy", "--engine", "ray", "--address", address.format(port)]) == 2
    finally:
        server.stop(None)
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "another kind of server" in error


def test_no_cluster_is_noticed_before_a_model_is_loaded(free_port, capsys):
    pytest.importorskip("distributed")
    Path("texts.txt").write_text("a text\nand another\n")
    address = f"tcp://127.0.0.1:{free_port}"
    command = ["layers", "no-model/", "--corpus", "texts.txt", "--engine", "dask", "--address", address]
    assert _run(command) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "There is no" in error and str(free_port) in error


def test_waiting_for_an_answer_ends_within_15_seconds():
    """A connection, and an answer: each may take so long."""
    assert 2 * SECONDS < 15


def test_of_several_masters_one_is_enough(free_port, mute_port):
    with pytest.raises(WorkerError, match="no answer"):
        check_address(f"spark://127.0.0.1:{free_port},127.0.0.1:{mute_port}", "Spark")


@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("dask", "distributed"), ("spark", "pyspark")])
def test_an_engine_that_is_not_installed_names_its_extra(engine, package, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"uncone.run.engines.{engine}", raising=False)
    np.save("vectors.npy", np.eye(8, dtype=np.float32))
    assert _run(["check", "vectors.npy", "--engine", engine, "--workers", "17"]) == 2
    error = capsys.readouterr().err
    assert f"uncone[{engine}]" in error and error.count("\n") == 1


def test_an_address_without_a_port():
    with pytest.raises(OptionError, match="host:port"):
        check_address("ray://somewhere", "Ray")


def test_a_host_without_a_name():
    with pytest.raises(WorkerError, match="no Dask cluster"):
        check_address("tcp://no-such-host.invalid:8786", "Dask")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "slurm"], "Choose from"),
        (["--address", "auto"], "--engine"),
        (["--any-kernel"], "--engine"),
        (["--engine", "ray", "--model", "model"], "uncone encode"),
        (["--engine", "ray", "--ann"], "--deep"),
    ],
)
def test_wrong_options_are_one_line(options, message, capsys):
    np.save("vectors.npy", np.eye(8, dtype=np.float32))
    assert _run(["check", "vectors.npy", *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
