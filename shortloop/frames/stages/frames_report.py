"""Measurements to a table, figures and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.report.stage import ReportStage
from shortloop.worker.stage import Finished, Job, Outputs

if TYPE_CHECKING:
    from shortloop.frames.report.content import Content
    from shortloop.report.drawing import Drawing

__all__ = ["FramesReport"]


class FramesReport(ReportStage):
    """Report: a table, figures, and advice drawn from what was measured."""

    frames: dict[str, object]  # the settings, as the page shows them
    left_out: dict[str, str]  # libraries, and why
    machine: dict[str, str | int]
    table: Job
    measured: list[Job]

    def drawings(self) -> list[Drawing[Content]]:
        """The figures, of what was measured."""
        from shortloop.frames.report.content import collect
        from shortloop.frames.report.page import drawings

        self._content = collect(self.measured, self.table, self.frames, self.left_out, self.machine)
        return drawings(self._content)

    def finish(self, out: Outputs) -> Finished:
        """The page, the table, and the advice as plain data."""
        import json

        from shortloop.frames.report.advice import advise
        from shortloop.frames.report.content import frame_of
        from shortloop.frames.report.page import limits, overview, page_of

        content, frame = self._content, frame_of(self._content)
        page = page_of(content)
        findings = {
            "overview": overview(content),
            "advice": list(advise(content)),
            "limits": list(limits(content)),
        }
        return Finished(
            {"frames": content.frames},
            files={
                **self.report_files(out, page),
                "findings.json": (json.dumps(findings, indent=1) + "\n").encode(),
                "measured.csv": frame.to_csv(index=False).encode(),
            },
            tables={"measured": frame},
        )
