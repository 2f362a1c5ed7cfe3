"""Table and page of the measurements of all libraries."""

from __future__ import annotations

import json

from shortloop.exax.method import exax_method
from shortloop.report.files import REPORT
from shortloop.stages.stage import Finished, Job, Outputs, Stage


class FramesReport(Stage):
    """Report: a page with one table of what was measured."""

    frames: dict[str, object]  # the settings, as the page shows them
    left_out: dict[str, str]  # libraries, and why
    machine: dict[str, str | int]
    table: Job
    measured: list[Job]

    def finish(self, out: Outputs) -> Finished:
        """Page, table, and findings as plain data."""
        from shortloop.frames.report import collect, fastest, limits, overview, page_of
        from shortloop.report.page import files_beside, html_of

        content = collect(self.measured, self.table, self.frames, self.left_out, self.machine)
        frame, page = content.measured, page_of(content)
        findings = {"overview": overview(content), "fastest": fastest(content), "limits": [*limits(content)]}
        return Finished(
            {"frames": content.frames},
            files={
                REPORT: html_of(page, {}, ()),
                **files_beside(page),
                "findings.json": (json.dumps(findings, indent=1) + "\n").encode(),
                "measured.csv": frame.to_csv(index=False).encode(),
            },
            tables={"measured": frame},
        )


globals().update(exax_method(FramesReport, __file__))
