"""Clusters that are not there are reported in a line, soon."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest

from uncone.cli.main import _run
from uncone.errors import OptionError, WorkerError
from uncone.run.engines.address import check_address


@pytest.fixture
def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.mark.parametrize(
    ("engine", "address"),
    [
        ("ray", "ray://127.0.0.1:{}"),
        ("ray", "127.0.0.1:{}"),
        ("dask", "tcp://127.0.0.1:{}"),
        ("spark", "spark://127.0.0.1:{}"),
    ],
)
def test_no_cluster_is_one_line(engine, address, free_port, capsys):
    pytest.importorskip({"dask": "distributed", "spark": "pyspark"}.get(engine, engine))
    np.save("vectors.npy", np.eye(8, dtype=np.float32))
    assert _run(["check", "vectors.npy", "--engine", engine, "--address", address.format(free_port)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "There is no" in error and str(free_port) in error
    assert not Path("uncone-report.html").exists()


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
