"""Steps of the build script: settings, the machine, libraries that can be measured, and results."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError
from shortloop.base.extras import REPORT_LIBRARIES, is_installed
from shortloop.base.text import one_line
from shortloop.frames.transformations import LIBRARIES as EVERY
from shortloop.frames.transformations import MODIN
from shortloop.plan.pipeline import Built
from shortloop.report.deliver import copy_files, deliver_report, print_place, run_summary, write_summary
from shortloop.settings.paths import STUDY_VARIABLE, expand_path
from shortloop.study_run import StudyKind, StudyRun

if TYPE_CHECKING:
    from shortloop.base.plain import Plain
    from shortloop.frames.settings import Frames
    from shortloop.stages.inputs import File

DEFAULT_FRAMES = Path(__file__).with_name("default.toml")
NEEDED = ("pandas", "psutil", "pyarrow", "scipy", *REPORT_LIBRARIES)
"""Libraries of the table, times, checks and report. Others that are missing are left out of the report."""
LIBRARIES = ("dask", "duckdb", "joblib", "numba", "polars", *NEEDED)
"""Libraries that the extra ``frames`` installs, by the names that they are imported by."""
REQUIRED = ("modin[ray]>=0.32", "psutil>=6.0", "pyarrow>=16", "numpy>=2.0")  # of an environment with Modin
LIST_VERSIONS = (
    "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
)
TABLES = ("measured.csv", "measured.parquet")
GIB = 2**30
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def read_frames(path: str | PathLike[str] = DEFAULT_FRAMES) -> Frames:
    from shortloop.frames.settings import Frames
    from shortloop.settings.read import read_settings

    return read_settings(path, Frames, noun="frames", variable=STUDY_VARIABLE)


KIND = StudyKind("frames", DEFAULT_FRAMES, "frames", NEEDED, read_frames)
run_frames = KIND.run
FramesRun = StudyRun["Frames"]


def left_out(frames: Frames) -> dict[str, str]:
    """Requested libraries that cannot be measured, with the reason."""
    found: dict[str, str] = {}
    for name in frames.libraries:
        missing = [each for each in EVERY[name].needs if not is_installed(each)]
        if name == MODIN and not frames.modin.environment:
            found[name] = (
                "it needs pandas < 2.4, and so an environment of its own: `shortloop modin-environment "
                "FOLDER` creates one; then set `modin.environment`"
            )
        elif name != MODIN and missing:
            found[name] = f"{', '.join(missing)} missing: `pip install 'shortloop[frames]'`"
    return found


def modin_environment(run: FramesRun) -> tuple[File, dict[str, str]]:
    """The pyvenv.cfg of the environment with Modin, and the versions installed there."""
    what = "the folder of an environment with Modin"
    folder = expand_path(run.study.modin.environment, run.file, field="modin.environment", what=what)
    versions = installed_there(folder, EVERY[MODIN].needs, run.file)
    (file,) = run.files([folder / "pyvenv.cfg"])
    return file, versions


def installed_there(folder: Path, libraries: Sequence[str], settings: Path) -> dict[str, str]:
    python = folder / "bin" / "python"
    at: dict[str, Any] = {"file": settings, "field": "modin.environment"}
    if not (python.is_file() and (folder / "pyvenv.cfg").is_file()):
        problem, expected = "not a virtual environment", "a folder with pyvenv.cfg and bin/python"
        hint = f"`shortloop modin-environment {folder}` creates one if the folder does not exist"
        raise InputError(problem, **at, found=str(folder), expected=expected, hint=hint)
    command = [str(python), "-I", "-c", LIST_VERSIONS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    found: dict[str, str] = json.loads(done.stdout) if not done.returncode else {}
    if missing := [name for name in libraries if name not in found]:
        problem, hint = "the environment lacks libraries", f"`{python} -m pip install {' '.join(REQUIRED)}`"
        raise InputError(problem, **at, found=f"no {', '.join(missing)} in {folder}", hint=hint)
    return {name: found[name] for name in libraries}


def describe_machine() -> dict[str, Plain]:
    """The machine, for the options of jobs: times on another machine differ."""
    processor = platform.machine()
    with suppress(OSError):
        found = re.search(r"^model name\s*: *(.*\S)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
        processor = found[1] if found else processor
    cores = len(os.sched_getaffinity(0))
    return {"processor": processor, "cores": cores, "memory": round(2 * half_of_memory() / GIB)}


def half_of_memory() -> float:
    """Half of the memory, bytes, that processes may use together."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in LIMITS:  # of a container
        with suppress(OSError, ValueError):
            found.append(int(Path(file).read_text(encoding="ascii")))
    return min(found) / 2


def deliver(run: FramesRun, report: Built, seconds: float) -> None:
    name = run.study.name
    folder, files, findings = deliver_report(report.path, name)
    copy_files(report.path, TABLES, folder)
    summary = run_summary(run.jobs, report, seconds, [*files, *TABLES])
    write_summary(folder, {"frames": name, **summary, "findings": findings})
    for sentence in (findings["overview"], *findings["fastest"]):
        print(one_line(sentence))
    print_place(folder)
