"""A page of each analysis with all its parts, small, in a folder as a run leaves it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from eeg_recordings import exported, make_raw, read
from frames_rows import mixture
from panel_shops import built
from report_synthetic import details, evoked, kind_result, report_content, write_report
from whole_page import write_whole

from shortloop.eeg.checks.summary import summarize
from shortloop.frames.report import page_of
from shortloop.panel.diagnostics import PAGES
from shortloop.report.deliver import copy_files, copy_report
from shortloop.report.files import TABLES


def eeg(folder: Path) -> None:
    """A report of recordings and of two kinds of features, one with all that is shown of it."""
    file = exported(make_raw(0), folder / "S1_raw.fif")
    known = summarize(read("fif", [file]), participant="S1", phase="run", file=file.name).to_dict()
    kinds = details(kind_result(participants=3, left_out=3)), kind_result("power", participants=3)
    recordings = ({**known, "warnings": ["Cz is flat."]},)
    write_report(report_content(*kinds, recordings=recordings, evoked=(evoked(3),)), folder)


def panel(folder: Path) -> None:
    """A report of regressions, with pages of groups beside it."""
    run, drawn = built(folder / "run", "worst = 2")
    report = next(job for job in run.jobs if job.stage == "panel_report").path
    copy_report(report, folder)
    (found,) = json.loads((report / "findings.json").read_text(encoding="utf-8"))
    copy_files(drawn.path, [PAGES], folder, [found["diagnostics"]])
    results = next(job for job in run.jobs if job.stage == "panel_results").path
    tables = ["coefficients.parquet", "fits.parquet"]
    copy_files(results, tables, folder, [f"{TABLES}/{found['folder']}/{name}" for name in tables])


def frames(folder: Path) -> None:
    """A report of libraries that were right, wrong, not there and not able to."""
    write_whole(page_of(mixture()), folder)


PAGES_OF: dict[str, Callable[[Path], None]] = {"eeg": eeg, "panel": panel, "frames": frames}
