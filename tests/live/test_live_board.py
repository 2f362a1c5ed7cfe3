"""The board of a real run: its stages and jobs while it goes on, and what is kept, also of a failure."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import ClassVar
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from live_project import PATIENCE, SHORTLOOP, EmptyProject, fixture_of, script, stages, wait_for

METHODS = """\
# load
@stage
def load(partition: str, salt: int = 0):
    return {"x": len(partition) + salt}

# fit
def units(load: Job):
    return {f"u{number}": number for number in range(4)}

@stage(units=units)
def fit(number, load: Job, partition: str, salt: int = 0):
    print("unit", number, "<b>")
    wait = Path(os.environ["FOLDER"], "hold")
    while wait.exists() and number == 3:
        time.sleep(0.01)
    if salt == 2 and partition == "B":
        raise ValueError("as asked")
    return {"y": number + load["x"]}

# join
@stage
def join(fits: list[Job]):
    return {"z": sum(fit["y"].sum() for fit in fits)}
"""
SCRIPT = """
fits = []
for name in ("A", "B"):
    loaded = run.build("load", partition=name)
    fits.append(run.build("fit", partition=name, load=loaded, salt=asked))
return run.build("join", fits=fits)
"""


class BoardProject(EmptyProject):
    sources: ClassVar = {
        **stages(METHODS),
        "build_scripts/build_held.py": script(SCRIPT, "asked.json"),
        "asked.json": "0",
    }


project = fixture_of(BoardProject)


class Stages(HTMLParser):
    """What a page says of each stage."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.said: dict[str, str] = {}
        self._stage = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "summary":
            self._stage = str(dict(attrs).get("id")).removeprefix("summary-")
            self.said[self._stage] = ""

    def handle_endtag(self, tag: str) -> None:
        self._stage = "" if tag == "summary" else self._stage

    def handle_data(self, data: str) -> None:
        if self._stage:
            self.said[self._stage] = " ".join(f"{self.said[self._stage]} {data}".split())


@pytest.fixture(scope="module")
def read(project: BoardProject) -> Iterator[Callable[[str], str]]:
    """A page of the board by its path."""
    board = project.popen(SHORTLOOP, "board", "--no-browser")
    assert board.stdout is not None
    address = board.stdout.readline().split()[1]
    opener = build_opener(HTTPCookieProcessor())
    opener.open(address, timeout=PATIENCE).close()

    def read(path: str) -> str:
        with opener.open(address.partition("/?")[0] + path, timeout=PATIENCE) as answer:
            text: str = answer.read().decode()
        return text

    yield read
    board.send_signal(signal.SIGINT)
    said, _ = board.communicate(timeout=PATIENCE)
    assert (board.returncode, said.splitlines()[-1]) == (130, "the board is closed")


def test_a_run_is_shown_while_it_goes_on_and_then(project: BoardProject, read: Callable[[str], str]) -> None:
    assert "No run yet" in read("/")
    hold = project.write("hold", "")
    running = project.popen(SHORTLOOP, "run", "held")

    def is_as_far() -> bool:
        said = Stages(read("/")).said
        return "running" in said.get("fit", "") and said["load"].startswith("load built 2 built")

    wait_for(is_as_far)
    page = read("/")
    said = Stages(page).said
    assert said["join"] == "join waiting 1 waiting"
    assert page.count("<path") == 2  # from load to fit, and to join
    job, *_ = re.findall(r'running</span>[^<]*</td>\s*<td class="job"><a href="/jobs/(main-\d+)"', page)
    wait_for(lambda: "unit 2 &lt;b&gt;" in read(f"/jobs/{job}"))
    assert '"goes_on": true' in read(f"/jobs/{job}/log")
    hold.unlink()
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, output
    said = Stages(read("/")).said
    assert [each.partition(",")[0] for each in said.values()] == [
        "load built 2 built",
        "fit built 2 built",
        "join built 1 built",
    ]
    assert "critical path" in read("/runs/1")
    assert not [*project.folder.glob("workdirs/.runs/.*.plan")]
    assert '"goes_on": false' in read(f"/jobs/{job}/log")
    assert "u3 | unit 3 &lt;b&gt;" in read(f"/jobs/{job}")


def test_a_failed_run_says_what_is_not_built(project: BoardProject, read: Callable[[str], str]) -> None:
    project.write("asked.json", "2")
    failed: subprocess.CompletedProcess[str] = project.shortloop("run", "held")
    assert failed.returncode == 1
    page = read("/runs/2")
    said = Stages(page).said
    assert said["load"].startswith("load cached 2 cached")
    assert said["fit"].startswith("fit failed 1 failed, 1 built")
    assert said["join"].startswith("join not built 1 not built")
    assert "ValueError: as asked" in page
    assert "/shortloop/stages/" not in page
    assert "option salt: 0 → 2" in page
