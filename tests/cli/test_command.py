"""The command line follows from the options classes: lists, files, variables, suggestions, completion, help."""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pytest
from commands import refused, run

from uncone.cli.main import VERBS, build_app
from uncone.verbs.options.option import Options, flag_of


@pytest.fixture
def rows(cone):
    found = cone(300, 12)
    np.save("v.npy", found)
    return found


def rates(capfd, *arguments) -> list[float]:
    assert run("calibrate", "v.npy", "--no-html", "--json", "-", *arguments) == 0
    return [one["rate"] for one in json.loads(capfd.readouterr().out)["calibration"]["thresholds"]]


def test_a_list_is_joined_by_commas_and_repeatable(rows, capfd):
    assert rates(capfd, "--fpr", "0.05,0.1", "--fpr", "0.2") == [0.05, 0.1, 0.2]
    assert rates(capfd, "--fpr=0.05, 0.1") == [0.05, 0.1]


def test_options_come_from_a_file_and_flags_win(rows, capfd, tmp_path):
    content = "seed = 3\nmethod = 'center'\n[calibrate]\nfpr = [0.05, 0.1]\n"
    (tmp_path / "uncone.toml").write_text(f"{content}no-such = 1\n")
    assert "unknown key no_such" in refused(tmp_path, capfd, "calibrate", "v.npy", "--config", "uncone.toml")
    (tmp_path / "uncone.toml").write_text(
        "seed = 3\nmethod = 'center'\n[calibrate]\nfpr = [0.05, 0.1]\nfloat64 = true\n"
    )
    assert rates(capfd, "--config", "uncone.toml") == [0.05, 0.1]
    assert rates(capfd, "--config", "uncone.toml", "--fpr", "0.2") == [0.2]
    assert run("calibrate", "v.npy", "--no-html", "--config", "uncone.toml", "--fpr", "0.2", "--debug") == 0
    assert "--fpr on the command line wins over fpr in uncone.toml" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sede = 3", "unknown key sede"),
        ("[chek]\nseed = 1", r"unknown key [chek]"),
        ("seed = ", "not TOML"),
        ("seed = 'x'", "into int"),
        ("seed = -1", "--seed must be 0 to"),
    ],
)
def test_a_file_of_options_that_cannot_be(text, said, rows, capfd, tmp_path):
    (tmp_path / "uncone.toml").write_text(text)
    assert said in refused(tmp_path, capfd, "calibrate", "v.npy", "--config", "uncone.toml")


def test_no_file_of_options(rows, capfd, tmp_path):
    assert "cannot be read" in refused(tmp_path, capfd, "calibrate", "v.npy", "--config", "nowhere.toml")


def test_options_come_from_the_environment(rows, capfd, tmp_path, monkeypatch):
    monkeypatch.setenv("UNCONE_FPR", "0.05,0.1")
    assert rates(capfd) == [0.05, 0.1]
    (tmp_path / "uncone.toml").write_text("fpr = 0.3")
    monkeypatch.setenv("UNCONE_CONFIG", "uncone.toml")
    assert rates(capfd) == [0.3]
    assert rates(capfd, "--fpr", "0.2") == [0.2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["calibrate", "v.npy", "--scor", "0.5"], "Did you mean --score? See uncone calibrate --help."),
        (["calibrat", "v.npy"], 'Did you mean "calibrate"? See uncone --help.'),
        (["calibrate", "v.npy", "--device", "gpu"], "auto"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_right_one(arguments, said, rows, capfd, tmp_path):
    assert said in refused(tmp_path, capfd, *arguments)


def test_a_mistyped_keyword_is_answered_with_the_right_one(rows):
    import uncone

    with pytest.raises(TypeError, match="Did you mean 'scores'"):
        uncone.calibrate(rows, score=[0.5])


def test_completion_knows_every_verb():
    script = build_app().generate_completion(prog_name="uncone", shell="bash")
    assert all(verb in script for verb in VERBS) and "--corpus-size" in script


def every_class(kind: type = Options) -> list[type]:
    return [kind, *(one for child in kind.__subclasses__() for one in every_class(child))]


def test_every_option_has_a_phrase_that_stands_alone():
    build_app()
    for kind in every_class():
        for one in fields(kind):
            said = one.metadata["help"]
            assert said[0].isupper() or said[0] in "-\"'", (kind, one.name)
            assert said.endswith("."), (kind, one.name)
            assert flag_of(one).startswith("--")


def test_the_help_of_a_verb_is_in_groups_with_the_most_used_options_first(capfd):
    assert run("calibrate", "--help") == 0
    out = capfd.readouterr().out
    groups = [
        "Arguments",
        "Most used",
        "Source",
        "Model",
        "Calibration",
        "Labeled pairs",
        "Sampling",
        "Output",
        "Running",
    ]
    places = [out.index(f"─ {name} ─") for name in groups]
    assert places == sorted(places)
    assert places[1] < out.index("--score") < out.index("--fpr") < out.index("--corpus-size") < places[2]
    assert "[default: 0.01]" in out and "[default: uncone-calibrate.html]" in out


def test_help_in_python_names_every_keyword():
    import inspect

    import uncone

    signature = inspect.signature(uncone.calibrate)
    assert {"source", "scores", "model", "seed"} <= set(signature.parameters)
    assert signature.parameters["fpr"].default == (0.01,)
    assert "false-positive rate" in uncone.calibrate.__doc__


def test_a_space_carries_its_options(rows, tmp_path):
    import uncone

    space = uncone.open("v.npy", name="mine")
    assert space.calibrate().calibration.source["name"] == uncone.calibrate(space).calibration.source["name"] == "mine"
    assert uncone.calibrate(space, name="yours").calibration.source["name"] == "yours"
    assert repr(space) == "uncone.open('v.npy', name='mine')"
    assert "<table" in space._repr_html_() and "mine" in space._repr_html_()
    with pytest.raises(AttributeError, match="its verbs are"):
        space.nothing()


@pytest.mark.parametrize(
    "words",
    [
        ["similarity", "texts.csv"],
        ["fix", "v.npy", "--method", "mute", "--dimensions", "3,5"],
        ["fix", "v.npy", "--method", "center"],
        ["map", "v.npy"],
        ["evaluate", "model"],
        ["tune", "model", "texts.txt", "-o", "out"],
        ["ablate", "repair", "model"],
    ],
)
def test_options_are_the_same_if_pydantic_is_imported(words):
    """cyclopts then validates every value, and every default, by its annotation."""
    import pydantic  # noqa: F401 - some packages do

    build_app().parse_args(words, exit_on_error=False, print_error=False)
