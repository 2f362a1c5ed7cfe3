"""A real browser for tests: the Chromium of this machine, driven by Playwright. Nothing is fetched."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LIBRARIES = ("playwright", "axe_playwright_python", "pypdf")
# It runs as root in containers, and asks nobody for anything.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
UNNAMED = "Failed to load resource"
"""The console says this without saying of what; the browser tells it again, with the address."""
LEFT_OUT = "without a browser"
"""How the reason begins why tests are skipped."""


@dataclass(frozen=True)
class View:
    """A page as a reader has it open."""

    page: Page
    scheme: str
    width: int
    complaints: list[str]
    """What the browser wrote to its console, and what it could not load."""

    def ask(self, script: str) -> Any:
        """What a function in JavaScript says of the page."""
        return self.page.evaluate(script)


def lacking() -> str:
    """What is missing on this machine; nothing, if tests can run."""
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if _program() is None:
        missing.insert(0, "chromium")
    return f"{LEFT_OUT}: {', '.join(missing)} not installed" if missing else ""


@contextmanager
def started() -> Iterator[Browser]:
    """The browser, until the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_program(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, address: str, width: int = 1280, scheme: str = "light") -> Iterator[View]:
    """A page, for a reader with a window of some width who likes pages light or dark."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page, complaints = context.new_page(), list[str]()

    def listen(said: ConsoleMessage) -> None:
        if UNNAMED not in said.text:
            complaints.append(f"{said.type}: {said.text}")

    def look(answer: Response) -> None:
        if answer.status >= 400:
            complaints.append(f"{answer.status}: {answer.url}")

    def fail(request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # by the page itself, e.g. while it looks for what is new
            complaints.append(f"not loaded, {request.failure}: {request.url}")

    page.on("console", listen)
    page.on("response", look)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", fail)
    try:
        page.goto(address)
        yield View(page, scheme, width, complaints)
    finally:
        context.close()


def _program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
