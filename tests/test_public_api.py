import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from stub import STUB, stub

import uncone
from uncone import errors
from uncone.cli.main import VERBS


def test_every_public_name_can_be_had():
    for name in uncone.__all__:
        assert getattr(uncone, name) is not None
    assert dir(uncone) == sorted(uncone.__all__)


def test_a_wrong_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        uncone.nonsense  # noqa: B018


def test_every_verb_is_public():
    assert {verb.replace(" ", "_") for verb in VERBS} - {"cache"} <= set(uncone.__all__)


def test_no_room_has_the_name_of_a_public_name():
    """Importing a room puts it into the package under its name, where it would hide the verb."""
    rooms = {path.stem for path in Path(uncone.__file__).parent.iterdir()}
    assert not rooms & set(uncone.__all__)


def test_every_error_stands_in_the_tree():
    defined = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    assert defined == set(errors.__all__) - {"require"}
    for name in defined:
        assert issubclass(getattr(errors, name), errors.UnconeError)
        assert name in errors.__doc__


def test_the_stub_is_that_of_the_options_classes(tmp_path):
    file = tmp_path / "stub.pyi"
    file.write_text(stub())
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", "--line-length=120", file], check=True)
    assert STUB.read_text() == file.read_text(), "make stub"
