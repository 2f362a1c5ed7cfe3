"""Diagnostic plots: one PDF with a page for each group that was named, or is among the worst."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shortloop.stages.stage import Arrays, CollectingStage, Finished, Job, Outputs

if TYPE_CHECKING:
    from shortloop.base.types import IntArray
    from shortloop.panel.diagnostics.group_page import Head
    from shortloop.panel.models.model import ModelSettings
    from shortloop.panel.stages.fitted_groups import FittedGroups
    from shortloop.report.pdf import Sheet

PAGE = "page"


class Diagnostics(CollectingStage):
    """Diagnostics: a page of plots for each selected group; pages of unchanged groups are reused."""

    siblings = ("specification", "outcome")
    _seldom = ("statsmodels",)  # compiled code fits nearly all
    unit_fields = ("specification", "outcome", "model", "seed")
    specification: str
    outcome: str | None
    model: ModelSettings
    named: Job | None  # groups that were chosen by name
    worst: int  # how many of these, besides
    worst_by: str  # of `CRITERIA`
    seed: int  # of what is drawn where outcomes are counted
    results: Job
    residuals: list[Job]  # of each block; none: no worst groups are asked for
    blocks: list[Job]
    fits: list[Job]  # of each block
    rows: Job | None  # numbers of the rows in the file; None: they have none

    def open(self) -> None:
        from shortloop.panel.diagnostics import BY_NAME
        from shortloop.panel.diagnostics.group_page import page_without_plots

        facts = self.results.facts  # a copy, of perhaps many groups
        self._by: list[str] = facts["by"]
        self._place = {tuple(key): place for place, key in enumerate(facts["keys"])}
        chosen = [] if self.named is None else [tuple(group) for group in self.named.facts["groups"]]
        self._pages = [(key, BY_NAME) for key in chosen]
        self._pages += [(key, why) for key, why in self._worst() if key not in set(chosen)]
        self._find_groups()
        page_without_plots(self._head("", "", ""), [""])  # loads plotting code, which forked processes share

    def units(self) -> int:
        return len(self._pages)

    def unit_key(self, unit: int) -> bytes:
        """Hash what the page shows, and what its plots are drawn from."""
        from shortloop.stages.content import content_of

        fitted, group = self._found[self._pages[unit][0]]
        numbers = self._numbers.get(self._pages[unit][0])
        return content_of(
            [*vars(self._head_of(unit)).values(), self._said(unit), numbers, *fitted.reads(group)]
        )

    def compute(self, unit: int) -> Arrays:
        import numpy as np

        return {PAGE: np.frombuffer(self._page(unit).to_bytes(), np.uint8)}

    def unit_name(self, unit: int) -> str:
        return f"page of {' '.join(self._pages[unit][0])}"

    def finish(self, out: Outputs) -> Finished:
        import numpy as np

        from shortloop.panel.diagnostics import PAGES
        from shortloop.panel.diagnostics.group_page import page_without_plots
        from shortloop.report.pdf import Sheet, document
        from shortloop.stages.rows import unpack

        sheets = [Sheet.from_bytes(np.asarray(unpack(row)[PAGE]).tobytes()) for row in out.rows]
        if not sheets:
            sheets = [page_without_plots(self._head("No group", "", ""), ["No group was fitted."])]
        return Finished(
            {
                "specification": self.specification,
                "outcome": self.outcome,
                "units": [" ".join(key) for key, _ in self._pages],
                "pages": [{"key": list(key), "why": why} for key, why in self._pages],
            },
            files={PAGES: document(sheets, self._title())},
        )

    def _worst(self) -> Iterator[tuple[tuple[str, ...], str]]:
        import numpy as np

        from shortloop.panel.diagnostics.residuals import SUMMARY, reason, worst

        keys_of = [job.facts["keys"] for job in self.residuals if self.worst]
        some = [job for job, keys in zip(self.residuals, keys_of) if keys]
        if not some:
            return
        keys = [tuple(key) for each in keys_of for key in each]
        order = sorted(range(len(keys)), key=lambda g: self._place[keys[g]])  # as of the results
        summary = {name: np.concatenate([job.arrays[name] for job in some])[order] for name in SUMMARY}
        for rank, g in enumerate(worst(summary, self.worst_by, self.worst), 1):
            why = reason({name: float(values[g]) for name, values in summary.items()}, self.worst_by)
            yield keys[order[g]], f"worst {rank} of {len(keys):,} by {self.worst_by}: {why}"

    def _find_groups(self) -> None:
        """Find the block of each group, and its number there."""
        import numpy as np

        from shortloop.panel.stages.fitted_groups import FittedGroups

        wanted = {key for key, _ in self._pages}
        self._found: dict[tuple[str, ...], tuple[FittedGroups, int]] = {}
        for block, fit in zip(self.blocks, self.fits, strict=True):
            here = {key: g for g, key in enumerate(map(tuple, block.facts["keys"])) if key in wanted}
            if here:
                fitted = FittedGroups(self, block, fit)
                self._found |= {key: (fitted, g) for key, g in here.items()}
        self._numbers: dict[tuple[str, ...], IntArray] = {}
        if self.rows is not None:
            starts, numbers = (np.asarray(self.rows.arrays[name]) for name in ("starts", "numbers"))
            places = {key: g for g, key in enumerate(map(tuple, self.rows.facts["keys"])) if key in wanted}
            self._numbers = {key: numbers[starts[g] : starts[g + 1]] for key, g in places.items()}

    def _page(self, page: int) -> Sheet:
        from dataclasses import replace

        from shortloop.panel.diagnostics.group_page import page_of, page_without_plots
        from shortloop.panel.statistics import STATUSES, Status

        (fitted, group), head = self._found[self._pages[page][0]], self._head_of(page)
        if (state := fitted.status(group)) != Status.FITTED:
            return page_without_plots(head, [f"Not fitted: {STATUSES[state]}.", *self._said(page)])
        if (rows := fitted.rows(group)) is None:
            return page_without_plots(head, ["The model does not predict one value for each row."])
        numbers = self._numbers.get(self._pages[page][0])
        if numbers is not None and (places := fitted.complete(group, len(rows.observed))) is not None:
            rows = replace(rows, numbers=numbers[places])
        return page_of(head, rows)

    def _said(self, page: int) -> list[str]:
        """List the messages of a group that was not fitted."""
        from shortloop.panel.statistics import Status

        key, _ = self._pages[page]
        fitted, group = self._found[key]
        if fitted.status(group) == Status.FITTED:
            return []
        texts = self.results.tables["fits"]["said"]
        return [text for text in str(texts[self._place[key]]).split("; ") if text]

    def _title(self) -> str:
        return " ".join(filter(None, (self.specification, self.outcome)))

    def _head_of(self, page: int) -> Head:
        key, why = self._pages[page]
        title = ", ".join(f"{name} = {value}" for name, value in zip(self._by, key, strict=True))
        return self._head(title, why, f"page {page + 1} of {len(self._pages)}")

    def _head(self, group: str, why: str, place: str) -> Head:
        from shortloop.panel.diagnostics.group_page import Head
        from shortloop.panel.formulas.expressions import with_outcome

        formula, kind = with_outcome(self.model.formula, self.outcome), getattr(self.model, "model", "")
        return Head(group, f"{self._title()}: {formula} ({kind})", why, place)
