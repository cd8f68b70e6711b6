"""An S3 server, and an environment that leads to it."""

from __future__ import annotations

import pytest
from object_store import ObjectStore, Proxy


@pytest.fixture(scope="session")
def _server():
    pytest.importorskip("moto")
    server = ObjectStore()
    yield server
    server.close()


@pytest.fixture
def bucket(_server, monkeypatch):
    """The server, with an empty bucket."""
    for key in _server.keys_of():
        _server.delete(key)
    monkeypatch.setenv("AWS_ENDPOINT_URL", _server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return _server


@pytest.fixture
def proxied(bucket, monkeypatch):
    """A function that puts a proxy with a rule before the server."""
    proxies = []

    def put(rule=lambda method, path: None):
        proxies.append(Proxy(bucket.port, rule))
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxies[-1].url)
        return proxies[-1]

    yield put
    for proxy in proxies:
        proxy.close()
