"""The end of a run: report, tables and summary into the folder of results."""

from __future__ import annotations

import json

from shortloop.base.text import one_line
from shortloop.panel.pipeline import PanelRun
from shortloop.panel.report.files import PAGES
from shortloop.plan.pipeline import Built
from shortloop.report.deliver import (
    copy_files,
    copy_report,
    print_place,
    results_folder,
    run_summary,
    write_summary,
)

__all__ = ["deliver"]

TABLES = ("coefficients.csv", "coefficients.parquet", "fits.csv", "fits.parquet")


def deliver(run: PanelRun, report: Built, seconds: float) -> None:
    """Put what a run made where its user looks for it."""
    name = run.study.name
    folder = results_folder(name)
    files = copy_report(report.path, folder)
    findings = json.loads((report.path / "findings.json").read_text(encoding="utf-8"))
    for job, found in zip([job for job in run.jobs if job.stage == "panel_results"], findings, strict=True):
        place = f"tables/{found['folder']}"
        (folder / place).mkdir(parents=True, exist_ok=True)
        copy_files(job.path, TABLES, folder / place)
        files += [f"{place}/{each}" for each in TABLES]
    drawn = [found["diagnostics"] for found in findings if found["diagnostics"]]
    for job, place in zip([job for job in run.jobs if job.stage == "panel_diagnostics"], drawn, strict=True):
        copy_files(job.path, [PAGES], folder, [place])
    files += drawn
    write_summary(
        folder, {"panel": name, **run_summary(run.jobs, report, seconds, files), "findings": findings}
    )
    for found in findings:
        for said in found["says"]:
            print(one_line(said))
    print_place(folder)
