"""The page of a decoding report: its figures, in their order, and what is said of each kind of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.eeg.report import figures
from shortloop.eeg.report.captions import caption, finding_sentences, limits, overview
from shortloop.eeg.report.content import KindResult, ReportContent
from shortloop.eeg.report.labels import chance_text, score_text
from shortloop.eeg.report.summary import group_findings, participant_table
from shortloop.eeg.report.times import TimeScale, time_scale
from shortloop.report.page import FIGURES, Page, PageFigure, PageSection, PageTable, TableRow, slug, write
from shortloop.report.provenance import provenance_rows
from shortloop.report.style import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Panel", "draw_panel", "panels", "write_page", "write_report"]

DRAWN: tuple[tuple[str, str, Callable[[KindResult], Figure]], ...] = (
    ("decoding_over_time", "Decoding over time", figures.decoding_over_time),
    ("generalization", "Temporal generalization", figures.generalization_map),
    ("participants", "Each participant", figures.participant_maps),
    ("null_distribution", "Null distributions", figures.null_distribution),
)


@dataclass(frozen=True)
class Panel:
    """One figure of a report.

    Parameters
    ----------
    name : str
        Its file name without ending.
    number : int
        Its number on the page.
    key, title : str
        Which kind of figure.
    result : KindResult
        What it shows.
    draw : callable
        Draws it.
    cost : float
        Rough time it takes, relative.
    """

    name: str
    number: int
    key: str
    title: str
    result: KindResult
    draw: Callable[[KindResult], Figure]
    cost: float


def panels(content: ReportContent) -> list[Panel]:
    """The figures of a report, in the order of the page; each can be drawn on its own.

    Parameters
    ----------
    content : ReportContent

    Returns
    -------
    list of Panel
    """
    found: list[Panel] = []
    for result in content.kinds:
        for key, title, draw in DRAWN:
            if key == "generalization" and result.generalization is None:
                continue
            cost = 2.0 + 0.1 * len(result.participants) if key == "participants" else 4.0
            name = f"{slug(result.kind)}_{key}"
            found.append(Panel(name, len(found) + 1, key, title, result, draw, cost))
    return found


def draw_panel(panel: Panel, folder: Path) -> list[Path]:
    """Draw one figure as PNG and PDF.

    Parameters
    ----------
    panel : Panel
    folder : Path
        Of the report; its folder ``figures`` is made if it does not exist.

    Returns
    -------
    list of Path
        The PNG and the PDF.
    """
    (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    return save(panel.draw(panel.result), folder / FIGURES, panel.name)


def write_page(content: ReportContent, folder: Path) -> Path:
    """Write the page, once all its figures are drawn.

    Parameters
    ----------
    content : ReportContent
    folder : Path
        Of the report.

    Returns
    -------
    Path
        ``report.html``. It needs none of the other files and no network.
    """
    drawn = panels(content)
    page = Page(
        kind="Decoding report",
        title=content.study,
        overview=overview(content),
        sections=tuple(
            _section(result, [each for each in drawn if each.result is result], content.settings)
            for result in content.kinds
        ),
        limits=tuple(limits(content)),
        settings=content.settings,
        versions=content.versions,
        thread_note=content.thread_note,
    )
    return write(page, folder)


def write_report(content: ReportContent, folder: Path) -> list[Path]:
    """Draw all figures and write the page.

    Parameters
    ----------
    content : ReportContent
    folder : Path
        Made if it does not exist.

    Returns
    -------
    list of Path
        ``report.html``, then ``figures/<kind>_<figure>.png`` and ``.pdf``. The same content gives the same
        bytes.
    """
    files = [path for panel in panels(content) for path in draw_panel(panel, folder)]
    return [write_page(content, folder), *files]


def _section(result: KindResult, drawn: list[Panel], settings: dict[str, Any]) -> PageSection:
    provenance = provenance_rows(result.sources)
    shown = [
        PageFigure(
            name=panel.name,
            number=panel.number,
            title=f"{panel.title}, {result.kind}",
            caption=caption(panel.key, result, settings),
            alt=_alt(panel.key, panel.title, result),
            provenance=provenance,
        )
        for panel in drawn
    ]
    return PageSection(
        id=f"kind-{slug(result.kind)}",
        title=result.kind.capitalize(),
        findings=tuple(finding_sentences(result)),
        figures=tuple(shown),
        tables=(_best_scores(result),),
    )


def _best_scores(result: KindResult) -> PageTable:
    scale = time_scale(result)
    scored = "AUC" if result.curve.score == "auc" else "%"
    heads = [f"Decoding in {result.train_phase} ({scored})", f"at ({scale.unit})"]
    if result.generalization is not None:
        heads += [
            f"Generalization to {result.test_phase} ({scored})",
            f"trained at ({scale.unit})",
            f"tested at ({scale.unit})",
        ]
    rows = [TableRow(row["participant"], _cells(row, scale, result)) for row in participant_table(result)]
    if result.curve.level == "group":
        found = group_findings(result)
        plane = found["generalization"] or {}
        mean = {
            "peak": found["curve"]["peak"],
            "peak_time": found["curve"]["peak_time"],
            "generalization_peak": plane.get("peak"),
            "generalization_train_time": plane.get("peak_train_time"),
            "generalization_test_time": plane.get("peak_test_time"),
        }
        rows.append(TableRow("Mean, smoothed", _cells(mean, scale, result), total=True))
    chance = chance_text(result.curve)
    return PageTable(
        title="Participants",
        caption=f"Best score of each participant, not smoothed, and when; chance is {chance}.",
        of="Participant",
        columns=tuple(heads),
        rows=tuple(rows),
    )


def _cells(row: dict[str, Any], scale: TimeScale, result: KindResult) -> tuple[str, ...]:
    def time(value: float | None) -> str:
        return "–" if value is None else scale.number(value)

    score = partial(score_text, result.curve.score, unit=False)
    cells = [score(row["peak"]), time(row["peak_time"])]
    if result.generalization is not None:
        cells.append(score(row["generalization_peak"]))
        cells += [time(row["generalization_train_time"]), time(row["generalization_test_time"])]
    return tuple(cells)


def _alt(key: str, title: str, result: KindResult) -> str:
    # What the figure says, for those who do not see it: for the first two, that is the finding.
    which = {"decoding_over_time": 0, "generalization": 1}.get(key)
    said = "" if which is None else f" {finding_sentences(result)[which]}"
    panels = f" {len(result.participants)} panels." if key == "participants" else ""
    return f"{title}, {result.kind}.{said}{panels}"
