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

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = {"Authorization": _SIGNED, "Content-Type": "application/octet-stream"}
        request = urllib.request.Request(f"{self.url}/{path}", body, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def put(self, key: str, content: bytes) -> None:
        self._ask("PUT", f"bucket/{quote(key)}", content)

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

    def is_uploading(self, key: str) -> bool:
        """Whether a part of an object has arrived, and the object is not whole."""
        page = self._ask("GET", "bucket?uploads").decode()
        for upload in page.split("<Upload>")[1:]:
            number = upload.partition("<UploadId>")[2].partition("</UploadId>")[0]
            if f"<Key>{key}</Key>" in upload and b"<Part>" in self._ask("GET", f"bucket/{key}?uploadId={number}"):
                return True
        return False

    def wait_for_upload(self, key: str, process: subprocess.Popen) -> None:
        while not self.is_uploading(key):
            assert process.poll() is None, "the process ended before its upload was seen"
            time.sleep(0.005)


class Proxy:
    """Forwards requests to a server. `rule` may answer one itself, with a status; `requests` are those it has seen."""

    def __init__(self, port: int, rule: Callable[[str, str], int | None] = lambda method, path: None) -> None:
        self.requests: list[tuple[str, str, str]] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.body()
                proxy.requests.append((self.command, self.path, self.headers.get("Range", "")))
                status = rule(self.command, self.path)
                if status is not None:
                    self.reply(status, [], b"")
                    return
                connection = http.client.HTTPConnection("127.0.0.1", port)
                left_out = ("transfer-encoding", "content-length", "expect")
                headers = {name: value for name, value in self.headers.items() if name.lower() not in left_out}
                connection.request(self.command, self.path, body, headers)
                response = connection.getresponse()
                self.reply(response.status, response.getheaders(), response.read())
                connection.close()

            def body(self) -> bytes:
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = []
                while size := int(self.rfile.readline(), 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)

            def reply(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
                self.send_response(status)
                own = {"content-length", "transfer-encoding", "connection", "date", "server"}
                length = next((value for name, value in headers if name.lower() == "content-length"), str(len(body)))
                for name, value in headers:
                    if name.lower() not in own:
                        self.send_header(name, value)
                self.send_header("Content-Length", length if self.command == "HEAD" else str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
