"""Methods that others wrote, and the datasets between them, are built once, and again when need be."""

from __future__ import annotations

import shutil

import pytest
from exax_project import NEW, OLD, STEPS, ExaxProject, expected, rows
from live_project import fixture_of, script

SLOW = pytest.mark.slow
project = fixture_of(ExaxProject)


def test_each_is_built_once(project: ExaxProject) -> None:
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


@pytest.mark.parametrize(
    ("name", "old", "new", "built", "why"),
    [
        ("data/old.csv", "a,b", "a,c", [*STEPS[:6], "totals"], "file old.csv was changed"),
        pytest.param(
            "data/new.csv",
            "x11",
            "x9",
            [*STEPS[1:6], "totals"],
            "file new.csv was changed",
            marks=SLOW,
        ),
        pytest.param("theirs/methods/steps.py", "x * by", "by * x", STEPS[5:6], "scaled", marks=SLOW),
        pytest.param("theirs/methods/words.txt", "one", "two", STEPS[5:6], "words.txt", marks=SLOW),
        pytest.param("theirs/more.txt", "one", "two", STEPS[5:6], "more.txt", marks=SLOW),
        ("theirs/methods/a_odd.py", "found = sum", "found = 0 + sum", STEPS[5:6], "synthesis"),
        pytest.param("theirs/methods/steps.py", "def", "# a remark\ndef", [], "", marks=SLOW),
        pytest.param(
            "theirs/methods/a_odd.py",
            "import os\n",
            "import os  # a remark\n",
            [],
            "",
            marks=SLOW,
        ),
        pytest.param(
            "build_scripts/build_rows.py",
            '"factor": 2',
            '"factor": 3',
            STEPS[5:7],
            "option factor: 2 → 3",
            marks=SLOW,
        ),
        pytest.param("build_scripts/build_rows.py", '{"b", "a"}', '["a", "b"]', [], "", marks=SLOW),
    ],
)
def test_what_a_change_touches_is_built_again(
    project: ExaxProject, name: str, old: str, new: str, built: list[str], why: str
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


def test_they_are_whole(project: ExaxProject) -> None:
    project.go()
    project.shortloop("verify").ok()


def test_an_equal_dataset_that_is_written_anew_changes_nothing_below(project: ExaxProject) -> None:
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


@pytest.mark.parametrize("how", ["damaged", pytest.param("gone", marks=SLOW)])
def test_datasets_that_lie_in_a_job_that_is_not_whole_are_written_again(
    project: ExaxProject, how: str
) -> None:
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


def test_a_longer_chain_counts_as_a_whole(project: ExaxProject) -> None:
    """Of a dataset that is not touched, what comes before it is read as well."""
    before, _ = project.go()
    project.write("data/old.csv", rows(range(2, 7)))
    found, _ = project.go()
    assert found["built"] == STEPS
    # the rows of both files, hashed and filtered, and those of the first once more
    factor = 3 if '"factor": 3' in (project.folder / "build_scripts/build_rows.py").read_text() else 2
    assert found["more"] == expected(range(2, 7), NEW, factor)
    assert found["jobs"]["csvimport new"] != before["jobs"]["csvimport new"]


def test_jobs_that_nothing_rests_on_are_found(project: ExaxProject) -> None:
    found, _ = project.go()
    project.shortloop("gc", "--delete").ok()
    assert project.go()[0] == found | {"built": []}
    assert all((project.job_folder(job) / "post.json").is_file() for job in found["jobs"].values())


@pytest.mark.slow
def test_a_stage_reads_datasets_slice_by_slice(project: ExaxProject) -> None:
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
def test_a_pipeline_may_end_with_a_method_of_others(project: ExaxProject) -> None:
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
