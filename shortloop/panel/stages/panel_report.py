"""Report of all specifications: figures and a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from shortloop.report.stage import ReportStage
from shortloop.stages.stage import Finished, Job, Outputs

if TYPE_CHECKING:
    from shortloop.panel.report.content import Shown
    from shortloop.report.page import Drawing


class PanelReport(ReportStage):
    """Report: figures and a self-contained page with the provenance of each."""

    panel: dict[str, object]  # the settings, as the page shows them
    results: list[Job]  # of each specification and outcome
    diagnostics: list[Job]  # of the same, or none
    imported: Job  # its notes on rows may change where no result does

    def drawings(self) -> list[Drawing[Shown]]:
        from shortloop.panel.report.content import collect
        from shortloop.panel.report.panel_page import drawings

        self._content = collect(self.results, self.diagnostics, self.panel, self.imported)
        return [*drawings(self._content)]

    def finish(self, out: Outputs) -> Finished:
        from shortloop.panel.report.content import ALPHA, coefficient_numbers
        from shortloop.panel.report.panel_page import diagnostics_file, page_of, sentences
        from shortloop.report.page import slug

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
        said = {"findings.json": (json.dumps(findings, indent=1) + "\n").encode()}
        return Finished({"panel": self._content.panel}, files={**self.report_files(out, page), **said})
