"""The end of a run: figures, page and summary into the folder of results, a table to the terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from shortloop.eeg.pipeline import StudyRun
from shortloop.jobs.pipeline import Built
from shortloop.jobs.progress import terminal_width
from shortloop.jobs.project import configuration, write_atomically
from shortloop.text import one_line

__all__ = ["deliver"]


def deliver(run: StudyRun, report: Built, seconds: float) -> None:
    """Put what a run made where its user looks for it.

    Parameters
    ----------
    run : StudyRun
        The finished run.
    report : Built
        The job of the report stage.
    seconds : float
        How long the run took.
    """
    folder = Path(configuration().result_directory) / run.study.name
    folder.mkdir(parents=True, exist_ok=True)
    names = _copy_report(report.path, folder)
    findings = json.loads((report.path / "findings.json").read_text(encoding="utf-8"))
    summary = {
        "study": run.study.name,
        "seconds": round(seconds, 3),
        "built": sum(job.fresh for job in run.jobs),
        "reused": sum(not job.fresh for job in run.jobs),
        "report": report.job,
        "files": names,
        "jobs": [
            {
                "job": job.job,
                "stage": job.stage,
                "participant": job.partition,
                "built": job.fresh,
                "seconds": round(job.seconds, 4),
            }
            for job in run.jobs
        ],
        "scores": _scores(report.path, run.jobs),
        "findings": findings,
    }
    write_atomically(folder / "summary.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")
    _print_table(findings, folder / "report.html")


def _copy_report(source: Path, folder: Path) -> list[str]:
    files = [source / "report.html", *sorted((source / "figures").iterdir())]
    names = [str(file.relative_to(source)) for file in files]
    (folder / "figures").mkdir(exist_ok=True)
    for file, name in zip(files, names, strict=True):
        target = folder / name
        have, want = target.stat() if target.exists() else None, file.stat()
        # A copy keeps the time of what it is a copy of.
        if have is None or (have.st_size, have.st_mtime_ns) != (want.st_size, want.st_mtime_ns):
            part = target.with_name(f".{target.name}.{os.getpid()}")
            shutil.copy2(file, part)
            part.replace(target)
    for stale in (folder / "figures").iterdir():
        if f"figures/{stale.name}" not in names:
            stale.unlink()
    return names


def _scores(report: Path, jobs: Sequence[Built]) -> list[dict[str, Any]]:
    """Scores of each participant, kind and bin, with the job that computed them."""
    listed = json.loads((report / "scores.json").read_text(encoding="utf-8"))
    scores = {(each["kind"], each["participant"]): each for each in listed}
    permuted = [job.result() for job in jobs if job.stage in ("permute", "retrain")]
    return [{**scores[job.facts["kind"], job.partition], "job": job.job} for job in permuted]


def _print_table(findings: list[dict[str, Any]], page: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from shortloop.eeg.report.labels import score_text

    width = terminal_width()
    console = Console(file=sys.stdout, force_terminal=width is not None, width=width or 100)
    for found in findings:
        group = found["group"]
        unit = group["time_unit"]
        text = partial(score_text, group["score"])
        table = Table(title=f"{found['kind']} (chance {text(group['chance'])})", title_justify="left")
        table.add_column("participant")
        for column in ("peak", "at", "generalization peak", "trained at", "tested at"):
            if group["generalization"] is not None or column in ("peak", "at"):
                table.add_column(column, justify="right")
        for row in found["participants"]:
            cells = [row["participant"], text(row["peak"]), _at(row["peak_time"], unit)]
            if group["generalization"] is not None:
                cells.append(text(row["generalization_peak"]))
                cells.append(_at(row["generalization_train_time"], unit))
                cells.append(_at(row["generalization_test_time"], unit))
            table.add_row(*map(one_line, cells))
        console.print(table)
        for name in ("curve", "generalization"):
            if group[name] is not None:
                what = "over time" if name == "curve" else "generalization"
                verdict = "significant" if group[name]["significant"] else "not significant"
                console.print(f"  {what}: {verdict} (smallest corrected p = {group[name]['p']:.3g})")
    where = os.path.relpath(page, configuration().project_directory)
    console.print(f"report: {one_line(where)}", soft_wrap=True, highlight=False)


def _at(time: float | None, unit: str) -> str:
    if time is None:
        return "–"
    return f"{1000 * time:.0f} ms" if unit == "s" else f"{unit} {time:g}"
