"""The end of a run: report, table and summary into the folder of results."""

from __future__ import annotations

import json

from shortloop.frames.pipeline import FramesRun
from shortloop.jobs.pipeline import Built
from shortloop.report.deliver import (
    copy_files,
    copy_report,
    print_place,
    results_folder,
    run_summary,
    write_summary,
)
from shortloop.text import one_line

__all__ = ["deliver"]

TABLES = ("measured.csv", "measured.parquet")


def deliver(run: FramesRun, report: Built, seconds: float) -> None:
    """Put what a run made where its user looks for it.

    Parameters
    ----------
    run : FramesRun
        The finished run.
    report : Built
        The job of the report stage.
    seconds : float
        How long the run took.
    """
    name = run.study.name
    folder = results_folder(name)
    files = copy_report(report.path, folder)
    copy_files(report.path, TABLES, folder)
    files += TABLES
    findings = json.loads((report.path / "findings.json").read_text(encoding="utf-8"))
    write_summary(
        folder, {"frames": name, **run_summary(run.jobs, report, seconds, files), "findings": findings}
    )
    for said in (findings["overview"], *findings["advice"]):
        print(one_line(said))
    print_place(folder)
