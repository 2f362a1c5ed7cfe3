"""Copy report and summary to the results folder at the end of a run."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shortloop.base.plain import Plain
from shortloop.base.text import one_line
from shortloop.plan.pipeline import Built
from shortloop.project.project import configuration, write_atomically
from shortloop.report.files import FIGURES, REPORT, TABLES

SUMMARY = "summary.json"
SUMMARY_VARIABLE = "SHORTLOOP_SUMMARY"  # path of a second copy of the summary: a sweep sets it for its runs


def results_folder(name: str) -> Path:
    folder = Path(configuration().result_directory) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def deliver_report(report: Path, name: str) -> tuple[Path, list[str], Any]:
    """Copy a report to its results folder; return the folder, the names of its files, and the findings."""
    folder = results_folder(name)
    findings = json.loads((report / "findings.json").read_text(encoding="utf-8"))
    return folder, copy_report(report, folder), findings


def copy_report(report: Path, folder: Path) -> list[str]:
    """Copy the page, texts, figures and tables of a report; return their names."""
    names = [REPORT, *(file.name for file in sorted(report.glob("*.txt")))]
    for part in (FIGURES, TABLES):
        if (report / part).is_dir():
            names += [f"{part}/{file.name}" for file in sorted((report / part).iterdir())]
    copy_files(report, names, folder)
    return names


def copy_files(source: Path, names: Sequence[str], folder: Path, targets: Sequence[str] = ()) -> None:
    """Copy files of a job that are not there already."""
    for name, called in zip(names, targets or names, strict=True):
        file, target = source / name, folder / called
        target.parent.mkdir(parents=True, exist_ok=True)
        have, want = target.stat() if target.exists() else None, file.stat()
        # A copy keeps the timestamp of the original.
        if have is None or (have.st_size, have.st_mtime_ns) != (want.st_size, want.st_mtime_ns):
            part = target.with_name(f".{target.name}.{os.getpid()}")
            shutil.copy2(file, part)
            part.replace(target)


def run_summary(
    jobs: Sequence[Built], report: Built, seconds: float, files: Sequence[str], partition: str = "partition"
) -> dict[str, Plain]:
    fresh = sum(job.fresh for job in jobs)
    found: dict[str, Plain] = {"seconds": round(seconds, 3), "built": fresh, "reused": len(jobs) - fresh}
    what = ("job", "stage", partition, "built", "seconds")
    listed = [(job.job, job.stage, job.partition, job.fresh, round(job.seconds, 4)) for job in jobs]
    found |= {"report": report.job, "files": list(files)}
    return found | {"jobs": [dict(zip(what, each)) for each in listed]}


def write_summary(folder: Path, summary: Mapping[str, Plain]) -> None:
    """Write ``summary.json``, and delete files that only the former one lists."""
    try:
        former = {*map(str, json.loads((folder / SUMMARY).read_text(encoding="utf-8"))["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        former = set()  # there is none, or somebody else wrote it
    current: Any = summary["files"]
    for stale in former - {*current}:
        _delete(folder, stale)
    text = json.dumps(summary, indent=1, allow_nan=False) + "\n"
    write_atomically(folder / SUMMARY, text)
    if asked := os.environ.get(SUMMARY_VARIABLE):
        write_atomically(Path(asked), text)


def print_place(folder: Path) -> None:
    where = os.path.relpath(folder / REPORT, configuration().project_directory)
    print(f"report: {one_line(where)}")


def _delete(folder: Path, name: str) -> None:
    """Delete a file, and folders that become empty."""
    file = folder / name
    if folder not in file.parents or ".." in file.parts or file.is_dir():
        return  # no run of ours wrote that name
    file.unlink(missing_ok=True)
    for above in file.parents:
        if above == folder or not above.is_dir() or any(above.iterdir()):
            return
        above.rmdir()
