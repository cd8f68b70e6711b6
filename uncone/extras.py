"""The one door for optional packages: a message with the pip line, where Python would show a traceback."""

from __future__ import annotations

import platform
from importlib.util import find_spec

from uncone._version import __version__
from uncone.errors import MissingPackageError

__all__ = ["require", "versions"]


def require(*packages: str, extra: str) -> None:
    """Refuse to go on without these packages, and say how to get them.

    >>> require("json", extra="models")

    Raises:
        MissingPackageError: one of them is not installed.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise MissingPackageError(
            f"This needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed: "
            f"pip install 'uncone[{extra}]'"
        )


def versions(*packages: str) -> dict[str, str]:
    """The versions of uncone, Python and NumPy, and of those of the packages that are installed.

    >>> list(versions("no-such-package"))
    ['uncone', 'python', 'numpy']
    """
    from importlib.metadata import PackageNotFoundError, version  # it takes a while, and most commands do without

    found = {"uncone": __version__, "python": platform.python_version()}
    for package in ("numpy", *packages):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
