"""Spark gives the same bytes as threads."""

from __future__ import annotations

import shutil

import pytest
from engine_answers import answers

pytest.importorskip("pyspark")


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
@pytest.mark.filterwarnings("ignore")  # of pandas 3, and of sockets that py4j leaves open
def test_spark_gives_the_same_bytes(shards, expected):
    assert answers(shards, engine="spark", workers=2) == expected
