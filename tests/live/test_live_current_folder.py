"""Where relative paths start, and what becomes of a stage that changes the current folder."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import first_cases
from live_project import AX, EmptyProject

pytestmark = pytest.mark.live

MOVED = '''\
"""Stages that change the current folder wherever they can."""

import os

from shortloop import stage

{top}


def two():
    {units}
    return {{"a": 1, "b": 2}}


@stage(units=two)
def moved_{name}(number, v: int):
    import numpy as np

    here = os.getcwd()
    {unit}
    return {{"x": np.full(3, number * v), "here": here, "n": number}}
'''
GO = "os.chdir({elsewhere!r})"
WHERE = ("top", "units", "unit")
PLAIN = '''\
"""Numbers and arrays of a stage without units."""

import os

from shortloop import stage


@stage
def plain(v: int):
    import numpy as np

    here = os.getcwd()
    os.chdir({elsewhere!r})
    return {{"v": v, "here": here, "x": np.full(3, v)}}
'''
EACH = '''\
"""A unit for each file."""

from shortloop import File, stage


def each_file(files: list[File]):
    return {str(number): file.path.read_text() for number, file in enumerate(files)}


@stage(units=each_file)
def each(text):
    return {"n": int(text)}
'''
SCRIPT = '''\
"""All of them."""

import os

from shortloop import pipeline


@pipeline
def main(run):
    for name in ("top", "units", "unit"):
        run.build(f"moved_{name}", v=int(os.environ["V"]))
    return run.build("plain", v=int(os.environ["V"]))
'''
FILES = '''\
"""Files that a relative pattern finds."""

from pathlib import Path

from shortloop import pipeline


@pipeline
def main(run):
    return run.build("each", files=run.files(sorted(Path().glob("data/PATTERN"))))
'''


class Moving(EmptyProject):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir()
        go = GO.format(elsewhere=str(self.elsewhere))
        files = {"a_plain": PLAIN.format(elsewhere=str(self.elsewhere)), "a_each": EACH}
        for name in WHERE:
            places = dict.fromkeys(WHERE, "pass") | {name: go}
            files[f"a_moved_{name}"] = MOVED.format(name=name, **places)
        for name, text in files.items():
            (folder / f"methods/{name}.py").write_text(text, encoding="utf-8")
        scripts = {"moved": SCRIPT, "found": FILES.replace("PATTERN", "*.txt")}
        scripts["none"] = FILES.replace("PATTERN", "*.text")
        for name, text in scripts.items():
            (folder / f"build_scripts/build_{name}.py").write_text(text, encoding="utf-8")
        for number in range(3):
            (folder / f"data/{number}.txt").write_text(str(number), encoding="utf-8")

    def call(
        self, *arguments: str, folder: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(AX.with_name("shortloop")), *arguments],
            cwd=folder or self.folder,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def folder_of(self, script: str, stage: str) -> Path:
        summary = json.loads((self.folder / f"results/{script}/summary.json").read_text(encoding="utf-8"))
        (found,) = [each["job"] for each in summary["jobs"] if each["stage"] == stage]
        return self.folder / "workdirs/main" / str(found)


@pytest.fixture(scope="module")
def project() -> Iterator[Moving]:
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        yield Moving(Path(folder))


@first_cases(1, ("engine", "v"), [("slices", 2), ("joblib", 3)])
def test_a_stage_that_goes_elsewhere_leaves_what_it_returned_in_its_job(
    project: Moving, engine: str, v: int
) -> None:
    done = project.call("run", "moved", SHORTLOOP_ENGINE=engine, V=str(v))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 jobs built" in done.stdout
    for name in WHERE:
        job = project.folder_of("moved", f"moved_{name}")
        record: dict[str, Any] = json.loads((job / "record.json").read_text(encoding="utf-8"))
        assert record["facts"]["units"] == ["a", "b"]
        assert np.array_equal(np.load(job / "x.npy"), [[v] * 3, [2 * v] * 3])
    plain = json.loads((project.folder_of("moved", "plain") / "record.json").read_text(encoding="utf-8"))
    assert plain["facts"] == {"v": v, "here": str(project.folder_of("moved", "plain").resolve())}
    assert os.listdir(project.elsewhere) == []


@pytest.mark.parametrize("start", [".", "data"])
def test_relative_paths_of_a_pipeline_start_from_the_project(project: Moving, start: str) -> None:
    done = project.call("plan", "found", folder=project.folder / start)
    assert done.returncode == 0, done.stdout + done.stderr
    done = project.call("run", "found", folder=project.folder / start)
    assert done.returncode == 0, done.stdout + done.stderr
    assert np.load(project.folder_of("found", "each") / "n.npy").tolist() == [0, 1, 2]


def test_a_pattern_that_finds_nothing_ends_in_an_error(project: Moving) -> None:
    done = project.call("run", "none")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "each has no units: each_file gives none" in done.stdout + done.stderr
