"""What a run leaves: the files of its report, and a summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy_jobs import toy_project

from shortloop.plan.pipeline import Built
from shortloop.report.deliver import copy_report, print_place, results_folder, run_summary, write_summary


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
