"""Table for a paper, and plots of coefficients by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shortloop.stages.stage import Finished, Job, Outputs, Stage

if TYPE_CHECKING:
    from shortloop.panel.settings import PaperSettings


class Paper(Stage):
    """Paper: a table of chosen groups and specifications; plots of coefficients."""

    settings: PaperSettings
    level: float  # of confidence intervals
    results: list[Job]  # of each specification and outcome

    def finish(self, out: Outputs) -> Finished:
        from io import BytesIO

        from shortloop.panel.paper.plot import MOST, coefficient_figure
        from shortloop.panel.paper.table import paper_table
        from shortloop.panel.results import Results
        from shortloop.report.page import slug

        wanted, fits = self.settings, dict[str, Results]()
        for job in self.results:
            name = " ".join(filter(None, (job.facts["specification"], job.facts["outcome"])))
            by, names, keys = (
                tuple(job.facts["by"]),
                tuple(job.facts["names"]),
                [*map(tuple, job.facts["keys"])],
            )
            fits[name] = Results(by, keys, names, dict(job.arrays), [""] * len(keys), level=self.level)
        groups = wanted.keys()
        how: dict[str, Any] = {"rows": wanted.rows, "digits": wanted.digits, "stars": wanted.stars}
        table = paper_table(fits, groups, labels=wanted.labels, terms=wanted.terms or None, **how)
        files = {"table.tex": table.to_latex().encode()} if "latex" in wanted.formats else {}
        if "markdown" in wanted.formats:
            files["table.md"] = table.to_markdown().encode()
        if "excel" in wanted.formats:
            sheet = BytesIO()
            table.to_excel(sheet)
            files["table.xlsx"] = sheet.getvalue()
        few = [] if len(keys) <= MOST else groups
        figures = {
            slug(term): coefficient_figure(fits, term, few, labels=wanted.labels) for term in wanted.plots
        }
        return Finished(files=files, figures=figures)
