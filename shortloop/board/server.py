"""The server of the page of runs: who may see it, and its addresses.

It listens on this machine alone, answers GET and HEAD, and knows its reader by a token, which a cookie keeps.
Host is checked because a page of a stranger may have its name lead to 127.0.0.1.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import mimetypes
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, quote

import bottle
from waitress.server import create_server

from shortloop.base.errors import InputError
from shortloop.base.extras import need
from shortloop.base.text import amount, counted, duration, printable
from shortloop.board.files import open_inside, read_log
from shortloop.board.graph import RUNNING, STATES
from shortloop.board.job_page import history_picture, job_page, stage_page
from shortloop.board.run_page import latest_run, run_page, runs_page
from shortloop.exax.job_output import is_running
from shortloop.project.project import configuration, job_directory, project_directory
from shortloop.store.integrity import LOGS

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

PAGES = Path(__file__).parent / "pages"
LIBRARIES = ("jinja2", "markupsafe")
EXAX_BOARD = "http://localhost:8520"  # of `ax board-server`
THREADS = 8
PIECE = 1 << 16  # bytes of a file that are sent at a time
STATIC = {"board.css": "text/css", "board.js": "text/javascript"}
POLICY_HEADER = "Content-Security-Policy"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Reports have scripts: none is of the origin of the board, or reaches a network.
FILE_POLICY = (
    "sandbox allow-scripts allow-downloads; "
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'none'"
)
SHOWN = ("image/", "text/html")
PDF = "application/pdf"  # which browsers do not show in a sandbox
AS_TEXT = ("text/", "application/json", "application/toml", "application/xml")
ONLY = "open the address that `shortloop board` printed; it ends with a token"


class Guard:
    """The server's answer to all who may not see the board, and headers of every answer."""

    def __init__(self, app: WSGIApplication, token: str) -> None:
        self.port = 0
        self._app, self._token = app, token

    @property
    def cookie(self) -> str:
        return f"shortloop-{self.port}"  # cookies of all ports are sent to each

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        hosts = [f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")]
        if environ.get("HTTP_HOST") not in hosts:
            return _plain(start, "403 Forbidden", f"this board is at http://{hosts[0]}")
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _plain(start, "405 Method Not Allowed", "this board only reads", ("Allow", "GET, HEAD"))
        path = environ.get("PATH_INFO", "/").encode("latin-1")
        if (given := parse_qs(environ.get("QUERY_STRING", "")).get("token")) is not None:
            if not _same(given[-1], self._token):
                return _plain(start, "403 Forbidden", f"this token is of another board: {ONLY}")
            cookie = f"{self.cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            there = f"http://{environ['HTTP_HOST']}{quote(path)}"
            return _redirect(start, there, cookie, environ.get("HTTP_SEC_FETCH_SITE", "none"))
        is_file = path.startswith(b"/files/")  # its address has a token of its own, see `file_address`
        if not is_file and not _same(_cookies(environ).get(self.cookie, ""), self._token):
            return _plain(start, "403 Forbidden", f"this board shows nothing without its token: {ONLY}")

        def begin(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            given = {name.lower() for name, _ in headers}
            more = [each for each in _headers(is_file) if each[0].lower() not in given]
            return start(status, [*headers, *more], *error)

        answer: Iterable[bytes] = self._app(environ, begin)
        return answer


def _headers(is_file: bool = False) -> list[tuple[str, str]]:
    return [
        (POLICY_HEADER, POLICY),
        ("Cross-Origin-Resource-Policy", "cross-origin" if is_file else "same-origin"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "no-store"),
    ]


def _plain(start: StartResponse, status: str, text: str, *more: tuple[str, str]) -> Iterable[bytes]:
    data = f"{text}\n".encode()
    about = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(data)))]
    start(status, [*about, *more, *_headers()])
    return [data]


def _redirect(start: StartResponse, there: str, cookie: str, came_from: str) -> Iterable[bytes]:
    """Go on to an address without the token."""
    if came_from in ("none", "same-origin"):
        return _plain(start, "303 See Other", there, ("Location", there), ("Set-Cookie", cookie))
    # A browser that comes from another page would not send the cookie along.
    return _plain(start, "200 OK", there, ("Refresh", f"0; url={there}"), ("Set-Cookie", cookie))


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _cookies(environ: WSGIEnvironment) -> dict[str, str]:
    pairs = (each.strip().partition("=") for each in environ.get("HTTP_COOKIE", "").split(";"))
    return {name: value for name, _, value in pairs}


class Board:
    """The addresses of a board."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes()
        self._templates = _templates(self.file_address)

    def app(self) -> WSGIApplication:
        """All of it, as an application of WSGI."""
        app: Any = bottle.Bottle()
        routes: dict[str, Callable[..., Any]] = {
            "/": self.home,
            "/runs": self.runs,
            "/runs/<number:int>": self.run,
            "/jobs/<job>": self.job,
            "/jobs/<job>/log": self.log,
            "/stages/<stage>": self.stage,
            "/stages/<stage>/history.png": self.history,
            "/static/<name>": self.static,
            "/files/<key>/<job>/<name:path>": self.file,
        }
        for route, function in routes.items():
            app.route(route, callback=_explained(function))
        for code in (403, 404, 500):
            app.error(code)(self._error)
        return cast("WSGIApplication", app)

    def file_address(self, job: str, name: str = "") -> str:
        """Address of a file of a job, with a token that opens files of this job alone."""
        # Links of a report are relative, and send no cookie: its scripts must not read the board.
        key = hmac.new(self._key, job.encode("utf-8", "replace"), "sha256").hexdigest()[:40]
        return f"/files/{key}/{quote(job)}/{quote(name, errors='surrogateescape')}"

    def home(self) -> object:
        number = latest_run()
        found = {} if number is None else run_page(number, _query("all"))
        every = 1000 if found.get("goes_on") else 5000
        return self._page("run.html", **found, listed=runs_page(), every=every)

    def runs(self) -> object:
        return self._page("runs.html", listed=runs_page(10**9), every=5000)

    def run(self, number: int) -> object:
        found = run_page(number, _query("all"))
        return self._page("run.html", **found, every=1000 if found["goes_on"] else 0)

    def job(self, job: str) -> object:
        found = job_page(job)
        log = read_log(job_directory(job))
        return self._page("job.html", **found, log=log, every=1000 if found["state"] == RUNNING else 0)

    def log(self, job: str) -> str:
        """What a job has printed since a position, for the script of the page."""
        folder = job_directory(job)
        goes_on = is_running(folder)  # asked first: what it printed at its end is read then
        bottle.response.content_type = "application/json"
        return json.dumps({**read_log(folder, _query("position"))._asdict(), "goes_on": goes_on})

    def stage(self, stage: str) -> object:
        return self._page("stage.html", **stage_page(stage), every=5000)

    def history(self, stage: str) -> object:
        try:
            return _with_tag(history_picture(stage), "image/png")
        except InputError as error:  # of no run, or of a library that is not installed
            said = escape(error.message.partition("\n")[0])
            picture = (
                '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="40">'
                f'<text x="10" y="25" font-family="sans-serif">{said}</text></svg>'
            )
            return _with_tag(picture.encode(), "image/svg+xml")

    def static(self, name: str) -> object:
        if name not in STATIC:
            raise bottle.HTTPError(404, "there is no such page")
        return _with_tag((PAGES / name).read_bytes(), f"{STATIC[name]}; charset=utf-8")

    def file(self, key: str, job: str, name: str) -> object:
        """A file of a job: shown if that is safe, else to be downloaded."""
        if not _same(key, self.file_address(job).split("/")[2]):
            raise bottle.HTTPError(403, "this address is of another board: open the job's page again")
        stream = open_inside(job_directory(job), name)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if name.startswith(f"{LOGS}/") or (kind.startswith(AS_TEXT) and kind != "text/html"):
            kind = "text/plain; charset=utf-8"
        elif kind != PDF and not kind.startswith(SHOWN):
            bottle.response.set_header("Content-Disposition", "attachment")
        if kind != PDF:
            bottle.response.set_header(POLICY_HEADER, FILE_POLICY)
        bottle.response.content_type = kind
        bottle.response.content_length = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        return bottle.WSGIFileWrapper(stream, PIECE)

    def _error(self, error: Any) -> str:
        """The page of an error; of one of the board itself, its traceback is in the terminal."""
        text = error.body if error.status_code != 500 else "this page cannot be made; the terminal says why"
        return self._render("error.html", status=error.status_code, text=str(text), every=0)

    def _page(self, name: str, **content: Any) -> Any:
        return _with_tag(self._render(name, **content).encode(), "text/html; charset=utf-8")

    def _render(self, name: str, **content: Any) -> str:
        listens = configuration().board_listen
        is_open = isinstance(listens, tuple)  # else it listens on a socket, which no browser opens
        address = f"http://{listens[0] or 'localhost'}:{listens[1]}" if is_open and listens else EXAX_BOARD
        programs = ["ax server"] if is_open else ["ax server", "ax board-server"]
        common = {"exax_board": address, "programs": programs, "project": project_directory().resolve().name}
        rendered: str = self._templates.get_template(name).render(**common, **content)
        return rendered


def _query(name: str) -> str:
    found: str = bottle.request.query.getunicode(name, "")
    return found


def _with_tag(data: bytes, kind: str) -> Any:
    """Send a page, unless the reader has it as it is."""
    tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    if bottle.request.get_header("If-None-Match") == tag:
        return bottle.HTTPResponse(status=304, ETag=tag)
    return bottle.HTTPResponse(data, content_type=kind, ETag=tag)


def _explained(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have errors of a job or run that is not there, or was deleted meanwhile, say so."""

    def explained(**arguments: Any) -> Any:
        try:
            return function(**arguments)
        except InputError as error:
            return bottle.HTTPError(404, error.message)
        except OSError as error:
            return bottle.HTTPError(404, f"it cannot be read, or was deleted: {error.strerror or error}")

    return explained


def _templates(file_address: Callable[[str, str], str]) -> Any:
    need("report", LIBRARIES)
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup, escape

    def shown(value: object) -> object:
        """Escape what no page can hold, such as halves of characters in names of files."""
        return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    def linked(text: str) -> Markup:
        """Make ids of jobs in a text links to their pages."""
        names = "|".join(map(re.escape, configuration().workdirs))
        parts = re.split(rf"(?<![\w/-])((?:{names})-\d+)(?![\w-])", printable(text))
        found = (
            Markup('<a href="/jobs/{0}">{0}</a>').format(each) if number % 2 else escape(each)
            for number, each in enumerate(parts)
        )
        return Markup().join(found)

    made = Environment(
        loader=FileSystemLoader(PAGES), autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=shown
    )
    made.filters |= {
        "amount": amount,
        "counted": counted,
        "duration": duration,
        "linked": linked,
        "moment": lambda seconds: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)),
        "picture": Markup,
        "quoted": lambda text: quote(text, safe="", errors="surrogateescape"),
    }
    made.globals |= {"file_address": file_address, "states": STATES}
    return made


def serve(port: int, opened: Callable[[str], None]) -> None:
    """Serve the board until Ctrl-C; `opened` is given its address, with the token."""
    token = secrets.token_urlsafe(24)
    guard = Guard(Board().app(), token)
    try:
        server = create_server(guard, host="127.0.0.1", port=port, threads=THREADS, ident=None)
    except OSError as error:
        hint = "choose another one, or leave out --port"
        raise InputError("the port cannot be used", found=f"{port}: {error.strerror}", hint=hint) from None
    guard.port = server.effective_port
    opened(f"http://127.0.0.1:{guard.port}/?token={token}")
    server.run()  # Ctrl-C ends it
    server.close()
