"""Libraries beneath libraries are installed anew: jobs that loaded them are built again, and no others."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_project import AX, EmptyProject, served

from shortloop.worker.results import Result, open_result

pytestmark = pytest.mark.live

METHODS = {
    "imported": """
import upper
from shortloop import stage


@stage
def imported():
    return {"v": upper.f()}
""",
    "lazy": """
from shortloop import stage


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
        from pathlib import Path

        return {"v": pickle.loads(b"cmodel\\nModel\\n)R.").predict()}
    import subprocess, sys

    code = "import upper; print(upper.f())"
    return {"v": int(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout)}
""",
    "plain": "from shortloop import stage\n\n@stage\ndef plain():\n    return {'v': 0}\n",
    "rows": """
from shortloop import stage


def numbers(count: int):
    return {str(each): each for each in range(count)}


@stage(units=numbers)
def rows(it):
    import upper

    return {"v": upper.f()}
""",
}
WAYS = ("import", "by name", "unpickled", "program")
SCRIPT = f"""
import os

from shortloop import pipeline


@pipeline
def main(run):
    run.build("imported")
    for how in {WAYS}:
        run.build("lazy", partition=how, how=how)
    run.build("rows", count=int(os.environ["COUNT"]))
    return run.build("plain")
"""


class LibrariesProject(EmptyProject):
    """Stages that use one library, which calls another, in different ways."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.site = folder.with_name(f"{folder.name}-site")
        self.site.mkdir()
        for name, text in METHODS.items():
            (folder / "methods" / f"a_{name}.py").write_text(text, encoding="utf-8")
        (folder / "build_scripts" / "build_x.py").write_text(SCRIPT, encoding="utf-8")
        call = "import lower\n\ndef f():\n    return lower.VALUE\n"
        model = "class Model:\n    def predict(self):\n        import lower\n        return lower.VALUE\n"
        self.install("upper", call)
        self.install("model", model)

    def environment(self, **more: str) -> dict[str, str]:
        path = os.pathsep.join(filter(None, [str(self.site), os.environ.get("PYTHONPATH")]))
        return super().environment(PYTHONPATH=path, **more)

    def install(self, name: str, text: str, version: str = "1.0") -> None:
        """As pip does it."""
        for old in self.site.glob(f"{name}*"):
            shutil.rmtree(old)
        info = self.site / f"{name}-{version}.dist-info"
        for folder in (self.site / name, info):
            folder.mkdir()
        (self.site / name / "__init__.py").write_text(text, encoding="utf-8")
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (info / "METADATA").write_text(about, encoding="utf-8")
        (info / "RECORD").write_text(
            f"{name}/__init__.py,sha256={hash(text)},{len(text)}\n", encoding="utf-8"
        )

    def go(self, engine: str = "slices", *, count: int = 4) -> dict[str, Result]:
        """The jobs of a run, by stage or way."""
        command = [str(AX.with_name("shortloop")), "run", "x"]
        done = self.shell(*command, SHORTLOOP_ENGINE=engine, COUNT=str(count))
        assert done.returncode == 0, done.stdout + done.stderr
        summary = json.loads((self.folder / "results/x/summary.json").read_text(encoding="utf-8"))
        found = [open_result(self.folder / "workdirs/main" / each["job"]) for each in summary["jobs"]]
        return {str(each.partition or each.stage): each for each in found}


@pytest.fixture(scope="module")
def project() -> Iterator[LibrariesProject]:
    with served(LibrariesProject) as made:
        yield made
        shutil.rmtree(made.site)


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
    shorter = project.go(count=3)  # which takes all rows over, and loads no library itself
    assert values(shorter) == right(1, 3)

    project.install("unrelated", "VALUE = 1\n")
    assert jobs(project.go()) == jobs(first)

    project.install("lower", "VALUE = 2\n", "2.0")
    updated = project.go("joblib", count=5)
    assert values(updated) == right(2, 5)
    assert updated["plain"].job == first["plain"].job

    project.install("lower", "VALUE = 3\n", "2.0")  # another build of the same version
    assert values(project.go(count=3)) == right(3, 3)

    project.install("lower", "VALUE = 1\n")
    assert jobs(project.go()) == jobs(first)
