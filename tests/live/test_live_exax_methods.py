"""Methods that others wrote, and the datasets between them, are built once, and again when need be; what exax
offers works on as it did: its own builds and lists, its looks at jobs and datasets, its `gc`."""

from __future__ import annotations

import re
import shutil
import socket
from typing import ClassVar

import pytest
from cases import first_cases
from exax_project import NEW, OLD, STEPS, ExaxProject, expected, rows
from live_project import AX, PATIENCE, fixture_of, script, wait_for

PLAIN = """\
def main(urd):
    urd.begin("list", "2024-01-02")
    rows = urd.build("csvimport", filename="data/old.csv")
    typed = urd.build("dataset_type", source=rows, column2type={"a": "int64_10"})
    urd.finish("list", "2024-01-02")
    print("plain", rows, typed, sum(typed.dataset().iterate(None, "a")))
"""
SLOW = """\
import time
from pathlib import Path

options = {"folder": ""}


def synthesis(job):
    folder = Path(options.folder)
    (folder / "held").touch()
    while (folder / "hold").exists():
        time.sleep(0.01)
    job.json_save(1, "one.json")
"""
HELD = """\
from pathlib import Path

from shortloop.run.executor import run_pipeline

HERE = Path(__file__).parents[1]


def main(urd):
    return run_pipeline(urd, lambda run: run.build("slow", folder=str(HERE)), name="held")
"""


class Beside(ExaxProject):
    sources: ClassVar = {
        **ExaxProject.sources,
        "build_scripts/build_plain.py": PLAIN,
        "build_scripts/build_held.py": HELD,
        "theirs/methods/a_slow.py": SLOW,
    }

    def said(self, *command: str) -> str:
        return self.ax(*command).ok().stdout


project = fixture_of(Beside)


def test_each_is_built_once(project: Beside) -> None:
    found, said = project.go()
    assert found["built"] == STEPS
    assert found["more"] == expected()
    folders = list((project.folder / "workdirs/main").glob("main-[0-9]*"))
    assert len(folders) == len(STEPS) + 1, said  # and the build script
    assert "warning" not in said
    again, said = project.go()
    assert again == found | {"built": []}, said
    assert "8 reused" in said
    assert project.shortloop("plan", "rows").stdout.count("reuse") >= 1


@first_cases(
    2,
    ("name", "old", "new", "built", "why"),
    [
        ("data/old.csv", "a,b", "a,c", [*STEPS[:6], "totals"], "file old.csv was changed"),
        ("theirs/methods/a_odd.py", "found = sum", "found = 0 + sum", STEPS[5:6], "synthesis"),
        ("theirs/methods/steps.py", "x * by", "by * x", STEPS[5:6], "scaled"),
        ("theirs/more.txt", "one", "two", STEPS[5:6], "more.txt"),
        ("theirs/methods/steps.py", "def", "# a remark\ndef", [], ""),
        ("build_scripts/build_rows.py", '"factor": 2', '"factor": 3', STEPS[5:7], "option factor: 2 → 3"),
        ("build_scripts/build_rows.py", '{"b", "a"}', '["a", "b"]', [], ""),
    ],
)
def test_what_a_change_touches_is_built_again(
    project: Beside, name: str, old: str, new: str, built: list[str], why: str
) -> None:
    before, _ = project.go()
    project.edit(name, old, new)
    found, said = project.go()
    assert found["built"] == built, said
    if built:
        assert why in said
        job = found["jobs"][built[0]]
        assert job != before["jobs"][built[0]]
        assert why.split()[-1] in project.shortloop("why", job).stdout
        assert why in project.shortloop("show", job).ok().stdout
        compared = project.shortloop("compare", before["jobs"][built[0]], job).ok()
        assert why.split()[-1] in compared.stdout
        assert "same results" in compared.stdout or "files that differ" in compared.stdout
    assert project.go()[0] == found | {"built": []}


def test_an_equal_dataset_that_is_written_anew_changes_nothing_below(project: Beside) -> None:
    """One that has other code, and one that had to be written again, as it was damaged."""
    before, _ = project.go()
    odd = before["jobs"]["odd"]
    folder = project.job_folder(before["jobs"]["dataset_hashpart"])
    data = folder / "DS/default.m"
    whole = data.read_bytes()
    data.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "DS/default.m was altered" in project.shortloop("verify").stdout
    found, said = project.go()
    assert found["built"] == ["dataset_hashpart"], said
    assert "was altered" in said
    assert found["jobs"]["odd"] == odd
    again = project.manifest(found["jobs"]["dataset_hashpart"])
    assert project.manifest(folder.name)["content"] == again["content"]


@first_cases(1, "how", ["damaged", "gone"])
def test_datasets_that_lie_in_a_job_that_is_not_whole_are_written_again(project: Beside, how: str) -> None:
    """What they say is the same, so what does not read them is as it was."""
    before, _ = project.go()
    folder = project.job_folder(before["jobs"]["csvimport old"])
    if how == "gone":
        shutil.rmtree(folder)
    else:
        data = folder / "DS/default.m"
        data.write_bytes(data.read_bytes()[:-9])
    found, said = project.go()
    assert found["more"] == before["more"]
    # The chain names it, and so does what keeps a column of it; hashed copies name none.
    assert found["built"] == [*STEPS[:3], "dataset_filter_columns"], said
    assert f"{folder.name}, which it needs, is not what it was" in said
    assert project.go()[0] == found | {"built": []}


def test_a_longer_chain_counts_as_a_whole(project: Beside) -> None:
    """Of a dataset that is not touched, what comes before it is read as well."""
    before, _ = project.go()
    project.write("data/old.csv", rows(range(2, 7)))
    found, _ = project.go()
    assert found["built"] == STEPS
    # the rows of both files, hashed and filtered, and those of the first once more
    factor = 3 if '"factor": 3' in (project.folder / "build_scripts/build_rows.py").read_text() else 2
    assert found["more"] == expected(range(2, 7), NEW, factor)
    assert found["jobs"]["csvimport new"] != before["jobs"]["csvimport new"]


def test_jobs_that_nothing_rests_on_are_found(project: Beside) -> None:
    found, _ = project.go()
    project.shortloop("gc", "--delete").ok()
    assert project.go()[0] == found | {"built": []}
    project.shortloop("verify").ok()
    assert all((project.job_folder(job) / "post.json").is_file() for job in found["jobs"].values())


@pytest.mark.slow
def test_a_stage_reads_datasets_slice_by_slice(project: Beside) -> None:
    project.write("data/old.csv", rows(OLD))
    project.write("data/new.csv", rows(NEW))
    found, _ = project.go()
    expected_sums = {"sums": [sum(OLD) + sum(NEW), 2 * sum(NEW)], "none": True}
    assert project.read_json("totals.json") == expected_sums
    job = found["jobs"]["totals"]
    assert project.manifest(job)["parts"]["versions"]["accelerator"]
    shown = project.shortloop("show", job).stdout
    assert f"{found['jobs']['dataset_hashpart']}: dataset_hashpart" in shown
    project.shortloop("compare", job, job).ok()
    project.stop_server()
    project.start_server(SHORTLOOP_SLICES="1")
    try:
        other, said = project.go()
        assert other["built"], said  # what is written by slice
        assert project.read_json("totals.json") == expected_sums
        assert other["more"] == found["more"]
    finally:
        project.stop_server()
        project.start_server()
    assert project.go()[0] == found | {"built": []}


ENDS = script("""
rows = run.build("csvimport", filename=run.file("data/old.csv"), partition="ends")
{last}
""")


@pytest.mark.slow
def test_a_pipeline_may_end_with_a_method_of_others(project: Beside) -> None:
    """Files that it has told exax of are delivered; of a dataset there is the job in the summary."""
    typed = 'run.build("dataset_type", source=rows, column2type={"a": "int64_10"})'
    for last, files in (
        (f"return {typed}", []),
        (f'return run.build("csvexport", source=[{typed}], filename="out.csv")', ["out.csv"]),
    ):
        project.write("build_scripts/build_ends.py", ENDS.replace("{last}", last))
        for _ in range(2):  # built, and reused
            done = project.ax("run", "ends").ok()
            assert f"results: results/ends: {', '.join(files) or 'summary.json'}" in done.stdout
        summary = project.read_json("results/ends/summary.json")
        assert summary["files"] == files
        assert summary["report"] == summary["jobs"][-1]["job"]
    text = (project.folder / "results/ends/out.csv").read_text(encoding="utf-8")
    assert sorted(text.split()) == sorted(rows(OLD).split())


def test_a_build_script_of_exax_runs_beside_ours(project: Beside) -> None:
    """Each keeps its own jobs, and a run of one has the other build nothing."""
    ours, _ = project.go()
    first = re.search(r"^plain .*", project.said("run", "plain"), re.MULTILINE)
    assert first is not None
    assert first[0].endswith(" 55")
    assert project.go()[0] == ours | {"built": []}
    again = re.search(r"^plain .*", project.said("run", "plain"), re.MULTILINE)
    assert again is not None
    assert again[0] == first[0]
    assert project.shortloop("verify").stdout.count("is not recorded") == 2
    assert "csvimport" in project.said("urd", "list/2024-01-02")


def test_a_terminal_may_know_ascii_alone(project: Beside) -> None:
    project.go()
    project.edit("build_scripts/build_rows.py", '"factor": 2', '"factor": 7')
    ascii_alone = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert "option factor: 2 -> 7" in project.ax("run", "rows", **ascii_alone).ok().stdout
    # Also what is printed to a file, from which exax makes a pipe of its own.
    project.edit("build_scripts/build_rows.py", '"factor": 7', '"factor": 8')
    file = project.folder / "said.txt"
    done = project.shell("sh", "-c", f'"{AX}" run rows > said.txt 2>&1', **ascii_alone)
    project.edit("build_scripts/build_rows.py", '"factor": 8', '"factor": 2')
    assert done.returncode == 0, file.read_text(encoding="utf-8")
    assert "option factor: 7 -> 8" in file.read_text(encoding="ascii")


def test_jobs_and_datasets_are_shown(project: Beside) -> None:
    ours, _ = project.go()
    jobs = ours["jobs"]
    assert "dataset_type" in project.said("job", jobs["dataset_type"])
    shown = project.said("ds", "-c", jobs["csvimport new"])
    assert jobs["csvimport old"] in shown
    assert jobs["odd"] in project.said("workdir", "main")
    assert "x30" in project.said("grep", "x30", jobs["dataset_hashpart"])
    job = ours["jobs"]["dataset_filter_columns"]
    for page, words in ((f"job/{job}", "keep_columns"), (f"dataset/{job}", "int64")):
        with socket.socket(socket.AF_UNIX) as board:
            board.connect(str(project.folder / ".socket.dir/board"))
            board.sendall(f"GET /{page} HTTP/1.0\r\n\r\n".encode())
            assert words in b"".join(iter(lambda: board.recv(65536), b"")).decode()


@pytest.mark.slow
def test_exax_may_tidy_up(project: Beside) -> None:
    """It takes what did not finish, and what we have deleted or set aside; no job that anything rests on."""
    before, _ = project.go()
    damaged = project.job_folder(before["jobs"]["dataset_hashpart"])
    (damaged / "DS/default.m").write_bytes(b"")
    ours, _ = project.go()
    assert ours["built"] == ["dataset_hashpart"]
    project.edit("build_scripts/build_rows.py", '"factor": 2', '"factor": 5')
    other, _ = project.go()
    assert other["more"] == expected(factor=5)
    project.shortloop("gc", "--delete").ok()
    deleted = project.job_folder(before["jobs"]["odd"])
    assert (deleted / "post.deleted.json").exists()
    assert "Deleting" in project.said("gc")
    assert not deleted.exists()
    assert not damaged.exists()
    assert project.go()[0] == other | {"built": []}
    project.shortloop("plan", "rows").ok()
    assert "is gone" not in project.shortloop("verify").stdout
    assert "no such job" in project.shortloop("show", deleted.name).stderr
    project.edit("build_scripts/build_rows.py", '"factor": 5', '"factor": 2')
    back, told = project.go()
    assert back["more"] == expected()
    assert back["built"] == ["odd", "reads"], told


def test_a_job_that_exax_deletes_while_it_runs_is_built_again(project: Beside) -> None:
    hold = project.write("hold", "")
    running = project.popen(AX, "run", "held")
    wait_for((project.folder / "held").exists)
    assert "Deleting" in project.said("gc")
    hold.unlink()
    told, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1
    assert "the folder of this run was deleted while it ran" in told
    assert "1 job built" in project.ax("run", "held").ok().stdout
    assert project.go()[0]["built"] == []
