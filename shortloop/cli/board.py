"""``shortloop board``: open the page of runs."""

from __future__ import annotations

import os
import tempfile
import threading
import webbrowser
from contextlib import suppress
from html import escape
from pathlib import Path

from shortloop.board.server import serve
from shortloop.cli.output import print_lines
from shortloop.project.project import project_directory

SCREENS = (
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "BROWSER",
)  # variables; without one, a browser would take the terminal
OPENS = 20.0  # s that a browser may take


def open_board(port: int, browser: bool) -> int:
    """Serve the board until Ctrl-C; return the exit status."""
    project_directory()  # which says so if there is none

    def opened(address: str) -> None:
        print_lines(f"board: {address}", "it only reads, and only you can open it; Ctrl-C ends it")
        if browser and any(map(os.environ.get, SCREENS)):
            threading.Thread(target=_open_browser, args=[address], daemon=True).start()

    serve(port, opened)
    print_lines("the board is closed")
    return 130


def _open_browser(address: str) -> None:
    # Everybody on this machine can read the command line of a browser, so that it is given a file.
    with tempfile.TemporaryDirectory(prefix="shortloop-board-") as folder, suppress(webbrowser.Error):
        page = Path(folder, "board.html")
        page.write_text(f'<meta http-equiv="refresh" content="0; url={escape(address)}">', encoding="utf-8")
        webbrowser.open(page.as_uri())
        threading.Event().wait(OPENS)
