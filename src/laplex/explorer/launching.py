"""Starting the explorer: find a free port, start the process that serves, wait for it, and open the browser."""

from __future__ import annotations

import atexit
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import webbrowser
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import ProxyHandler, build_opener

from laplex.errors import InputError, LaplexError
from laplex.runtime.display import bar, say

if TYPE_CHECKING:
    from laplex.embeddings import Embeddings

ADDRESS = "127.0.0.1"
PORT = 8501
PORTS_TRIED = 100
START_TIMEOUT = 120.0  # seconds
MAX_MODELS = 2


class Explorer:
    """A running explorer, as `lx.explore` returns it.

    It is stopped by `stop`, at the end of a `with` block, and when Python ends. The attribute `url` is its address.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], url: str, temporary: tempfile.TemporaryDirectory[str] | None
    ) -> None:
        self.url, self._process, self._temporary = url, process, temporary
        atexit.register(self.stop)

    @property
    def running(self) -> bool:
        """Whether the explorer still runs."""
        return self._process.poll() is None

    def wait(self) -> None:
        """Wait until the explorer ends, for example by Ctrl-C."""
        with self, suppress(KeyboardInterrupt):
            self._process.wait()

    def stop(self) -> None:
        """End the explorer and delete its temporary files."""
        atexit.unregister(self.stop)
        if self.running:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Explorer at {self.url}" if self.running else "Explorer, stopped"


def explore(
    *models: Embeddings | str | os.PathLike[str],
    port: int = PORT,
    browser: bool = True,
    wait: bool | None = None,
    quiet: bool = False,
) -> Explorer:
    """Open a fitted or saved model in the browser, or two models side by side.

    Args:
        *models: A fitted model, or the path of a saved one; or two of them.
        port: The first port that is tried; if it is taken, the next free one is used.
        browser: Whether to open the browser. If not, only the address is printed.
        wait: Whether to wait until Ctrl-C. By default only in a script; elsewhere it runs until `stop()` is called.
        quiet: Whether to print nothing.

    Returns:
        An Explorer, with its address in `url`.

    Example:

        lx.explore(fitted)
        lx.explore("speeches.laplex", port=9000)
        lx.explore("speeches.laplex", "newspapers.laplex")
    """
    if not 1 <= len(models) <= MAX_MODELS:
        raise InputError(f"the explorer shows one model or two side by side, not {len(models)}")
    if importlib.util.find_spec("streamlit") is None:
        raise InputError('the explorer needs Streamlit: pip install "laplex[explorer]"')
    temporary = tempfile.TemporaryDirectory(prefix="laplex-", ignore_cleanup_errors=True)
    folders, saved = [], []
    for place, model in enumerate(models, 1):
        if isinstance(model, (str, os.PathLike)):
            folders.append(Path(model))
            saved.append(folders[-1])
        else:
            folders.append(Path(temporary.name) / ("fitted.laplex" if len(models) == 1 else f"fitted-{place}.laplex"))
            _save(model, folders[-1])
    free = free_port(port)
    # -P: files in the current folder are not imported in place of Python's modules of the same name
    command = [sys.executable, "-P", "-m", "laplex.explorer.serving", str(free)]
    command += [str(folder.absolute()) for folder in folders]
    # the process ends when its standard input is closed, which it is also if this process is killed
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    explorer = Explorer(process, f"http://{ADDRESS}:{free}", temporary)
    try:
        for folder in saved:
            _check(folder)  # while it starts
        if free != port:
            say(f"port {port} is taken: {free} is used", quiet=quiet)
        _wait_for_answer(explorer, quiet)
    except BaseException:
        explorer.stop()
        raise
    if wait is None:
        wait = not hasattr(sys, "ps1") and "ipykernel" not in sys.modules
    say(f"The explorer is at {explorer.url}" + (" (Ctrl-C ends it)" if wait else ""), quiet=quiet)
    if browser:
        webbrowser.open(explorer.url)
    if wait:
        explorer.wait()
    return explorer


def _save(model: Embeddings, folder: Path) -> None:
    from laplex.embeddings import Embeddings

    if not isinstance(model, Embeddings):
        raise InputError(f"the explorer shows a fitted model or the folder of a saved one, not {type(model).__name__}")
    model.save(folder)


def _check(folder: Path) -> None:
    """Raise the error of a damaged model here rather than show it in the browser."""
    from laplex.embeddings import load

    load(folder)


def free_port(first: int) -> int:
    """The first free port from this one on."""
    if not isinstance(first, int) or not 1 <= first <= 65_535:
        raise InputError(f"port={first!r} must be a whole number from 1 to 65535")
    for port in range(first, min(first + PORTS_TRIED, 65_536)):
        with socket.socket() as probe:
            if os.name == "posix":  # or a port that was in use a moment ago counts as taken
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((ADDRESS, port))
            except OSError:
                continue
        return port
    raise InputError(f"ports {first} to {first + PORTS_TRIED - 1} are taken or not allowed: choose another by port=")


def _wait_for_answer(explorer: Explorer, quiet: bool) -> None:
    """Wait until the explorer answers; raise an error with its last message if it does not."""
    direct = build_opener(ProxyHandler({}))  # without a proxy
    started = time.monotonic()
    with bar("starting the explorer", quiet=quiet) as progress:
        while explorer.running and time.monotonic() < started + START_TIMEOUT:
            try:
                with direct.open(f"{explorer.url}/_stcore/health", timeout=5) as answer:
                    if answer.status == 200:
                        threading.Thread(target=_drain, args=(explorer._process,), daemon=True).start()
                        return
            except (OSError, HTTPException):  # the latter where the system connects a port that is free to itself
                time.sleep(0.05)
            progress.update(None)
    explorer.stop()
    stream: Any = explorer._process.stderr
    messages = stream.read().decode(errors="replace").strip().splitlines() if stream else []
    raise LaplexError(f"the explorer did not start: {messages[-1] if messages else 'it gave no answer'}")


def _drain(process: subprocess.Popen[bytes]) -> None:
    """Read what the process prints, so that it never waits for a reader."""
    assert process.stderr is not None
    for line in process.stderr:
        if os.environ.get("LAPLEX_EXPLORER_LOG"):
            sys.stderr.write(line.decode(errors="replace"))
