"""What cannot be imported is in the way of what needs it alone, and exceptions show a user's own lines."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import first_cases
from live_project import EmptyProject, served

pytestmark = pytest.mark.live

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
SCRIPT = """\
from shortloop import pipeline


@pipeline
def main(run):
    return run.build("{name}", k=1)
"""
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

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "helper.py").write_text(HELPER, encoding="utf-8")
        (folder / "broken_helper.py").write_text('"""Helps."""\n\nunknown\n', encoding="utf-8")
        self.write("good", STAGE.format(name="good", import_line=""))
        for name, (line, _, _) in BROKEN.items():
            self.write(name, STAGE.format(name=name, import_line=line))
        for name in ("twice", "packaged"):
            (folder / f"dev/a_{name}.py").write_text(
                STAGE.format(name=name, import_line=""), encoding="utf-8"
            )
        (folder / "dev/__init__.py").write_text("import no_such_package\n", encoding="utf-8")
        self.write("twice", STAGE.format(name="twice", import_line=""))
        self.script("packaged", SCRIPT)
        self.write("raises", RAISES)
        self.write("raises_unit", RAISES_IN_A_UNIT)
        self.script("calls", "import helper\n" + SCRIPT.replace("return", "helper.outer(3)\n    return"))
        self.script("cut", SCRIPT.replace("(run):", "(run:"))

    def write(self, name: str, text: str) -> None:
        (self.folder / f"methods/a_{name}.py").write_text(text, encoding="utf-8")
        self.script(name, SCRIPT)

    def script(self, name: str, text: str) -> None:
        (self.folder / f"build_scripts/build_{name}.py").write_text(
            text.replace("{name}", name), encoding="utf-8"
        )

    def command(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.shell(str(Path(sys.executable).with_name("shortloop")), *arguments, **environment)


@pytest.fixture(scope="module")
def project() -> Iterator[BrokenProject]:
    with served(BrokenProject) as made:  # with all of them there
        yield made


def test_others_are_built(project: BrokenProject) -> None:
    assert project.command("run", "good").returncode == 0
    for command in (["plan", "good"], ["why", "good"], ["runs"], ["jobs"], ["verify"]):
        done = project.command(*command)
        assert done.returncode == 0, (command, done.stdout + done.stderr)


@pytest.mark.parametrize("name", BROKEN)
@first_cases(1, "command", ["run", "plan"])
def test_what_needs_one_says_where_and_why(project: BrokenProject, command: str, name: str) -> None:
    done = project.command(command, name)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert all(each in said for each in BROKEN[name][1:])
    assert "what to do:" in said
    assert "importlib" not in said
    assert "deathening" not in said


def test_methods_of_a_package_that_cannot_be_imported(project: BrokenProject) -> None:
    done = project.command("run", "packaged")
    assert done.returncode == 1
    assert "dev/__init__.py, line 1" in done.stdout
    assert "No module named 'no_such_package'" in done.stdout


def test_two_methods_of_one_name(project: BrokenProject) -> None:
    twice = project.folder / "dev/a_twice.py"
    done = project.command("run", "twice")
    assert done.returncode == 1
    assert "2 methods are named twice" in done.stdout
    assert str(twice) in done.stdout
    assert str(project.folder / "methods/a_twice.py") in done.stdout
    text = twice.read_text(encoding="utf-8")
    twice.unlink()
    done = project.command("run", "twice")
    assert done.returncode == 0, done.stdout + done.stderr
    (job,) = re.findall(r"main-\d+(?= +\d)", done.stdout)
    twice.write_text(text, encoding="utf-8")
    assert project.command("show", job).returncode == 0


def test_one_that_breaks_and_is_mended_while_a_server_runs(project: BrokenProject) -> None:
    project.write("edited", STAGE.format(name="edited", import_line=""))
    assert project.command("run", "edited").returncode == 0
    project.write("edited", STAGE.format(name="edited", import_line="import no_such_thing"))
    assert project.command("run", "good").returncode == 0
    assert "a_edited.py, line 2" in project.command("run", "edited").stdout
    project.write("edited", STAGE.format(name="edited", import_line="import json"))
    done = project.command("run", "edited")
    assert done.returncode == 0, done.stdout + done.stderr


@first_cases(
    2,
    ("name", "engine"),
    [("raises_unit", ""), ("calls", ""), ("raises", ""), ("raises_unit", "joblib")],
)
def test_an_exception_shows_own_lines_and_causes(project: BrokenProject, name: str, engine: str) -> None:
    environment = {"SHORTLOOP_ENGINE": engine} if engine else {}
    done = project.command("run", name, **environment)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    for line in ('helper.py", line 2, in outer', "ValueError: no such value", "KeyError: ", "direct cause"):
        assert line in said, said
    assert said.count("direct cause") == 1
    assert f"{'build' if name == 'calls' else 'a'}_{name}.py" in said
    assert "/shortloop/stages/" not in said
    assert not re.search(r"/shortloop/(?:exax|plan|run)/", said)
    assert "/accelerator/" not in said
    whole = project.command("run", name, **environment, SHORTLOOP_TRACEBACK="full")
    assert "/shortloop/" in whole.stdout + whole.stderr


def test_a_build_script_that_is_cut_off(project: BrokenProject) -> None:
    done = project.command("run", "cut")
    assert done.returncode == 1
    assert "build_cut.py" in done.stdout + done.stderr
    assert "was never closed" in done.stdout + done.stderr
    assert "importlib" not in done.stdout + done.stderr


def test_a_server_starts_with_them(project: BrokenProject) -> None:
    project.stop_server()
    try:
        done = project.command("run", "good", "--force", "good")
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        project.start_server()
