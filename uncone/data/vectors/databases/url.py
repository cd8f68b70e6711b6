"""Addresses of vectors in databases: `postgresql://host/db?table=docs&column=embedding&text=body`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from uncone.errors import OptionError

if TYPE_CHECKING:
    from uncone.data.source import Options

__all__ = ["SCHEMES", "DatabaseUrl", "is_database", "without_secrets"]

SCHEMES = {
    "postgresql": ("postgres", "open_postgres"),
    "postgres": ("postgres", "open_postgres"),
    "duckdb": ("duck", "open_duckdb"),
    "lancedb": ("lance", "open_lancedb"),
    "qdrant": ("qdrant", "open_qdrant"),
    "chroma": ("chroma", "open_chroma"),
}
"""The module of each scheme, and its function that opens a source."""

_OWN = ("table", "query", "collection", "column", "text", "label", "key", "where", "distance")
_SECRET = ("password", "api_key", "token")


@dataclass(frozen=True)
class DatabaseUrl:
    """The parts of an address: `base` is what a client connects to. Only `password` holds one, never shown."""

    scheme: str
    base: str
    name: str
    path: str
    host: str
    port: int | None
    password: str | None = field(repr=False)
    values: Mapping[str, str]

    @classmethod
    def parse(cls, url: str) -> DatabaseUrl:
        """The parts of a URL.

        Raises:
            OptionError: it can't be read.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:  # its message may hold a part of the password
            scheme = url.partition("://")[0]
            raise OptionError(
                f"The {scheme}:// URL can't be read. Write host:port, and @ : / ? # % in a password as %40 %3A %2F %3F "
                "%23 %25."
            ) from error
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        values = {name: value for name, value in pairs if name in _OWN}
        secrets = [value for name, value in pairs if name in _SECRET]
        others = urlencode([(name, value) for name, value in pairs if name not in (*_OWN, *_SECRET)])
        user, has_password, password = parts.netloc.rpartition("@")[0].partition(":")
        address = parts.netloc.rpartition("@")[2]
        host, path = unquote(parts.hostname or ""), unquote(parts.path)
        place = host + (f":{port}" if port else "")
        target = values.get("table") or values.get("collection") or ("query" if values.get("query") else "")
        return cls(
            scheme=parts.scheme,
            base=parts._replace(netloc=f"{user}@{address}" if user else address, query=others).geturl(),
            name=f"{parts.scheme}://{place}{path}" + (f"[{target}]" if target else ""),
            # Of a file or folder, what stands in the place of a host is the start of its path.
            path=unquote(address) + path,
            host=host,
            port=port,
            password=unquote(password) if has_password else next(iter(secrets), None),
            values=values,
        )

    def check(self, *allowed: str) -> None:
        """Refuse parts that this database does not know.

        Raises:
            OptionError: there is one.
        """
        unknown = sorted(set(self.values) - set(allowed))
        if unknown:
            raise OptionError(f"{self.name}: {unknown[0]}= isn't valid here. Use {', '.join(allowed)}.")

    def choice(self, name: str, *choices: str) -> str:
        """A part that has to be one of some words; the first if it is not there.

        Raises:
            OptionError: it is another.
        """
        value = self.values.get(name, choices[0])
        if value not in choices:
            raise OptionError(f"{self.name}: {name}={value} isn't valid here. Use {', '.join(choices)}.")
        return value

    def columns(self, options: Options) -> Options:
        """The columns of vectors, texts and labels: those of the options, else of the URL."""
        column, text, label = (getattr(options, name) or self.values.get(name) for name in ("column", "text", "label"))
        return replace(options, column=column, text=text, label=label)

    def required(self, name: str, choices: object = "") -> str:
        """A part that has to be there.

        Raises:
            OptionError: it is not.
        """
        if not self.values.get(name):
            hint = f" There is {choices}." if choices else ""
            raise OptionError(f"{self.name} names no {name}. Add ?{name}=... to the URL.{hint}")
        return self.values[name]


def is_database(source: str) -> bool:
    """Whether a source is the address of a database.

    >>> is_database("duckdb://vectors.db?table=docs"), is_database("vectors.npy")
    (True, False)
    """
    return source.partition("://")[0] in SCHEMES and "://" in source


def without_secrets(text: str) -> str:
    """A URL, or a text with URLs, without passwords, as it may be shown.

    >>> without_secrets("postgresql://me:secret@host/db?table=docs&password=x")
    'postgresql://me@host/db?table=docs'
    """
    text = re.sub(r"(://[^/@:?\s]*):[^@?\s]*@", r"\1@", text)
    secret = rf"(?i)([?&])({'|'.join(_SECRET)}|sslpassword)=[^&\s]*"
    return re.sub(secret, "", re.sub(f"{secret}&", r"\1", text))
