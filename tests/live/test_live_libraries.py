"""Libraries beneath libraries are installed anew: jobs that loaded them are built again, and no others."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import ClassVar

import pytest
from live_project import PATIENCE, SHORTLOOP, EmptyProject, fixture_of, script, stages, wait_for

from shortloop.stages.results import Result

METHODS = stages("""\
# imported
import upper


@stage
def imported():
    return {"v": upper.f()}

# lazy
@stage
def lazy(how: str):
    if how == "import":
        import upper

        return {"v": upper.f()}
    if how == "by name":
        from importlib import import_module

        return {"v": import_module("upper").f()}
    if how == "unpickled":
        import pickle

        return {"v": pickle.loads(b"cmodel\\nModel\\n)R.").predict()}
    import subprocess, sys

    code = "import upper; print(upper.f())"
    return {"v": int(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout)}

# plain
@stage
def plain():
    return {"v": 0}

# rows
def numbers(count: int):
    return {str(each): each for each in range(count)}


@stage(units=numbers)
def rows(it):
    import upper

    return {"v": upper.f()}

# long
def numbers(count: int):
    return {str(each): each for each in range(count)}


@stage(units=numbers)
def long(it):
    value = 0
    if it < 20:
        import upper

        value = upper.f()
    with open(os.environ["COMPUTED"], "a") as stream:
        stream.write(f"{it} ")
    if os.path.exists(os.environ["COMPUTED"] + ".slow"):
        time.sleep(0.1)
    return {"v": value}
""")
WAYS = ("import", "by name", "unpickled", "program")
SCRIPT = script(f"""
import os
run.build("imported")
for how in {WAYS}:
    run.build("lazy", partition=how, how=how)
run.build("rows", count=int(os.environ["COUNT"]))
return run.build("plain")
""")
LONG = script('return run.build("long", count=40)')


class LibrariesProject(EmptyProject):
    """Stages that use one library, which calls another, in different ways."""

    sources: ClassVar = {**METHODS, "build_scripts/build_x.py": SCRIPT, "build_scripts/build_long.py": LONG}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.site = folder / "site"
        self.noted = folder / ".computed"
        model = "class Model:\n    def predict(self):\n        import lower\n        return lower.VALUE\n"
        self.install("upper", "import lower\n\ndef f():\n    return lower.VALUE\n")
        self.install("model", model)

    def environment(self, **more: str) -> dict[str, str]:
        path = os.pathsep.join(filter(None, [str(self.site), os.environ.get("PYTHONPATH")]))
        return super().environment(PYTHONPATH=path, **more)

    def install(self, name: str, text: str, version: str = "1.0") -> None:
        """As pip does it."""
        for old in self.site.glob(f"{name}*"):
            shutil.rmtree(old)
        info = f"site/{name}-{version}.dist-info"
        self.write(f"site/{name}/__init__.py", text)
        self.write(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        self.write(f"{info}/RECORD", f"{name}/__init__.py,sha256={hash(text)},{len(text)}\n")

    def cut_off(self) -> None:
        """Begin the long job, and interrupt it when those of its units are computed that use the library."""
        slow = self.noted.with_name(f"{self.noted.name}.slow")
        slow.touch()
        self.noted.unlink(missing_ok=True)
        running = self.popen(SHORTLOOP, "run", "long")
        wait_for(lambda: set(map(str, range(20))) < self.units_computed() or running.poll() is not None)
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=PATIENCE)
        assert "of 40 units are kept" in said
        slow.unlink()

    def units_computed(self) -> set[str]:
        """Those of the long job since it began, or was resumed."""
        return set(self.noted.read_text().split()) if self.noted.exists() else set()

    def resume(self) -> list[int]:
        """What the units of the long job say."""
        self.noted.unlink(missing_ok=True)
        self.run_name = "long"
        self.works("run", "long")
        return [int(each) for each in self.last_results()["long"]["v"]]

    def go(self, engine: str = "slices", *, count: int = 4) -> dict[str, Result]:
        """The jobs of a run, by stage or way."""
        self.run_name = "x"
        self.works("run", "x", SHORTLOOP_ENGINE=engine, COUNT=str(count))
        return self.last_results()


project = fixture_of(LibrariesProject)


def values(found: dict[str, Result]) -> dict[str, object]:
    return {name: each["v"].tolist() if name == "rows" else each.facts["v"] for name, each in found.items()}


def right(value: int, count: int = 4) -> dict[str, object]:
    return {"imported": value, "plain": 0, "rows": [value] * count, **dict.fromkeys(WAYS, value)}


def jobs(found: dict[str, Result]) -> dict[str, str]:
    return {name: each.job for name, each in found.items()}


def test_jobs_follow_the_libraries_that_they_loaded(project: LibrariesProject) -> None:
    project.install("lower", "VALUE = 1\n")
    first = project.go()
    assert values(first) == right(1)
    project.install("unrelated", "VALUE = 1\n")
    shorter = project.go(count=3)  # which takes all rows over, and loads no library itself
    assert values(shorter) == right(1, 3)
    assert jobs(shorter) == {**jobs(first), "rows": shorter["rows"].job}
    project.install("lower", "VALUE = 2\n", "2.0")
    updated = project.go("joblib", count=5)
    assert values(updated) == right(2, 5)
    assert updated["plain"].job == first["plain"].job
    project.install("lower", "VALUE = 3\n", "2.0")  # another build of the same version
    assert values(project.go(count=3)) == right(3, 3)
    project.install("lower", "VALUE = 1\n")
    assert jobs(project.go()) == jobs(first)


@pytest.mark.slow
def test_a_job_that_is_resumed_keeps_the_libraries_of_its_first_part(project: LibrariesProject) -> None:
    expected = [1] * 20 + [0] * 20
    project.install("lower", "VALUE = 1\n")
    project.cut_off()
    assert project.resume() == expected
    assert project.units_computed().isdisjoint(map(str, range(18)))  # the rest loads no library
    assert project.resume() == expected
    assert not project.units_computed()
    project.install("lower", "VALUE = 2\n", "2.0")
    project.cut_off()
    project.install("lower", "VALUE = 3\n", "3.0")
    assert project.resume() == [3] * 20 + [0] * 20
