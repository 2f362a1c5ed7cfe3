"""The board in a real browser: on a desk and on a phone, light and dark, by keyboard, during a run."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from board_client import begun_job, write_plan, write_run
from browser import opened
from jobs_project import write_configuration
from PIL import Image

from shortloop.board import run_page, server
from shortloop.stages.records import FORMAT

if TYPE_CHECKING:
    from playwright.sync_api import Browser
PATIENCE = 20_000  # ms
LEAST = 11  # pixels, of the smallest letters
PAGES = ("/", "/runs", "/runs/1", "/jobs/main-2", "/jobs/main-4", "/stages/fit", "/jobs/main-99")
UNFOLD = "() => document.querySelectorAll('details').forEach(each => { each.open = true })"
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALLEST = """() => Math.min(...[...document.querySelectorAll('main *')]
  .filter(each => each.textContent.trim()).map(each => parseFloat(getComputedStyle(each).fontSize)))"""
COLOUR = "() => getComputedStyle(document.body).backgroundColor"
PLACES = """() => ['header', 'nav', 'main', 'footer', 'h1', '.skip']
  .map(each => document.querySelectorAll(each).length)"""
FOCUSED = "() => document.activeElement.id || document.activeElement.textContent.trim()"
REPORT = """<!doctype html><html lang="en"><title>Report</title><p id="said">nothing</p><script>
  const said = [];
  try { said.push(document.cookie || "no cookie"); } catch { said.push("no cookie"); }
  try { localStorage.x = 1; said.push("storage"); } catch { said.push("no storage"); }
  const away = fetch(location.origin + "/").then(answer => answer.text()).catch(() => "no board");
  away.then(text => { document.getElementById("said").textContent = [...said, text].join(", "); });
</script></html>"""
VIEWS = ((1280, "light"), (400, "dark"), (1280, "dark"), (400, "light"))
# Each page in each view; the slow tests have all but the first two in turn.
SHOWN = [
    pytest.param(page, how, marks=[pytest.mark.slow] * (how != VIEWS[number % 2]))
    for number, page in enumerate(PAGES)
    for how in VIEWS
]


def made_project(folder: Path) -> None:
    """Jobs with all that a page can show; a run that failed, and one that built a job of a long name."""
    (folder / "workdirs").mkdir()
    write_configuration(folder)
    begun_job(folder, "main-1", "load", "A")
    long = "a partition with a long name " * 3
    for job, partition in (("main-2", "A"), ("main-3", long)):
        built = begun_job(folder, job, "fit", partition, age=13, jobs={"of": "main-1"})
    built = folder / "workdirs/main/main-2"
    np.save(built / "x.npy", np.zeros(3))
    Image.new("RGB", (900, 500), "#ccd").save(built / "slopes.png")
    (built / "report.html").write_text(REPORT, encoding="utf-8")
    pd.DataFrame({f"column {number}": [1.5, 2.5] for number in range(9)}).to_parquet(built / "table.parquet")
    described = {"axes": "units", "description": "of each", "unit": "V", "shape": [3], "dtype": "float64"}
    record: dict[str, Any] = {
        "format": FORMAT,
        "stage": "fit",
        "partition": "A",
        "facts": {},
        "versions": {"x": "1"},
    }
    record |= {"threads": [], "problem": None, "arrays": {"x": described}, "figures": ["slopes"]}
    record["tables"] = {"table": {"rows": 2, "columns": {"column 0": "float64"}, "library": "pandas"}}
    (built / "record.json").write_text(json.dumps(record), encoding="utf-8")
    failed = begun_job(folder, "main-4", "fit", "B", age=14, finished=False)
    (failed / "OUTPUT").mkdir()
    lines = "".join(f"line {number} {'and more ' * 20}\n" for number in range(80))
    (failed / "OUTPUT/synthesis").write_text(f"{lines}the end\n", encoding="utf-8")
    jobs = [["load", "A", "main-1", True, "new"], ["fit", "A", "main-2", True, "new"]]
    write_run(folder, 1, jobs=jobs, text="name = 1\n", file="settings.toml", settings="small")
    jobs = [
        ["load", "A", "main-1", False, ""],
        ["fit", long, "main-3", True, "the code of methods.a_fit changed"],
    ]
    write_run(folder, 2, jobs=jobs, exit=1, error="Traceback\n  ValueError: odd")
    planned: list[list[Any]] = [
        ["load", "A", "main-1", "reuse", "", 1.0],
        ["fit", long, "", "build", "", 1.0],
        ["fit", "B", "", "build", "new", 1.0],
        *(["score", f"S{number}", "", "perhaps", "if fit comes out different", 1.0] for number in range(5)),
    ]
    write_plan(folder, 2, planned, [["load", "fit"], ["fit", "score"]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("board")
    made_project(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        write_configuration(made)
        run_page._ended.clear()
        yield made


@pytest.fixture(scope="module")
def address(folder: Path) -> str:
    """Of a board that this process serves, with the token."""
    found: list[str] = []
    is_open = threading.Event()

    def say(address: str) -> None:
        found.append(address)
        is_open.set()

    threading.Thread(target=server.serve, args=(0, say), daemon=True).start()
    assert is_open.wait(60)
    return found[0]


def at(address: str, page: str) -> str:
    return address.replace("/?", f"{page}?")


@pytest.mark.parametrize(("page", "how"), SHOWN)
def test_every_page_is_accessible_and_fits(
    browser: Browser, address: str, page: str, how: tuple[int, str]
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with opened(browser, at(address, page), *how) as view:
        view.page.wait_for_load_state("networkidle")
        view.ask(UNFOLD)
        gone = f"404: {view.page.url}"
        assert view.complaints == ([gone] if page == PAGES[-1] else [])
        found = Axe().run(view.page).response
        assert len(found["passes"]) > 15
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]] == []
        assert view.ask(WIDER) <= 0
        assert view.ask(SMALLEST) >= LEAST
        assert view.ask(PLACES) == [1, 1, 1, 1, 1, 1]
        brightness = sum(map(int, re.findall(r"\d+", view.ask(COLOUR)))) / 3
        assert brightness < 40 if how[1] == "dark" else brightness == 255
        assert "token" not in view.page.url


def test_a_stage_opens_by_keyboard(browser: Browser, address: str) -> None:
    with opened(browser, at(address, "/runs/2")) as view:
        keys = view.page.keyboard
        keys.press("Tab")
        assert view.ask(FOCUSED) == "Skip to the content"
        keys.press("Enter")
        for _ in range(30):
            keys.press("Tab")
            if view.ask("() => document.activeElement.getAttribute('href')") == "#stage-fit":
                break
        is_open = view.page.locator("#stage-fit[open]")
        assert is_open.count() == 0
        keys.press("Enter")
        is_open.wait_for(timeout=PATIENCE)
        assert view.ask(FOCUSED) == "summary-fit"
        assert view.page.get_by_role("link", name="main-4").is_visible()
        keys.press("Enter")
        is_open.wait_for(state="detached", timeout=PATIENCE)
        keys.press("Enter")
        is_open.wait_for(timeout=PATIENCE)
        view.page.get_by_role("link", name="main-4").focus()
        keys.press("Enter")
        view.page.wait_for_url("**/jobs/main-4")
        assert "the end" in view.page.locator("#log").inner_text()


def test_a_report_runs_apart_from_the_board(browser: Browser, address: str) -> None:
    with opened(browser, at(address, "/jobs/main-2")) as view:
        assert view.page.locator("figure img").evaluate("each => each.complete && each.naturalWidth") == 900
        view.page.locator("section p").get_by_role("link", name="report.html").click()
        view.page.wait_for_function("() => document.getElementById('said').textContent !== 'nothing'")
        assert view.page.locator("#said").inner_text() == "no cookie, no storage, no board"


def test_without_scripts_all_is_there(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(at(address, "/runs/2"))
        page.locator("#summary-fit").click()
        assert page.get_by_role("link", name="main-4").is_visible()
    finally:
        context.close()


def test_a_run_is_shown_while_it_goes_on(browser: Browser, address: str, folder: Path) -> None:
    """States, jobs and output come by themselves; what is open stays so, and the focus where it is."""
    planned: list[list[Any]] = [["load", "C", "", "build", "new", 1.0], ["fit", "C", "", "build", "new", 1.0]]
    file = write_run(folder, 3, exit=None, seconds=0.0, script_job="main-9")
    with file.open("rb") as held, opened(browser, address) as view:
        fcntl.flock(held, fcntl.LOCK_EX)
        write_plan(folder, 3, planned, [["load", "fit"]])
        view.page.get_by_role("heading", name="Run 3").wait_for(timeout=PATIENCE)
        stage = view.page.locator("#stage-load")
        stage.get_by_text("1 waiting").wait_for(timeout=PATIENCE)
        view.page.locator("#summary-load").click()
        assert view.ask(FOCUSED) == "summary-load"
        job = begun_job(folder, "main-10", "load", "C", finished=False)
        setup = json.loads((job / "setup.json").read_text(encoding="utf-8"))
        (job / "setup.json").write_text(json.dumps({**setup, "parent": "main-9"}), encoding="utf-8")
        (job / "OUTPUT").mkdir()
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd=job) as working:
            stage.get_by_text("1 running").wait_for(timeout=PATIENCE)
            assert stage.evaluate("each => each.open")
            assert view.ask(FOCUSED) == "summary-load"
            link = stage.get_by_role("link", name="main-10")
            with opened(browser, at(address, "/jobs/main-10")) as other:
                output = job / "OUTPUT/synthesis"
                for number in range(3):
                    with output.open("a", encoding="utf-8") as stream:
                        stream.write(f"<b>line</b> {number}\nstep {number}")
                    other.page.get_by_text(f"<b>line</b> {number}\nstep {number}").wait_for(timeout=PATIENCE)
                (job / "post.json").write_text("{}", encoding="utf-8")
                assert working.stdin is not None
                working.stdin.close()
                other.page.locator("main > p .badge", has_text="built").wait_for(timeout=PATIENCE)
                assert other.complaints == []
            assert link.is_visible()
        stage.get_by_text("1 built").wait_for(timeout=PATIENCE)
        jobs = [["load", "C", "main-10", True, "new"], ["fit", "C", "main-3", False, ""]]
        os.replace(write_run(folder, 4, jobs=jobs), file)
        view.page.locator("main > p .badge", has_text="finished").wait_for(timeout=PATIENCE)
        assert view.page.locator("#stage-fit").get_by_text("1 cached").count() == 1
        assert stage.evaluate("each => each.open")
        assert view.complaints == []
    file.unlink()
