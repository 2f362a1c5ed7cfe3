"""Who may see the board, and which files: token, host, methods, paths, links, and what headers say."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from board_client import HOST, PORT, TOKEN, Client, begun_job, write_run
from command_line import ROOT, assert_one_message, shortloop
from jobs_project import empty_project, fresh_python
from refused import refusing
from without_root import only_readable
from without_root import shortloop as without_root

project = pytest.fixture(empty_project)
SECRET = "a word of nobody's business"
PAGES = ["/", "/runs", "/runs/1", "/jobs/main-1", "/stages/fit", "/jobs/main-1/log"]


@pytest.fixture
def client(project: Path) -> Client:
    """Of a project of one job and one run."""
    begun_job(project, "main-1", "fit", "A")
    write_run(project, 1, jobs=[["fit", "A", "main-1", True, "new"]])
    return Client()


@pytest.mark.parametrize(
    "cookie", ["", f"shortloop-{PORT}=", f"shortloop-{PORT}=b", f"shortloop-1={TOKEN}", "é"]
)
@pytest.mark.parametrize("page", [*PAGES, "/static/board.js", "/nowhere"])
def test_nothing_is_shown_without_the_token(client: Client, page: str, cookie: str) -> None:
    said = client.get(page, COOKIE=cookie)
    assert (said.status, said.headers["Content-Type"]) == (403, "text/plain; charset=utf-8")
    assert "`shortloop board`" in said.text
    assert "fit" not in said.text


def test_a_token_is_traded_for_a_cookie(client: Client) -> None:
    said = client.get(f"/runs/1?token={TOKEN}", COOKIE="")
    assert (said.status, said.headers["Location"]) == (303, f"http://{HOST}/runs/1")
    cookie, *flags = said.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict"} <= {*flags}
    assert client.get("/runs/1", COOKIE=f"other=1; {cookie}").status == 200
    # A browser that comes from another page sends no strict cookie along a redirection.
    said = client.get(f"/?token={TOKEN}", COOKIE="", SEC_FETCH_SITE="cross-site")
    assert (said.status, said.headers["Refresh"]) == (200, f"0; url=http://{HOST}/")
    for wrong in ("b", "", "%C3%A9", f"{TOKEN}&token=b"):
        said = client.get(f"/?token={wrong}")
        assert said.status == (200 if wrong == "" else 403)
        assert "Set-Cookie" not in said.headers


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "/%0d%0aX-Evil:%201", "/é"])
def test_a_token_leads_to_no_other_host(client: Client, path: str) -> None:
    there = client.get(f"{path}?token={TOKEN}", COOKIE="").headers["Location"]
    assert re.fullmatch(rf"http://{re.escape(HOST)}/[\w./%:-]*", there)


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"[::1]:{PORT}", ""]
)
def test_a_page_of_a_stranger_whose_name_leads_here_is_refused(client: Client, host: str) -> None:
    for address in ("/", f"/?token={TOKEN}"):
        assert client.get(address, HOST=host).status == 403
    assert client.get("/", HOST=f"localhost:{PORT}").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get"])
def test_it_only_reads(client: Client, method: str) -> None:
    said = client.get("/", method)
    assert (said.status, said.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("page", [*PAGES, "/nowhere", "/static/board.css", "/static/board.js"])
def test_pages_have_no_script_of_their_own_and_stay_here(client: Client, page: str) -> None:
    said = client.get(page)
    assert said.status == (404 if page == "/nowhere" else 200)
    policy = said.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    names = ("X-Content-Type-Options", "Referrer-Policy", "Cache-Control")
    assert [said.headers[name] for name in names] == ["nosniff", "no-referrer", "no-store"]
    if said.headers["Content-Type"].startswith("text/html"):
        text = said.text.replace('<script src="/static/board.js" defer></script>', "")
        assert re.findall(r"<script|<style|style=|onclick", text) == []
    assert client.get(page, "HEAD").data == b""


def test_a_page_that_is_as_it_was_is_not_sent_again(client: Client) -> None:
    first = client.get("/runs/1")
    again = client.get("/runs/1", IF_NONE_MATCH=first.headers["Etag"])
    assert (again.status, again.data) == (304, b"")
    assert client.get("/runs/1", IF_NONE_MATCH='"other"').data == first.data


def addresses(client: Client, job: str = "main-1") -> list[str]:
    return re.findall(r'href="(/files/[^"]+)"', client.get(f"/jobs/{job}").text)


def test_files_are_shown_apart_from_the_board(client: Client, project: Path) -> None:
    """Scripts of reports run in a sandbox, without cookie, and only files of their own job can be opened."""
    folder = project / "workdirs/main/main-1"
    names = [
        "a.html",
        "b.png",
        "c.svg",
        "d.pdf",
        "e.npy",
        "f.csv",
        "sub/g ü#?.txt",
        "OUTPUT/0",
        "OUTPUT/x.html",
    ]
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name, encoding="utf-8")
    found = addresses(client)
    answers = {said.text: said for said in (client.get(each, COOKIE="") for each in found)}
    assert {*names} <= answers.keys()
    for name in names:
        said = answers[name]
        policy, kind = said.headers["Content-Security-Policy"], said.headers["Content-Type"]
        assert said.headers["X-Content-Type-Options"] == "nosniff"
        assert policy.startswith("sandbox allow-scripts") == (name != "d.pdf")
        assert "allow-same-origin" not in policy
        assert not re.search(r"https?:|\*", policy)
        assert ("attachment" in said.headers.get("Content-Disposition", "")) == (name == "e.npy")
        if name.startswith("OUTPUT/"):
            assert kind == "text/plain; charset=utf-8"
    begun_job(project, "main-2", "fit", "B")
    (other,) = {each.split("/")[2] for each in addresses(client, "main-2")}
    assert other != found[0].split("/")[2]
    assert client.get(found[0].replace(found[0].split("/")[2], other), COOKIE="").status == 403
    assert client.get("/files/x/main-1/a.html").status == 403


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "..%2fsecret",
        "%2e%2e/secret",
        "sub/../../secret",
        "./a",
        "//a",
        "/etc/passwd",
        "link",
        "folder/secret",
        "sub",
        "pipe",
        "a%00",
        "nowhere",
        "",
    ],
)
def test_nothing_outside_of_a_job_is_read(client: Client, project: Path, name: str) -> None:
    folder = project / "workdirs/main/main-1"
    (folder.parent / "secret").write_text(SECRET, encoding="utf-8")
    (folder / "sub").mkdir()
    (folder / "a").write_text("a", encoding="utf-8")
    (folder / "link").symlink_to("../secret")
    (folder / "folder").symlink_to("..")
    os.mkfifo(folder / "pipe")
    above = addresses(client)[0].rpartition("/")[0]
    assert client.get(f"{above}/a").text == "a"
    said = client.get(f"{above}/{name}")
    assert said.status == 404
    assert SECRET not in said.text


def test_a_job_that_is_a_link_is_not_read(client: Client, project: Path) -> None:
    outside = project / "outside"
    (project / "workdirs/main/main-1").rename(outside)
    (project / "workdirs/main/main-1").symlink_to(outside)
    assert {client.get(each).status for each in addresses(client)} == {404}


def test_nothing_is_written(client: Client, project: Path) -> None:
    def state() -> dict[str, int]:
        return {str(each): each.lstat().st_mtime_ns for each in [project, *project.rglob("*")]}

    before = state()
    assert {client.get(page).status for page in PAGES} == {200}
    assert state() == before
    code = "from board_client import Client; import json; c = Client();"
    code += f"print([c.get(page).status for page in {PAGES}])"
    with only_readable(project):
        done = without_root(project, "-c", code, PYTHONPATH=f"{ROOT}:{ROOT}/tests/helpers")
        assert done.stdout == f"{[200] * len(PAGES)}\n", done.stderr


@pytest.fixture
def started(project: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "shortloop", "board", "--no-browser"]
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=project)
    yield done
    done.kill()
    done.communicate()


def test_the_command_prints_the_address_and_ends_with_a_line(started: subprocess.Popen[str]) -> None:
    assert started.stdout is not None
    address = started.stdout.readline()
    found = re.fullmatch(r"board: http://127\.0\.0\.1:(\d+)/\?token=([\w-]{30,})\n", address)
    assert found, address
    code = (
        "from urllib.request import *; import sys\n"
        "o = build_opener(HTTPCookieProcessor()); print(o.open(sys.argv[1]).read().decode())"
    )
    assert "No run yet" in fresh_python(code, Path.cwd(), address.split()[1])
    with socket.socket() as other:  # nobody else's address leads there
        assert other.connect_ex(("127.0.0.2", int(found[1]))) != 0
    taken = shortloop(Path.cwd(), "board", "--no-browser", "--port", found[1])
    assert_one_message(taken, "the port cannot be used", found[1], "leave out --port")
    started.send_signal(signal.SIGINT)
    said, errors = started.communicate(timeout=60)
    assert (started.returncode, errors) == (130, "")
    assert said.splitlines()[-1] == "the board is closed"


def test_it_says_what_it_lacks(project: Path, tmp_path: Path) -> None:
    done = shortloop(project, "board", "--no-browser", library=f"{refusing(tmp_path, ['jinja2'])}:{ROOT}")
    assert_one_message(done, "jinja2 is not installed", "pip install 'shortloop[report]'")
