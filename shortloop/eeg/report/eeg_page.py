"""The page of a decoding report: of each kind of features, the sections that apply to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from shortloop.base.text import listed
from shortloop.eeg.report.content import WORDS, Evoked, KindResult, ReportContent
from shortloop.eeg.report.labels import chance_text
from shortloop.eeg.report.methods import folds_without, methods_file, methods_text
from shortloop.eeg.report.potentials import EVOKED
from shortloop.eeg.report.recordings import recordings_table
from shortloop.eeg.report.sections import decoding, null_distribution, participants, patterns, tables
from shortloop.eeg.report.sections.section import Section
from shortloop.eeg.report.sensors import measures, responses
from shortloop.report.page import Drawing, Page, PageFigure, PageLink, PageSection, provenance_rows, slug

SECTIONS: tuple[Section[KindResult], ...] = (
    decoding.OVER_TIME,
    decoding.GENERALIZATION,
    participants.SECTION,
    decoding.CONFUSIONS,
    patterns.ACTIVATION,
    patterns.SELECTED,
    null_distribution.SECTION,
)
OPTIONAL_STAGES = ("individual", "intervals", "patterns")  # stages whose results only some sections show
SCORES = {
    "balanced-accuracy": "balanced accuracy, the mean over classes of recall, in percent",
    "accuracy": "accuracy, the share of trials that are called what they are, in percent",
    "auc": "the area under the ROC curve (AUC), of more than two classes the mean of each against the rest, "
    "averaged over folds",
}


def panels(content: ReportContent) -> list[Drawing[Any]]:
    """List the figures of a report, in the order of the page; each can be drawn on its own."""
    return [drawing for drawing, _ in _panels(content)]


def _panels(content: ReportContent) -> Iterator[tuple[Drawing[Any], Section[Any]]]:
    for evoked in content.evoked:
        name = "_".join(filter(None, ["evoked", slug(evoked.phase), evoked.name]))
        title = ", ".join(filter(None, [responses(evoked.unit).capitalize(), evoked.phase, evoked.sensors]))
        yield EVOKED.drawing(name, title, evoked), EVOKED
    for result in content.kinds:
        for section in _sections(result):
            for end, of, shown in section.parts(result):
                name, title = f"{section.name}{end}", f"{section.title}{of}, {result.kind}"
                yield section.drawing(f"{slug(result.kind)}_{name}", title, shown), section


def _figure(
    number: int, drawing: Drawing[Any], section: Section[Any], settings: dict[str, Any]
) -> PageFigure:
    result = drawing.result
    caption, alt = section.caption(result, settings), f"{drawing.title}. {section.alt(result)}".rstrip()
    others = {*OPTIONAL_STAGES}.difference(section.stages)
    sources = (job for job in result.sources if job.stage not in others)
    return replace(drawing, caption=caption, alt=alt).figure(number, provenance_rows(sources))


def findings(result: KindResult) -> list[str]:
    return [said for section in _sections(result) if (said := section.finding(result))]


def page_of(content: ReportContent) -> Page:
    sections, settings = [], content.settings
    drawn = [
        (drawing.result, _figure(number, drawing, section, settings))
        for number, (drawing, section) in enumerate(_panels(content), 1)
    ]
    if evoked := [figure for result, figure in drawn if isinstance(result, Evoked)]:
        title = listed(sorted({responses(each.unit) for each in content.evoked})).capitalize()
        sections.append(PageSection("evoked", title, figures=tuple(evoked)))
    for result in content.kinds:
        figures = [figure for of, figure in drawn if isinstance(of, KindResult) and of.kind == result.kind]
        shown = tables.effects(result), tables.best_scores(result)
        id, title = f"kind-{slug(result.kind)}", result.kind.capitalize()
        sections.append(PageSection(id, title, tuple(findings(result)), tuple(figures), shown))
    if content.recordings:  # below the results, as it is long for many participants
        sections.append(PageSection("recordings", "Recordings", tables=(recordings_table(content),)))
    paragraphs, references = methods_text(content)
    if paragraphs:
        link = PageLink("methods.txt", "the same as text, to be pasted", methods_file(content))
        more: dict[str, Any] = {"paragraphs": paragraphs, "references": references, "links": (link,)}
        sections.append(PageSection("methods", "Methods", **more))
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


def _sections(result: KindResult) -> list[Section[KindResult]]:
    return [section for section in SECTIONS if section.applies(result)]


def overview(content: ReportContent) -> str:
    names = sorted({name for kind in content.kinds for name in kind.participants})
    whose = f"participant {names[0]}" if len(names) == 1 else f"{len(names)} participants"
    classes = [str(name) for name in content.settings.get("classes", ())]
    what = f" into {len(classes)} classes ({listed(classes)})" if classes else ""
    chances = sorted({chance_text(kind.curve) for kind in content.kinds})
    chance = f"; chance is {listed(chances)}" if chances else ""
    scores = listed([SCORES[score] for score in sorted({kind.curve.score for kind in content.kinds})])
    recorded = measures(content.recordings)
    of = f"{listed(recorded) or 'Ready-made features'} of {whose} {'was' if len(recorded) == 1 else 'were'}"
    timed = any(kind.time_unit != "bin" for kind in content.kinds)
    times = "; times are centres of time bins" if timed else ""
    return f"{of} decoded{what}{chance}. Scores are {scores}{times}."


def limits(content: ReportContent) -> list[str]:
    parts = [stats for kind in content.kinds for stats in kind.maps]
    notes = [*dict.fromkeys(stats.note for stats in parts if stats.note)]
    notes += dict.fromkeys(stats.error_rate for stats in parts if stats.error_rate)
    if any(stats.significant.any() for stats in parts):
        notes.append(
            "A significant cluster says that there is an effect somewhere in it. Its edges are no estimate "
            "of when the effect begins or ends (Sassenhagen & Draschkow, 2019, Psychophysiology 56:e13335)."
        )
    if any(stats.level == "group" for stats in parts):
        notes.append(
            "A true score cannot lie below chance, so a mean above chance says that some participants carry "
            "the information, not that a typical one does (Allefeld, Görgen & Haynes, 2016, NeuroImage "
            "141:378-392)."
        )
    if any(stats.expected is not None for stats in parts):
        notes.append(
            "Classes differ in size, so that naming the largest one raises accuracy without any information. "
            "Chance is therefore what each participant's own scores are under shuffled labels, in each cell "
            "(Combrisson & Jerbi, 2015, J. Neurosci. Methods 250:126-136); balanced accuracy and AUC need no "
            "such care."
        )
    notes.append(
        "Peak scores are the largest of many, so they lie above chance even where there is no information; "
        "judge significance by the corrected p values only."
    )
    for kind in content.kinds:
        if kind.left_out:
            notes.append(
                f"{kind.kind.capitalize()}: {folds_without([kind], content.settings)} kept no feature and "
                f"gave no model; {'its' if kind.left_out == 1 else 'their'} held-out trials count as guessed."
            )
        one_phase = kind.test_phase == kind.train_phase
        if kind.generalization is None and not (one_phase and len(kind.train_times) == 1):
            where = "other times" if one_phase else kind.test_phase
            notes.append(
                f"{kind.kind.capitalize()}: the classifiers were not applied to {where}, so nothing is said "
                "about generalization."
            )
    return [*notes, *content.notes]
