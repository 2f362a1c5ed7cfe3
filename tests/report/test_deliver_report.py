"""What a run leaves: files of its report, a summary, and pages of a PDF that tell nothing else."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdf_reader import PdfFile
from toy_jobs import toy_project

from shortloop.base.text import one_line
from shortloop.plan.pipeline import Built
from shortloop.report.deliver import copy_report, print_place, results_folder, run_summary, write_summary
from shortloop.report.pdf import Canvas, Sheet, document, fitting, font, width_of


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the job of a report, in a project."""
    monkeypatch.chdir(toy_project(tmp_path))
    folder = tmp_path / "workdirs" / "main" / "main-9"
    (folder / "figures").mkdir(parents=True)
    for name in ("report.html", "figures/a.png", "figures/b.png"):
        (folder / name).write_text(name, encoding="utf-8")
    return folder


def delivered(report: Path, folder: Path) -> list[str]:
    names = copy_report(report, folder)
    write_summary(folder, {"files": [*names]})
    return names


def test_files_are_copied_once_and_old_ones_go(report: Path) -> None:
    folder = results_folder("toy")
    names = ["report.html", "figures/a.png", "figures/b.png"]
    assert delivered(report, folder) == names
    assert [(folder / name).read_text(encoding="utf-8") for name in names] == names
    before = {name: (folder / name).stat().st_ino for name in names}
    (report / "figures/a.png").write_text("another", encoding="utf-8")
    (report / "figures/b.png").unlink()
    (report / "tables").mkdir()
    (report / "tables/fits.csv").write_text("a,b\n", encoding="utf-8")
    assert delivered(report, folder) == [*names[:2], "tables/fits.csv"]
    assert (folder / "report.html").stat().st_ino == before["report.html"]
    assert (folder / "figures/a.png").read_text(encoding="utf-8") == "another"
    of_a_model = folder / "tables/model/fits.csv"  # which an analysis puts there on its own
    of_a_model.parent.mkdir()
    of_a_model.touch()
    (report / "tables/fits.csv").unlink()
    assert delivered(report, folder) == names[:2]
    left = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    assert left == ["figures/a.png", "report.html", "summary.json", "tables/model/fits.csv"]


def test_the_summary_says_what_was_built(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [Built("main-1", "fit", "A", fresh=True, seconds=1.23456), Built("main-2", "fit", "B")]
    jobs.append(Built("main-9", "report", None, report))
    folder = results_folder("toy")
    summary = run_summary(jobs, jobs[-1], 2.0, ["report.html"], partition="line")
    write_summary(folder, {"name": "toy", **summary})
    read = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert list(read) == ["name", "seconds", "built", "reused", "report", "files", "jobs"]
    assert (read["built"], read["reused"], read["report"]) == (1, 2, "main-9")
    assert read["jobs"][0] == {
        "job": "main-1", "stage": "fit", "line": "A", "built": True, "seconds": 1.2346
    }  # fmt: skip
    print_place(folder)
    assert capsys.readouterr().out == "report: results/toy/report.html\n"


def test_what_only_the_run_before_left_goes_what_others_put_there_stays(report: Path, tmp_path: Path) -> None:
    folder, other = results_folder("toy"), tmp_path / "other.txt"
    other.touch()
    (report / "methods.txt").write_text("Lines were fitted.", encoding="utf-8")
    ours = [*copy_report(report, folder), "tables/model/fits.csv"]
    assert "methods.txt" in ours
    for name in ("tables/model/fits.csv", "notes.txt", "figures/mine/a.png", "../elsewhere.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    write_summary(folder, {"files": [*ours, "figures/mine", "../elsewhere.txt", str(other)]})
    (report / "methods.txt").unlink()
    write_summary(folder, {"files": list(copy_report(report, folder))})
    left = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    assert left == ["figures/a.png", "figures/b.png", "figures/mine/a.png", "notes.txt", "report.html",
                    "summary.json"]  # fmt: skip
    assert not (folder / "tables").exists()
    assert (folder / "../elsewhere.txt").is_file()
    assert other.is_file()


def test_a_summary_of_somebody_else_names_no_files(report: Path) -> None:
    folder = results_folder("toy")
    names = copy_report(report, folder)
    for before in ("", "[]", "{", '{"files": 3}', '{"files": null}', '{"name": "toy"}'):
        (folder / "summary.json").write_text(before, encoding="utf-8")
        write_summary(folder, {"files": list(names)})
        assert all((folder / name).is_file() for name in names)
        assert json.loads((folder / "summary.json").read_text(encoding="utf-8")) == {"files": names}


def sheet(text: str = "one", title: str = "a page") -> Sheet:
    canvas = Canvas(200, 100)
    canvas.text(10, 20, text)
    return canvas.sheet(title)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_any_text_is_read_as_it_is_shown(texts: list[str]) -> None:
    """Also of pages that came back from bytes."""
    sheets = [sheet(text, f"{number} {text}") for number, text in enumerate(texts)]
    again = [Sheet.from_bytes(each.to_bytes()) for each in sheets]
    assert again == sheets
    data = document(again, texts[0])
    assert data == document(sheets, texts[0])
    file = PdfFile(data)
    for number, text in enumerate(texts):
        assert file.texts(number) == ["".join(c if ord(c) in font().cmap else "?" for c in one_line(text))]
    assert file.bookmarks == [(one_line(f"{number} {text}"), number) for number, text in enumerate(texts)]
    assert file.title == one_line(texts[0])


def test_the_font_has_what_is_written_and_little_else() -> None:
    from fontTools.ttLib import TTFont

    data = PdfFile(document([sheet("Łódź αβγ −5")], "x")).font_file()
    assert len(data) < 60_000
    outlines = TTFont(io.BytesIO(data))["glyf"]
    names = outlines.glyphOrder
    drawn = {number for number, name in enumerate(names) if outlines[name].numberOfContours != 0}
    assert {font().cmap[ord(each)][0] for each in "Łódźαβγ−5"} <= drawn
    assert len(drawn) < 20  # with the parts of letters that are put together, and the box


def test_texts_are_where_they_are_said_to_be() -> None:
    canvas = Canvas(200, 100)
    for align in ("left", "center", "right"):
        canvas.text(100, 50, "wide", 10, align=align)
    canvas.text(100, 50, "wide", 10, align="center", upward=True)
    drawn = PdfFile(document([canvas.sheet("x")], "x")).pages[0]
    width = width_of("wide", 10)
    assert width == pytest.approx(10 * (0.818 + 0.278 + 0.635 + 0.615), abs=0.02)  # of DejaVu Sans
    found = [(float(x), float(y)) for x, y in re.findall(r"(\S+) (\S+) Tm", drawn)]
    wanted = [(100, 50), (100 - width / 2, 50), (100 - width, 50), (100, 50 - width / 2)]
    np.testing.assert_allclose(found, wanted, atol=0.006)


def test_dots_and_lines_are_where_they_are_said_to_be() -> None:
    canvas = Canvas(200, 100)
    canvas.dots([1.26, 150], [2, 99.94], "#0072B2", 3.0)
    canvas.dots([], [], "#0072B2")
    canvas.lines(np.array([[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12.345]]]), "#FF0000", 2, (4, 3))
    canvas.lines(np.empty((0, 2, 2)), "#FF0000")
    drawn = PdfFile(document([canvas.sheet("x")], "x")).pages[0]
    assert "30 w 0.1 0 0 0.1 0 0 cm\n13 20 m 14 20 l S\n1500 999 m 1501 999 l S\nQ" in drawn
    assert "1 0 0 RG 2 w [4 3] 0 d\n1.00 2.00 m 3.00 4.00 l 5.00 6.00 l\n7.00 8.00 m" in drawn
    assert drawn.count("q ") == drawn.count("Q\n") == 2


@given(st.text(min_size=1, max_size=60), st.floats(20, 200))
@settings(deadline=None)
def test_a_text_is_cut_to_the_room_there_is(text: str, room: float) -> None:
    cut = fitting(text, 9, room)
    assert width_of(cut, 9) <= room
    assert cut == one_line(text) or cut.endswith("…")
