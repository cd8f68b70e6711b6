"""Connections: the backend of a URL, with the credentials and endpoints of the environment."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from uncone.data.storage.backends import Backend
from uncone.data.storage.failures import ARROW, explained
from uncone.errors import DeniedError, MissingPackageError, OptionError, StorageError, require

__all__ = ["backend_of", "check_scheme"]

_ENVIRONMENT = (
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "STORAGE_EMULATOR_HOST",
    "AZURE_STORAGE_ACCOUNT",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_CONNECTION_STRING",
)


def check_scheme(url: str) -> None:
    """Refuse a URL that nothing reads.

    Raises:
        OptionError: nobody knows its scheme.
        MissingPackageError: a package is not installed.
    """
    scheme = url.partition("://")[0]
    if scheme in ARROW:
        return
    require("fsspec", extra="storage")
    from fsspec import get_filesystem_class

    try:
        get_filesystem_class(scheme)
    except ValueError as error:
        raise OptionError(
            f"{scheme}:// is not a scheme we know. Use s3, gs, az, hf, or one of fsspec, such as sftp or https."
        ) from error
    except ImportError as error:
        extra = "'uncone[storage]'" if scheme == "hf" else f"the package that fsspec needs for {scheme} ({error})"
        raise MissingPackageError(f"{scheme}:// needs a package that is not installed: pip install {extra}") from error


def backend_of(url: str) -> Backend:
    """What reads and writes a URL; connections are kept for as long as the environment stays as it is."""
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    return _connect(scheme, authority, tuple(os.environ.get(name) for name in _ENVIRONMENT))


@lru_cache(maxsize=32)
def _connect(scheme: str, authority: str, environment: tuple[str | None, ...]) -> Backend:
    url = f"{scheme}://{authority}"
    kind = ARROW.get(scheme)
    try:
        if kind is not None:
            files = {"s3": _s3, "gs": _google, "az": _azure}[kind](authority)
            return Backend(scheme, files, writer=_azure_writer(authority) if kind == "az" else None)
        from fsspec.core import url_to_fs
        from pyarrow.fs import FSSpecHandler, PyFileSystem

        original = url_to_fs(url)[0]
        return Backend(scheme, PyFileSystem(FSSpecHandler(original)), original)
    except StorageError:
        raise
    except Exception as error:
        raise explained(error, url) from error


def _s3(bucket: str) -> Any:  # noqa: ANN401 - not typed
    """S3 with the usual variables; the rest of them, and the files in ~/.aws, are read by the library itself."""
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem, resolve_s3_region

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if endpoint is None and region is None and not os.environ.get("AWS_PROFILE"):
        region = resolve_s3_region(bucket)
    options: dict[str, Any] = {"region": region or ("us-east-1" if endpoint else None)}
    if endpoint is not None:
        parts = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
        options |= {"scheme": parts.scheme, "endpoint_override": parts.netloc + parts.path.rstrip("/")}
    return S3FileSystem(
        **options, connect_timeout=10, request_timeout=60, retry_strategy=AwsStandardS3RetryStrategy(max_attempts=5)
    )


def _google(authority: str) -> Any:  # noqa: ANN401 - not typed
    from datetime import timedelta

    from pyarrow.fs import GcsFileSystem

    options: dict[str, Any] = {"anonymous": authority.startswith("anonymous@")}
    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    if emulator:
        parts = urlsplit(emulator if "://" in emulator else f"http://{emulator}")
        options = {"anonymous": True, "scheme": parts.scheme, "endpoint_override": parts.netloc}
    return GcsFileSystem(retry_time_limit=timedelta(seconds=30), **options)


def _azure_options(authority: str) -> dict[str, Any]:
    """The account, its key or token, and the address of its server if it is not Azure's, as far as they are set."""
    pairs = (part.partition("=") for part in os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";"))
    values = {name: value for name, _, value in pairs}
    host = authority.partition("@")[2]
    account = host.partition(".")[0] or values.get("AccountName") or os.environ.get("AZURE_STORAGE_ACCOUNT")
    if not account:
        raise DeniedError(errno.EACCES, "no account is known. Set AZURE_STORAGE_ACCOUNT", f"az://{authority}")
    key = values.get("AccountKey") or os.environ.get("AZURE_STORAGE_KEY")
    token = None if key else os.environ.get("AZURE_STORAGE_SAS_TOKEN")
    return {"account_name": account, "account_key": key, "sas_token": token, "endpoint": values.get("BlobEndpoint")}


def _azure(authority: str) -> Any:  # noqa: ANN401 - not typed
    from pyarrow.fs import AzureFileSystem

    options = _azure_options(authority)
    endpoint = options.pop("endpoint")
    if endpoint:
        parts = urlsplit(endpoint)
        options |= {f"{kind}_storage_authority": parts.netloc for kind in ("blob", "dfs")}
        options |= {f"{kind}_storage_scheme": parts.scheme for kind in ("blob", "dfs")}
    return AzureFileSystem(**options)


def _azure_writer(authority: str) -> Callable[[], Any]:
    """Pyarrow empties a blob when it opens it, and shows the half that is there; adlfs writes it whole."""

    def connected() -> Any:  # noqa: ANN401 - not typed
        require("adlfs", extra="storage")
        from fsspec import filesystem

        whole = os.environ.get("AZURE_STORAGE_CONNECTION_STRING")
        options = _azure_options(authority)
        del options["endpoint"]
        return filesystem("az", **({"connection_string": whole} if whole else {**options, "anon": False}))

    return connected
