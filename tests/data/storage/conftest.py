"""A proxy before the S3 server."""

from __future__ import annotations

import pytest
from object_store import Proxy


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
