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

__all__ = [
    "SUMMARY",
    "SUMMARY_VARIABLE",
    "copy_files",
    "copy_report",
    "drop_others",
    "print_place",
    "results_folder",
    "run_summary",
    "write_summary",
]

SUMMARY = "summary.json"
SUMMARY_VARIABLE = "SHORTLOOP_SUMMARY"
"""Variable that names a file for one more copy of the summary, for whoever has this run made."""


def results_folder(name: str) -> Path:
    """The folder of the results of a run, made if it does not exist."""
    folder = Path(configuration().result_directory) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def copy_report(report: Path, folder: Path) -> list[str]:
    """Copy the page, texts, figures and tables of a report, and drop what it does not have any more."""
    names = [REPORT, *(file.name for file in sorted(report.glob("*.txt")))]
    for part in (FIGURES, TABLES):
        if (report / part).is_dir():
            names += [f"{part}/{file.name}" for file in sorted((report / part).iterdir())]
    copy_files(report, names, folder)
    for part in (FIGURES, TABLES):
        drop_others(folder, part, names)
    return names


def drop_others(folder: Path, part: str, names: Sequence[str]) -> None:
    """Drop files of an earlier report that this one does not have any more."""
    for stale in (folder / part).iterdir() if (folder / part).is_dir() else ():
        if stale.is_file() and f"{part}/{stale.name}" not in names:
            stale.unlink()


def copy_files(source: Path, names: Sequence[str], folder: Path, targets: Sequence[str] = ()) -> None:
    """Copy files of a job."""
    for name, called in zip(names, targets or names, strict=True):
        file, target = source / name, folder / called
        target.parent.mkdir(parents=True, exist_ok=True)
        have, want = target.stat() if target.exists() else None, file.stat()
        # A copy keeps the time of what it is a copy of.
        if have is None or (have.st_size, have.st_mtime_ns) != (want.st_size, want.st_mtime_ns):
            part = target.with_name(f".{target.name}.{os.getpid()}")
            shutil.copy2(file, part)
            part.replace(target)


def run_summary(
    jobs: Sequence[Built],
    report: Built,
    seconds: float,
    files: Sequence[str],
    partition: str = "partition",
) -> dict[str, Plain]:
    """What a run did, as plain data."""
    return {
        "seconds": round(seconds, 3),
        "built": sum(job.fresh for job in jobs),
        "reused": sum(not job.fresh for job in jobs),
        "report": report.job,
        "files": list(files),
        "jobs": [
            {
                "job": job.job,
                "stage": job.stage,
                partition: job.partition,
                "built": job.fresh,
                "seconds": round(job.seconds, 4),
            }
            for job in jobs
        ],
    }


def write_summary(folder: Path, summary: Mapping[str, Plain]) -> None:
    """Write ``summary.json``, and drop files that the one before lists and this one does not."""
    for stale in {*_listed(folder)} - {*_files_of(summary)}:
        _drop(folder, stale)
    text = json.dumps(summary, indent=1, allow_nan=False) + "\n"
    write_atomically(folder / SUMMARY, text)
    if asked := os.environ.get(SUMMARY_VARIABLE):
        write_atomically(Path(asked), text)


def print_place(folder: Path) -> None:
    """Say where the report is."""
    where = os.path.relpath(folder / REPORT, configuration().project_directory)
    print(f"report: {one_line(where)}")


def _listed(folder: Path) -> list[str]:
    try:
        return _files_of(json.loads((folder / SUMMARY).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return []  # there is none, or none that can be read


def _files_of(summary: Mapping[str, Any]) -> list[str]:
    return [str(name) for name in summary["files"]]


def _drop(folder: Path, name: str) -> None:
    """Drop a file, and folders that are empty then."""
    file = folder / name
    if folder not in file.parents or ".." in file.parts or file.is_dir():
        return  # whoever wrote that is not known here
    file.unlink(missing_ok=True)
    for above in file.parents:
        if above == folder or not above.is_dir() or any(above.iterdir()):
            return
        above.rmdir()
