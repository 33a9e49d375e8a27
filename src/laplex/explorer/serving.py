"""The process that serves the explorer: python -m laplex.explorer.serving FOLDER PORT

It listens at 127.0.0.1 only, sends nothing anywhere else, and ends when its standard input does.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

from laplex.explorer import loading
from laplex.explorer.guarding import HOSTS, Guard
from laplex.explorer.launching import ADDRESS

FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
LIGHT = {
    "primaryColor": "#0067A3",
    "backgroundColor": "#FFFFFF",
    "secondaryBackgroundColor": "#F4F6F8",
    "textColor": "#1B2430",
    "linkColor": "#0067A3",
    "borderColor": "#DFE4E9",
}
DARK = {
    "primaryColor": "#5AB4E5",
    "backgroundColor": "#12161C",
    "secondaryBackgroundColor": "#1C222A",
    "textColor": "#E4E9EE",
    "linkColor": "#5AB4E5",
    "borderColor": "#323A44",
}


def settings(port: int) -> dict[str, Any]:
    """How Streamlit is to behave, whatever the user's own file for it says."""
    return {
        "server.address": ADDRESS,
        "server.port": port,
        "server.headless": True,
        "server.enableCORS": True,
        "server.enableXsrfProtection": True,
        "server.allowedHosts": list(HOSTS),
        "server.baseUrlPath": "",
        "server.enableStaticServing": False,
        "server.enableAgentApi": False,
        "server.fileWatcherType": "none",
        "server.maxUploadSize": 1,
        "browser.gatherUsageStats": False,
        "browser.serverAddress": ADDRESS,
        "logger.level": "error",
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "theme.font": FONT,
        "theme.headingFont": FONT,
        "theme.baseRadius": "6px",
        "theme.metricValueFontSize": "1.55rem",
        "theme.showWidgetBorder": True,
        "theme.headingFontSizes": ["1.9rem", "1.3rem", "1.1rem"],
        "theme.headingFontWeights": [650, 600, 600],
        **{f"theme.light.{name}": value for name, value in LIGHT.items()},
        **{f"theme.dark.{name}": value for name, value in DARK.items()},
    }


def main() -> None:
    import streamlit as st
    from starlette.middleware import Middleware

    folder, port = sys.argv[1:]
    os.environ[loading.MODEL] = folder
    threading.Thread(target=_end_with_input, daemon=True).start()
    threading.Thread(target=_warm, daemon=True).start()
    app = st.App(Path(__file__).with_name("app.py"), middleware=[Middleware(Guard)])
    app.run(config=settings(int(port)))


def _warm() -> None:
    """Import what pages need while the browser is being opened."""
    import_module("laplex.explorer.app")
    # charts of ours are right as they are; to check each against the schema takes a tenth of an answer
    import_module("altair.utils.schemapi").disable_debug_mode()
    # after each answer Streamlit looks for garbage everywhere: not in what stays anyway, or that takes a third of it
    gc.collect()
    gc.freeze()


def _end_with_input() -> None:
    while sys.stdin.buffer.read(1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
