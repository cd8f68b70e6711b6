"""A real S3 server on loopback, and a proxy before it that counts, refuses or breaks requests."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

_SERVER = """
import warnings
warnings.simplefilter("ignore")
from werkzeug.serving import WSGIRequestHandler, make_server
from moto.server import DomainDispatcherApplication, create_backend_app
WSGIRequestHandler.log_request = lambda *arguments, **keywords: None
server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
"""


_SIGNED = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=any"


class ObjectStore:
    """The server, with a bucket `bucket`."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"
        self._ask("PUT", "bucket")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def _ask(self, method: str, path: str, body: bytes | None = None, **more: str) -> bytes:
        headers = {"Authorization": _SIGNED, "Content-Type": "application/octet-stream", **more}
        request = urllib.request.Request(f"{self.url}/{path}", body, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def put(self, key: str, content: bytes, *, public: bool = False) -> None:
        more = {"x-amz-acl": "public-read"} if public else {}
        self._ask("PUT", f"bucket/{quote(key)}", content, **more)

    def get(self, key: str) -> bytes | None:
        try:
            return self._ask("GET", f"bucket/{quote(key)}")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            error.close()
            return None

    def delete(self, key: str) -> None:
        self._ask("DELETE", f"bucket/{quote(key)}")

    def keys_of(self, prefix: str = "") -> list[str]:
        page = self._ask("GET", f"bucket?list-type=2&prefix={quote(prefix)}").decode()
        return [part.partition("</Key>")[0] for part in page.split("<Key>")[1:]]

    def uploads(self) -> list[tuple[str, str]]:
        """The objects of which only parts have arrived, each with the number of its upload."""
        page = self._ask("GET", "bucket?uploads").decode()
        return [(_inside(part, "Key"), _inside(part, "UploadId")) for part in page.split("<Upload>")[1:]]

    def drop_uploads(self) -> None:
        """Forget the parts of uploads that nobody completes."""
        for _ in range(100):
            if not (uploads := self.uploads()):
                return
            for key, number in uploads:
                try:
                    self._ask("DELETE", f"bucket/{key}?uploadId={number}")
                except urllib.error.HTTPError as error:  # what a killed client sent last is still being taken in
                    error.close()
                    time.sleep(0.05)
        raise AssertionError("the server keeps uploads")

    def wait_for_parts(self, process: subprocess.Popen) -> None:
        """Wait until a part of an object has arrived from a process, and the object is not whole."""
        while not any("<Part>" in self._ask("GET", f"bucket/{key}?uploadId={n}").decode() for key, n in self.uploads()):
            assert process.poll() is None, "the process ended before its upload was seen"
            time.sleep(0.005)


def _inside(page: str, tag: str) -> str:
    return page.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]


class Proxy:
    """Forwards requests to a server. `rule` may answer one itself, with a status; `requests` are those it has seen."""

    def __init__(self, port: int, rule: Callable[[str, str], int | None]) -> None:
        self.port, self.rule = port, rule
        self.requests: list[tuple[str, str, str]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Forwarding, self))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Forwarding(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, proxy: Proxy, *arguments: object) -> None:
        self.proxy = proxy
        super().__init__(*arguments)

    def answer(self) -> None:
        body = self.body()
        self.proxy.requests.append((self.command, self.path, self.headers.get("Range", "")))
        status = self.proxy.rule(self.command, self.path)
        if status is not None:
            self.reply(status, {}, b"")
            return
        left_out = ("transfer-encoding", "content-length", "expect")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in left_out}
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port)
        connection.request(self.command, self.path, body, headers)
        response = connection.getresponse()
        self.reply(response.status, dict(response.getheaders()), response.read())
        connection.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        lower = {name.lower(): value for name, value in headers.items()}
        length = lower.get("content-length", "0") if self.command == "HEAD" else str(len(body))
        for name, value in lower.items():
            if name not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""
