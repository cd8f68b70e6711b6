"""The shape of the code: rooms, sizes, names, and what may be imported when."""

from __future__ import annotations

import ast
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from uncone.cli.main import VERBS

ROOT = Path(__file__).parents[1]
ROOMS = {
    *("analysis", "cli", "data", "encoders", "evaluation", "exports", "repairs", "report", "run", "stats", "tuning"),
    "verbs",
}


NOT_NAMES = {
    *("one", "ones", "what", "which", "why", "there", "here", "these", "those", "thing", "things"),
    *("asked", "checked", "chosen", "counted", "done", "drawn", "fitted", "found", "given", "gone", "got", "held"),
    *("judged", "kept", "known", "made", "meant", "measured", "named", "needed", "said", "seen", "shown", "taken"),
    *("told", "used", "wanted", "written"),
}
"""Words that do not say what a thing is. Fields of results are not looked at: they are keys of JSON."""


def complaints_about_the_file(path, tree):
    if not ast.get_docstring(tree):
        yield "a module says what it is for"
    if len((ROOT / path).read_text().splitlines()) > 450:
        yield "two ideas in one file?"
    if {"utils", "helpers", "common", "core", "misc"} & set(path.stem.split("_")):
        yield "the name says nothing"


def complaints_about_statements(path, tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            # A signature and a docstring may be long: they are lists, not logic.
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            if node.end_lineno - first.lineno > 60:
                yield f"{node.name} is too long"
            if parameters_of(node) > 10:
                yield f"{node.name} has over ten parameters: make an options dataclass"
        if isinstance(node, ast.ExceptHandler):
            if node.type is None:
                yield "a bare except hides mistakes"
            if all(isinstance(part, ast.Pass) for part in node.body):
                yield "a silent except hides mistakes"
        if isinstance(node, ast.ClassDef) and (node.name.startswith("Base") or node.name.endswith("Manager")):
            yield f"{node.name} says nothing"


def complaints_about_names(path, tree):
    fields = {
        id(part.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            name = node.id
        if name.strip("_").lower() in NOT_NAMES:
            yield f"line {node.lineno}: {name} does not say what it is"


def parameters_of(function):
    """How many parameters a function has, but for self and cls. Those of verbs are generated from options classes."""
    own = function.args
    names = [part.arg for part in (*own.posonlyargs, *own.args, *own.kwonlyargs, own.vararg, own.kwarg) if part]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def complaints_about_public_names(path, tree):
    if path.stem in ("__init__", "__main__"):
        return
    assignments = [node for node in tree.body if isinstance(node, ast.Assign)]
    public = next((ast.literal_eval(node.value) for node in assignments if node.targets[0].id == "__all__"), None)
    if not public:
        yield "__all__ says what a module offers"
        return
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    defined |= {target.id for node in assignments for target in node.targets if isinstance(target, ast.Name)}
    defined |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    if missing := set(public) - defined:
        yield f"__all__ lists what is not there: {missing}"


def test_modules():
    of_code = (complaints_about_statements, complaints_about_names, complaints_about_public_names)
    rules = (complaints_about_the_file, *of_code)
    complaints = []
    for path in sorted((ROOT / "uncone").rglob("*.py")):
        path, tree = path.relative_to(ROOT), ast.parse(path.read_text())
        complaints += [f"{path}: {line}" for rule in rules for line in rule(path, tree)]
    assert not complaints, "\n".join(complaints)


def test_rooms_have_a_place_on_the_staircase():
    rooms = {path.name for path in (ROOT / "uncone").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == ROOMS
    for room in rooms:
        assert any((ROOT / "uncone" / room).glob("*.py"))
        assert (ROOT / "tests" / room).is_dir(), "tests mirror the tree"


def test_folders_are_small():
    files = [path for path in (ROOT / "uncone").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    folders = {folder for file in files for folder in file.parents if folder.is_relative_to(ROOT / "uncone")}
    for folder in folders:
        # A stub is the same module as the file it describes.
        entries = [path for path in folder.iterdir() if path in folders or (path in files and path.suffix != ".pyi")]
        assert len(entries) <= 15, f"{folder} has {len(entries)} entries"
        prefixes = Counter(stem.split("_")[0] for stem in {path.stem for path in entries} if not stem.startswith("_"))
        assert max(prefixes.values(), default=0) <= 2, f"three names in {folder} share a prefix: make a folder"


def modules_after(code: str) -> set[str]:
    process = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(process.stdout.splitlines()[-1].split())


def test_importing_uncone_is_light():
    loaded = modules_after("import uncone")
    assert not loaded & {"numpy", "pyarrow", "faiss", "jinja2", "plotly", "rich", "cyclopts"}


def test_help_loads_nothing_heavy():
    loaded = modules_after("from uncone.cli.main import _run; _run(['--help'])")
    assert not loaded & {"numpy", "pyarrow", "faiss", "jinja2", "plotly"}
    rooms = {name for name in loaded if name.startswith("uncone.")}
    assert rooms == {f"uncone.{name}" for name in ("cli", "cli.main", "cli.settings", "errors")}


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_loads_nothing_heavy(verb):
    loaded = modules_after(f"from uncone.cli.main import _run; _run([*{verb!r}.split(), '--help'])")
    assert not loaded & {"numpy", "pyarrow", "faiss", "jinja2", "plotly"}


@pytest.mark.parametrize(("command", "seconds"), [(["-m", "uncone", "--help"], 0.25), (["-c", "import uncone"], 0.1)])
def test_start_is_quick(command, seconds):
    """In the time of the processor; the best of three, because others work beside us."""

    def spent() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(spent() for _ in range(3)) < seconds


def test_check_of_a_npy_loads_only_what_it_needs():
    code = "import uncone, numpy; uncone.check(numpy.eye(9)).to_html()"
    loaded = modules_after(code)
    assert not loaded & {"pyarrow", "faiss", "scipy", "sklearn", "torch", "pandas", "plotly", "cyclopts"}


def test_nothing_of_this_machine_is_in_the_repository():
    process = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if process.returncode != 0:
        pytest.skip("not a git checkout")
    for name in filter(None, process.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and path.suffix in {".py", ".md", ".toml", ".txt", ".html", ".js", ".css"}:
            assert "/work" + "/" not in path.read_text(encoding="utf-8"), name
