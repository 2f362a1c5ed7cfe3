"""Content of a panel's report, from its jobs, and the numbers in its figures and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import numpy as np

from shortloop.base.plain import Plain
from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.expressions import with_outcome
from shortloop.panel.results import group_columns
from shortloop.panel.statistics import Status
from shortloop.report.page import Source, csv_text, source_of, thread_note
from shortloop.stages.results import Result, upstream


class Pages(NamedTuple):
    """Groups with diagnostic plots, each with the reason, and the job that drew them."""

    job: str
    groups: tuple[tuple[str, str], ...]


IMPORTS = ("import_panel", "import_dataset")
ALPHA = 0.05
BINS = 20
"""Of the histograms of p."""


@dataclass(frozen=True)
class Shown:
    """One specification and outcome, with its results.

    name: the specification, and the outcome if there are several.
    corrected: (groups, coefficients). Corrected p; None: no correction was asked for.
    counts: number of groups of each status.
    batched: number of groups fitted by compiled code.
    seconds: of the jobs that fitted it.
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
        """True for groups that count, shape (groups,)."""
        fitted: np.ndarray = np.asarray(self.arrays["status"]) == Status.FITTED
        return fitted


@dataclass(frozen=True)
class Content:
    """Everything in the report: settings, specifications, notes on left-out rows, versions."""

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
    """Gather the content from results and the jobs above them."""
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
    names = tuple(result.facts["names"])
    table: Any = result.tables["coefficients"]
    corrected = table.get("pvalues_corrected")
    shape = (len(result.facts["keys"]), len(names))
    return Shown(
        name=" ".join(filter(None, (result.facts["specification"], outcome))),
        formula=with_outcome(str(model["formula"]), outcome),
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


class Coefficient(TypedDict):
    """A coefficient over the groups that were fitted. None where there is none.

    median, lower, upper: of the estimates, median and quartiles.
    error: median of the standard errors.
    tested, small: number of groups with a p, and with one below `ALPHA`; the same of corrected p.
    """

    term: str
    median: float | None
    lower: float | None
    upper: float | None
    error: float | None
    tested: int
    small: int
    tested_corrected: int | None
    small_corrected: int | None


def coefficient_numbers(shown: Shown) -> list[Coefficient]:
    """Summarize each coefficient."""
    found = []
    for j, term in enumerate(shown.names):
        lower, median, upper = _quantiles(np.asarray(shown.arrays["params"])[shown.fitted, j])
        p = np.asarray(shown.arrays["pvalues"])[shown.fitted, j]
        corrected = None if shown.corrected is None else shown.corrected[shown.fitted, j]
        found.append(
            Coefficient(
                term=term,
                median=median,
                lower=lower,
                upper=upper,
                error=_quantiles(np.asarray(shown.arrays["bse"])[shown.fitted, j])[1],
                tested=int(np.isfinite(p).sum()),
                small=int((p < ALPHA).sum()),
                tested_corrected=None if corrected is None else int(np.isfinite(corrected).sum()),
                small_corrected=None if corrected is None else int((corrected < ALPHA).sum()),
            )
        )
    return found


class Estimates(NamedTuple):
    """Estimates of a coefficient with their intervals, ascending, and the group of each."""

    groups: IntArray
    params: FloatArray
    lower: FloatArray
    upper: FloatArray


def sorted_estimates(shown: Shown, j: int) -> Estimates:
    """Sort the estimates of a coefficient in groups that were fitted and have it."""
    params, lower, upper = (
        np.asarray(shown.arrays[name], float)[:, j] for name in ("params", "lower", "upper")
    )
    some = np.flatnonzero(shown.fitted & np.isfinite(params))
    groups = some[np.argsort(params[some], kind="stable")]
    return Estimates(groups, params[groups], lower[groups], upper[groups])


def counts_of_p(shown: Shown, j: int) -> IntArray:
    """Count p in each of `BINS` parts of 0 to 1; one between two parts counts in the upper one."""
    pvalues = np.asarray(shown.arrays["pvalues"], float)[shown.fitted, j]
    return np.histogram(pvalues[np.isfinite(pvalues)], BINS, (0.0, 1.0))[0]


def coefficients_csv(shown: Shown) -> str:
    """Write the sorted estimates as text."""

    def rows() -> Iterator[list[str | float]]:
        for j, name in enumerate(shown.names):
            for group, *numbers in zip(*sorted_estimates(shown, j), strict=True):
                yield [name, *shown.keys[group], *map(float, numbers)]

    return csv_text(["coefficient", *group_columns(shown.by), "estimate", "low", "high"], rows())


def pvalues_csv(shown: Shown) -> str:
    """Write the histograms of p as text."""
    return csv_text(
        ["coefficient", "p from", "p to", "groups"],
        (
            [name, place / BINS, (place + 1) / BINS, int(count)]
            for j, name in enumerate(shown.names)
            for place, count in enumerate(counts_of_p(shown, j))
        ),
    )


def _quantiles(values: np.ndarray) -> tuple[float | None, float | None, float | None]:
    known = values[np.isfinite(values)]
    if not len(known):
        return None, None, None
    lower, median, upper = np.quantile(known, [0.25, 0.5, 0.75])
    return float(lower), float(median), float(upper)
