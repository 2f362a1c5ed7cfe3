"""Sections of the report: every one there is keeps its word, and a new one is a line in the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from page_reader import Page
from report_synthetic import details, evoked, kind_result, report_content, write_report

from shortloop.eeg.report import page
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.page import SECTIONS, panels
from shortloop.eeg.report.sections import section
from shortloop.eeg.report.sections.section import Section
from shortloop.report.page import PageTable, TableRow

RESULTS = {
    "group": kind_result(),
    "one participant": kind_result(participants=1),
    "no generalization": kind_result(test_bins=None),
    "bins": kind_result(unit="bin"),
    "details": details(kind_result()),
    "details of one": details(kind_result(participants=1, test_bins=None), classes=2),
    "no channels": details(kind_result(unit="bin"), channels=()),
}


def test_every_module_of_a_section_is_in_the_table() -> None:
    files = Path(section.__file__).parent.glob("*.py")
    modules = {file.stem for file in files} - {"__init__", "section", "tables"}
    assert [each.name for each in SECTIONS if each.table] == ["effects", "best_scores"]
    assert sorted(each.name for each in SECTIONS if each.figure) == sorted(modules)


@pytest.mark.parametrize("result", RESULTS.values(), ids=list(RESULTS))
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_a_section_has_words_for_what_it_shows(section: Section, result: KindResult) -> None:
    if not section.applies(result):
        needs: dict[str, Any] = {
            "generalization": result.generalization,
            "confusion": result.confusions or None,
        }
        known = result.patterns
        needs |= {"selected_features": known, "patterns": None if known is None else known.patterns}
        assert needs[section.name] is None or needs[section.name].size == 0
        return
    assert section.title
    assert (section.figure is None) != (section.table is None)
    assert "  " not in section.finding(result)
    if section.figure is not None:
        assert section.figure.caption(result, {}).endswith(".")
        assert section.figure.cost(result) > 0
    if section.table is not None:
        table = section.table(result)
        assert all(len(row.cells) == len(table.columns) for row in table.rows)


def test_figures_are_numbered_as_they_are_shown() -> None:
    whole = details(kind_result())
    found = panels(report_content(whole, kind_result("power", test_bins=None), evoked=(evoked(),)))
    assert [each.number for each in found] == list(range(1, 12))
    assert [each.name for each in found] == [
        "evoked_study",
        "amplitude_decoding_over_time",
        "amplitude_generalization",
        "amplitude_participants",
        "amplitude_confusion",
        "amplitude_patterns",
        "amplitude_selected_features",
        "amplitude_null_distribution",
        "power_decoding_over_time",
        "power_participants",
        "power_null_distribution",
    ]


def test_a_new_section_needs_its_line_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def table(result: KindResult) -> PageTable:
        return PageTable("Ages", "How old.", "Participant", ("years",), (TableRow("s01", ("23",)),))

    (figure,) = (section.figure for section in SECTIONS if section.name == "decoding_over_time")
    assert figure is not None
    new = Section("ages", "Ages", finding=lambda result: "All are young.", table=table)
    drawn = Section("again", "Once more", figure=replace(figure, alt=lambda result: "A curve."))
    never = Section("never", "Never", applies=lambda result: False, figure=figure, table=table)
    monkeypatch.setattr(page, "SECTIONS", (new, drawn, never))
    written = write_report(report_content(kind_result()), tmp_path)
    assert [file.name for file in written[1:]] == [
        f"amplitude_again.{ending}" for ending in ("png", "pdf", "svg", "csv")
    ]
    read = Page(written[0].read_text(encoding="utf-8"))
    for said in ("All are young.", "How old.", "23", "Figure 1. Once more, amplitude."):
        assert said in read.text
    assert [image["alt"] for image in read.all("img")] == ["Once more, amplitude. A curve."]
    assert "Never" not in read.text
