"""What goes wrong in object storage, as errors of files: with a number, and one line that says what to do."""

from __future__ import annotations

import errno
import re

from uncone.errors import DeniedError, MissingObjectError, StorageError

__all__ = ["ARROW", "explained", "read_only"]

ARROW = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"}
"""The schemes that pyarrow reads, each with the storage that it stands for."""

_ABSENT = r"no.?such.?(key|file)|not.?found|status 404|path does not exist"
_DENIED = r"access.?denied|status 40[13]|forbidden|unauthorized|invalid.?access.?key|signature|credential|permission"
_OFFLINE = r"curlcode|network.?connection|connect|resolve|time.?d?.?out|unreachable|name or service"


def explained(error: Exception, url: str) -> OSError:
    """The error of a file system as one of files: with a number, and one line that says what to do."""
    scheme, _, rest = url.partition("://")
    text = " ".join(str(error).split())
    if re.search(r"(?i)no.?such.?bucket", text):
        bucket = rest.partition("/")[0]
        return MissingObjectError(errno.ENOENT, f"there is no bucket {bucket}", url)
    if isinstance(error, FileNotFoundError) or re.search(f"(?i){_ABSENT}", text):
        return MissingObjectError(errno.ENOENT, "there is no such object", url)
    kind = ARROW.get(scheme, scheme)
    if isinstance(error, PermissionError) or re.search(f"(?i){_DENIED}", text):
        return DeniedError(errno.EACCES, f"access is denied. {_CREDENTIALS.get(kind, 'Check your credentials')}", url)
    if isinstance(error, ConnectionError | TimeoutError) or re.search(f"(?i){_OFFLINE}", text):
        hint = _ENDPOINTS.get(kind, "Check the network")
        return StorageError(errno.EHOSTUNREACH, f"the storage can't be reached. {hint}", url)
    if isinstance(error, NotImplementedError):
        return read_only(url)
    return StorageError(errno.EIO, text[:200] or type(error).__name__, url)


def read_only(url: str) -> StorageError:
    """The error of writing to what can only be read."""
    return StorageError(errno.EROFS, f"{url.partition('://')[0]}:// can only be read", url)


_CREDENTIALS = {
    "s3": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, of an account that may do this",
    "gs": "Set GOOGLE_APPLICATION_CREDENTIALS, or write gs://anonymous@bucket/ for public data",
    "az": "Set AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY",
    "hf": "Set HF_TOKEN",
}
_ENDPOINTS = {
    "s3": "Check the network, and AWS_ENDPOINT_URL if it is not Amazon's",
    "gs": "Check the network. Is GOOGLE_APPLICATION_CREDENTIALS set, or is it gs://anonymous@bucket/ for public data",
    "hf": "Check the network, and HF_ENDPOINT if it is not the hub's",
}
