"""What a job ran is what its key says, however its code got there: old bytecode, late imports, files that are
changed and put back, modules that nobody names. Units that were cut off are used if that holds for them."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest
from cases import first_cases
from live_one import OneProject, unseen_edit
from live_project import AX, PATIENCE, fixture_of, stages

OUTSIDE = "outside"  # a folder on PYTHONPATH
METHODS = stages("""\
# units
from methods.before import late

FOLDER = Path(os.environ["FOLDER"])


@stage
class Units(Stage):
    number: int

    def units(self):
        return 3

    def outputs(self):
        return {"x": Out((3,), "i8", "units", "x")}

    def compute(self, unit):
        for what in (f"unit-{unit}", "each"):
            while (FOLDER / f"hold-{what}").exists():
                (FOLDER / f"held-{what}").touch()
                time.sleep(0.005)
        (FOLDER / f"computed-{unit}").touch()
        return {"x": late()}
""")
LATE = "methods/latest.py"


class Outside(OneProject):
    """With a folder of its own on PYTHONPATH.

    What the stage ``units`` imports is loaded before its job; what that imports in a function is not.
    """

    edits_package = True
    sources: ClassVar = {
        **OneProject.sources,
        **METHODS,
        "methods/before.py": "def late():\n    from methods.deep import late\n\n    return late()\n",
        "methods/deep.py": "def late():\n    from methods.latest import K\n\n    return K\n",
        LATE: "K = 1\n",
    }

    def environment(self, **more: str) -> dict[str, str]:
        path = str(self.folder / OUTSIDE)
        return {**super().environment(**more), "PYTHONPATH": path}

    def code_of_last(self) -> dict[str, str]:
        """Hashes of the code that is in the key of the last job, by module."""
        job, _ = self.read_json("last.json")
        return {**self.manifest(job)["parts"]["code"]}


one = fixture_of(Outside)


def test_an_edit_that_leaves_size_and_time_runs(one: Outside) -> None:
    """Python would take the bytecode of before, of a helper and of the method itself."""
    one.write_method("same_second", "from methods.helper import K\nreturn K + 0")
    helper = one.write("methods/helper.py", "K = 1\n")
    one.order("same_second")
    assert one.one()[:2] == (1, True)
    unseen_edit(helper, "K = 2\n")
    assert one.one()[:2] == (2, True)
    method = one.folder / "methods/a_same_second.py"
    unseen_edit(method, method.read_text(encoding="utf-8").replace("K + 0", "K + 5"))
    assert one.one()[:2] == (7, True)
    unseen_edit(method, method.read_text(encoding="utf-8").replace("K + 5", "K + 0"))
    unseen_edit(helper, "K = 1\n")
    assert one.one()[:2] == (1, False)


@pytest.mark.slow
def test_old_bytecode_of_a_helper_of_the_package_itself(one: Outside) -> None:
    """Of what a method package's `__init__` has loaded, too."""
    one.write_method("threads", "from shortloop.stages.threads import VARIABLES\nreturn len(VARIABLES)")
    one.order("threads")
    before = one.one()[0]
    threads = one.folder / "shortloop" / "stages" / "threads.py"
    text = threads.read_text(encoding="utf-8")
    unseen_edit(threads, text.replace('    "NUMEXPR_NUM_THREADS",\n', " " * 26 + "\n"))
    try:
        assert one.one()[:2] == (before - 1, True)
    finally:
        unseen_edit(threads, text)
    assert one.one()[:2] == (before, False)


LOADS = """wait("before")
from methods.via import {0}
found = {0}()  # what a method imports itself may be loaded before
wait("after")
return found"""
VIA = """def late():
    from methods.late import K
    return K


def calm():
    from methods.calm import K
    return K
"""


def test_code_that_is_changed_and_put_back_while_a_job_runs(one: Outside) -> None:
    one.write("methods/via.py", VIA)
    late = one.write("methods/late.py", "K = 1\n")
    one.write_method("stash", LOADS.format("late"))
    one.order("stash")
    assert "the code of methods.late changed while" in swapped(one, late, "K = 2\n")
    assert one.last() == (1, True)


@pytest.mark.slow
def test_code_that_is_changed_and_put_back_after_it_was_loaded_costs_nothing(one: Outside) -> None:
    one.write("methods/via.py", VIA)
    late = one.write("methods/calm.py", "K = 1\n")
    one.write_method("calm", LOADS.format("calm"))
    one.order("calm")
    with one.held("after"):
        running = start(one)
        one.wait_until_held("after", running)
        unseen_edit(late, "K = 2\n")
        unseen_edit(late, "K = 1\n")
    assert "built again" not in end(running)
    assert one.last() == (1, True)


SEEN = {
    "methods/pack/part.py": "from methods.pack import *; found += part.K",
    "methods/named.py": "found += importlib.import_module('methods.named').K",
    "methods/named2.py": "found += importlib.import_module('.named2', 'methods').K",
    "methods/named3.py": "found += __import__('methods.named3', fromlist=['K']).K",
    f"{OUTSIDE}/mine.py": "import mine; found += mine.K",
    f"{OUTSIDE}/many/deep/part.py": "import many; found += many.value()",
    "elsewhere/placed.py": "import placed; found += placed.K",
}
"""Files of code, and how a method comes to them: by a star, by name, on the path, installed in place."""


def test_code_of_ones_own_counts_wherever_it_is(one: Outside) -> None:
    one.write("methods/pack/__init__.py", '__all__ = ["part"]\n')
    one.write(f"{OUTSIDE}/many/__init__.py",
              "import importlib\n\n\ndef value():\n    found = 'deep.part'\n"
              "    return importlib.import_module(f'many.{found}').K\n")  # fmt: skip
    one.write(f"{OUTSIDE}/many/deep/__init__.py", "")
    for file in SEEN:
        one.write(file, "K = 1\n")
    star, *ways = SEEN.values()
    above, _, first = star.partition("; ")
    body = "\n".join(["import importlib", "found = 0", first, *ways, "return found"])
    with installed_in_place(one):
        one.write_method("seen", body, above)
        one.order("seen")
        assert one.one()[:2] == (len(SEEN), True)
        before = one.code_of_last()
        assert one.one()[:2] == (len(SEEN), False)
        for file in SEEN:
            unseen_edit(one.folder / file, "K = 2\n")
        assert one.one()[:2] == (2 * len(SEEN), True)
    after = one.code_of_last()
    assert before.keys() == after.keys()
    changed = {name for name in before if before[name] != after[name]}
    paths = {file.removeprefix(f"{OUTSIDE}/").removeprefix("elsewhere/") for file in SEEN}
    assert changed == {path.removesuffix(".py").replace("/", ".") for path in paths}


SPAWN = """import multiprocessing
from methods.spawned import value
with multiprocessing.get_context("spawn").Pool(1) as pool:
    return pool.apply(value)"""


@pytest.mark.slow
def test_processes_that_a_job_spawns_run_what_its_key_says(one: Outside) -> None:
    """They load all anew, and Python would take old bytecode."""
    one.write("methods/spawned.py", "def value():\n    from methods.in_spawned import K\n\n    return K\n")
    late = one.write("methods/in_spawned.py", "K = 1\n")
    one.write_method("spawns", SPAWN)
    one.order("spawns")
    assert one.one()[:2] == (1, True)
    unseen_edit(late, "K = 2\n")
    assert one.one()[:2] == (2, True)
    unseen_edit(late, "K = 1\n")
    assert one.one()[:2] == (1, False)


UNSEEN = {
    "computed": (
        'import importlib\nreturn importlib.import_module("methods." + "hidden").K',
        "methods.hidden",
    ),
    "by_path": (
        "import importlib.util\n"
        'spec = importlib.util.spec_from_file_location("any", str(FOLDER / "methods/hidden.py"))\n'
        "module = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(module)\nreturn module.K",
        "any",
    ),
    "left_by_another": (
        'import importlib\nreturn importlib.import_module("methods.top" + "most").K',
        "methods.topmost",
    ),
    "in_a_program": (
        "import subprocess, sys\n"
        'code = "import sys; sys.path.insert(0, sys.argv[1]); from methods.hidden import K; print(K)"\n'
        "return int(subprocess.check_output([sys.executable, '-c', code, str(FOLDER)]))",
        "methods.hidden",
    ),
}  # fmt: skip


@first_cases(2, "name", ["computed", "in_a_program", "by_path", "left_by_another"])
def test_code_that_a_key_cannot_see_is_refused_unless_it_is_named(one: Outside, name: str) -> None:
    hidden = one.write("methods/hidden.py", "K = 1\n")
    one.write("methods/topmost.py", "K = 1\n")
    one.write_method("with_top", "return topmost.K", "from methods import topmost")  # loaded for all methods
    body, module = UNSEEN[name]
    one.write_method(name, body)
    one.order(name)
    for _ in range(2):
        said = one.refused()
        assert "code that is not in its key" in said
        assert f"{module} (" in said
        assert "hidden.py" in said or "topmost.py" in said
        assert f"method {name}" in said
    if module == "methods.hidden":
        one.order(name, modules=[module])
        assert one.one()[:2] == (1, True)
        unseen_edit(hidden, "K = 2\n")
        assert one.one()[:2] == (2, True)


def swapped(one: Outside, file: Path, other: str) -> str:
    """Change a file before a job reads it, and put it back before the job ends; what the run says."""
    text = file.read_text(encoding="utf-8")
    with one.held("after"):
        with one.held("before"):
            running = start(one)
            one.wait_until_held("before", running)
            unseen_edit(file, other)
        one.wait_until_held("after", running)
        unseen_edit(file, text)
    return end(running)


def start(one: Outside) -> subprocess.Popen[str]:
    return one.popen(AX, "run", "one")


def end(running: subprocess.Popen[str]) -> str:
    said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    return said


@contextmanager
def installed_in_place(one: Outside) -> Iterator[None]:
    """A package whose import is found as that of one which was installed with `pip install -e`."""
    place = one.folder / "elsewhere" / "placed.py"
    finder = f"""
import sys
from importlib.util import spec_from_file_location


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return spec_from_file_location(name, {str(place)!r}) if name == "placed" else None


sys.meta_path.append(Finder)
"""
    file = one.write(f"{OUTSIDE}/sitecustomize.py", finder)
    for _ in range(2):
        one.stop_server()
        one.start_server()
        if file.exists():
            yield
            file.unlink()


def test_a_project_that_prepares_too_late_is_refused(one: Outside) -> None:
    """What was imported before would not be known."""
    one.order("same_second")
    text = (one.folder / "accelerator.conf").read_text(encoding="utf-8")
    line = "\tshortloop.prepare auto-discover\n"
    one.edit("accelerator.conf", line, "")
    one.edit("accelerator.conf", "\tmethods auto", f"\tmethods auto-discover\n{line}#")
    try:
        done = one.ax("run", "one")
    finally:
        one.write("accelerator.conf", text)
    assert done.returncode == 1
    assert "not prepared" in done.stdout + done.stderr
    assert "shortloop.prepare auto-discover, before all others" in done.stdout + done.stderr


def computed(one: Outside) -> list[str]:
    files = sorted(one.folder.glob("computed-*"))
    for file in files:
        file.unlink()
    return [file.name.removeprefix("computed-") for file in files]


@pytest.mark.parametrize("is_cut_off", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_units_of_code_that_was_put_back_are_computed_again(one: Outside, is_cut_off: bool) -> None:
    """Units are begun with one code and have loaded another; the run is killed in its last unit, or ends."""
    one.order("units", number=int(is_cut_off))
    with one.held("each"):
        running = one.popen(AX, "run", "one")
        one.wait_until_held("each", running)
        unseen_edit(one.folder / LATE, "K = 2\n")
        with one.held("unit-2"):
            (one.folder / "hold-each").unlink()
            one.wait_until_held("unit-2", running)
            if is_cut_off:
                running.send_signal(signal.SIGTERM)
                running.communicate(timeout=PATIENCE)
            else:
                unseen_edit(one.folder / LATE, "K = 1\n")
        (one.folder / "hold-each").touch()
    if is_cut_off:
        assert "0" in computed(one)
        unseen_edit(one.folder / LATE, "K = 1\n")
        assert one.one()[:2] == (1, True)
        assert computed(one) == ["0", "1", "2"]
        return
    said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    assert "the code of methods.latest changed while" in said
    assert one.last() == (1, True)
