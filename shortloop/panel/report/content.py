"""What the report of a panel shows, gathered from its jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shortloop.base.plain import Plain
from shortloop.base.types import FloatArray, IntArray
from shortloop.panel import status
from shortloop.report.provenance import Source, source_of, thread_note
from shortloop.stages.results import Result, upstream

__all__ = ["Content", "Pages", "Shown", "collect"]


class Pages(NamedTuple):
    """Pages of plots of some groups.

    job: that drew them.
    groups: each group, and why it is shown.
    """

    job: str
    groups: tuple[tuple[str, str], ...]


IMPORTS = ("import_panel", "import_dataset")


@dataclass(frozen=True)
class Shown:
    """One specification and outcome.

    name: the specification, and the outcome if it has several.
    formula: as it was fitted.
    model: what was fitted.
    names: of the coefficients.
    by: columns whose values make a group.
    keys: these values, of each group.
    arrays: mapping of str to array
    corrected: (groups, coefficients), or None. Corrected p; None: no correction was asked for.
    correction: Which, as in settings.
    counts: groups of each status.
    batched: groups that compiled code fitted.
    seconds: that the jobs took which fitted it.
    sources: where the numbers come from.
    pages: of the groups to look at; None: there are none.
    level: of the confidence intervals.
    """

    name: str
    formula: str
    model: str
    names: tuple[str, ...]
    by: tuple[str, ...]
    keys: Sequence[Sequence[str]]
    arrays: Mapping[str, FloatArray | IntArray]
    corrected: FloatArray | None
    correction: str
    counts: Mapping[str, int]
    batched: int
    seconds: float
    sources: tuple[Source, ...]
    pages: Pages | None
    level: float

    @property
    def fitted(self) -> np.ndarray:
        """Which groups count."""
        fitted: np.ndarray = np.asarray(self.arrays["status"]) == status.FITTED
        return fitted


@dataclass(frozen=True)
class Content:
    """All of it.

    panel: Settings, plain data.
    shown: each specification and outcome.
    notes: what was left out on the way.
    versions: of libraries.
    thread_note: what was found of the number of threads.
    """

    panel: Mapping[str, Plain]
    shown: tuple[Shown, ...]
    notes: tuple[str, ...]
    versions: Mapping[str, str]
    thread_note: str


def collect(
    results: Sequence[Result],
    diagnostics: Sequence[Result],
    panel: Mapping[str, Any],
    imported: Result | None = None,
) -> Content:
    """Gather it."""
    chains = [list(upstream(result)) for result in results]
    everything = {each.job: each for chain in chains for each in chain}
    everything |= {each.job: each for job in diagnostics for each in upstream(job)}
    pages = {(job.facts["specification"], job.facts["outcome"]): _pages(job) for job in diagnostics}
    reads = (
        [each for each in everything.values() if each.stage in IMPORTS] if imported is None else [imported]
    )
    notes = [note for each in reads for note in each.facts["notes"]]
    versions = {name: text for each in everything.values() for name, text in each.record["versions"].items()}
    return Content(
        panel,
        tuple(
            _shown(result, chain, pages.get((result.facts["specification"], result.facts["outcome"])))
            for result, chain in zip(results, chains, strict=True)
        ),
        tuple(notes),
        versions,
        thread_note(everything.values()),
    )


def _shown(result: Result, chain: Sequence[Result], pages: Pages | None) -> Shown:
    fits = [each for each in chain if each.stage == "panel_fit"]
    model = fits[0].options["model"]
    assert isinstance(model, dict)
    outcome = result.facts["outcome"]
    formula = str(model["formula"])
    names = tuple(result.facts["names"])
    table: Any = result.tables["coefficients"]
    corrected = table.get("pvalues_corrected")
    shape = (len(result.facts["keys"]), len(names))
    return Shown(
        name=" ".join(filter(None, (result.facts["specification"], outcome))),
        formula=formula if outcome is None else f"{outcome} ~ {formula.strip().removeprefix('~').strip()}",
        model=str(model["model"]),
        names=names,
        by=tuple(result.facts["by"]),
        keys=result.facts["keys"],
        arrays=dict(result.arrays),
        corrected=None if corrected is None else np.asarray(corrected, np.float64).reshape(shape),
        correction=str(result.options["correction"]),
        counts=result.facts["statuses"],
        batched=result.facts["batched"],
        seconds=sum(each.seconds for each in fits),
        sources=tuple(source_of(each, _sibling(each)) for each in reversed(chain)),
        pages=pages,
        level=float(str(fits[0].options["level"])),
    )


def _pages(job: Result) -> Pages:
    groups = ((" ".join(page["key"]), page["why"]) for page in job.facts["pages"])
    return Pages(job.job, tuple(groups))


def _sibling(result: Result) -> str:
    if result.stage not in ("panel_fit", "panel_results"):
        return ""
    options = result.options
    return " ".join(str(each) for each in (options["specification"], options["outcome"]) if each)
