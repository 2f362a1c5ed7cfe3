"""Pages of plots of groups: the same numbers drawn by us, and by matplotlib in two ways."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import interleaved, ratio, seconds_of, spread
from benchmarks.options import Options
from benchmarks.write import figures
from shortloop.base.seeds import seed_for
from shortloop.panel.diagnostics.group_page import BOXES, HEIGHT, WIDTH, Head, page_of
from shortloop.panel.diagnostics.residuals import Rows, rows_of
from shortloop.panel.formulas.design import Design
from shortloop.panel.models.model import ModelSettings
from shortloop.report.pdf import Sheet, document
from shortloop.report.style import BLACK, BLUE, GREY, VERMILION, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGES, ROWS, WORKERS = 200, 500, 2
QUICK = 4
OURS = f"shortloop, {WORKERS} workers"
OURS_ALONE = "shortloop, 1 process"
REUSED = f"matplotlib, figure reused, {WORKERS} workers"
PLAIN = "matplotlib, 1 process"
NAMES = ("a", "b", "c", "d", "e", "f")
MODEL = ModelSettings.model_validate({"model": "ols", "formula": "y ~ b + c + d + e + f"})
TITLES = (
    ("Residuals against the fitted value", "fitted value", "residual"),
    ("Normal QQ plot", "normal quantile", "standardised residual"),
    ("Residuals against leverage", "leverage", "standardised residual"),
    ("Observed against the fitted value", "fitted value", "observed"),
)


def run(options: Options) -> dict[str, Any]:
    """Draw pages of four plots each, from fits to files."""
    pages = QUICK if options.quick else PAGES
    groups = _groups(pages)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        works: dict[str, Callable[[int], float]] = {
            OURS: lambda run: seconds_of(lambda: _ours(groups, folder, WORKERS)),
            OURS_ALONE: lambda run: seconds_of(lambda: _ours(groups, folder, 1)),
            REUSED: lambda run: seconds_of(lambda: _reused(groups, folder)),
            PLAIN: lambda run: seconds_of(lambda: _plain(groups, folder / "plain.pdf")),
        }
        _ours(groups[:2], folder, 1)  # fonts are read, libraries imported
        _plain(groups[:2], folder / "plain.pdf")
        seconds = interleaved(works, options.runs)
        sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    spreads = {name: spread(each) for name, each in seconds.items()}
    over = {name: ratio(each, seconds[OURS]) for name, each in seconds.items()}
    rows = [[name, figures(each, "s"), figures(over[name])] for name, each in spreads.items()]
    note = (
        f"{ROWS} rows on each page, from coefficients to files. matplotlib leaves a file for each worker, "
        f"shortloop one. Size: shortloop {sizes['ours.pdf'] / 1e6:.1f} MB, matplotlib "
        f"{sizes['plain.pdf'] / 1e6:.1f} MB."
    )
    title = f"{pages} pages of four plots"
    table = {"title": title, "columns": ["", "seconds", "times ours"], "rows": rows, "note": note}
    return {"pages": pages, "seconds": spreads, "over_ours": over, "sizes": sizes, "tables": [table]}


Group = tuple[Design, np.ndarray, float]
_inherited: list[Group] = []


def _groups(count: int) -> list[Group]:
    """Rows of each group, and what was fitted."""
    rng = np.random.default_rng(0)
    columns = np.vstack([np.ones(count * ROWS), rng.standard_normal((len(NAMES) - 1, count * ROWS))])
    outcome = columns.sum(axis=0) + rng.standard_t(5, count * ROWS)
    starts = ROWS * np.arange(count + 1)
    design = Design(NAMES, columns, outcome)
    fits = MODEL.fit_groups(design, starts, 0.95)
    assert fits is not None
    parts = (design.taken(slice(*ends)) for ends in pairwise(starts.tolist()))
    return [(part, fits["params"][g], float(fits["scale"][g])) for g, part in enumerate(parts)]


def _numbers(group: Group) -> Rows:
    found = rows_of(MODEL, *group, seed_for(0, "rows"))
    assert found is not None
    return found


def _ours(groups: Sequence[Group], folder: Path, workers: int) -> None:
    numbers = range(len(groups))
    _inherit(groups)
    if workers == 1:
        sheets = [_our_page(number) for number in numbers]
    else:  # which inherit the rows, as slices of a job do: sent with each page, they take longer than to draw
        with multiprocessing.get_context("fork").Pool(workers) as pool:
            sheets = pool.map(_our_page, numbers, chunksize=5)
    (folder / "ours.pdf").write_bytes(document(sheets, "plain"))


def _inherit(groups: Sequence[Group]) -> None:
    """Have them where processes that are forked later find them."""
    _inherited[:] = groups


def _our_page(number: int) -> Sheet:
    place = f"page {number + 1} of {len(_inherited)}"
    head = Head(f"group = {number}", "plain: y ~ x (ols)", "chosen by name", place)
    return page_of(head, _numbers(_inherited[number]))


def _plain(groups: Sequence[Group], file: Path) -> None:
    """A new figure for each page, as most would write it."""
    from matplotlib.backends.backend_pdf import PdfPages

    with styled(), PdfPages(file) as pdf:
        for number, group in enumerate(groups):
            figure = _figure()
            for axes, plots in zip(figure.axes, _plots(_numbers(group))):
                _draw(axes, plots)
            figure.suptitle(f"group = {number}")
            pdf.savefig(figure)


def _reused(groups: Sequence[Group], folder: Path) -> None:
    """One figure in each of some workers, whose lines are given other numbers."""
    ends = [len(groups) * worker // WORKERS for worker in range(WORKERS + 1)]
    parts = [groups[first:last] for first, last in pairwise(ends)]
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        pool.starmap(_pages_reused, [(part, folder / f"reused-{i}.pdf") for i, part in enumerate(parts)])


def _pages_reused(groups: Sequence[Group], file: Path) -> None:
    from matplotlib.backends.backend_pdf import PdfPages

    with styled(), PdfPages(file) as pdf:
        figure = _figure()
        for number, group in enumerate(groups):
            for axes, plots in zip(figure.axes, _plots(_numbers(group))):
                if not axes.lines:
                    _draw(axes, plots)
                for line, (x, y, _) in zip(axes.lines, plots):
                    line.set_data(x, y)
                axes.relim()
                axes.autoscale_view()
            figure.suptitle(f"group = {number}")
            pdf.savefig(figure)


def _figure() -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72))
    for box, (title, across, up) in zip(BOXES, TITLES):
        axes = figure.add_axes((box.x / WIDTH, box.y / HEIGHT, box.width / WIDTH, box.height / HEIGHT))
        axes.set_title(title)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
    return figure


Plot = list[tuple[np.ndarray, np.ndarray, dict[str, Any]]]


def _draw(axes: Axes, plots: Plot) -> None:
    for x, y, how in plots:
        axes.plot(x, y, **how)


def _plots(rows: Rows) -> list[Plot]:
    """What the four plots of a page show, as lines and dots: what ours show, but for the grey band."""
    from scipy.special import ndtri

    count = len(rows.observed)
    far = np.abs(rows.standardized) > 3
    near: dict[str, Any] = {"marker": "o", "ms": 2.6, "ls": "", "mew": 0, "alpha": 0.6, "color": BLUE}
    out = {**near, "alpha": 1.0, "color": VERMILION}
    expected = ndtri((np.arange(count) + 0.625) / (count + 0.25))
    at = np.linspace(1e-6, rows.leverage.max(), 100)
    away = np.sqrt(0.5 * rows.coefficients * (1 - at) / at)
    away[away > 1.1 * np.abs(rows.standardized).max()] = np.nan
    order, parts = np.argsort(rows.fitted), 20

    def dots(x: np.ndarray, y: np.ndarray) -> Plot:
        return [(x[~far], y[~far], near), (x[far], y[far], out)]

    def means(y: np.ndarray) -> Plot:
        x = [part.mean() for part in np.array_split(rows.fitted[order], parts)]
        return [(np.array(x), np.array([part.mean() for part in np.array_split(y[order], parts)]), red)]

    red = {"color": VERMILION}
    ends = np.array([rows.fitted.min(), rows.fitted.max()])
    zero = np.zeros(2)
    return [
        [(ends, zero, {"color": GREY}), *dots(rows.fitted, rows.residuals), *means(rows.residuals)],
        [(expected, expected, {"color": BLACK}), (expected, np.sort(rows.normal), near)],
        [
            (np.array([0.0, rows.leverage.max()]), zero, {"color": GREY}),
            (at, away, {"color": GREY, "ls": "--"}),
            (at, -away, {"color": GREY, "ls": "--"}),
            *dots(rows.leverage, rows.standardized),
        ],
        [(ends, ends, {"color": BLACK}), *dots(rows.fitted, rows.observed), *means(rows.observed)],
    ]
