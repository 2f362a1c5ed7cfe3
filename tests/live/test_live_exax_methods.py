"""Methods that others wrote, and the datasets between them, are built once, and again when need be; what exax
offers works on as it did: its own builds and lists, its looks at jobs and datasets, its `gc`."""

from __future__ import annotations

import re
import shutil
import socket
from pathlib import Path
from typing import Any, ClassVar

import pytest
from cases import first_cases
from live_project import AX, PATIENCE, EmptyProject, fixture_of, script, stages, wait_for

ODD = """\
import os
from pathlib import Path

from accelerator import OptionEnum, RequiredOption

from . import steps
from theirs.listed import more

depend_extra = [steps, "words.txt", *map(Path, more)]
options = {"how": OptionEnum("sum count"), "factor": RequiredOption(int), "seen": {"x"}}
datasets = ("source", ["others"])


def analysis(sliceno):
    rows = [datasets.source, *datasets.others]
    return [int(each) for ds in rows for each in ds.iterate_chain(sliceno, "a")]


def synthesis(analysis_res, job):
    rows = [each for slice in analysis_res for each in slice]
    found = sum(rows) if options.how == "sum" else len(rows)
    job.json_save(steps.scaled(found, options.factor), "found.json")
"""
READS = """\
from accelerator import JobWithFile

options = {"file": JobWithFile}


def synthesis(job):
    job.json_save(options.file.json_load() + 1, "more.json")
"""
TOTALS = stages("""\
# totals
from shortloop.stages.dataset import Dataset


@stage
class Totals(Stage):
    rows: Dataset
    more: list[Dataset]
    none: Dataset | None

    def units(self):
        return len(self.rows.lines)

    def outputs(self):
        return {"sums": Out((len(self.rows.lines), 2), "i8", "slices × datasets", "sum of a column")}

    def compute(self, unit):
        more = sum(value for each in self.more for value, _ in each.iterate(unit, ["a", "a"]))
        return {"sums": [sum(self.rows.iterate_chain(unit, "a")), more]}

    def finish(self, out):
        return Finished({"sums": out["sums"].sum(0).tolist(), "none": self.none is None})
""")
SCRIPT = """\
import json
from pathlib import Path

from shortloop.run.executor import run_pipeline

HERE = Path(__file__).parents[1]
ODD = {"how": "sum", "factor": 2, "seen": {"b", "a"}}


def main(urd):
    return run_pipeline(urd, pipeline, note, name="rows")


def pipeline(run):
    old = run.build("csvimport", filename=run.file(HERE / "data/old.csv"), partition="old")
    new = run.build("csvimport", filename=run.file(HERE / "data/new.csv"), partition="new", previous=old)
    typed = run.build("dataset_type", datasets={"source": new}, column2type={"a": "int64_10"})
    hashed = run.build("dataset_hashpart", source=typed, hashlabel="a")
    few = run.build("dataset_filter_columns", source=typed, keep_columns=["a"])
    odd = run.build("odd", source=hashed, others=[few, (old, "default")], **ODD)
    reads = run.build("reads", file=(odd, "found.json"))
    totals = run.build("totals", rows=hashed, more=[few, (few, "default")])
    (HERE / "totals.json").write_text(json.dumps(totals.result().facts if totals.job else {}))
    return reads


def note(run, last, seconds):
    names = [f"{each.stage} {each.partition or ''}".strip() for each in run.jobs]
    found = {"jobs": dict(zip(names, [each.job for each in run.jobs]))}
    found["built"] = [name for name, each in zip(names, run.jobs) if each.fresh]
    found["more"] = json.loads((last.path / "more.json").read_text())
    (HERE / "last.json").write_text(json.dumps(found))
"""
STEPS = ["csvimport old", "csvimport new", "dataset_type", "dataset_hashpart", "dataset_filter_columns"]
STEPS += ["odd", "reads", "totals"]
OLD, NEW = range(1, 11), range(11, 31)


def rows(values: Any) -> str:
    return "a,b\n" + "".join(f"{each},x{each}\n" for each in values)


def expected(old: Any = OLD, new: Any = NEW, factor: int = 2) -> int:
    """What the last job must leave."""
    hashed, filtered = sum(old) + sum(new), sum(new)
    return factor * (hashed + filtered + sum(old)) + 1


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
HELD = script('return run.build("slow", folder=str(Path.cwd()))')


class ExaxProject(EmptyProject):
    """Two files of rows, chained, typed, hashed and filtered by exax's own methods, and counted by others."""

    sources: ClassVar = {
        "theirs/__init__.py": "",
        "theirs/listed.py": "more = ['../more.txt']\n",
        "theirs/more.txt": "one",
        "theirs/methods/__init__.py": "",
        "theirs/methods/steps.py": "def scaled(x, by):\n    return x * by\n",
        "theirs/methods/words.txt": "one",
        "theirs/methods/a_odd.py": ODD,
        "theirs/methods/a_reads.py": READS,
        **TOTALS,
        "build_scripts/build_rows.py": SCRIPT,
        "theirs/methods/a_slow.py": SLOW,
        "build_scripts/build_plain.py": PLAIN,
        "build_scripts/build_held.py": f"from pathlib import Path\n{HELD}",
        "data/old.csv": rows(OLD),
        "data/new.csv": rows(NEW),
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        more = "\taccelerator.standard_methods\n\ttheirs.methods auto-discover\n\tmethods auto-discover"
        self.edit("accelerator.conf", "\tmethods auto-discover", more)

    def go(self) -> tuple[dict[str, Any], str]:
        """Run it, which must work: what it found, and what it said."""
        done = self.ax("run", "rows").ok()
        return self.read_json("last.json"), done.stdout + done.stderr

    def said(self, *command: str) -> str:
        return self.ax(*command).ok().stdout


shared = fixture_of(ExaxProject)


@pytest.fixture
def project(shared: ExaxProject) -> ExaxProject:
    """With its files as they were, whatever the test before did."""
    shared.restore()
    return shared


def test_each_is_built_once(project: ExaxProject) -> None:
    found, said = project.go()
    assert (found["built"], found["more"]) == (STEPS, expected())
    folders = list((project.folder / "workdirs/main").glob("main-[0-9]*"))
    assert len(folders) == len(STEPS) + 1, said  # and the build script
    assert "warning" not in said
    again, said = project.go()
    assert again == found | {"built": []}, said
    assert "8 reused" in said
    assert project.shortloop("plan", "rows").stdout.count("reuse") >= 1
    project.shortloop("verify").ok()
    project.shortloop("gc", "--delete").ok()  # what datasets rest on stays
    assert project.go()[0] == again
    assert all((project.job_folder(job) / "post.json").is_file() for job in found["jobs"].values())


@first_cases(
    1,
    ("name", "old", "new", "built", "why"),
    [
        ("theirs/methods/a_odd.py", "found = sum", "found = 0 + sum", STEPS[5:6], "synthesis"),
        ("data/old.csv", "a,b", "a,c", [*STEPS[:6], "totals"], "file old.csv was changed"),
        ("theirs/methods/steps.py", "x * by", "by * x", STEPS[5:6], "scaled"),
        ("theirs/more.txt", "one", "two", STEPS[5:6], "more.txt"),
        ("theirs/methods/steps.py", "def", "# a remark\ndef", [], ""),
        ("build_scripts/build_rows.py", '"factor": 2', '"factor": 3', STEPS[5:7], "option factor: 2 → 3"),
        ("build_scripts/build_rows.py", '{"b", "a"}', '["a", "b"]', [], ""),
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


@first_cases(
    1,
    ("stage", "how", "built"),
    [
        # The chain names it, and so does what keeps a column of it; hashed copies name none.
        ("csvimport old", "damaged", [*STEPS[:3], "dataset_filter_columns"]),
        ("dataset_hashpart", "altered", ["dataset_hashpart"]),
        ("csvimport old", "gone", [*STEPS[:3], "dataset_filter_columns"]),
    ],
)
def test_datasets_in_a_job_that_is_not_whole_are_written_again(
    project: ExaxProject, stage: str, how: str, built: list[str]
) -> None:
    """What they say is the same, so what does not read them is as it was."""
    before, _ = project.go()
    folder = project.job_folder(before["jobs"][stage])
    content = project.manifest(folder.name)["content"]
    data = folder / "DS/default.m"
    if how == "gone":
        shutil.rmtree(folder)
    elif how == "damaged":
        data.write_bytes(data.read_bytes()[:-9])
    else:
        data.write_bytes(data.read_bytes()[:-1] + bytes([data.read_bytes()[-1] ^ 1]))
        assert "DS/default.m was altered" in project.shortloop("verify").stdout
    found, said = project.go()
    assert found["built"] == built, said
    assert (found["more"], found["jobs"]["odd"]) == (before["more"], before["jobs"]["odd"])
    assert project.manifest(found["jobs"][stage])["content"] == content
    assert f"{folder.name}, which it needs, is not what it was" in said or "was altered" in said
    assert project.go()[0] == found | {"built": []}


def test_a_longer_chain_counts_as_a_whole(project: ExaxProject) -> None:
    """Of a dataset that is not touched, what comes before it is read as well."""
    before, _ = project.go()
    project.write("data/old.csv", rows(range(2, 7)))
    found, _ = project.go()
    assert found["built"] == STEPS
    # the rows of both files, hashed and filtered, and those of the first once more
    assert found["more"] == expected(range(2, 7))
    assert found["jobs"]["csvimport new"] != before["jobs"]["csvimport new"]


@pytest.mark.slow
def test_a_stage_reads_datasets_slice_by_slice(project: ExaxProject) -> None:
    found, _ = project.go()
    assert project.read_json("totals.json") == {"sums": [sum(OLD) + sum(NEW), 2 * sum(NEW)], "none": True}
    job = found["jobs"]["totals"]
    assert project.manifest(job)["parts"]["versions"]["accelerator"]
    shown = project.shortloop("show", job).stdout
    assert f"{found['jobs']['dataset_hashpart']}: dataset_hashpart" in shown
    project.shortloop("compare", job, job).ok()


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
        assert (summary["files"], summary["report"]) == (files, summary["jobs"][-1]["job"])
    text = (project.folder / "results/ends/out.csv").read_text(encoding="utf-8")
    assert sorted(text.split()) == sorted(rows(OLD).split())


def test_a_build_script_of_exax_runs_beside_ours(project: ExaxProject) -> None:
    """Each keeps its own jobs, and a run of one has the other build nothing."""
    ours, _ = project.go()
    (first,) = re.findall(r"^plain .*", project.said("run", "plain"), re.MULTILINE)
    assert first.endswith(" 55")
    assert project.go()[0] == ours | {"built": []}
    assert re.findall(r"^plain .*", project.said("run", "plain"), re.MULTILINE) == [first]
    assert project.shortloop("verify").stdout.count("is not recorded") == 2
    assert "csvimport" in project.said("urd", "list/2024-01-02")


def test_a_terminal_may_know_ascii_alone(project: ExaxProject) -> None:
    """Also a file, of which exax makes a pipe of its own."""
    project.go()
    project.edit("build_scripts/build_rows.py", '"factor": 2', '"factor": 7')
    ascii_alone = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    file = project.folder / "said.txt"
    done = project.shell("sh", "-c", f'"{AX}" run rows > said.txt 2>&1', **ascii_alone)
    assert done.returncode == 0, file.read_text(encoding="utf-8")
    assert "option factor: 2 -> 7" in file.read_text(encoding="ascii")


def test_jobs_and_datasets_are_shown(project: ExaxProject) -> None:
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
def test_exax_may_tidy_up(project: ExaxProject) -> None:
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
    gone = re.findall(r"^(main-\d+) .*is gone", project.shortloop("verify").stdout, re.M)
    assert not {*gone} & {*other["jobs"].values()}
    assert "no such job" in project.shortloop("show", deleted.name).stderr
    project.edit("build_scripts/build_rows.py", '"factor": 5', '"factor": 2')
    back, told = project.go()
    assert back["more"] == expected()
    assert back["built"] == ["odd", "reads"], told


def test_a_job_that_exax_deletes_while_it_runs_is_built_again(project: ExaxProject) -> None:
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
