"""The page: whole, self-contained, of sections that keep their word, the same bytes for the same content."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import first_cases
from matplotlib.text import Text
from no_warnings import no_warnings
from page_reader import Page, check_needs_nothing_else, places_linked
from report_synthetic import (
    details,
    evoked,
    html_of_report,
    kind_result,
    patterns_of,
    plane_of,
    report_content,
    write_report,
)
from source_tree import ROOT

from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.eeg_page import SECTIONS, page_of, panels
from shortloop.eeg.report.sections.section import Section
from shortloop.eeg.report.sections.tables import best_scores, effects
from shortloop.eeg.study.load import DEFAULT_STUDY
from shortloop.eeg.study.schema import Study
from shortloop.report.page import ADDRESS
from shortloop.report.style import encoded
from shortloop.stages.content import content_of


def test_the_page_needs_nothing_else_and_its_links_lead_somewhere(
    report_folder: Callable[[str], Path],
) -> None:
    folder = report_folder("eeg")
    html = (folder / "report.html").read_text(encoding="utf-8")
    check_needs_nothing_else(html)
    assert places_linked(html)
    links = [str(link["href"]) for link in Page(html).all("a")]
    beside = {link for link in links if not link.startswith(("#", ADDRESS))}
    assert {f"figures/power_participants.{ending}" for ending in ("png", "pdf", "svg")} <= beside
    assert {path for path in beside if not (folder / path).is_file()} == set()


def test_the_findings_are_told_in_words() -> None:
    content = report_content(kind_result(left_out=3), kind_result("power", test_bins=None))
    text = Page(html_of_report(content)).text.replace("\u00a0", " ")
    assert re.search(r"8 participants .* 3 classes \(face, landmark and object\); .* 33.3 %", text)
    assert re.search(r"within study: .* above chance from 100 to 400 ms \(p = 0.002\)", text)
    assert re.search(r"training from 100 to 400 ms and testing from 150 to 300 ms \(p = 0.002\)", text)
    for expected in ("3 of 960 folds", "not applied to test", "decoding.folds", "features.power", "0.1.0"):
        assert expected in text
    assert "Every process used 1 thread." in text


@first_cases(1, "participants", [3, 1])
def test_nothing_is_called_smoothed_that_is_not(participants: int) -> None:
    for smoothed in (True, False):
        result = details(replace(kind_result(participants=participants), smoothed=smoothed))
        figures = [panel.draw(result) for panel in panels(report_content(result))]
        drawn = " ".join(text.get_text() for figure in figures for text in figure.findobj(Text))
        text = Page(html_of_report(report_content(result))).text
        assert ("smoothed" in re.findall(r"not smoothed|smoothed", f"{drawn} {text}".lower())) == smoothed


ESCAPE = "\x1b[31m\x07\x9b\u202e\u2028\udcff<b>"
SHOWN = r"\x1b[31m\x07\x9b\u202e\u2028\udcff"
UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def test_names_of_others_are_shown_and_pass_nothing_on_to_a_reader(tmp_path: Path) -> None:
    """Names, classes, phases, notes and warnings, in figures, on the page and in the files beside it."""
    many = tuple(f"{ESCAPE} {number}" for number in range(7))
    classes, people = (f"{ESCAPE} a", f"{ESCAPE} b"), (f"{ESCAPE} 1", f"{ESCAPE} 2")
    shown = replace(evoked(2, many, 2), phase=f"phase {ESCAPE}", classes=classes, participants=people)
    phases: Any = {"train_phase": f"{ESCAPE} study", "test_phase": f"{ESCAPE} test"}
    result = details(kind_result(f"amp {ESCAPE}", people, note=f"Note: {ESCAPE}", **phases), 2, many)
    result = replace(result, classes=classes, patterns=replace(patterns_of(result), shown=classes[1:]))
    dropped = [{"class": ESCAPE, "reason": ESCAPE, "trials": 2}]
    account = {"rate": 100.0, "highpass": 0.0, "lowpass": 50.0, "bads": [ESCAPE], "dropped": dropped}
    account["trials"] = 5
    known: dict[str, Any] = {"participant": ESCAPE, "phase": ESCAPE, "kind": "epochs", "file": ESCAPE}
    known |= {"trials": {ESCAPE: 3}, "channels": [ESCAPE], "sfreq": 100.0, "tmin": -0.1, "samples": 50}
    known |= {"bins": 0, "features": 0, "accounts": [account], "warnings": [ESCAPE]}
    study = Study.model_validate(tomllib.loads(DEFAULT_STUDY.read_text(encoding="utf-8")))
    settings = {**study.model_dump(mode="json"), "classes": list(classes), ESCAPE: ESCAPE}
    texts_of: Any = {"study": ESCAPE, "versions": {ESCAPE: ESCAPE}, "thread_note": ESCAPE, "notes": (ESCAPE,)}
    made = report_content(result, evoked=(shown,), recordings=(known,), settings=settings, **texts_of)
    with no_warnings():  # of letters that a font does not have
        written = write_report(made, tmp_path)
    texts = [file for file in written if file.suffix in (".html", ".csv", ".txt")]
    assert {file.name for file in texts} >= {"report.html", "methods.txt", "recordings.csv"}
    for file in texts:
        text = file.read_bytes().decode().replace("\r\n", "\n")
        assert not UNFIT.search(text), file
        assert SHOWN in text or re.search(
            r"(effects|over_time|generalization|null_distribution)\.csv", file.name
        )
    html = written[0].read_text(encoding="utf-8")
    assert "<b>" not in html
    for place in (f"<title>{SHOWN}", f"<h1>{SHOWN}", f"{SHOWN}&lt;b&gt; 2</th>", f"<code>{SHOWN}"):
        assert place in html


RESULTS = {
    "group": kind_result(),
    "one participant": kind_result(participants=1),
    "no generalization": kind_result(test_bins=None),
    "bins": kind_result(unit="bin"),
    "details": details(kind_result()),
    "details of one": details(kind_result(participants=1, test_bins=None), classes=2),
    "no channels": details(kind_result(unit="bin"), channels=()),
}


@pytest.mark.parametrize("result", RESULTS.values(), ids=list(RESULTS))
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_a_section_has_words_for_what_it_shows(section: Section[KindResult], result: KindResult) -> None:
    if not section.applies(result):
        known, confusions = result.patterns, result.confusions or None
        needs: dict[str, Any] = {"generalization": result.generalization, "confusion": confusions}
        needs |= {"selected_features": known, "patterns": None if known is None else known.patterns}
        assert needs[section.name] is None or needs[section.name].size == 0
        return
    assert section.title
    assert "  " not in section.finding(result)
    assert section.caption(result, {}).endswith(".")
    assert section.cost(result) > 0


@pytest.mark.parametrize("result", RESULTS.values(), ids=list(RESULTS))
def test_rows_of_a_table_have_a_cell_for_each_column(result: KindResult) -> None:
    for table in (effects(result), best_scores(result)):
        assert all(len(row.cells) == len(table.columns) for row in table.rows)


def test_figures_are_numbered_as_they_are_shown() -> None:
    content = report_content(details(kind_result()), kind_result("power", test_bins=None), evoked=(evoked(),))
    figures = [each for section in page_of(content).sections for each in section.figures]
    assert [each.number for each in figures] == list(range(1, 12))
    assert [each.name for each in figures] == [each.name for each in panels(content)]
    of_both = ["decoding_over_time", "participants", "null_distribution"]
    all_ = [each.name for each in SECTIONS]
    shown = {"evoked": ["study"], "amplitude": all_, "power": [each for each in all_ if each in of_both]}
    assert [one.name for one in figures] == [f"{of}_{one}" for of, every in shown.items() for one in every]


DRAWN = [
    details(kind_result()),
    kind_result(participants=1, test_bins=None, unit="bin"),
    details(kind_result(test_bins=None)),
    details(kind_result(participants=1)),
    details(kind_result("power", bins=1)),
]


def redrawn(result: KindResult, other: KindResult) -> set[str]:
    """Figures whose keys differ."""
    contents = [report_content(each, evoked=(evoked(3),)) for each in (result, other)]
    before, after = ({each.name: content_of([each.shown]) for each in panels(known)} for known in contents)
    return {name for name in before if before[name] != after[name]}


@first_cases(2, "result", DRAWN)
def test_figures_are_drawn_from_what_they_read_alone(result: KindResult) -> None:
    """A field that a figure does not declare is not there when it is drawn."""
    for each in panels(report_content(result, evoked=(evoked(3),))):
        whole = encoded(each.draw(each.result), ["png"])
        assert encoded(each.draw(each.shown), ["png"]) == whole, each.name


def test_only_figures_that_show_a_change_are_redrawn() -> None:
    result = details(kind_result())
    sources = tuple(replace(each, job="main-1") for each in result.sources)
    assert redrawn(result, replace(result, sources=sources)) == set()
    stats, plane = result.curve, plane_of(result)
    smoothed = replace(stats, mean=stats.mean * 0.99 + 0.3, t=stats.t * 0.9, null_max=stats.null_max * 0.8)
    statistics = {"amplitude_decoding_over_time", "amplitude_null_distribution"}
    assert redrawn(result, replace(result, curve=smoothed)) == statistics
    scores = plane.scores.copy()
    scores[0, 0, 0] = np.nextafter(scores[0, 0, 0], 100)
    found = redrawn(result, replace(result, generalization=replace(plane, scores=scores)))
    assert found == {"amplitude_participants", "amplitude_null_distribution"}


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from report_synthetic import kind_result, report_content, write_report
write_report(report_content(kind_result(participants=2)), Path(sys.argv[2]))
"""


@pytest.mark.slow
def test_other_processes_write_the_same_bytes(tmp_path: Path) -> None:
    digests = []
    for seed, epoch in (("1", "0"), ("2", "1500000000")):
        out = tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": epoch}
        command = [sys.executable, "-c", SCRIPT, str(ROOT / "tests/helpers"), str(out)]
        subprocess.run(command, check=True, env=environment, cwd=ROOT)
        files = sorted(path for path in out.rglob("*") if path.is_file())
        digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files})
    assert digests[0] == digests[1]
    assert len(digests[0]) == 1 + 3 * 4
