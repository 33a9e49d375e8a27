"""Who may ask the explorer? Pages of its own, on this machine, and nobody else.

A request comes in; it goes on to Streamlit, or is refused: if it was sent to another name than this machine's (a page
elsewhere whose name was made to point here), or by a page from elsewhere. What goes out has a policy that lets the
browser load nothing from elsewhere, so that nothing on a page can reach the network.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

HOSTS = ("127.0.0.1", "localhost")
POLICY = (
    "default-src 'self'; script-src 'self' blob: 'wasm-unsafe-eval' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' {sockets}; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "x-frame-options": "DENY"}


class Guard:
    """ASGI middleware that refuses strangers."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
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
                added = {**HEADERS, "content-security-policy": policy()}
                message["headers"] = [
                    *message.get("headers", ()),
                    *((k.encode(), v.encode()) for k, v in added.items()),
                ]
            await send(message)

        await self._app(scope, receive, send_guarded if scope["type"] == "http" else send)


@cache
def policy() -> str:
    """What the browser may load. Of scripts in the page itself, only those that Streamlit's own page has."""
    import streamlit

    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    inline = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in inline]
    return POLICY.format(
        scripts=" ".join(f"'sha256-{known}'" for known in hashes),
        sockets=" ".join(f"ws://{host}:*" for host in HOSTS),
    )


def is_ours(host: str | None, origin: str | None) -> bool:
    """Was it sent to this machine by one of its own names, and by a page that is served here, if by a page?

    >>> is_ours("127.0.0.1:8501", "http://127.0.0.1:8501"), is_ours("127.0.0.1:8501", None)
    (True, True)
    >>> is_ours("evil.example:8501", None), is_ours("localhost:8501", "http://evil.example")
    (False, False)
    """
    try:
        name = urlsplit(f"//{host}").hostname if host else None
    except ValueError:
        return False
    if name not in HOSTS:
        return False
    return origin is None or origin == f"http://{host}"


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"The explorer answers its own pages on this machine only.\n"})
