"""The process that serves the explorer: python -m laplex.explorer.serving PORT FOLDER [FOLDER]

It listens at 127.0.0.1 only, and ends when its standard input does. Requests are answered only if they were sent to
this machine by its own name, since a name elsewhere may be made to point here, and only if they do not come from a page
of another site. All answers have a policy that lets the browser load nothing from elsewhere.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import sys
import threading
from base64 import b64encode
from functools import cache
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from laplex.explorer import loading

HOSTS = ("127.0.0.1", "localhost")
POLICY = (
    "default-src 'self'; script-src 'self' blob: 'wasm-unsafe-eval' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' {sockets}; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "x-frame-options": "DENY"}
FIRST_PAGE = "/overview"  # which Streamlit knows as "/" only
SCRIPT = Path(__file__).with_name("page.js")


class Guard:
    """ASGI middleware that refuses requests from elsewhere."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not is_ours(headers.get("host"), headers.get("origin")):
            await _refuse(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = {**HEADERS, "content-security-policy": policy()}
                encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
                message["headers"] = [*message.get("headers", ()), *encoded]
            await send(message)

        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
        elif scope["method"] != "GET" or not re.fullmatch(r"/[a-z]*", scope["path"]):
            await self._app(scope, receive, send_guarded)
        elif scope["path"] == FIRST_PAGE:
            query = scope["query_string"]
            await _answer(send_guarded, 307, {"location": "/" + (f"?{query.decode('latin-1')}" if query else "")})
        else:
            headers = {"content-type": "text/html; charset=utf-8", "cache-control": "no-cache"}
            await _answer(send_guarded, 200, headers, page())


@cache
def page() -> str:
    """Streamlit's page with a script of our own, the same at the address of every page of the explorer."""
    html = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    return html.replace("<script", f"<script>{SCRIPT.read_text(encoding='utf-8')}</script>\n    <script", 1)


@cache
def policy() -> str:
    """What the browser may load. Of scripts within the page, only those of `page`."""
    inline = re.findall(r"<script>(.*?)</script>", page(), re.DOTALL)
    hashes = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in inline]
    sockets = " ".join(f"ws://{host}:*" for host in HOSTS)
    return POLICY.format(scripts=" ".join(f"'sha256-{known}'" for known in hashes), sockets=sockets)


def is_ours(host: str | None, origin: str | None) -> bool:
    """Whether a request was sent to this machine by its own name, and not by a page of another site.

    >>> is_ours("127.0.0.1:8501", "http://127.0.0.1:8501"), is_ours("127.0.0.1:8501", None)
    (True, True)
    >>> is_ours("evil.example:8501", None), is_ours("localhost:8501", "http://evil.example")
    (False, False)
    """
    try:
        name = urlsplit(f"//{host}").hostname if host else None
    except ValueError:
        return False
    return name in HOSTS and (origin is None or origin == f"http://{host}")


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    text = "The explorer answers its own pages on this machine only.\n"
    await _answer(send, 403, {"content-type": "text/plain"}, text)


async def _answer(send: Send, status: int, headers: dict[str, str], text: str = "") -> None:
    body = text.encode()
    headers = {**headers, "content-length": str(len(body))}
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    """Serve the models in the folders that the command line names."""
    port, *folders = sys.argv[1:]
    os.environ[loading.MODEL_VARIABLE] = loading.BETWEEN_FOLDERS.join(folders)
    threading.Thread(target=_exit_with_stdin, daemon=True).start()
    threading.Thread(target=_import_pages, daemon=True).start()
    app = st.App(Path(__file__).with_name("app.py"), middleware=[Middleware(Guard)])
    # they take the place of those in the user's own file
    settings = json.loads(Path(__file__).with_name("settings.json").read_text(encoding="utf-8"))
    app.run(config={**settings, "server.port": int(port)})


def _import_pages() -> None:
    """Import what pages need while the browser opens."""
    import_module("laplex.explorer.app")
    # checking each chart against the schema takes a tenth of the time of an answer
    import_module("altair.utils.schemapi").disable_debug_mode()
    # Streamlit collects garbage after each answer; what stays in memory anyway is excluded, which saves a third of it
    gc.collect()
    gc.freeze()


def _exit_with_stdin() -> None:
    while sys.stdin.buffer.read(1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
