"""Measurements to a table, figures and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.worker.stage import Finished, Job, Outputs, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FramesReport"]


class FramesReport(Stage):
    """Report: a table, figures, and advice drawn from what was measured."""

    frames: dict[str, object]  # the settings, as the page shows them
    left_out: dict[str, str]  # libraries, and why
    machine: dict[str, str | int]
    table: Job
    measured: list[Job]

    def open(self) -> None:
        """Gather what the figures show."""
        import matplotlib.backends.backend_agg
        import matplotlib.backends.backend_pdf  # noqa: F401  imported once, shared by forks

        from shortloop.frames.report.content import collect
        from shortloop.frames.report.page import drawings

        self._content = collect(self.measured, self.table, self.frames, self.left_out, self.machine)
        self._drawings = drawings(self._content)

    def units(self) -> int:
        """The figures."""
        return len(self._drawings)

    def compute(self, unit: int) -> Mapping[str, bytes]:
        """Draw one figure."""
        from shortloop.report.drawing import drawn

        return drawn(self._drawings[unit].save)

    def finish(self, out: Outputs) -> Finished:
        """The page, the table, and the advice as plain data."""
        import json
        from pathlib import Path

        from shortloop.frames.report.advice import advise
        from shortloop.frames.report.content import frame_of
        from shortloop.frames.report.page import limits, overview, page_of
        from shortloop.report.page import files_beside, write

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
                "report.html": write(page, Path()).read_bytes(),
                **files_beside(page),
                "findings.json": (json.dumps(findings, indent=1) + "\n").encode(),
                "measured.csv": frame.to_csv(index=False).encode(),
            },
            tables={"measured": frame},
        )
