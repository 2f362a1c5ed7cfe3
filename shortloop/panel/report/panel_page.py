"""Page of a panel's report, with its figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shortloop.base.text import counted
from shortloop.panel.diagnostics import DIAGNOSTICS
from shortloop.panel.paper.plot import WIDE, limits_of
from shortloop.panel.report.content import (
    ALPHA,
    BINS,
    NAMED,
    Content,
    Shown,
    coefficient_numbers,
    coefficients_csv,
    counts_of_p,
    pvalues_csv,
    score_quartiles,
    small_p,
    sorted_estimates,
)
from shortloop.report.files import TABLES
from shortloop.report.layout import arrange, short, subplots
from shortloop.report.page import (
    Drawing,
    Page,
    PageLink,
    PageSection,
    PageTable,
    TableRow,
    provenance_rows,
    slug,
)
from shortloop.report.style import BLACK, BLUE, GREY, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 3
HEIGHT = 1.4  # inches, of the frame of a panel
LISTED = 20  # most groups that the page lists
MOST_DRAWN = 4000  # groups of a panel, several for each dot of a screen
CORRECTIONS = {
    "none": "",
    "holm": " and corrected for their number (Holm)",
    "fdr_bh": " and corrected for their number (false discovery rate, Benjamini and Hochberg)",
}

READS = ("arrays", "chosen", "corrected", "fitted", "labels", "name", "names")
"""Fields of `Shown` that the figures read."""


def _panels(what: str, draw: Callable[[Axes, Shown, int], None], shown: Shown) -> Figure:
    from matplotlib.ticker import MaxNLocator

    with styled():
        figure = new_figure()
        panels = subplots(figure, len(shown.names), COLUMNS)
        for j, axes in enumerate(panels):
            draw(axes, shown, j)
            axes.set_title(short(shown.names[j], 20))
            # As many for any length: labels are measured before panels have theirs.
            axes.yaxis.set_major_locator(MaxNLocator(5, integer=draw is _pvalues))
        title = f"{shown.name}: {what} of {counted(int(shown.fitted.sum()), 'group')}"
        arrange(figure, panels, COLUMNS, title, height=HEIGHT)
        return figure


def _coefficient(axes: Axes, shown: Shown, j: int) -> None:
    """Plot estimates of each group with their intervals, ascending."""
    groups, params, lower, upper = sorted_estimates(shown, j)
    place = np.arange(0, len(params), len(params) // MOST_DRAWN + 1)
    axes.fill_between(place, lower[place], upper[place], color=BLUE, alpha=0.25, linewidth=0, step="mid")
    axes.plot(place, params[place], color=BLUE, linewidth=1.2)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    if len(params):
        axes.axhline(float(np.median(params)), color=VERMILION, linewidth=1.0, linestyle="--")
    low, high, cut = _limits(shown, j)
    if cut:  # else one huge interval flattens all others
        axes.set_ylim(low, high)
    names = shown.labels if len(groups) <= NAMED else {g: shown.labels[g] for g in shown.chosen}
    if some := np.flatnonzero(np.isin(groups, [*names])).tolist():
        axes.set_xticks(some, [short(names[g], 14) for g in groups[some].tolist()], rotation=90)
    axes.set_xlabel("groups, sorted")
    axes.set_ylabel("estimate")


def _limits(shown: Shown, j: int) -> tuple[float, float, int]:
    """Return the ends of the axis, and how many intervals are beyond."""
    return limits_of(np.column_stack(sorted_estimates(shown, j)[1:]))


def _pvalues(axes: Axes, shown: Shown, j: int) -> None:
    """Plot a histogram of p: uniform if no group has an effect."""
    counts = counts_of_p(shown, j)
    left = np.arange(BINS) / BINS
    axes.bar(left, counts, 1 / BINS, align="edge", color=BLUE, edgecolor="white", linewidth=0.4)
    axes.axhline(counts.mean(), color=BLACK, linewidth=0.8, linestyle=":")
    axes.set_xlabel("p")
    axes.set_ylabel("groups")
    axes.set_xlim(0.0, 1.0)


estimates_figure = partial(_panels, "coefficients", _coefficient)
pvalues_figure = partial(_panels, "p", _pvalues)


def drawings(content: Content) -> Iterator[Drawing[Shown]]:
    for shown in content.shown:
        interval = f", with its {100 * shown.level:g} % confidence interval" if _has(shown, "lower") else ""
        curve = (
            f"Estimate of each group, from the smallest to the largest{interval}; the dashed line is the "
            "median. Each panel has a scale of its own."
        )
        if len(shown.keys) > MOST_DRAWN:
            curve += f" Of more than {MOST_DRAWN:,} groups, a sample at equal distances is drawn."
        if any(_limits(shown, j)[2] for j in range(len(shown.names))):
            curve += f" Intervals beyond the frame are more than {WIDE} times as long as most."
        twentieths = (
            "How many groups have a p in each twentieth. The dotted line is how many there would be on "
            "average if no group had an effect. Not corrected."
        )
        kinds = (
            ("coefficients", "Coefficients", curve, "Sorted estimates", estimates_figure, coefficients_csv),
            ("p", "p", twentieths, "Histograms of p", pvalues_figure, pvalues_csv),
        )
        some = [kind for kind, of in zip(kinds, ("params", "pvalues"), strict=True) if _has(shown, of)]
        for ending, title, caption, alt, draw, numbers in some if shown.names else ():
            name, title = f"{slug(shown.name)}-{ending}", f"{title} over groups, {shown.name}"
            alt = f"{alt} of {', '.join(shown.names)}."
            yield Drawing(name, shown, draw, title, caption, alt, numbers, READS)


def _has(shown: Shown, name: str) -> bool:
    """False if no fit has such a statistic, as p of a forest."""
    return bool(np.isfinite(np.asarray(shown.arrays[name], np.float64)[shown.fitted]).any())


def sentences(shown: Shown) -> tuple[str, ...]:
    groups, fitted = sum(shown.counts.values()), int(shown.fitted.sum())
    said = f"{shown.formula} ({shown.model}): {fitted:,} of {groups:,} groups fitted"
    said += f", {shown.batched:,} by compiled code." if not shown.scored else " by scikit-learn."
    failed = [f"{count:,} {name}" for name, count in shown.counts.items() if name != "fitted"]
    return (said, f"Not to be relied on: {', '.join(failed)}.") if failed else (said,)


def page_of(content: Content) -> Page:
    numbered = list(enumerate(drawings(content), 1))
    sections = []
    for shown in content.shown:
        provenance = provenance_rows(shown.sources)
        figures = tuple(each.figure(number, provenance) for number, each in numbered if each.result is shown)
        found = (_coefficients(shown),) if _has(shown, "params") else ()
        tables = (*_scores(shown), *found, *_tests(shown), _statuses(shown), *_left(shown), *_groups(shown))
        said = sentences(shown)
        sections.append(PageSection(slug(shown.name), shown.name, said, figures, tables, _links(shown)))
    return Page(
        kind="Regressions over groups",
        title=str(content.panel["name"]),
        overview=f"Specifications: {', '.join(shown.name for shown in content.shown)}.",
        sections=tuple(sections),
        limits=content.notes,
        settings=content.panel,
        versions=content.versions,
        thread_note=content.thread_note,
    )


def diagnostics_file(shown: Shown) -> str:
    return f"{DIAGNOSTICS}/{slug(shown.name)}.pdf"


def _links(shown: Shown) -> tuple[PageLink, ...]:
    place = f"{TABLES}/{slug(shown.name)}"
    named = {
        "coefficients": "every coefficient of every group",
        "fits": "what became of the fit of every group",
    }
    named |= {"scores": "every score of every group"} if shown.scored else {}
    named |= {"tests": "every test of every group"} if shown.hypotheses else {}
    named |= {"margins": "marginal effects of every group"} if "margin_params" in shown.arrays else {}
    files = {f"{name}.{'csv' if shown.has_csv else 'parquet'}": text for name, text in named.items()}
    files |= {"predictions.parquet": "a prediction of every row"} if shown.is_predicted else {}
    tables = [PageLink(f"{place}/{name}", text) for name, text in files.items()]
    if shown.pages is None:
        return tuple(tables)
    job, pages = shown.pages
    whose = "one group" if len(pages) == 1 else f"each of {len(pages):,} groups"
    return (PageLink(diagnostics_file(shown), f"a page of plots for {whose}, drawn by {job}"), *tables)


def _groups(shown: Shown) -> tuple[PageTable, ...]:
    _, pages = shown.pages or ("", [])
    if not pages:
        return ()
    rows = tuple(TableRow(group, (why,)) for group, why in pages[:LISTED])
    more = len(pages) - len(rows)
    caption = f"The first of them; {more} more are in the file below." if more else "In the file below."
    return (PageTable("Groups to look at", caption, "group", ("why",), rows, words=True),)


def _scores(shown: Shown) -> tuple[PageTable, ...]:
    rows = [
        TableRow(name, ("–", "–") if None in (lower, median, upper) else _estimates(median, lower, upper))  # type: ignore[arg-type]
        for name, lower, median, upper in score_quartiles(shown)
    ]
    caption = "Means over the folds of a group; over all groups that were fitted."
    made = PageTable("Cross-validated scores", caption, "score", ("median", "quartiles"), tuple(rows))
    return (made,) if rows else ()


def _tests(shown: Shown) -> tuple[PageTable, ...]:
    rows = [TableRow(name, (f"{small:,} of {tested:,}",)) for name, small, tested in small_p(shown)]
    caption = "Groups in which a hypothesis has a small p, not corrected, of those in which it was tested."
    made = PageTable("Tests of hypotheses", caption, "hypothesis", (f"p < {ALPHA}",), tuple(rows))
    return (made,) if rows else ()


def _coefficients(shown: Shown) -> PageTable:
    has_p = _has(shown, "pvalues")
    columns = ["median", "quartiles", *([f"p < {ALPHA}"] if has_p else ())]
    if has_p and shown.corrected is not None:
        columns.append("corrected")
    rows = []
    for each in coefficient_numbers(shown):
        if each["median"] is None:
            rows.append(TableRow(each["term"], ("–",) * len(columns)))
            continue
        cells = [*_estimates(each["median"], each["lower"], each["upper"])]
        if has_p:
            cells.append(f"{each['small']:,} of {each['tested']:,}")
        if has_p and each["tested_corrected"] is not None:
            cells.append(f"{each['small_corrected']:,} of {each['tested_corrected']:,}")
        rows.append(TableRow(each["term"], tuple(cells)))
    caption = "Over all groups that were fitted"
    if has_p:
        caption += f"; how many of them have a small p, as it is{CORRECTIONS[shown.correction]}"
    caption += "."
    return PageTable("Coefficients", caption, "coefficient", tuple(columns), tuple(rows))


def _left(shown: Shown) -> tuple[PageTable, ...]:
    most_first = sorted(shown.left.items(), key=lambda reason: -reason[1])
    rows = [TableRow(why, (f"{count:,}",)) for why, count in most_first]
    caption = "Of these, compiled code does not guarantee the digits, or there is none."
    return (PageTable("Fitted by statsmodels", caption, "why", ("groups",), tuple(rows)),) if rows else ()


def _estimates(median: float, lower: float, upper: float) -> tuple[str, str]:
    """Format median and quartiles with as many digits as distinguish the quartiles, and one more."""
    decimals = 1 - math.floor(math.log10(upper - lower or abs(median) or 1.0))

    def shown(value: float) -> str:
        if not -4 <= decimals <= 6:
            return f"{value:.3g}".replace("-", "−")
        return f"{round(value, max(decimals, 0)) + 0.0:,.{max(decimals, 0)}f}".replace("-", "−")

    return shown(median), f"{shown(lower)} to {shown(upper)}"


def _statuses(shown: Shown) -> PageTable:
    rows = [TableRow(name, (f"{count:,}",)) for name, count in shown.counts.items()]
    rows.append(TableRow("all", (f"{sum(shown.counts.values()):,}",), total=True))
    caption = f"The jobs that fitted them took {shown.seconds:.1f} s."
    return PageTable("What became of the fits", caption, "status", ("groups",), tuple(rows))
