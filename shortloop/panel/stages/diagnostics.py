"""A page of plots for each group that was chosen, or is among the worst, as one PDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.worker.stage import Finished, Job, Outputs, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shortloop.panel.diagnostics.criteria import Criterion
    from shortloop.panel.diagnostics.page import Head
    from shortloop.panel.models.base import ModelSettings
    from shortloop.report.pdf import Sheet

__all__ = ["Diagnostics"]

TOGETHER = 5
"""Pages of a unit."""


class Diagnostics(Stage):
    """Diagnostics: a page of plots for each group to be looked at."""

    siblings = ("specification", "outcome")
    specification: str
    outcome: str | None
    model: ModelSettings
    named: Job | None  # groups that were chosen by name
    worst: int  # how many of these, besides
    worst_by: Criterion
    seed: int  # of what is drawn where outcomes are counted
    results: Job
    residuals: Job | None  # None: no worst groups are asked for
    blocks: list[Job]

    def open(self) -> None:
        """Choose the groups, and find out where their rows are."""
        from shortloop.panel.stages.fitted import FittedGroups

        self._by = self.results.facts["by"]
        chosen = [] if self.named is None else [tuple(group) for group in self.named.facts["groups"]]
        self._pages = [(key, "chosen by name") for key in chosen]
        named = set(chosen)
        self._pages += [(key, why) for key, why in self._worst() if key not in named]
        self._fitted = FittedGroups(self.results, self.model, self.specification, self.outcome, self.seed)
        wanted = {key for key, _ in self._pages}
        self._found = {
            tuple(key): (block, g)
            for block in self.blocks
            for g, key in enumerate(block.facts["keys"])
            if tuple(key) in wanted
        }
        self._warm_up()

    def units(self) -> list[float]:
        """Some pages each."""
        count = len(self._pages)
        return [float(min(TOGETHER, count - first)) for first in range(0, count, TOGETHER)]

    def compute(self, unit: int) -> Mapping[str, bytes]:
        """Draw some pages."""
        pages = range(unit * TOGETHER, min((unit + 1) * TOGETHER, len(self._pages)))
        return {_name(unit): b"".join(self._page(page).to_bytes() for page in pages)}

    def unit_name(self, unit: int) -> str:
        """Its first group."""
        return f"pages from {' '.join(self._pages[unit * TOGETHER][0])} on"

    def finish(self, out: Outputs) -> Finished:
        """Put the pages together."""
        from pathlib import Path

        from shortloop.panel.diagnostics.page import page_without_plots
        from shortloop.panel.report.files import PAGES
        from shortloop.report.pdf import Sheet, document

        parts = [Path(_name(unit)).read_bytes() for unit in range(len(self.units()))]
        sheets = Sheet.from_bytes(b"".join(parts))
        if not sheets:
            sheets = [page_without_plots(self._head("No group", "", 0), ["No group was fitted."])]
        return Finished(
            {
                "specification": self.specification,
                "outcome": self.outcome,
                "pages": [{"key": list(key), "why": why} for key, why in self._pages],
            },
            files={PAGES: document(sheets, self._title())},
        )

    def _worst(self) -> list[tuple[tuple[str, ...], str]]:
        import numpy as np

        from shortloop.panel.diagnostics.worst import SUMMARY, reason, worst

        if self.residuals is None or not self.worst or not self.residuals.facts["keys"]:
            return []
        of_residuals = {tuple(key): g for g, key in enumerate(self.residuals.facts["keys"])}
        keys = [tuple(key) for key in self.results.facts["keys"]]
        order = [of_residuals[key] for key in keys]
        summary = {name: np.asarray(self.residuals.arrays[name])[order] for name in SUMMARY}
        found = worst(summary, self.worst_by, self.worst)
        pages = []
        for rank, g in enumerate(found, 1):
            why = reason({name: float(values[g]) for name, values in summary.items()}, self.worst_by)
            pages.append((keys[g], f"worst {rank} of {len(keys):,} by {self.worst_by}: {why}"))
        return pages

    def _page(self, page: int) -> Sheet:
        from shortloop.panel import status
        from shortloop.panel.diagnostics.page import page_of, page_without_plots

        key, why = self._pages[page]
        block, group = self._found[key]
        title = ", ".join(f"{name} = {value}" for name, value in zip(self._by, key, strict=True))
        head = self._head(title, why, page + 1)
        state = self._fitted.status(key)
        if state != status.FITTED:
            return page_without_plots(head, [f"Not fitted: {status.STATUSES[state]}.", *self._said(key)])
        rows = self._fitted.rows(self._fitted.fitter(block, group), 0, key)
        if rows is None:
            return page_without_plots(head, ["The model does not predict one value for each row."])
        return page_of(head, rows)

    def _said(self, key: tuple[str, ...]) -> list[str]:
        """What statsmodels said of a group."""
        texts = self.results.tables["fits"]["said"]
        place = [tuple(each) for each in self.results.facts["keys"]].index(key)
        return [text for text in str(texts[place]).split("; ") if text]

    def _title(self) -> str:
        return " ".join(filter(None, (self.specification, self.outcome)))

    def _head(self, group: str, why: str, number: int) -> Head:
        from shortloop.panel.diagnostics.page import Head

        formula, kind = self.model.formula, getattr(self.model, "model", "")
        if self.outcome is not None:
            formula = f"{self.outcome} ~ {formula.replace('~', '').strip()}"
        place = f"page {number} of {len(self._pages)}" if number else ""
        return Head(group, f"{self._title()}: {formula} ({kind})", why, place)

    def _warm_up(self) -> None:
        """Load what draws, and what statsmodels has to say, so that processes forked later share it."""
        from shortloop.panel.diagnostics.page import page_without_plots

        page_without_plots(self._head("", "", 0), [""])


def _name(unit: int) -> str:
    return f"pages/{unit:04d}"
