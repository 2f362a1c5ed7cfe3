"""Every command of README.md and docs/ is run as by a reader: page by page, in order, in new projects."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from bootstrap_project import BootstrapProject
from documented import NOT_RUN, PAGES, Block, blocks
from live_project import PATIENCE, Begun, LiveProject

STUDY = """\
name = "simulated"
participants = ["S01", "S02"]
classes = ["face", "house"]
phases = {train = "study", decode = "test"}
input = {format = "simulated", channels = 4, trials = 40, sfreq = 128, tmin = -0.3, tmax = 0.6}
decoding = {select_alpha = 1.0}
estimator = {kind = "lda"}
permutations = {count = 20}
features.amplitude = {bins = 3, bin_samples = 9}
"""
PANEL = """\
name = "small"
groups = {by = ["g"], blocks = 1}
models.plain = {model = "ols", formula = "y ~ x"}
input = {format = "csv", file = "rows.csv"}
"""
FRAMES = """\
name = "tiny"
libraries = ["pandas"]
transformations = ["column"]
table = {rows = 3000, columns = 5, groups = 20, chunk = 1000}
timing = {repeats = 2, limit = 60.0}
"""
FIRST = {
    "bootstrap": "shortloop run bootstrap",
    "my-study": "shortloop run",
    "my-analysis": "shortloop run analysis",
    "my-panel": "shortloop run panel",
}
JOBS = {"main-41": ("train", "S01")}
"""Jobs of the docs that are others in these small projects."""
SLOW = (
    "README.md",
    "caching.md",
    "cookbook.md",
    "engines.md",
    "first-study.md",
    "frames.md",
    "json.md",
    "looking-up.md",
    "panel.md",
    "profiling.md",
    "recordings.md",
    "stages.md",
    "sweep.md",
    "troubleshooting.md",
)
"""Pages whose commands are many runs; tests of their subjects have others like these."""
SAID = {
    "stages.md: shortloop run mine": "2 jobs built, 5 reused",
    "stages.md: shortloop run bootstrap --until bootstrap --partition A": "0 jobs built, 1 reused",
    "stages.md: shortloop run bootstrap --force bootstrap": "came out the same as main-",
    "caching.md: shortloop plan bootstrap": "declared harmless: only a new name",
    "caching.md: shortloop show main-1": "declared harmless on",
    "caching.md: shortloop why bootstrap": "only a new name",
    "caching.md: shortloop verify": "all are as they were recorded",
    "cookbook.md: shortloop run sizes": "1 of 2 units computed",
    "cookbook.md: shortloop run shuffled": "1 job built",
    "cookbook.md: shortloop run large": "2 jobs built",
    "first-study.md: shortloop plan": "group (amplitude): option settings.smooth: 1.0 → 0.0",
    "first-study.md: shortloop run --settings study.toml": "0 jobs built",
    "first-study.md: shortloop why group": "option settings.smooth: 1.0 → 0.0",
    "profiling.md: shortloop profile anova --lines": "bottleneck     a line",
    "profiling.md: shortloop isolate anova --debug": "8 units of anova (main-",
    "troubleshooting.md: shortloop run --force main-1": "came out the same as main-1",
    "your-own-analysis.md: shortloop run analysis": "jobs built",
}
"""What some of them say, the last time that a page has them."""


class Copy(LiveProject):
    """A copy of the repository, with all analyses."""

    analyses = ("eeg", "panel", "frames")


class Reader:
    """Somebody who reads pages, and runs what they say."""

    def __init__(self, above: Path) -> None:
        self.above = above
        self.projects: dict[str, LiveProject] = {}
        (above / ".venv").symlink_to(sys.prefix)

    def folder(self, name: str) -> Path:
        """A project's folder; it is made and run when it is first asked for."""
        folder = self.above / name
        if name == "nothing":
            return self.above
        if name not in self.projects:
            if name == "bootstrap":
                folder.mkdir()
                BootstrapProject(folder)
            elif name == "copy":
                folder.mkdir()
                Copy(folder)
                (folder / ".venv").symlink_to(sys.prefix)
                (folder / "frames.toml").write_text(FRAMES, encoding="utf-8")
                (folder / "panel.toml").touch()
                _shrink(folder)
            else:
                given = {"my-study": " --eeg", "my-panel": " --panel"}.get(name, "")
                self.call(f"shortloop init {name}{given}", self.above)
                _shrink(folder)
            self.projects[name] = Begun(folder)
            self.projects[name].start_server()
            if name in FIRST:
                self.call(FIRST[name], folder)
        return folder

    def call(self, command: str, folder: Path) -> str:
        """Run a command of a shell; what it said."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=Begun(folder).environment(
                PIP_NO_INDEX="1", PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            ),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def read(self, page: Path) -> dict[str, str]:
        """Do what a page says, block by block; what each command said the last time."""
        said: dict[str, str] = {}
        here, project = self.above, ""
        for block in blocks(page):
            asks = block.commands or block.file or block.text.startswith("import shortloop\n")
            if asks and block.run_in and block.run_in != project:
                project = block.run_in
                here = self.folder(project)
            if block.file and (here / block.file).parent.is_dir() and here != self.above:
                _write(block, here)
            elif (
                block.language == "python"
                and block.text.startswith("import shortloop\n")
                and here != self.above
            ):
                (here / "asked.py").write_text(self.with_jobs(block.text, here), encoding="utf-8")
                self.call("python asked.py", here)
            for command in block.commands:
                if command in NOT_RUN:
                    continue
                words = command.split()
                if words[0] == "cd":
                    here = self.above / Path(words[1]).name
                elif words[:2] == ["shortloop", "init"]:
                    here = self.folder(Path(words[2]).name).parent
                elif words[:2] == ["ax", "server"]:
                    assert self.projects[project].answers()  # it was started so
                else:
                    _before(command, here)
                    said[command] = self.call(self.with_jobs(command, here), here)
        return said

    def with_jobs(self, text: str, folder: Path) -> str:
        for name, (stage, partition) in JOBS.items():
            if re.search(rf"\b{name}\b", text):
                jobs = json.loads((folder / "results/simulated/summary.json").read_text())["jobs"]
                found = [
                    each["job"] for each in jobs if (each["stage"], each["participant"]) == (stage, partition)
                ]
                text = text.replace(name, found[0])
        return text


def _shrink(folder: Path) -> None:
    """Less data, and of a study fewer bins: what runs is the same."""
    if (folder / "study.toml").exists():
        (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    if (folder / "panel.toml").exists():
        lines = "".join(f"{'ab'[n % 2]},{n % 7},{n % 5}\n" for n in range(40))
        (folder / "rows.csv").write_text("g,x,y\n" + lines, encoding="utf-8")
        (folder / "panel.toml").write_text(PANEL, encoding="utf-8")
    if (folder / "data/panel.parquet").exists():
        rows = pd.read_parquet(folder / "data/panel.parquet")
        rows[rows["firm"] <= "F012"].to_parquet(folder / "data/panel.parquet")


def _write(block: Block, folder: Path) -> None:
    """What the reader writes into a file."""
    file, text = folder / str(block.file), block.text
    if ", at the end\n" in text.partition("\n")[0] + "\n":
        text = file.read_text(encoding="utf-8") + text.partition("\n")[2]
    file.write_text(text, encoding="utf-8")


def _before(command: str, folder: Path) -> None:
    """What the text says that the reader has done before."""
    if command.startswith("shortloop harmless bootstrap"):  # "you renamed a variable"
        method = folder / "methods/a_bootstrap.py"
        method.write_text(
            method.read_text().replace("rng = np", "drawn = np").replace("rng.choice", "drawn.choice")
        )


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    # Not tmp_path: the path of a Unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        made = Reader(Path(folder))
        try:
            yield made
        finally:
            for project in made.projects.values():
                project.stop_server()


RUN = [
    pytest.param(page, id=page.name, marks=[pytest.mark.slow] * (page.name in SLOW))
    for page in PAGES
    if any({*block.commands} - NOT_RUN.keys() for block in blocks(page))
]


@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_work(reader: Reader, page: Path) -> None:
    said = reader.read(page)
    assert said
    for place, words in SAID.items():
        if place.startswith(f"{page.name}: "):
            command = place.partition(": ")[2]
            assert words in said[command], f"{command}\n{said[command]}"
