"""Start the explorer: find a port, start the process that serves, wait for it, open the browser.

A saved model or Embeddings come in; an Explorer goes out, which knows its address and can be stopped.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import time
import webbrowser
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from laplex.embeddings import Embeddings, load
from laplex.errors import InputError, LaplexError
from laplex.progress import bar, say

ADDRESS = "127.0.0.1"
PORT = 8501
PORTS = 100  # so many are tried, from the first on
PATIENCE = 120.0  # seconds that the process may take to answer


class Explorer:
    """An explorer that runs: `url` is where, `stop` ends it, as does the end of Python."""

    def __init__(
        self, process: subprocess.Popen[bytes], url: str, kept: tempfile.TemporaryDirectory[str] | None
    ) -> None:
        self.url = url
        self._process = process
        self._kept = kept
        atexit.register(self.stop)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait(self) -> None:
        """Until it is ended, by Ctrl-C for example."""
        try:
            self._process.wait()
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def stop(self) -> None:
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
        if self._kept is not None:
            self._kept.cleanup()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Explorer at {self.url}" if self.running else "Explorer, stopped"


def explore(
    model: Embeddings | str | os.PathLike[str],
    *,
    port: int = PORT,
    browser: bool = True,
    wait: bool | None = None,
    quiet: bool = False,
) -> Explorer:
    """Look at a fitted model, or at a saved one, in the browser.

    port     the first that is tried; one that is taken gives the next
    browser  open it; otherwise only the address is said
    wait     until Ctrl-C. By default so in a script, not in a notebook or at a prompt, where the explorer runs on
             until `stop()` or the end of Python

        lx.explore(fitted)
        lx.explore("speeches.laplex", port=9000)
    """
    if importlib.util.find_spec("streamlit") is None:
        raise InputError('the explorer needs Streamlit: pip install "laplex[explorer]"')
    kept = None
    if isinstance(model, Embeddings):
        kept = tempfile.TemporaryDirectory(prefix="laplex-", ignore_cleanup_errors=True)
        folder = Path(kept.name) / "fitted.laplex"
        model.save(folder)
    else:
        folder = Path(model)
        load(folder)  # complains here rather than in the browser
    found = free_port(port)
    if found != port:
        say(f"port {port} is taken: {found} is used", quiet=quiet)
    explorer = Explorer(_start(folder, found), f"http://{ADDRESS}:{found}", kept)
    try:
        _await(explorer, quiet)
    except BaseException:
        explorer.stop()
        raise
    wait = not _is_prompt() if wait is None else wait
    say(f"The explorer is at {explorer.url}" + (" (Ctrl-C ends it)" if wait else ""), quiet=quiet)
    if browser:
        webbrowser.open(explorer.url)
    if wait:
        explorer.wait()
    return explorer


def free_port(first: int) -> int:
    """The first port from this one on that nobody listens at."""
    if not isinstance(first, int) or not 1 <= first <= 65_535:
        raise InputError(f"port={first!r} must be a whole number from 1 to 65535")
    for port in range(first, min(first + PORTS, 65_536)):
        with socket.socket() as tried:
            if os.name == "posix":  # or a port that was in use a moment ago counts as taken
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind((ADDRESS, port))
            except OSError:
                continue
        return port
    raise InputError(f"ports {first} to {first + PORTS - 1} are taken or not allowed: choose another by port=")


def _start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    # -P: a file of the user's called as one of Python's modules is not imported instead of it
    command = [sys.executable, "-P", "-m", "laplex.explorer.serving", str(folder.absolute()), str(port)]
    # the process ends when its input does, also if this one is killed
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _await(explorer: Explorer, quiet: bool) -> None:
    """Until it answers."""
    direct = build_opener(ProxyHandler({}))  # a proxy is not asked about one's own machine
    started = time.monotonic()
    with bar("starting the explorer", quiet=quiet) as progress:
        while explorer.running and time.monotonic() < started + PATIENCE:
            try:
                with direct.open(f"{explorer.url}/_stcore/health", timeout=5) as answer:
                    if answer.status == 200:
                        _drain(explorer._process)
                        return
            except (URLError, OSError):
                time.sleep(0.05)
            progress.update(None)
    explorer.stop()
    stream: Any = explorer._process.stderr
    said = stream.read().decode(errors="replace").strip().splitlines() if stream else []
    raise LaplexError(f"the explorer did not start: {said[-1] if said else 'it gave no answer'}")


def _drain(process: subprocess.Popen[bytes]) -> None:
    """Read on what the process says, so that it never waits for a reader."""
    import threading

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            if os.environ.get("LAPLEX_EXPLORER_LOG"):
                sys.stderr.write(line.decode(errors="replace"))

    threading.Thread(target=read, daemon=True).start()


def _is_prompt() -> bool:
    return hasattr(sys, "ps1") or "ipykernel" in sys.modules
