"""Files appear whole or not at all."""

from __future__ import annotations

import os

import pytest

from uncone.data.writing import atomic
from uncone.errors import OutputError


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_writes(tmp_path):
    atomic.write_all({tmp_path / "a.html": "one", tmp_path / "b.json": "two"})
    assert (tmp_path / "a.html").read_text() == "one"
    assert files(tmp_path) == ["a.html", "b.json"]


def test_a_full_disk_leaves_the_old_report(tmp_path, monkeypatch):
    old = tmp_path / "report.html"
    old.write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        atomic.write_all({tmp_path / "first.json": "x", old: "new"})
    assert old.read_text() == "old"
    assert files(tmp_path) == ["report.html"]


def test_an_interrupt_leaves_no_half_file(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic.os, "fsync", lambda descriptor: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        atomic.write_all({tmp_path / "a.html": "x"})
    assert files(tmp_path) == []


def test_a_link_stays_a_link_and_a_device_a_device(tmp_path):
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "link.html").symlink_to("real.html")
    atomic.write_all({tmp_path / "link.html": "new"})
    assert (tmp_path / "link.html").is_symlink() and (tmp_path / "real.html").read_text() == "new"
    (tmp_path / "null").symlink_to("/dev/null")
    atomic.write_all({tmp_path / "null": "gone"})
    assert (tmp_path / "null").is_char_device()


def test_the_mode_of_a_new_file_follows_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        atomic.write_all({tmp_path / "a.html": "x"})
    finally:
        os.umask(old)
    assert (tmp_path / "a.html").stat().st_mode & 0o777 == 0o640
