"""Where relative paths start, and what becomes of a stage that changes the current folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from cases import first_cases
from live_project import SHORTLOOP, EmptyProject, fixture_of

MOVED = """\
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
"""
GO = "os.chdir({elsewhere!r})"
WHERE = ("top", "units", "unit")
PLAIN = """\
import os

from shortloop import stage


@stage
def plain(v: int):
    import numpy as np

    here = os.getcwd()
    os.chdir({elsewhere!r})
    return {{"v": v, "here": here, "x": np.full(3, v)}}
"""
EACH = """\
from shortloop import File, stage


def each_file(files: list[File]):
    return {str(number): file.path.read_text() for number, file in enumerate(files)}


@stage(units=each_file)
def each(text):
    return {"n": int(text)}
"""
SCRIPT = """\
import os

from shortloop import pipeline


@pipeline
def main(run):
    for name in ("top", "units", "unit"):
        run.build(f"moved_{name}", v=int(os.environ["V"]))
    return run.build("plain", v=int(os.environ["V"]))
"""
FILES = """\
from pathlib import Path

from shortloop import pipeline


@pipeline
def main(run):
    return run.build("each", files=run.files(sorted(Path().glob("data/*.txt"))))
"""


class Moving(EmptyProject):
    sources: ClassVar = {
        "methods/a_each.py": EACH,
        "build_scripts/build_moved.py": SCRIPT,
        "build_scripts/build_found.py": FILES,
        **{f"data/{number}.txt": str(number) for number in range(3)},
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir()
        self.write("methods/a_plain.py", PLAIN.format(elsewhere=str(self.elsewhere)))
        for name in WHERE:
            places = dict.fromkeys(WHERE, "pass") | {name: GO.format(elsewhere=str(self.elsewhere))}
            self.write(f"methods/a_moved_{name}.py", MOVED.format(name=name, **places))

    def folder_of(self, script: str, stage: str) -> Path:
        self.run_name = script
        return self.result(stage)


project = fixture_of(Moving)


@first_cases(1, ("engine", "v"), [("slices", 2), ("joblib", 3)])
def test_a_stage_that_goes_elsewhere_leaves_what_it_returned_in_its_job(
    project: Moving, engine: str, v: int
) -> None:
    assert "4 jobs built" in project.works("run", "moved", SHORTLOOP_ENGINE=engine, V=str(v))
    for name in WHERE:
        job = project.folder_of("moved", f"moved_{name}")
        record: dict[str, Any] = json.loads((job / "record.json").read_text(encoding="utf-8"))
        assert record["facts"]["units"] == ["a", "b"]
        assert np.array_equal(np.load(job / "x.npy"), [[v] * 3, [2 * v] * 3])
    plain = json.loads((project.folder_of("moved", "plain") / "record.json").read_text(encoding="utf-8"))
    assert plain["facts"] == {"v": v, "here": str(project.folder_of("moved", "plain").resolve())}
    assert os.listdir(project.elsewhere) == []


@first_cases(1, "start", ["data", "."])
def test_relative_paths_of_a_pipeline_start_from_the_project(project: Moving, start: str) -> None:
    for command in ("plan", "run"):
        project.shell(SHORTLOOP, command, "found", below=start).ok()
    assert np.load(project.folder_of("found", "each") / "n.npy").tolist() == [0, 1, 2]
