"""The page: whole, valid, self-contained, and with the provenance of each figure."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.text import Text
from page_reader import Page, check_needs_nothing_else, places_linked
from report_synthetic import details, html_of_report, kind_result, report_content, write_report

from shortloop.eeg.report.page import panels
from shortloop.report.provenance import ADDRESS, Source


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report")
    write_report(report_content(kind_result(left_out=3), kind_result("power", test_bins=None)), path)
    return path


@pytest.fixture(scope="module")
def html(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_all_files_are_written_and_listed(tmp_path: Path) -> None:
    written = write_report(report_content(kind_result(test_bins=None, participants=1)), tmp_path / "new")
    assert written[0] == tmp_path / "new" / "report.html"
    assert sorted(written) == sorted(path for path in (tmp_path / "new").rglob("*") if path.is_file())
    assert {path.suffix for path in written} == {".html", ".png", ".pdf", ".svg", ".csv"}


def test_the_page_needs_nothing_else(html: str) -> None:
    check_needs_nothing_else(html)


def test_links_lead_somewhere_and_ids_are_unique(html: str) -> None:
    assert places_linked(html)


def test_files_beside_the_page_are_there(html: str, folder: Path) -> None:
    links = [str(link["href"]) for link in Page(html).all("a")]
    beside = {link for link in links if not link.startswith(("#", ADDRESS))}
    assert {f"figures/power_participants.{ending}" for ending in ("png", "pdf", "svg")} <= beside
    assert {path for path in beside if not (folder / path).is_file()} == set()


def test_every_figure_has_words_and_provenance(html: str) -> None:
    figures = re.findall(r'<div class="shown".*?</details>\n</div>', html, re.DOTALL)
    assert len(figures) == 4 + 3
    for figure in figures:
        page = Page(figure)
        (image,) = page.all("img")
        assert len(image["alt"] or "") > 20
        assert "Where this comes from" in page.text
        assert "main-99" in page.text
        assert "C = 0.001, 0.01" in page.text
        assert "numpy 2.0.0" in page.text
    assert [int(number) for number in re.findall(r"Figure (\d+)\.", html)] == [1, 2, 3, 4, 5, 6, 7]


def test_the_findings_are_told_in_words(html: str) -> None:
    text = Page(html).text.replace("\u00a0", " ")
    assert "8 participants was decoded into 3 classes (face, landmark and object); chance is 33.3 %" in text
    assert "within study: decoding was significantly above chance from 100 to 400 ms (p = 0.002)" in text
    assert "above chance for training from 100 to 400 ms and testing from 150 to 300 ms (p = 0.002)" in text
    assert "3 of 960 folds kept no feature" in text
    assert "Power: the classifiers were not applied to test" in text


def test_settings_versions_and_participants_are_there(html: str) -> None:
    text = Page(html).text
    for expected in ("decoding.folds", "features.power", "0.1.0", "Every process used 1 thread.", "s08"):
        assert expected in text


def test_names_cannot_become_markup() -> None:
    evil = '<script>alert("x")</script>&'
    versions = {evil: evil}
    result = replace(
        kind_result(participants=(evil, "b"), test_bins=None),
        sources=(Source(evil, evil, evil, evil, {evil: evil + "2"}, versions),),
        train_phase=evil,
    )
    content = report_content(
        result, study=evil, settings={evil: evil, "classes": [evil, "b"]}, versions=versions, thread_note=evil
    )
    page = Page(html_of_report(content))
    assert page.all("script") == [{}]
    assert page.text.count(evil) > 10


def test_one_participant_is_no_group() -> None:
    content = report_content(kind_result(participants=("P7",), note="One is not many."))
    text = Page(html_of_report(content)).text
    assert "EEG of participant P7 was decoded" in text
    assert "One is not many." in text
    assert "Mean, smoothed" not in text
    assert "mean over participants" not in text


@pytest.mark.parametrize("participants", [1, 3])
def test_nothing_is_called_smoothed_that_is_not(participants: int) -> None:
    for smoothed in (True, False):
        result = details(replace(kind_result(participants=participants), smoothed=smoothed))
        figures = [panel.figure.draw(result) for panel in panels(report_content(result))]
        drawn = " ".join(text.get_text() for figure in figures for text in figure.findobj(Text))
        text = Page(html_of_report(report_content(result))).text
        said = re.findall(r"not smoothed|smoothed", f"{drawn} {text}".lower())
        assert ("smoothed" in said) == smoothed


def test_nothing_significant_and_sign_flips() -> None:
    content = report_content(kind_result(bins=2, test_bins=2), settings={"group": {"null": "sign-flips"}})
    text = Page(html_of_report(content)).text.replace("\u00a0", " ")
    assert text.count("did not differ significantly from chance anywhere (smallest corrected p = 1.000") == 2
    assert "499 sign flips" in text
    assert "Its edges" not in text
