"""The shape of the code: rooms, sizes, names, and what may be imported when."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "uncone").rglob("*.py"))
NAMES = [str(path.relative_to(ROOT)) for path in MODULES]
ROOMS = {"analysis", "cli", "data", "encoders", "evaluation", "exports", "repairs", "report", "run", "stats", "verbs"}


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_module(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "a module says what it is for"
    assert len(path.read_text().splitlines()) <= 450, "two ideas in one file?"
    for banned in ("utils", "helpers", "common", "core", "misc"):
        assert banned not in path.stem.split("_")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            # A signature and a docstring may be long: they are lists, not logic.
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            assert node.end_lineno - first.lineno <= 60, f"{node.name} is too long"
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, "a bare except hides mistakes"
            assert not all(isinstance(part, ast.Pass) for part in node.body), "a silent except hides mistakes"
        if isinstance(node, ast.ClassDef):
            assert not node.name.startswith("Base") and not node.name.endswith("Manager")


@pytest.mark.parametrize("path", [p for p in MODULES if p.stem not in ("__init__", "__main__", "_version")], ids=str)
def test_public_names_are_listed_and_exist(path):
    tree = ast.parse(path.read_text())
    listed = next(
        (ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "__all__"),
        None,
    )
    assert listed, "__all__ says what a module offers"
    defined = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            defined |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.AnnAssign):
            defined.add(node.target.id)
    assert set(listed) <= defined


def test_rooms_have_a_place_on_the_staircase():
    rooms = {path.name for path in (ROOT / "uncone").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == ROOMS
    for room in rooms:
        assert any((ROOT / "uncone" / room).glob("*.py"))
        assert (ROOT / "tests" / room).is_dir(), "tests mirror the tree"


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_uncone_is_light():
    loaded = modules_after("import uncone")
    assert not loaded & {"numpy", "pyarrow", "faiss", "jinja2", "plotly", "rich", "typer"}


def test_help_loads_nothing_heavy():
    loaded = modules_after("from uncone.cli.main import app")
    assert not loaded & {"numpy", "pyarrow", "faiss", "jinja2", "plotly"}


def test_check_of_a_npy_loads_only_what_it_needs():
    code = "import uncone, numpy; uncone.check(numpy.eye(9)).to_html()"
    loaded = modules_after(code)
    assert not loaded & {"pyarrow", "faiss", "scipy", "sklearn", "torch", "pandas", "plotly", "typer"}


def test_nothing_of_this_machine_is_in_the_repository():
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    for name in filter(None, done.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and path.suffix in {".py", ".md", ".toml", ".txt", ".html", ".js", ".css"}:
            assert "/work" + "/" not in path.read_text(encoding="utf-8"), name
