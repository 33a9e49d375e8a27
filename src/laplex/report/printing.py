"""A page as a PDF, printed by a browser that is on this machine.

HTML that needs nothing else comes in; a PDF goes out. The browser runs without a window, with a profile of its own that
is deleted, and has nothing to ask the network for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from laplex.errors import InputError, LaplexError
from laplex.progress import bar

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
INSTALLED = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
PATIENCE = 180  # seconds


def find_browser() -> str | None:
    """Chromium, Chrome or Edge, if there is one."""
    on_path = (shutil.which(name) for name in BROWSERS)
    return next(filter(None, on_path), None) or next(filter(os.path.exists, INSTALLED), None)


def print_page(html: str, *, quiet: bool = False) -> bytes:
    """The page on paper."""
    browser = find_browser()
    if browser is None:
        raise InputError(
            "a PDF is printed by a browser, and there is no Chromium, Chrome or Edge here: "
            "write the report to a file that ends in .html, and print that"
        )
    with tempfile.TemporaryDirectory(prefix="laplex-", ignore_cleanup_errors=True) as folder:
        page, paper = Path(folder) / "report.html", Path(folder) / "report.pdf"
        page.write_text(html, encoding="utf-8")
        options = ["--headless", "--disable-gpu", "--no-pdf-header-footer", "--disable-background-networking"]
        options += ["--no-first-run", f"--user-data-dir={Path(folder) / 'profile'}", f"--print-to-pdf={paper}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium refuses to run as root otherwise
            options.append("--no-sandbox")
        _run([browser, *options, page.as_uri()], quiet)
        if not paper.exists():
            raise LaplexError(
                f"{browser} printed nothing: write the report to a file that ends in .html, and print that"
            )
        return paper.read_bytes()


def _run(command: list[str], quiet: bool) -> None:
    started = time.monotonic()
    silent: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with bar("printing the report", quiet=quiet) as progress, subprocess.Popen(command, **silent) as running:
        while running.poll() is None:
            if time.monotonic() > started + PATIENCE:
                running.kill()
                raise LaplexError(f"{command[0]} took more than {PATIENCE} seconds to print the report")
            progress.update(None)
            time.sleep(0.05)
