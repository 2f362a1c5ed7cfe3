"""The page of any report: whole, valid, self-contained, and with the provenance of each figure."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from page_reader import Page as Reader
from page_reader import check_needs_nothing_else, places_linked
from toy_jobs import ToyJobs, toy_project

from shortloop.base.plain import Plain
from shortloop.report.files import FIGURES
from shortloop.report.page import (
    ADDRESS,
    Page,
    PageFigure,
    PageSection,
    PageTable,
    ProvenanceRow,
    Source,
    TableRow,
    csv_text,
    flat,
    html_of,
    last_job,
    provenance_rows,
    shown,
    slug,
    source_of,
    thread_note,
)
from shortloop.report.style import new_figure, save, styled
from shortloop.stages.results import upstream
from shortloop.store.loaded import load

ROW = ProvenanceRow("fit", [("a", "main-1"), ("b", "main-2")], [("C", "0.1, 1")], [("numpy", "2.0")])


def section(name: str, *numbers: int) -> PageSection:
    figures = tuple(
        PageFigure(
            f"{name}_{each}", each, f"Line {each}", "Drawn 5 % up, p = 0.01.", f"A line, {each}", (ROW,)
        )
        for each in numbers
    )
    table = PageTable(
        "Fits", "Best of each.", "Fit", ("score (%)",),
        (TableRow("a", ("1.5",)), TableRow("mean", ("1.6",), total=True)),
    )  # fmt: skip
    return PageSection(slug(name), name, (f"{name} lasted 5 ms.",), figures, (table,) if numbers else ())


PAGE = Page(
    kind="Toy report",
    title="lines",
    overview="Two lines.",
    sections=(section("first", 1, 2), section("second")),
    limits=("Lines have no width.",),
    settings={"line": {"slope": 2.0}},
    versions={"scipy": "1.13", "numpy": "2.0"},
    thread_note="One thread.",
)


def written(page: Page, folder: Path) -> str:
    (folder / FIGURES).mkdir()
    files: list[Path] = []
    for each in (figure for part in page.sections for figure in part.figures):
        with styled():
            figure = new_figure(2.0)
            figure.subplots().plot([0, each.number])
        files += save(figure, folder / FIGURES, each.name)
    return html_of(page, {f"{FIGURES}/{file.name}": file.read_bytes() for file in files}).decode()


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(PAGE, tmp_path_factory.mktemp("page"))


def test_the_page_needs_nothing_else_and_links_lead_somewhere(html: str) -> None:
    check_needs_nothing_else(html)
    assert places_linked(html) == {"first", "second", "limits", "settings", "versions"}


def test_files_beside_the_page_are_linked_and_there(tmp_path: Path) -> None:
    part = section("first", 1)
    table = replace(part.tables[0], file="tables/fits.csv", words=True)
    figures = (replace(part.figures[0], provenance=()),)
    part = replace(part, figures=figures, tables=(table, *part.tables), paragraphs=("It took 5 ms.", "<b>"))
    html = written(replace(PAGE, sections=(part,)), tmp_path)
    page = Reader(html)
    beside = {str(link["href"]) for link in page.all("a") if not str(link["href"]).startswith(("#", ADDRESS))}
    assert {path for path in beside if not (tmp_path / path).is_file()} == {"tables/fits.csv"}
    assert "tables/fits.csv" in beside
    assert html.count('<td class="number">') == 2  # of the table of numbers alone
    assert "<p>It took 5\u00a0ms.</p>" in html
    assert "<p>&lt;b&gt;</p>" in html
    assert "No jobs were recorded." in html


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("d > 100 or d < −100", "d\u00a0&gt;\u00a0100 or d\u00a0&lt;\u00a0−100"),
        ("p = (1 + b) / (1 + m)", "p\u00a0=\u00a0(1\u00a0+\u00a0b) / (1\u00a0+\u00a0m)"),
        ("`run <x>` took 5 ms & more", "<code>run &lt;x&gt;</code> took 5\u00a0ms &amp; more"),
        ("a`b, <b>", "a`b, &lt;b&gt;"),
        ("`a` or `\x1b`", "<code>a</code> or <code>\\x1b</code>"),
    ],
)
def test_backticks_are_code_and_formulas_stay_on_one_line(said: str, shown: str, tmp_path: Path) -> None:
    part = replace(section("first"), findings=(said,))
    assert written(replace(PAGE, sections=(part,), limits=(said,)), tmp_path).count(f"<li>{shown}</li>") == 2


def test_a_figure_has_words_files_and_provenance(html: str) -> None:
    figures = re.findall(r'<div class="shown".*?</details>\n</div>', html, re.DOTALL)
    assert len(figures) == 2
    # A caption is the last part of its figure, as HTML has it; links and jobs are beside it.
    assert all(re.search(r"</figcaption>\s*</figure>", each) for each in figures)
    page = Reader(figures[1])
    (image,) = page.all("img")
    assert image["alt"] == "A line, 2"
    assert int(str(image["width"])) == 838  # 180 mm
    for said in ("Figure 2. Line 2.", "a: main-1", "C = 0.1, 1", "numpy 2.0"):
        assert said in page.text
    assert re.search(r"b:\s+main-2, and the jobs that it was made from", page.text)
    assert [(link["href"], link.get("aria-label")) for link in page.all("a")] == [
        *((f"figures/first_2.{end}", f"Figure 2 as {end.upper()}") for end in ("png", "pdf", "svg")),
        (f"{ADDRESS}/job/main-2", None),
    ]


def test_findings_tables_settings_and_versions_are_there(html: str) -> None:
    page = Reader(html)
    for said in ("Toy report", "Best of each.", "1.6", "Lines have no width.", "line.slope", "One thread."):
        assert said in page.text
    assert page.text.index("numpy") < page.text.rindex("scipy")
    assert "<title>lines: toy report</title>" in html
    assert html.count('<tr class="total">') == 1
    assert "Drawn 5\u00a0% up, p\u00a0=\u00a00.01." in html
    assert "first lasted 5\u00a0ms." in html


def test_names_cannot_become_markup_or_reach_a_terminal(tmp_path: Path) -> None:
    evil = '<script>alert("x")</script>&'
    table = PageTable(evil, evil, evil, (evil,), (TableRow(evil, (evil,)),))
    part = PageSection("one", evil, (evil,), (), (table,))
    page = replace(PAGE, kind=evil, title=f"\x1b{evil}", overview=evil, sections=(part,), limits=(evil,))
    html = written(replace(page, settings={evil: evil}, versions={evil: evil}, thread_note=evil), tmp_path)
    assert Reader(html).all("script") == [{}]
    assert Reader(html).text.count(evil) > 10
    assert "\x1b" not in html


def test_cells_are_read_back() -> None:
    rows = [("a,b", 0.1 + 0.2, 3, None), ('say "x"', math.nan, True, "1\n2")]
    head, *found = csv.reader(io.StringIO(csv_text(["name", "value (V)", "n", "note"], rows)))
    assert head == ["name", "value (V)", "n", "note"]
    assert found == [["a,b", "0.30000000000000004", "3", ""], ['say "x"', "", "yes", r"1\n2"]]
    with pytest.raises(ValueError, match="1 cells in a table of 2 columns"):
        csv_text(["a", "b"], [(1,)])
    assert [slug("a b/c"), slug("shape"), slug("…")] == ["a-b-c", "shape", "part"]


@pytest.mark.parametrize("analysis", ["eeg", "panel"])
def test_figures_of_an_analysis_are_on_its_page(report_folder: Callable[[str], Path], analysis: str) -> None:
    folder = report_folder(analysis)
    drawn = {f"figures/{file.name}" for file in (folder / "figures").glob("*.png")}
    page = Reader((folder / "report.html").read_text(encoding="utf-8"))
    assert drawn
    assert {link["href"] for link in page.all("a")} >= drawn
    assert len(page.all("img")) == len(drawn)


BASE = Source("main-1", "fit", "a", "left", {"partition": "a", "folds": 10}, {"numpy": "2.0"})


def test_partitions_of_one_stage_share_a_row() -> None:
    """If they have the same options and versions. The last row is that for all of the data."""
    sources = [
        replace(BASE, job=f"main-{10 * step + index}", stage=stage, partition=name, options={"folds": 10})
        for step, stage in enumerate(("make", "fit"))
        for index, name in enumerate(("a", "b"))
    ]
    rows = provenance_rows([*sources, replace(BASE, job="main-99", stage="left")])
    assert [row.stage for row in rows] == ["make, left", "fit, left", "left"]
    assert rows[0].jobs == [("a", "main-0"), ("b", "main-1")]
    assert rows[0].options == [("folds", "10")]
    others = [
        replace(BASE, job="main-2", partition="b", options={"partition": "b", "folds": 10}),
        replace(BASE, job="main-3", partition="c", options={"partition": "c", "folds": 5}),
        replace(BASE, job="main-4", partition="d", versions={"numpy": "2.1"}, options={"folds": 10}),
    ]
    both, five, *more = provenance_rows([BASE, *others])
    assert [[job for _, job in row.jobs] for row in (both, five, *more)] == [
        ["main-1", "main-2"], ["main-3"], ["main-4"]
    ]  # fmt: skip
    group = ProvenanceRow("stage", [("", "main-9")], [], [])
    assert last_job([both, group]) == last_job([both, group, five]) == ("", "main-9")
    assert last_job([both, five]) == ("c", "main-3")
    assert last_job([]) == ("", "")


def test_a_job_and_all_that_it_was_made_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toy_project(tmp_path))
    jobs = ToyJobs(tmp_path)
    first = jobs.make("A", options={"C": 1})
    two = [jobs.make(name, method="fit", above={"made": first}) for name in "AB"]
    jobs.make(None, method="all", above={"fits": two, "made": first})
    found = list(upstream(load("main-3")))
    assert [each.job for each in found] == ["main-3", "main-1", "main-2", "main-0"]
    assert source_of(found[0]) == Source("main-3", "all", "", "", {}, {"numpy": "2.0"})
    assert source_of(found[3], "left").options == {"C": 1}
    assert "used 1 thread for linear algebra" in thread_note(found)


def test_settings_are_laid_flat() -> None:
    inner: Plain = {"b": {"c": 1.0}, "d": None}
    settings: dict[str, Plain] = {"a": inner, "e": True, "f": [1, 2.5, "x"], "g": {}, "h": []}
    assert flat(settings) == [
        ("a.b.c", "1"), ("a.d", "none"), ("e", "yes"), ("f", "1, 2.5, x"), ("g", "none"), ("h", "none")
    ]  # fmt: skip
    assert shown(False) == "no"
