"""Every exception that uncone raises on purpose, as one tree.

```text
UnconeError                    exit code 2, one line
├── OptionError                an option or argument that cannot be used
├── SourceError                the vectors cannot be read
│   ├── MissingSourceError     there is no such file or folder
│   ├── FormatError            truncated, ragged or not what its name says
│   ├── ColumnError            the vectors are in another column, key or tensor
│   ├── ShapeError             not a table of rows x dimensions, or too few rows
│   ├── DtypeError             objects, strings, wide integers: not vectors
│   └── NoUsableRowsError      every row is NaN, infinite or zero
├── MergeError                 two statistics of different spaces
├── WorkerError                a process that measured died
├── OutputError                a report cannot be written
└── MissingPackageError        an optional package is not installed
```

A message says what we got, what we need and what to try, in one line.
"""

__all__ = [
    "ColumnError",
    "DtypeError",
    "FormatError",
    "MergeError",
    "MissingPackageError",
    "MissingSourceError",
    "NoUsableRowsError",
    "OptionError",
    "OutputError",
    "ShapeError",
    "SourceError",
    "UnconeError",
    "WorkerError",
]


class UnconeError(Exception):
    """Something a user can put right; the message says how."""


class OptionError(UnconeError):
    """An option or argument that cannot be used."""


class SourceError(UnconeError):
    """The vectors cannot be read."""


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


class MergeError(UnconeError):
    """Two statistics of different spaces."""


class WorkerError(UnconeError):
    """A process that measured died."""


class OutputError(UnconeError):
    """A report cannot be written."""


class MissingPackageError(UnconeError):
    """An optional package is not installed."""
