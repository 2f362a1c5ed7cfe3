"""The page that a researcher opens: one file, with every figure in it and where each comes from."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.eeg.report import figures
from shortloop.eeg.report.captions import caption, finding_sentences, limits, overview
from shortloop.eeg.report.content import KindResult, ReportContent
from shortloop.eeg.report.labels import chance_text, score_text
from shortloop.eeg.report.provenance import flat, provenance_rows
from shortloop.eeg.report.summary import group_findings, participant_table
from shortloop.eeg.report.template import PAGE
from shortloop.eeg.report.times import TimeScale, time_scale
from shortloop.report.style import DPI, save
from shortloop.text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Panel", "draw_panel", "panels", "write_page", "write_report"]

FIGURES: tuple[tuple[str, str, Callable[[KindResult], Figure]], ...] = (
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
        for key, title, draw in FIGURES:
            if key == "generalization" and result.generalization is None:
                continue
            cost = 2.0 + 0.1 * len(result.participants) if key == "participants" else 4.0
            name = f"{_slug(result.kind)}_{key}"
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
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    return save(panel.draw(panel.result), folder / "figures", panel.name)


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
    from jinja2 import Environment, StrictUndefined

    drawn = panels(content)
    kinds = [
        _kind(
            result,
            [_figure(each, content.settings, folder) for each in drawn if each.result is result],
        )
        for result in content.kinds
    ]
    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_visible)
    page = environment.from_string(PAGE)
    html = page.render(
        study=content.study,
        overview=overview(content),
        kinds=kinds,
        limits=limits(content),
        settings=flat(content.settings),
        versions=sorted(content.versions.items()),
        thread_note=content.thread_note,
    )
    path = folder / "report.html"
    path.write_bytes(html.encode())
    return path


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


def _figure(panel: Panel, settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    image = (folder / "figures" / f"{panel.name}.png").read_bytes()
    # The first block of a PNG file: width and height in pixels.
    width, height = struct.unpack(">II", image[16:24])
    return {
        "name": panel.name,
        "number": panel.number,
        "title": f"{panel.title}, {panel.result.kind}",
        "caption": _unbroken(caption(panel.key, panel.result, settings)),
        "alt": _alt(panel.key, panel.title, panel.result),
        "image": base64.b64encode(image).decode(),
        "width": round(width * 118 / DPI),  # a figure of 180 mm fills the column
        "height": round(height * 118 / DPI),
    }


def _kind(result: KindResult, drawn: list[dict[str, Any]]) -> dict[str, Any]:
    heads, rows = _participants(result)
    return {
        "id": f"kind-{_slug(result.kind)}",
        "name": result.kind.capitalize(),
        "findings": [_unbroken(sentence) for sentence in finding_sentences(result)],
        "figures": drawn,
        "provenance": provenance_rows(result.sources),
        "chance": chance_text(result.curve),
        "heads": heads,
        "rows": rows,
    }


def _participants(result: KindResult) -> tuple[list[str], list[dict[str, Any]]]:
    scale = time_scale(result)
    unit = "bin" if scale.unit == "bin" else scale.unit
    scored = "AUC" if result.curve.score == "auc" else "%"
    heads = [f"Decoding in {result.train_phase} ({scored})", f"at ({unit})"]
    if result.generalization is not None:
        heads += [
            f"Generalization to {result.test_phase} ({scored})",
            f"trained at ({unit})",
            f"tested at ({unit})",
        ]
    rows = [
        {"name": row["participant"], "total": False, "cells": _cells(row, scale, result)}
        for row in participant_table(result)
    ]
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
        rows.append({"name": "Mean, smoothed", "total": True, "cells": _cells(mean, scale, result)})
    return heads, rows


def _cells(row: dict[str, Any], scale: TimeScale, result: KindResult) -> list[str]:
    def time(value: float | None) -> str:
        return "–" if value is None else scale.number(value)

    score = partial(score_text, result.curve.score, unit=False)
    cells = [score(row["peak"]), time(row["peak_time"])]
    if result.generalization is not None:
        cells.append(score(row["generalization_peak"]))
        cells += [time(row["generalization_train_time"]), time(row["generalization_test_time"])]
    return cells


def _alt(key: str, title: str, result: KindResult) -> str:
    # What the figure says, for those who do not see it: for the first two, that is the finding.
    which = {"decoding_over_time": 0, "generalization": 1}.get(key)
    said = "" if which is None else f" {finding_sentences(result)[which]}"
    panels = f" {len(result.participants)} panels." if key == "participants" else ""
    return f"{title}, {result.kind}.{said}{panels}"


def _visible(value: object) -> object:
    return printable(value) if isinstance(value, str) else value


def _unbroken(text: str) -> str:
    # No line may end between a number and its unit, or within "p = 0.01".
    return re.sub(r"(?<=\d) (?=ms\b|s\b|%)|(?<=\b[pα]) (?=[=<≤])|(?<=[=<≤]) (?=\d)", "\u00a0", text)


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "kind"
