"""What cannot be imported is in the way of what needs it alone, and exceptions show a user's own lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from cases import first_cases
from live_project import EmptyProject, fixture_of, script

STAGE = """\
from shortloop import stage
{import_line}

@stage
def {name}(k: int):
    return {{"v": k}}
"""
HELPER = """\
def outer(value):
    return inner(value)

def inner(value):
    try:
        return {}[value]
    except KeyError as error:
        raise ValueError("no such value") from error
"""
RAISES = """\
from shortloop import stage


@stage
def raises(k: int):
    import helper
    return {"v": helper.outer(k)}
"""
RAISES_IN_A_UNIT = """\
from shortloop import stage

import helper


def found(k: int):
    return {"one": k, "two": k}


@stage(units=found)
def raises_unit(number):
    return {"v": helper.outer(number)}
"""
SCRIPT = script('return run.build("{name}", k=1)')
# What is wrong at the top of a method, and what is said of it.
BROKEN = {
    "absent": ("import no_such_thing", "a_absent.py, line 2", "No module named 'no_such_thing'"),
    "divides": ("1 / 0", "a_divides.py, line 2", "ZeroDivisionError"),
    "invalid": ("def f(:", "a_invalid.py, line 2", "not Python"),
    "leaves": ("raise SystemExit('bye')", "a_leaves.py, line 2", "SystemExit: bye"),
    "helped": ("import broken_helper", "broken_helper.py, line 3", "NameError"),
}


class BrokenProject(EmptyProject):
    """Methods that cannot be imported, in every way, and one that can; a package that cannot."""

    sources: ClassVar = {
        "helper.py": HELPER,
        "broken_helper.py": '"""Helps."""\n\nunknown\n',
        "dev/a_twice.py": STAGE.format(name="twice", import_line=""),
        "dev/a_packaged.py": STAGE.format(name="packaged", import_line=""),
        "dev/__init__.py": "import no_such_package\n",
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.write_stage("good")
        self.write_stage("twice")
        for name, (line, _, _) in BROKEN.items():
            self.write_stage(name, line)
        self.script("packaged", SCRIPT)
        self.write_method("raises", RAISES)
        self.write_method("raises_unit", RAISES_IN_A_UNIT)
        self.script("calls", "import helper\n" + SCRIPT.replace("return", "helper.outer(3)\n    return"))
        self.script("cut", SCRIPT.replace("(run):", "(run:"))

    def write_stage(self, name: str, import_line: str = "") -> None:
        self.write_method(name, STAGE.format(name=name, import_line=import_line))

    def write_method(self, name: str, text: str) -> None:
        self.write(f"methods/a_{name}.py", text)
        self.script(name, SCRIPT)

    def script(self, name: str, text: str) -> None:
        self.write(f"build_scripts/build_{name}.py", text.replace("{name}", name))


project = fixture_of(BrokenProject)


def test_others_are_built(project: BrokenProject) -> None:
    project.shortloop("run", "good").ok()
    for command in (["plan", "good"], ["why", "good"], ["runs"], ["jobs"], ["verify"]):
        project.shortloop(*command).ok()


@first_cases(2, "name", BROKEN)
@first_cases(1, "command", ["run", "plan"])
def test_what_needs_one_says_where_and_why(project: BrokenProject, command: str, name: str) -> None:
    said = project.shortloop(command, name).fails()
    assert all(each in said for each in ("what to do:", *BROKEN[name][1:]))
    assert not re.search("importlib|deathening", said)


def test_methods_of_a_package_that_cannot_be_imported(project: BrokenProject) -> None:
    said = project.shortloop("run", "packaged").fails()
    assert all(each in said for each in ("dev/__init__.py, line 1", "no_such_package"))


def test_two_methods_of_one_name(project: BrokenProject) -> None:
    twice = project.folder / "dev/a_twice.py"
    said = project.shortloop("run", "twice").fails()
    assert all(str(file) in said for file in (twice, project.folder / "methods/a_twice.py"))
    text = twice.read_text(encoding="utf-8")
    twice.unlink()
    (job,) = re.findall(r"main-\d+(?= +\d)", project.shortloop("run", "twice").ok().stdout)
    twice.write_text(text, encoding="utf-8")
    project.shortloop("show", job).ok()


def test_one_that_breaks_and_is_mended_while_a_server_runs(project: BrokenProject) -> None:
    project.write_stage("edited")
    project.shortloop("run", "edited").ok()
    project.write_stage("edited", "import no_such_thing")
    project.shortloop("run", "good").ok()
    assert "a_edited.py, line 2" in project.shortloop("run", "edited").stdout
    project.write_stage("edited", "import json")
    project.shortloop("run", "edited").ok()


@first_cases(
    2, ("name", "engine"), [("raises_unit", ""), ("calls", ""), ("raises", ""), ("raises_unit", "joblib")]
)
def test_an_exception_shows_own_lines_and_causes(project: BrokenProject, name: str, engine: str) -> None:
    environment = {"SHORTLOOP_ENGINE": engine} if engine else {}
    said = project.shortloop("run", name, **environment).fails()
    for line in ('helper.py", line 2, in outer', "ValueError: no such value", "KeyError: ", "direct cause"):
        assert line in said, said
    assert said.count("direct cause") == 1
    assert f"{'build' if name == 'calls' else 'a'}_{name}.py" in said
    assert not re.search("/shortloop/(?:exax|plan|run|stages)/|/accelerator/", said)
    whole = project.shortloop("run", name, **environment, SHORTLOOP_TRACEBACK="full")
    assert "/shortloop/" in whole.stdout + whole.stderr


def test_a_build_script_that_is_cut_off(project: BrokenProject) -> None:
    said = project.shortloop("run", "cut").fails()
    assert "build_cut.py" in said
    assert "was never closed" in said
    assert "importlib" not in said


def test_a_server_starts_with_them(project: BrokenProject) -> None:
    project.stop_server()
    try:
        project.shortloop("run", "good", "--force", "good").ok()
    finally:
        project.start_server()
