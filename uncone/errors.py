"""Every exception that uncone raises on purpose, as one tree, and the check for optional packages.

```text
UnconeError                    exit code 2, one line
├── OptionError                an option or argument that cannot be used
├── SourceError                vectors or texts cannot be read
│   ├── MissingSourceError     there is no such file or folder
│   ├── FormatError            truncated, ragged or not what its name says
│   ├── ColumnError            the vectors are in another column, key or tensor
│   ├── ShapeError             not a table of rows x dimensions, or too few rows
│   ├── DtypeError             objects, strings, wide integers: not vectors
│   └── NoUsableRowsError      every row is NaN, infinite or zero
├── ModelError                 a model cannot be used for what was asked
│   └── MissingModelError      there is no such model here, and none could be fetched
├── StateError                 a saved run cannot be continued
├── MergeError                 two statistics of different spaces
├── WorkerError                a cluster is not there, or its workers died
├── OutputError                a report cannot be written
├── StorageError               object storage can't be reached, or fails; an OSError too
│   ├── DeniedError            it wants other credentials or permissions; a PermissionError too
│   └── MissingObjectError     there is no such object or bucket; a FileNotFoundError too
├── RepairError                a repair cannot be fitted, undone or loaded
│   ├── FitError               it cannot be learned from these rows
│   ├── NoInverseError         it has thrown something away
│   ├── DamagedRepairError     a saved repair is missing, not whole, tampered with, or too new
│   └── OtherSpaceError        it was fitted for another dimension or encoder
├── ExportError                a repair cannot be brought into the form asked for
└── MissingPackageError        an optional package is not installed
```

A message says what we got, what we need and what to try, in one line.
"""

from __future__ import annotations

from importlib.util import find_spec

__all__ = [
    "ColumnError",
    "DamagedRepairError",
    "DeniedError",
    "DtypeError",
    "ExportError",
    "FitError",
    "FormatError",
    "MergeError",
    "MissingModelError",
    "MissingObjectError",
    "MissingPackageError",
    "MissingSourceError",
    "ModelError",
    "NoInverseError",
    "NoUsableRowsError",
    "OptionError",
    "OtherSpaceError",
    "OutputError",
    "RepairError",
    "ShapeError",
    "SourceError",
    "StateError",
    "StorageError",
    "UnconeError",
    "WorkerError",
    "require",
]


class UnconeError(Exception):
    """Something a user can put right; the message says how."""


class OptionError(UnconeError):
    """An option or argument that cannot be used."""


class SourceError(UnconeError):
    """Vectors or texts cannot be read."""


class MissingSourceError(SourceError):
    """There is no such file or folder."""


class FormatError(SourceError):
    """Truncated, ragged, or not what its name says."""


class ColumnError(SourceError):
    """The vectors are in another column, key or tensor."""


class ShapeError(SourceError):
    """Not a table of rows x dimensions, or too few rows."""


class DtypeError(SourceError):
    """Objects, strings or wide integers are not vectors."""


class NoUsableRowsError(SourceError):
    """Every row is NaN, infinite or zero."""


class ModelError(UnconeError):
    """A model cannot be used for what was asked."""


class MissingModelError(ModelError):
    """There is no such model here, and none could be fetched."""


class StateError(UnconeError):
    """A saved run cannot be continued."""


class MergeError(UnconeError):
    """Two statistics of different spaces."""


class WorkerError(UnconeError):
    """A cluster is not there, or its workers died."""


class OutputError(UnconeError):
    """A report cannot be written."""


class StorageError(UnconeError, OSError):
    """Object storage can't be reached, or fails: `filename` is the URL, and `strerror` says why."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}." if self.filename else super().__str__()


class DeniedError(StorageError, PermissionError):
    """Object storage wants other credentials or permissions."""


class MissingObjectError(StorageError, FileNotFoundError):
    """There is no such object or bucket."""


class RepairError(UnconeError):
    """A repair cannot be fitted, undone or loaded."""


class FitError(RepairError, ValueError):
    """A repair cannot be learned from these rows; a ValueError too, as scikit-learn expects."""


class NoInverseError(RepairError):
    """A repair has thrown something away, so it cannot be undone."""


class DamagedRepairError(RepairError):
    """A saved repair is missing, not whole, tampered with, or from a newer uncone."""


class OtherSpaceError(RepairError):
    """A repair was fitted for another dimension or encoder."""


class ExportError(UnconeError):
    """A repair cannot be brought into the form asked for."""


class MissingPackageError(UnconeError):
    """An optional package is not installed."""


def require(*packages: str, extra: str) -> None:
    """Refuse to go on without these packages, and say how to install them.

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
