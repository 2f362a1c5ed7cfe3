"""Where relative paths start, and what becomes of a stage that changes the current folder."""

from __future__ import annotations

import os
from typing import ClassVar

import numpy as np
from cases import first_cases
from live_project import SHORTLOOP, EmptyProject, fixture_of, script, stages

GO = "os.chdir(os.environ['FOLDER'] + '/elsewhere')"
MOVED = """\
# moved_{name}
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
WHERE = ("top", "units", "unit")
METHODS = stages(
    "".join(
        MOVED.format(name=name, **{each: GO if each == name else "pass" for each in WHERE}) for name in WHERE
    )
    + f"""\
# plain
@stage
def plain(v: int):
    import numpy as np

    here = os.getcwd()
    {GO}
    return {{"v": v, "here": here, "x": np.full(3, v)}}

# each
def each_file(files: list[File]):
    return {{str(number): file.path.read_text() for number, file in enumerate(files)}}


@stage(units=each_file)
def each(text):
    return {{"n": int(text)}}
"""
)
SCRIPT = script("""
import os
for name in ("top", "units", "unit"):
    run.build(f"moved_{name}", v=int(os.environ["V"]))
return run.build("plain", v=int(os.environ["V"]))
""")
FILES = script("""
from pathlib import Path
return run.build("each", files=run.files(sorted(Path().glob("data/*.txt"))))
""")


class Moving(EmptyProject):
    sources: ClassVar = {
        **METHODS,
        "build_scripts/build_moved.py": SCRIPT,
        "build_scripts/build_found.py": FILES,
        "elsewhere/.keep": "",
        **{f"data/{number}.txt": str(number) for number in range(3)},
    }


project = fixture_of(Moving)


@first_cases(1, ("engine", "v"), [("slices", 2), ("joblib", 3)])
def test_a_stage_that_goes_elsewhere_leaves_results_in_its_job(project: Moving, engine: str, v: int) -> None:
    project.run_name = "moved"
    assert "4 jobs built" in project.works("run", "moved", SHORTLOOP_ENGINE=engine, V=str(v))
    found = project.last_results()
    for name in WHERE:
        assert found[f"moved_{name}"].facts["units"] == ["a", "b"]
        assert np.array_equal(found[f"moved_{name}"]["x"], [[v] * 3, [2 * v] * 3])
    assert found["plain"].facts == {"v": v, "here": str(found["plain"].path.resolve())}
    assert os.listdir(project.folder / "elsewhere") == [".keep"]


@first_cases(1, "start", ["data", "."])
def test_relative_paths_of_a_pipeline_start_from_the_project(project: Moving, start: str) -> None:
    for command in ("plan", "run"):
        project.shell(SHORTLOOP, command, "found", below=start).ok()
    project.run_name = "found"
    assert project.last_result("each")["n"].tolist() == [0, 1, 2]
