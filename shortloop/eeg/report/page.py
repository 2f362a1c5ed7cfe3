"""The page of a decoding report: of each kind of features, the sections that apply to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from shortloop.base.text import listed
from shortloop.eeg.report.content import WORDS, Evoked, KindResult, ReportContent
from shortloop.eeg.report.methods.text import methods_file, methods_text
from shortloop.eeg.report.potentials import EVOKED
from shortloop.eeg.report.recordings import recordings_table
from shortloop.eeg.report.sections import (
    confusion,
    decoding_over_time,
    generalization,
    null_distribution,
    participants,
    patterns,
    selected_features,
    tables,
)
from shortloop.eeg.report.sections.section import Section, SectionFigure
from shortloop.eeg.report.sensors import responses
from shortloop.eeg.report.sentences import limits, overview
from shortloop.report.files import TABLES
from shortloop.report.page import Page, PageFigure, PageLink, PageSection, only, slug
from shortloop.report.provenance import provenance_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SECTIONS: tuple[Section, ...] = (
    decoding_over_time.SECTION,
    generalization.SECTION,
    participants.SECTION,
    confusion.SECTION,
    patterns.SECTION,
    selected_features.SECTION,
    null_distribution.SECTION,
    tables.EFFECTS,
    tables.BEST_SCORES,
)
APART = ("individual", "intervals", "patterns")
"""Stages whose results only some sections show."""


@dataclass(frozen=True)
class Panel:
    """One figure of a report."""

    name: str  # of its files, without ending
    number: int  # on the page
    title: str
    figure: SectionFigure[Any]
    result: KindResult | Evoked
    stages: tuple[str, ...] = ()  # of `APART` that it shows results of

    @property
    def cost(self) -> float:
        """Rough time of drawing, relative to the other figures."""
        return self.figure.cost(self.result)

    @property
    def draw(self) -> Callable[[Any], Figure]:
        """Function that draws `shown`."""
        return self.figure.draw

    @property
    def shown(self) -> SimpleNamespace:
        """All that the figure reads of the result."""
        return only(self.result, self.figure.reads)


def panels(content: ReportContent) -> list[Panel]:
    """List the figures of a report, in the order of the page; each can be drawn on its own."""
    found: list[Panel] = []
    for evoked in content.evoked:
        name = "_".join(filter(None, ["evoked", slug(evoked.phase), evoked.name]))
        what = responses(evoked.unit).capitalize()
        title = ", ".join(filter(None, [what, evoked.phase, evoked.sensors]))
        found.append(Panel(name, len(found) + 1, title, EVOKED, evoked))
    for result in content.kinds:
        for section in _sections(result):
            if section.figure is None:
                continue
            for end, of, shown in section.parts(result):
                name, title = f"{slug(result.kind)}_{section.name}{end}", f"{section.title}{of}"
                found.append(Panel(name, len(found) + 1, title, section.figure, shown, section.stages))
    return found


def findings(result: KindResult) -> list[str]:
    """List the findings of one kind of features, in sentences."""
    return [said for section in _sections(result) if (said := section.finding(result))]


def page_of(content: ReportContent) -> Page:
    """Compose the page."""
    sections, drawn, settings = [], panels(content), content.settings
    evoked = tuple(_figure(each, each.title, settings) for each in drawn if isinstance(each.result, Evoked))
    if evoked:
        title = listed(sorted({responses(each.unit) for each in content.evoked})).capitalize()
        sections.append(PageSection("evoked", title, (), evoked, ()))
    for result in content.kinds:
        figures = [
            _figure(each, f"{each.title}, {result.kind}", settings)
            for each in drawn
            if isinstance(each.result, KindResult) and each.result.kind == result.kind
        ]
        shown = [section.table(result) for section in _sections(result) if section.table is not None]
        id, title = f"kind-{slug(result.kind)}", result.kind.capitalize()
        sections.append(PageSection(id, title, tuple(findings(result)), tuple(figures), tuple(shown)))
    if content.recordings:  # below the results, as it is long for many participants
        sections.append(PageSection("recordings", "Recordings", (), (), (recordings_table(content),)))
    paragraphs, references = methods_text(content)
    if paragraphs:
        link = PageLink("methods.txt", "the same as text, to be pasted", methods_file(content))
        sections.append(PageSection("methods", "Methods", (), (), (), (link,), paragraphs, references))
    return Page(
        kind="Decoding report",
        title=content.study,
        overview=overview(content),
        sections=tuple(sections),
        limits=tuple(limits(content)),
        settings={name: each for name, each in settings.items() if name != WORDS},
        versions=content.versions,
        thread_note=content.thread_note,
    )


def _sections(result: KindResult) -> list[Section]:
    return [section for section in SECTIONS if section.applies(result)]


def _figure(panel: Panel, title: str, settings: dict[str, Any]) -> PageFigure:
    figure = panel.figure
    return PageFigure(
        name=panel.name,
        number=panel.number,
        title=title,
        caption=figure.caption(panel.result, settings),
        alt=f"{title}. {figure.alt(panel.result)}".rstrip(),
        provenance=provenance_rows(
            each for each in panel.result.sources if each.stage not in APART or each.stage in panel.stages
        ),
        file=f"{TABLES}/{panel.name}.csv" if figure.numbers else "",
        content=figure.numbers(panel.result) if figure.numbers else "",
    )
