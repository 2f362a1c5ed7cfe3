"""The loop is timed at two commits by the same code, in clones of which nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from source_tree import ROOT

from benchmarks.__main__ import main
from benchmarks.loop import _left, _of_case, _perform
from benchmarks.loop_cases import COLD, EXAX, MANY, Step, _busy
from benchmarks.loop_sides import commit_of, processes_in
from benchmarks.loop_tables import draw_loop, tables_of
from benchmarks.loop_toys import ALONE, RAN, STEP, span_of
from benchmarks.options import cores
from benchmarks.project import Project, user_environment
from benchmarks.write import write_docs

needs_git = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sl-") as made:  # short, for the path of a Unix socket
        yield Path(made).resolve()


def post(folder: Path, number: int, start: float, end: float) -> Path:
    job = folder / f"main-{number}"
    job.mkdir()
    (job / "setup.json").write_text("{}", encoding="utf-8")
    (job / "post.json").write_text(json.dumps({"starttime": start, "endtime": end}), encoding="utf-8")
    return job


def measured(seconds: float, jobs: int = 3) -> dict[str, Any]:
    return {"seconds": seconds, "jobs": jobs, "processor": seconds / 2}


def some() -> dict[str, Any]:
    sides = ["0ld0ld0", "HEAD 1234567"]
    old, new = sides
    cold = [
        [{**measured(8.0, 12), "busy": 0.5, "span": 7.0}],
        [{**measured(4.0, 7), "busy": 0.9, "span": 3.0}],
    ]
    cases = {
        COLD: dict(zip(sides, cold, strict=True)),
        "200 toy jobs, cold": {old: [measured(3.0)], new: [measured(1.5)], EXAX: [measured(2.0)]},
        "8 jobs that sleep 1 s, dask": {new: [{**measured(6.0, 8), "span": 4.5}]},
    }
    return {
        "sides": sides,
        "participants": 2,
        "toys": {"chain": 200, "independent": 8, "seconds": 1.0},
        "cores": 2,
        "cases": {case: _of_case(each, sides) for case, each in cases.items()},
        "stages": {old: {"report": {"jobs": 1, "processor": 2.0, "unknown": 0}}, new: {}},
        "failed": ["unchanged, 0ld0ld0: no such luck"],
    }


def test_tables_and_figure_have_both_commits_and_their_ratio() -> None:
    found = {table["name"]: table for table in tables_of(some(), COLD, MANY, EXAX)}
    assert found["seconds"]["rows"] == [
        ["cold", "8.00 s", "4.00 s", "0.500×", "12 → 7", "0.500×"],
        ["200 toy jobs, cold", "3.00 s", "1.50 s", "0.500×", "3", "0.500×"],
        ["8 jobs that sleep 1 s, dask", "–", "6.00 s", "–", "8", "–"],
    ]
    assert "Failed: unchanged, 0ld0ld0: no such luck." in found["seconds"]["note"]
    assert found["toys"]["rows"][0] == [EXAX, "2.00 s", "1.00"]
    assert found["toys"]["rows"][2] == ["HEAD 1234567", "1.50 s", "0.750"]
    assert found["independent"]["rows"] == [["8 jobs that sleep 1 s, dask", "–", "4.50 s"]]
    assert "always at work these are 4.00 s" in found["independent"]["note"]
    assert found["cold"]["rows"][0][1:] == ["50.0 %", "90.0 %"]
    assert found["stages"]["rows"] == [["report", "1 job, 2.00 s", "–"]]
    seconds, ratios = draw_loop(some(), "").axes
    assert [each.get_text() for each in seconds.get_yticklabels()] == list(some()["cases"])
    assert [each.get_text() for each in ratios.texts] == ["0.500×", "0.500×"]


def test_ratios_are_of_two_commits_and_taken_within_runs() -> None:
    both = some()
    (name,) = both["sides"][1:]
    cases = {case: {name: each[name]} for case, each in both["cases"].items()}
    alone = {**both, "sides": [name], "cases": cases}
    assert tables_of(alone, COLD, MANY, EXAX)[0]["columns"] == ["case", name, "jobs"]
    assert len(draw_loop(alone, "").axes) == 1
    runs = {"a": [measured(2.0), measured(20.0)], "b": [measured(1.0), measured(10.0)]}
    assert _of_case(runs, ["a", "b"])["ratio"]["values"] == [0.5, 0.5]
    assert "ratio" not in _of_case({"a": runs["a"], "b": runs["b"][:1]}, ["a", "b"])


def test_what_fails_or_is_left_is_told_and_the_rest_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> dict[str, Any]:
        raise RuntimeError("a traceback\nno such luck")

    steps = [Step("", "a", lambda: None), Step("cold", "a", fails), Step("cold", "b", lambda: measured(1.0))]
    found, failed = _perform(steps)
    assert found == {"cold": {"b": [measured(1.0)]}}
    assert failed == ["cold, a: no such luck"]
    said = capsys.readouterr().out
    assert "2/3  cold, a: failed: a traceback\nno such luck" in said
    assert said.endswith("3/3  cold, b: 1.00 s, 3 jobs\n")
    assert _left([], {}) == ""
    unknown = [*steps[1:], Step("x", "a", lambda: None)]
    assert _left(unknown, {}) == "; 3 steps left"
    assert _left(unknown, {("cold", "a"): 60.0}) == "; at least 2.0 min left"
    assert _left(steps[1:], {("cold", "a"): 60.0, ("cold", "b"): 30.0}) == "; about 1.5 min left"


def test_jobs_may_overlap_and_leave_gaps(tmp_path: Path) -> None:
    jobs = [post(tmp_path, 3, 100.0, 104.0), post(tmp_path, 9, 101.0, 103.0)]
    assert span_of(jobs) == 4.0
    # Six processor seconds in these four; what was spent before and after does not count.
    samples = [(99.0, 0.0), (100.0, 1.0), (102.0, 5.0), (104.0, 7.0), (105.0, 9.0)]
    assert _busy(samples, jobs) == pytest.approx(6.0 / 4.0 / cores())


@pytest.mark.parametrize("call", ["run.build('toy', step=step)", "run.build('toy', options={'step': step})"])
def test_toys_of_any_version_become_independent(call: str) -> None:
    build = f"for number in range(3):\n    step = 1 if number else 2\n    previous = {call}\n"
    changed, count = STEP.subn(ALONE, build)
    assert count == 1
    assert '    previous, step = None, settings["last"] + number\n' in changed
    assert len(RAN.findall('def synthesis():\n    with open(RAN, "a") as ran:\n')) == 1


def test_processes_of_old_commits_are_told_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SHORTLOOP_ENGINE", "OMP_NUM_THREADS", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.setenv(name, "1")
    assert "NUMBA_CACHE_LOCATOR_CLASSES" in os.environ  # which has numba import a module of this version
    names = ("SHORTLOOP", "NUMBA_CACHE_LOCATOR", "OMP", "PYTHONDONTWRITEBYTECODE")
    assert not [name for name in user_environment() if name.startswith(names)]


def test_a_command_is_timed_with_its_children_and_its_memory(tmp_path: Path) -> None:
    work = "x = bytearray(b'1') * 2**26; import time; e = time.process_time() + 0.5\n"
    work += "while time.process_time() < e: pass"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"
    project = Project(tmp_path)
    found = project.run("python", "-c", child, watch="memory")
    assert found["seconds"] > 0.5
    assert 0.5 < found["processor"] < 5
    assert 64 < max(megabytes for _, megabytes in found["samples"]) < 150
    with pytest.raises(RuntimeError, match="no such luck"):
        project.run("python", "-c", "raise SystemExit('no such luck')")


def test_tables_are_put_into_pages_that_have_a_place_for_them(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    text = "before\n<!-- bench loop seconds -->\nold\n<!-- end -->\n"
    text += "<!-- bench loop none -->\nkept\n<!-- end -->\n"
    (pages / "speed.md").write_text(text, encoding="utf-8")
    (pages / "other.md").write_text("nothing\n", encoding="utf-8")
    table = {"name": "seconds", "title": "", "columns": ["case", "HEAD"], "rows": [["cold", "1 s"]]}
    page = [pages / "speed.md"]
    for quick, failed, changed in ((True, [], []), (False, ["x"], []), (False, [], page), (False, [], [])):
        content = {"options": {"quick": quick}, "failed": failed, "tables": [table]}
        (tmp_path / "loop.json").write_text(json.dumps(content), encoding="utf-8")
        assert write_docs(tmp_path, pages) == changed
    filled = text.replace("old", "\n| case | HEAD |\n| --- | --- |\n| cold | 1 s |\n")
    assert (pages / "speed.md").read_text(encoding="utf-8") == filled


@needs_git
def test_an_unknown_commit_or_group_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no commit nonsense in this checkout"):
        commit_of("nonsense")
    with pytest.raises(SystemExit, match="CASES: no nonsense; there are new, workload"):
        main(["loop", "--quick", "--cases", "nonsense", "--folder", str(tmp_path)])


@needs_git
@pytest.mark.slow
@pytest.mark.live
def test_head_is_measured_against_a_commit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["loop", "--quick", "--runs", "1", "--against", "HEAD", "--folder", str(folder)]) == 0
    found = json.loads((folder / "loop.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert found["failed"] == []
    older, head = found["sides"]
    assert head == f"HEAD {older}"
    cases, both = found["cases"], (older, head)
    jobs = {case: [each[side]["jobs"]["median"] for side in both] for case, each in cases.items()}
    cold = jobs.pop("cold")
    assert cold[0] == cold[1] > 20
    assert jobs == {
        "unchanged": [0, 0],
        "unchanged, no server": [0, 0],
        "5 toy jobs, cold": [5, 5],
        "5 toy jobs, unchanged": [0, 0],
        "8 jobs that sleep 0.1 s, slices": [8, 8],
        "8 jobs that compute 0.1 s, slices": [8, 8],
    }
    assert all(each["ratio"]["median"] > 0 for each in cases.values())
    assert 0 < cases["cold"][head]["busy"]["median"] < 1.1
    assert found["stages"][head]["report"]["jobs"] == 1
    said = capsys.readouterr().out
    assert "| cold |" in said
    assert "min left" in said
    with Image.open(folder / "loop.png") as image:
        assert min(image.size) > 300


@needs_git
@pytest.mark.slow
@pytest.mark.live
def test_ctrl_c_leaves_neither_processes_nor_clones(folder: Path) -> None:
    clones = folder / "t"
    clones.mkdir()
    command = ["loop", "--quick", "--against", "HEAD", "--cases", "toys", "--folder", str(folder / "out")]
    with (folder / "log").open("w+b") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks", *command],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(clones)},
            stdout=log,
            stderr=log,
        )
        deadline = time.monotonic() + 120
        while b"toy jobs, cold" not in (folder / "log").read_bytes() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(processes_in(clones)) >= 2  # servers
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 1
    assert b"interrupted: finished parts are kept" in (folder / "log").read_bytes()
    assert processes_in(clones) == []
    assert [*clones.iterdir()] == []
