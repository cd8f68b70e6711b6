"""The one door for optional packages: a message with the pip line, where Python would show a traceback."""

from __future__ import annotations

from importlib.util import find_spec

from uncone.errors import MissingPackageError

__all__ = ["require"]


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
