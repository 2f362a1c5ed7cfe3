"""Content of a panel's report, from its jobs, and the numbers in its figures and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shortloop.base.plain import Plain
from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.diagnostics import BY_NAME
from shortloop.panel.formulas.expressions import with_outcome
from shortloop.panel.results import group_columns
from shortloop.panel.statistics import Reason, Status
from shortloop.report.page import Source, csv_text, source_of, thread_note
from shortloop.stages.results import Result, upstream

ALPHA = 0.05
NAMED = 12  # groups of a figure that all have their names in it; of more, those that were chosen by name
BINS = 20  # of the histograms of p
MOST_AS_CSV = 5000  # groups whose estimates are written beside their figure
NOT_COMPILED = "no compiled code for such a fit"


@dataclass(frozen=True)
class Shown:
    """One specification and outcome, with its results."""

    name: str  # of the specification, and the outcome if there are several
    formula: str
    model: str
    names: tuple[str, ...]
    by: tuple[str, ...]
    keys: Sequence[Sequence[str]]
    arrays: Mapping[str, FloatArray | IntArray]
    corrected: FloatArray | None  # p, (groups, coefficients); None: no correction was asked for
    correction: str
    counts: Mapping[str, int]  # groups of each status
    batched: int  # groups fitted by compiled code
    seconds: float  # of the jobs that fitted it
    sources: tuple[Source, ...]
    pages: tuple[str, list[tuple[str, str]]] | None  # job that drew them; groups, and why each is shown
    level: float  # of the confidence intervals
    scored: tuple[str, ...] = ()  # cross-validated scores
    hypotheses: tuple[str, ...] = ()  # that were tested
    chosen: tuple[int, ...] = ()  # groups that the panel names for diagnostics
    left: Mapping[str, int] = field(default_factory=dict)  # groups fitted by statsmodels, by the reason
    is_predicted: bool = False  # predictions of rows are beside the page
    has_csv: bool = False  # tables are beside the page as CSV, too

    @property
    def fitted(self) -> np.ndarray:
        """True for groups that count, shape (groups,)."""
        return np.asarray(np.asarray(self.arrays["status"]) == Status.FITTED)

    @cached_property
    def labels(self) -> dict[int, str]:
        """Names of groups that figures name: those that are chosen, or have a coefficient that few have."""
        has = np.isfinite(np.asarray(self.arrays["params"], np.float64)) & self.fitted[:, np.newaxis]
        few = has[:, has.sum(axis=0) <= NAMED].any(axis=1)
        return {g: " ".join(self.keys[g]) for g in [*self.chosen, *np.flatnonzero(few).tolist()]}


@dataclass(frozen=True)
class Content:
    panel: Mapping[str, Plain]
    shown: tuple[Shown, ...]
    notes: tuple[str, ...]  # on rows that were left out
    versions: Mapping[str, str]
    thread_note: str


def collect(
    results: Sequence[Result], diagnostics: Sequence[Result], panel: Mapping[str, Any], imported: Result
) -> Content:
    chains = [list(upstream(result)) for result in results]
    every = {each.job: each for chain in (*chains, *map(upstream, diagnostics)) for each in chain}
    pages = {_of(job): job for job in diagnostics}
    shown = [
        _shown(result, chain, pages.get(_of(result)), panel)
        for result, chain in zip(results, chains, strict=True)
    ]
    versions = {name: text for each in every.values() for name, text in each.record["versions"].items()}
    return Content(panel, tuple(shown), tuple(imported.facts["notes"]), versions, thread_note(every.values()))


def _of(job: Result) -> tuple[object, object]:
    """Specification and outcome that a job is of."""
    return job.options["specification"], job.options["outcome"]


def _shown(result: Result, chain: Sequence[Result], drawn: Result | None, panel: Mapping[str, Any]) -> Shown:
    facts, fits = result.facts, [each for each in chain if each.stage == "panel_fit"]
    model: Any = fits[0].options["model"]
    correction, corrected = str(result.options["correction"]), None
    if correction != "none":
        table: Any = result.tables["coefficients"]
        corrected = table["pvalues_corrected"]
    shape = (len(facts["keys"]), len(facts["names"]))
    predict = panel.get("predict")
    named = drawn.facts["pages"] if drawn else []
    pages = [(" ".join(page["key"]), page["why"]) for page in named]
    return Shown(
        name=" ".join(filter(None, (facts["specification"], facts["outcome"]))),
        formula=with_outcome(model["formula"], facts["outcome"]),
        model=model["model"],
        names=tuple(facts["names"]),
        by=tuple(facts["by"]),
        keys=facts["keys"],
        arrays=dict(result.arrays),
        corrected=None if corrected is None else np.asarray(corrected, np.float64).reshape(shape),
        correction=correction,
        counts=facts["statuses"],
        batched=facts["batched"],
        seconds=sum(each.seconds for each in fits),
        sources=tuple(source_of(each, _sibling(each)) for each in reversed(chain)),
        pages=None if drawn is None else (drawn.job, pages),
        level=float(str(fits[0].options["level"])),
        scored=tuple(facts.get("scores", ())),
        hypotheses=tuple(facts.get("tests", ())),
        chosen=_places(facts["keys"], {tuple(page["key"]) for page in named if page["why"] == BY_NAME}),
        left=_left(result.tables["fits"]),
        is_predicted=predict is not None and facts["specification"] in (predict["models"] or panel["models"]),
        has_csv="coefficients.csv" in result.files,
    )


def _places(keys: Sequence[Sequence[str]], wanted: set[tuple[str, ...]]) -> tuple[int, ...]:
    return tuple(g for g, key in enumerate(keys) if tuple(key) in wanted) if wanted else ()


def _left(fits: Any) -> Counter[str]:
    """Count the fits that compiled code left to statsmodels by the reason."""
    reasons = {reason.said for reason in Reason} - {""}
    found: Counter[str] = Counter()
    some = fits[fits["path"] == "statsmodels"]
    for said, status in zip(some["said"], some["status"], strict=True):
        why = next((text for text in said.split("; ") if text in reasons), "")
        found[why or (NOT_COMPILED if status == "fitted" else status)] += 1
    return found


def _sibling(result: Result) -> str:
    if result.stage not in ("panel_fit", "panel_results"):
        return ""
    return " ".join(str(each) for each in map(result.options.get, ("specification", "outcome")) if each)


def coefficient_numbers(shown: Shown) -> list[dict[str, Any]]:
    """Summarize each coefficient over the groups that were fitted, as plain data; None if there are none."""
    # The median, lower and upper quartiles of the estimates; as ``error`` the median standard error; of p and
    # corrected p how many there are (``tested``), and how many are below `ALPHA` (``small``).
    found = []
    for j, term in enumerate(shown.names):
        lower, median, upper = _quartiles(_fitted(shown, "params", j))
        p, error = _fitted(shown, "pvalues", j), _quartiles(_fitted(shown, "bse", j))[1]
        numbers: dict[str, Any] = {"term": term, "median": median, "lower": lower, "upper": upper}
        numbers |= {"error": error, "tested": int(np.isfinite(p).sum()), "small": int((p < ALPHA).sum())}
        corrected = None if shown.corrected is None else shown.corrected[shown.fitted, j]
        numbers["tested_corrected"] = None if corrected is None else int(np.isfinite(corrected).sum())
        numbers["small_corrected"] = None if corrected is None else int((corrected < ALPHA).sum())
        found.append(numbers)
    return found


def score_quartiles(shown: Shown) -> list[tuple[str, float | None, float | None, float | None]]:
    """Return quartiles of each score over the fitted groups."""
    return [(name, *_quartiles(_fitted(shown, "score", j))) for j, name in enumerate(shown.scored)]


def small_p(shown: Shown) -> list[tuple[str, int, int]]:
    """Count for each hypothesis the groups with a p below `ALPHA`, and those in which it was tested."""
    columns = [_fitted(shown, "test_pvalues", j) for j in range(len(shown.hypotheses))]
    counts = [(int((p < ALPHA).sum()), int(np.isfinite(p).sum())) for p in columns]
    return [(name, *count) for name, count in zip(shown.hypotheses, counts, strict=True)]


def _fitted(shown: Shown, name: str, j: int) -> FloatArray:
    return np.asarray(np.asarray(shown.arrays[name], np.float64)[shown.fitted, j])


def sorted_estimates(shown: Shown, j: int) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Sort groups that were fitted and have a coefficient by it; with it, and its interval's ends."""
    names = "params", "lower", "upper"
    params, lower, upper = (np.asarray(shown.arrays[name], np.float64)[:, j] for name in names)
    some = np.flatnonzero(shown.fitted & np.isfinite(params))
    groups = some[np.argsort(params[some], kind="stable")]
    return groups, params[groups], lower[groups], upper[groups]


def counts_of_p(shown: Shown, j: int) -> IntArray:
    """Count p in each of `BINS` parts of 0 to 1; one between two parts counts in the upper one."""
    pvalues = _fitted(shown, "pvalues", j)
    return np.histogram(pvalues[np.isfinite(pvalues)], BINS, (0.0, 1.0))[0]


def coefficients_csv(shown: Shown) -> str:
    """Format the sorted estimates as CSV; empty if they are many: the table of coefficients has them."""
    if len(shown.keys) > MOST_AS_CSV:
        return ""
    rows: Iterator[list[str | float]] = (
        [name, *shown.keys[group], *map(float, numbers)]
        for j, name in enumerate(shown.names)
        for group, *numbers in zip(*sorted_estimates(shown, j), strict=True)
    )
    return csv_text(["coefficient", *group_columns(shown.by), "estimate", "low", "high"], rows)


def pvalues_csv(shown: Shown) -> str:
    rows: Iterator[list[str | float]] = (
        [name, place / BINS, (place + 1) / BINS, int(count)]
        for j, name in enumerate(shown.names)
        for place, count in enumerate(counts_of_p(shown, j))
    )
    return csv_text(["coefficient", "p from", "p to", "groups"], rows)


def _quartiles(values: FloatArray) -> tuple[float | None, float | None, float | None]:
    known = values[np.isfinite(values)]
    if not len(known):
        return None, None, None
    lower, median, upper = np.quantile(known, [0.25, 0.5, 0.75])
    return float(lower), float(median), float(upper)
