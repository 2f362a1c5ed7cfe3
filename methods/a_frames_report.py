"""Table, figure and page of the measurements of all libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.exax.method import exax_method
from shortloop.report.stage import ReportStage
from shortloop.stages.stage import Finished, Job, Outputs

if TYPE_CHECKING:
    from shortloop.frames.report import Content
    from shortloop.report.page import Drawing


class FramesReport(ReportStage):
    """Report: a page with one table and one figure of what was measured."""

    frames: dict[str, object]  # the settings, as the page shows them
    left_out: dict[str, str]  # libraries, and why
    machine: dict[str, str | int]
    table: Job
    measured: list[Job]

    def drawings(self) -> list[Drawing[Content]]:
        """The figure of the measurements."""
        from shortloop.frames.report import collect, drawings

        self._content = collect(self.measured, self.table, self.frames, self.left_out, self.machine)
        return drawings(self._content)

    def finish(self, out: Outputs) -> Finished:
        """Page, table, and findings as plain data."""
        import json

        from shortloop.frames.report import fastest, limits, overview, page_of

        content = self._content
        frame = content.measured
        findings = {"overview": overview(content), "fastest": fastest(content), "limits": limits(content)}
        return Finished(
            {"frames": content.frames},
            files={
                **self.report_files(out, page_of(content)),
                "findings.json": (json.dumps(findings, indent=1) + "\n").encode(),
                "measured.csv": frame.to_csv(index=False).encode(),
            },
            tables={"measured": frame},
        )


globals().update(exax_method(FramesReport, __file__))
