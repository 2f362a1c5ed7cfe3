"""The page of a decoding report: of each kind of features, the sections that apply to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from shortloop.eeg.report.content import WORDS, KindResult, ReportContent
from shortloop.eeg.report.details import Evoked
from shortloop.eeg.report.limits import limits
from shortloop.eeg.report.methods.text import methods_file, methods_text
from shortloop.eeg.report.overview import overview
from shortloop.eeg.report.potentials import EVOKED
from shortloop.eeg.report.recordings import recordings_table
from shortloop.eeg.report.sections.registry import SECTIONS
from shortloop.eeg.report.sections.section import Section, SectionFigure
from shortloop.eeg.report.sensors import responses
from shortloop.eeg.report.sentences import listed
from shortloop.report.drawing import only
from shortloop.report.files import TABLES
from shortloop.report.page import Page, PageFigure, PageLink, PageSection, slug
from shortloop.report.provenance import ProvenanceRow, Source, provenance_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Panel", "findings", "page_of", "panels"]


APART = ("individual", "intervals", "patterns")
"""Stages that only some figures show something of."""


@dataclass(frozen=True)
class Panel:
    """One figure of a report.

    name: its file name without ending.
    number: its number on the page.
    figure: how it is drawn, and what is said of it.
    result: what it shows.
    """

    name: str
    number: int
    title: str
    figure: SectionFigure[Any]
    result: KindResult | Evoked
    stages: tuple[str, ...] = ()

    @property
    def cost(self) -> float:
        """Rough time that drawing it takes, relative to the others."""
        return self.figure.cost(self.result)

    @property
    def draw(self) -> Callable[[Any], Figure]:
        """Draws what is `shown`."""
        return self.figure.draw

    @property
    def shown(self) -> SimpleNamespace:
        """All that the figure reads of the result."""
        return only(self.result, self.figure.reads)


def panels(content: ReportContent) -> list[Panel]:
    """The figures of a report, in the order of the page; each can be drawn on its own."""
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
    """What was found of one kind of features."""
    return [said for section in _sections(result) if (said := section.finding(result))]


def page_of(content: ReportContent) -> Page:
    """What is on the page."""
    drawn = panels(content)
    evoked = [each for each in drawn if isinstance(each.result, Evoked)]
    return Page(
        kind="Decoding report",
        title=content.study,
        overview=overview(content),
        sections=(
            *_evoked(content, evoked),
            *(
                _section(
                    result, [each for each in drawn if _is_of(each.result, result.kind)], content.settings
                )
                for result in content.kinds
            ),
            *_recordings(content),  # of many participants it is long
            *_methods(content),
        ),
        limits=tuple(limits(content)),
        settings={name: each for name, each in content.settings.items() if name != WORDS},
        versions=content.versions,
        thread_note=content.thread_note,
    )


def _recordings(content: ReportContent) -> tuple[PageSection, ...]:
    if not content.recordings:
        return ()
    return (PageSection("recordings", "Recordings", (), (), (recordings_table(content),)),)


def _evoked(content: ReportContent, drawn: list[Panel]) -> tuple[PageSection, ...]:
    if not drawn:
        return ()
    figures = tuple(_figure(panel, panel.title, content.settings) for panel in drawn)
    title = listed(sorted({responses(each.unit) for each in content.evoked})).capitalize()
    return (PageSection("evoked", title, (), figures, ()),)


def _is_of(shown: KindResult | Evoked, kind: str) -> bool:
    return isinstance(shown, KindResult) and shown.kind == kind


def _figure(panel: Panel, title: str, settings: dict[str, Any]) -> PageFigure:
    return PageFigure(
        name=panel.name,
        number=panel.number,
        title=title,
        caption=panel.figure.caption(panel.result, settings),
        alt=f"{title}. {panel.figure.alt(panel.result)}".rstrip(),
        provenance=_provenance(panel.result.sources, panel.stages),
        **_numbers(panel),
    )


def _numbers(panel: Panel) -> dict[str, str]:
    if panel.figure.numbers is None:
        return {}
    return {"file": f"{TABLES}/{panel.name}.csv", "content": panel.figure.numbers(panel.result)}


def _methods(content: ReportContent) -> tuple[PageSection, ...]:
    paragraphs, references = methods_text(content)
    if not paragraphs:
        return ()
    link = PageLink("methods.txt", "the same as text, to be pasted", methods_file(content))
    section = PageSection("methods", "Methods", (), (), (), (link,), paragraphs, references)
    return (section,)


def _sections(result: KindResult) -> list[Section]:
    return [section for section in SECTIONS if section.applies(result)]


def _provenance(sources: Sequence[Source], stages: tuple[str, ...]) -> tuple[ProvenanceRow, ...]:
    return provenance_rows(each for each in sources if each.stage not in APART or each.stage in stages)


def _section(result: KindResult, drawn: list[Panel], settings: dict[str, Any]) -> PageSection:
    figures = [_figure(panel, f"{panel.title}, {result.kind}", settings) for panel in drawn]
    tables = [section.table(result) for section in _sections(result) if section.table is not None]
    return PageSection(
        id=f"kind-{slug(result.kind)}",
        title=result.kind.capitalize(),
        findings=tuple(findings(result)),
        figures=tuple(figures),
        tables=tuple(tables),
    )
