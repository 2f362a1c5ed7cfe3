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

import pytest
from PIL import Image
from source_tree import ROOT

from benchmarks.__main__ import main
from benchmarks.loop_sides import commit_of, processes_in
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
