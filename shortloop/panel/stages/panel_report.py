"""Tables of all specifications to figures and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.worker.stage import Finished, Job, Outputs, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PanelReport"]


class PanelReport(Stage):
    """Report: figures and a self-contained page with the provenance of each."""

    panel: dict[str, object]  # the settings, as the page shows them
    results: list[Job]  # of each specification and outcome
    diagnostics: list[Job]  # of the same, or none
    imported: Job | None = None  # what it says of its rows may change where no result does

    def open(self) -> None:
        """Gather what the figures show."""
        import matplotlib.backends.backend_agg
        import matplotlib.backends.backend_pdf  # noqa: F401  imported once, shared by forks

        from shortloop.panel.report.content import collect
        from shortloop.panel.report.page import drawings

        self._content = collect(self.results, self.diagnostics, self.panel, self.imported)
        self._drawings = drawings(self._content)

    def units(self) -> int:
        """The figures."""
        return len(self._drawings)

    def compute(self, unit: int) -> Mapping[str, bytes]:
        """Draw one figure."""
        from shortloop.report.drawing import drawn

        return drawn(self._drawings[unit].save)

    def finish(self, out: Outputs) -> Finished:
        """The page, and what was found as plain data."""
        import json
        from pathlib import Path

        from shortloop.panel.report.numbers import ALPHA, coefficient_numbers
        from shortloop.panel.report.page import diagnostics_file, page_of, sentences
        from shortloop.report.page import files_beside, slug, write

        page = page_of(self._content)
        findings = [
            {
                "name": shown.name,
                "folder": slug(shown.name),
                "says": list(sentences(shown)),
                "fitted": int(shown.fitted.sum()),
                "alpha": ALPHA,
                "coefficients": coefficient_numbers(shown),
                "diagnostics": None if shown.pages is None else diagnostics_file(shown),
            }
            for shown in self._content.shown
        ]
        return Finished(
            {"panel": self._content.panel},
            files={
                "report.html": write(page, Path()).read_bytes(),
                **files_beside(page),
                "findings.json": (json.dumps(findings, indent=1) + "\n").encode(),
            },
        )
