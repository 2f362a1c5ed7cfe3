"""Common tests of engines, for packages that add one: call `check_engine` in a test of your own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TIMEOUT = 300.0  # s, of a run, and of an engine to end
FAULT = "SHORTLOOP_CHECK_FAULT"
METHODS = {
    "checked": '''\
"""Singular values of random matrices; a unit is a matrix."""

import os
import signal

from shortloop import Out, Stage
from shortloop.exax.method import exax_method


class Checked(Stage):
    """Singular values."""

    count: int

    def units(self):
        return [1.0 + unit % 3 for unit in range(self.count)]

    def outputs(self):
        return {"values": Out((self.count, 20), "f8", "matrices × values", "singular values")}

    def compute(self, unit):
        import numpy as np

        try:
            os.unlink(os.environ.get("SHORTLOOP_CHECK_FAULT", ""))
            os.kill(os.getpid(), signal.SIGKILL)  # its worker is lost, once
        except FileNotFoundError:
            pass
        values = np.linalg.svd(np.random.default_rng([unit, 5]).standard_normal((40, 20)), compute_uv=False)
        print(f"unit {unit} done")
        return {"values": values, f"pages/{unit}.txt": f"{unit} {values[0]!r}".encode()}


globals().update(exax_method(Checked, __file__))
''',
    "fitted": '''\
"""A line through some values; a unit is a group of them."""

from shortloop import Job, stage


def groups(checked: Job):
    for number, values in enumerate(checked["values"]):
        yield f"g{number}", values


@stage(units=groups)
def fitted(values, unit: str):
    import numpy as np

    return {"line": np.polyfit(np.arange(len(values)), values, 1), "name": unit}
''',
}
SCRIPT = '''\
"""Jobs of two kinds of stages."""

from shortloop import pipeline


@pipeline
def main(run):
    parts = [run.build("checked", partition=name, count=12) for name in "AB"]
    for part in parts:
        last = run.build("fitted", partition=part.partition, checked=part)
    return last
'''


def check_engine(name: str) -> None:
    """Run the common tests over an engine.

    Parameters
    ----------
    name : str
        What the variable SHORTLOOP_ENGINE says: its name, or with where it is, e.g. ``"dask:tcp://host:8786"``.

    Raises
    ------
    AssertionError
        If jobs come out otherwise than on exax's own processes, also after a worker was lost; if the engine
        does not say what it is; or if a process is left.
    """
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        project, fault = Path(folder) / "p", Path(folder) / "fault"
        _shortloop(Path(folder), "init", "p")
        for method, text in METHODS.items():
            (project / "methods" / f"a_{method}.py").write_text(text, encoding="utf-8")
        (project / "build_scripts" / "build_checked.py").write_text(SCRIPT, encoding="utf-8")
        force = [word for method in METHODS for word in ("--force", method)]
        given = {"SHORTLOOP_SLICES": "2", FAULT: str(fault)}
        _shortloop(project, "run", "checked", **{**given, "SHORTLOOP_ENGINE": "slices"})
        expected = _jobs(project)
        for loses in (False, True):
            if loses:
                fault.touch()
            before = {*(project / "workdirs/main").glob("main-*")}
            _shortloop(project, "run", "checked", *force, **{**given, "SHORTLOOP_ENGINE": name})
            assert not fault.exists(), "no unit was computed"
            _check_jobs(expected, _jobs(project, before), name)
        _check_nothing_is_left(fault)


def _check_jobs(expected: dict[str, Any], found: dict[str, Any], name: str) -> None:
    assert found.keys() == expected.keys()
    for job, (manifest, record) in found.items():
        for field in ("key", "content"):
            assert manifest[field] == expected[job][0][field], f"{job}: another {field} than on slices"
        described = record["engine"]
        assert described["name"] == name.partition(":")[0]
        assert described.get("version"), "described() lacks the version of its library"
        assert described.get("where"), "described() lacks where it is"
        assert {each["threads_used"] for each in record["threads"]} == {1}, f"{job}: several threads"


def _jobs(project: Path, before: set[Path] | None = None) -> dict[str, Any]:
    """Manifest and record of each job, by stage and partition."""
    found = {}
    for folder in {*(project / "workdirs/main").glob("main-*")} - (before or set()):
        if (folder / "manifest.json").is_file():
            manifest, record = (
                json.loads((folder / f"{each}.json").read_text("utf-8")) for each in ("manifest", "record")
            )
            found[f"{manifest['parts']['method']} {manifest['partition']}"] = manifest, record
    return found


def _check_nothing_is_left(fault: Path) -> None:
    marker, deadline = f"{FAULT}={fault}\0".encode(), time.monotonic() + TIMEOUT
    while left := [each for each in Path("/proc").glob("[0-9]*") if _says(each, marker)]:
        assert time.monotonic() < deadline, f"processes are left: {', '.join(each.name for each in left)}"
        time.sleep(0.05)


def _says(process: Path, marker: bytes) -> bool:
    try:
        return marker in (process / "environ").read_bytes() and bool((process / "cmdline").read_bytes())
    except OSError:  # it has ended, or is somebody else's
        return False


def _shortloop(folder: Path, *words: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "shortloop", *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
