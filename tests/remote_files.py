"""A server on this machine that answers for files like an object store: ranges of bytes, over http or as S3 does."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Store:
    """Files by their path, the requests that came, and how many bytes were sent of each file."""

    files: dict[str, bytes]
    requests: list[tuple[str, str]] = field(default_factory=list)  # path with query, authorization
    sent: dict[str, int] = field(default_factory=dict)
    port: int = 0

    def address(self, path: str, user: str = "") -> str:
        return f"http://{user}127.0.0.1:{self.port}{path}"

    @property
    def s3_options(self) -> dict[str, str]:
        endpoint = {"aws_endpoint_url": self.address(""), "aws_allow_http": "true", "aws_region": "us-east-1"}
        return endpoint | {"aws_access_key_id": "KEYNAME", "aws_secret_access_key": "s3cretKEY"}


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Store]:
    store = Store(files)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(False)

        def do_GET(self) -> None:
            self._answer(True)

        def _answer(self, with_body: bool) -> None:
            store.requests.append((self.path, self.headers.get("Authorization", "")))
            path = self.path.partition("?")[0]
            data = store.files.get(path)
            if data is None:
                return self._send(403 if "forbidden" in path else 404, b"", {}, with_body)
            wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
            first, last = 0, len(data)
            if wanted and wanted[1]:
                first, last = int(wanted[1]), int(wanted[2]) + 1 if wanted[2] else len(data)
            elif wanted:
                first = max(0, len(data) - int(wanted[2]))
            part = data[first:last]
            headers = {"ETag": '"1"', "Last-Modified": "Tue, 21 Oct 2025 07:28:00 GMT", "Accept-Ranges": "bytes"}
            if wanted:
                headers["Content-Range"] = f"bytes {first}-{first + len(part) - 1}/{len(data)}"
            store.sent[path] = store.sent.get(path, 0) + len(part) * with_body
            return self._send(206 if wanted else 200, part, headers, with_body)

        def _send(self, status: int, body: bytes, headers: dict[str, str], with_body: bool) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    store.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
