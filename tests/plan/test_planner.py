"""What a plan says would be done, and what a run then does, after one change."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jobs_project import files_read, write
from jobs_recorded import recorded_job
from jobs_runs import Runs
from refusal import refusal

from shortloop.keys.key import parts_of
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built, Run
from shortloop.plan.planner import Lookup, Planner
from shortloop.store.index import Place
from shortloop.store.inputs import content_of, known_content, register
from shortloop.store.manifest import write_manifest
from shortloop.store.store import Store

METHOD = """\
options = {{"partition": "", "count": 0}}
jobs = ({above!r}, "before")
grows = {grows!r}


def synthesis():
    from shortloop.{name} import f
"""


class Chain:
    """One job of each partition in each of two stages, and one of all; run without a server."""

    def __init__(self, project: Path) -> None:
        for name in ("first", "second", "last"):
            above = ["above"] if name == "last" else "above"
            method = METHOD.format(name=name, above=above, grows={"second": "count"}.get(name, ""))
            write(project, f"methods/a_{name}.py", method)
            write(project, f"shortloop/{name}.py", "def f(): return 1\n")
        self.project = project
        self.runs = Runs(project)
        self.exax = self.runs.exax
        self.partitions = ["A", "B"]
        self.options: dict[str, dict[str, Any]] = {"first": {}, "second": {"count": 10}, "last": {}}

    def pipeline(self, run: Run) -> Built:
        seconds = []
        for name in self.partitions:
            first = run.build("first", partition=name, **self.options["first"])
            seconds.append(run.build("second", partition=name, above=first, **self.options["second"]))
        return run.build("last", above=seconds, **self.options["last"])

    def plan(self) -> dict[str, tuple[str, str]]:
        """What would be done, and why, by stage and partition."""
        return {_name(job): (job.plan, job.reason) for job in self.runs.plan(self.pipeline).jobs}

    def run(self) -> dict[str, str]:
        """What was built, and why."""
        return {_name(job): job.reason for job in self.runs.run(self.pipeline).jobs if job.fresh}


def _name(job: Built) -> str:
    return f"{job.stage} {job.partition or ''}".strip()


@pytest.fixture
def chain(package: Path) -> Chain:
    made = Chain(package)
    assert made.plan() == dict.fromkeys(ALL, (BUILD, "new"))
    assert made.run() == dict.fromkeys(ALL, "new")
    assert made.plan() == dict.fromkeys(ALL, (REUSE, ""))
    assert made.run() == {}
    return made


ALL = ["first A", "second A", "first B", "second B", "last"]


def test_an_option(chain: Chain) -> None:
    chain.options["first"] = {"count": 3}
    plan = chain.plan()
    assert plan["first A"] == plan["first B"] == (BUILD, "option count: none → 3")
    assert plan["second A"] == (PERHAPS, "if first comes out different")
    assert plan["last"] == (PERHAPS, "if second comes out different")
    chain.options["last"] = {"count": 4}  # one below is no perhaps
    plan = chain.plan()
    assert [plan[name][0] for name in ALL] == [BUILD, PERHAPS, BUILD, PERHAPS, BUILD]
    assert plan["last"][1] == "option count: none → 4"
    assert list(chain.run()) == ALL


def test_code_that_leaves_the_same_builds_that_stage_alone(chain: Chain) -> None:
    """Early cut-off: what these jobs leave does not depend on the code."""
    write(chain.project, "shortloop/first.py", "def f(): return 2\n")
    plan = chain.plan()
    assert [plan[name][0] for name in ALL] == [BUILD, PERHAPS, BUILD, PERHAPS, PERHAPS]
    assert "first" in plan["first A"][1]
    built = chain.run()
    assert list(built) == ["first A", "first B"]
    assert built["first A"].startswith("code of first")
    assert chain.plan() == dict.fromkeys(ALL, (REUSE, ""))
    write(chain.project, "shortloop/first.py", "def f(): return 1  # as before\n")
    assert chain.plan() == dict.fromkeys(ALL, (REUSE, ""))
    assert chain.run() == {}


def test_a_setting_that_is_put_back_while_a_job_above_may_come_out_the_same(chain: Chain) -> None:
    """What was made with it is used again, if that is so."""
    chain.options["last"] = {"count": 4}
    assert list(chain.run()) == ["last"]
    chain.options["last"] = {}
    write(chain.project, "shortloop/first.py", "def f(): return 2\n")
    assert chain.plan()["last"] == (PERHAPS, "if second comes out different")
    chain.options["last"] = {"count": 5}  # never made: it is built whatever comes out above
    assert chain.plan()["last"] == (BUILD, "option count: 4 → 5")
    chain.options["last"] = {}
    assert list(chain.run()) == ["first A", "first B"]


def test_one_partition_more_and_one_less(chain: Chain) -> None:
    chain.partitions = ["A", "B", "C"]
    plan = chain.plan()
    assert plan["first A"] == plan["second B"] == (REUSE, "")
    assert plan["first C"] == plan["second C"] == (BUILD, "new")
    assert plan["last"][0] == BUILD
    assert list(chain.run()) == ["first C", "second C", "last"]
    chain.partitions = ["A", "B"]
    assert chain.run() == {}
    chain.partitions = ["B", "A"]
    assert list(chain.run()) == ["last"]  # the order of its inputs may count


def damage(folder: Path) -> None:
    (folder / "record.json").write_text("{}", encoding="utf-8")


def delete(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


@pytest.mark.parametrize(
    ("change", "said"), [(damage, "was damaged: record.json"), (delete, "its folder is gone")]
)
def test_a_lost_job_alone_is_made_again(chain: Chain, change: Callable[[Path], None], said: str) -> None:
    change(chain.project / "workdirs/main/main-0")
    plan = chain.plan()
    assert [plan[name][0] for name in ALL] == [BUILD, PERHAPS, REUSE, REUSE, PERHAPS]
    assert list(chain.run()) == ["first A"]
    assert chain.plan() == dict.fromkeys(ALL, (REUSE, ""))
    assert said in plan["first A"][1]


def test_a_job_grows_from_the_largest_that_is_there(chain: Chain) -> None:
    asked = chain.exax.asked

    def before() -> list[str | None]:
        return [jobs.get("before") for method, _, jobs in asked if method == "second"][-2:]

    assert before() == [None, None]
    for count in (30, 20):
        chain.options["second"] = {"count": count}
        chain.run()
    largest = [job for job, options in _made(chain) if options["count"] == 30]
    assert before() == largest
    write(chain.project, "shortloop/second.py", "def f(): return 2\n")
    chain.options["second"] = {"count": 40}
    chain.run()
    assert before() == [None, None]  # nothing grows from what other code left


def _made(chain: Chain) -> list[tuple[str, dict[str, Any]]]:
    with Store() as store:
        manifests = [store.manifest_of(job) for job in chain.exax.made.values()]
    return [
        (manifest.job, manifest.parts.options)
        for manifest in manifests
        if manifest and manifest.parts.method.endswith("second")
    ]


def test_a_job_grows_from_none_that_rejected_its_input(package: Path) -> None:
    made = Chain(package)
    made.exax.problems = {"second A": "bad"}
    with refusal("bad"):
        made.run()
    made.exax.problems = {}
    made.options["second"] = {"count": 20}
    made.run()
    assert [jobs.get("before") for method, _, jobs in made.exax.asked if method == "second"] == [None] * 3


FIT = """\
options = {"spec": {}, "count": 0}
jobs = ("panel",)
siblings = ("spec.name",)


def synthesis():
    from shortloop.fit import f
"""


class Fits:
    """Several specifications, fitted to one panel; all in one list at the end."""

    def __init__(self, project: Path) -> None:
        write(project, "methods/a_panel.py", "options = {}\n\n\ndef synthesis():\n    pass\n")
        write(project, "methods/a_fit.py", FIT)
        write(project, "shortloop/fit.py", "def f(): return 1\n")
        self.runs = Runs(project)
        self.specs = ["x", "y"]
        self.count = 1

    def pipeline(self, run: Run) -> Built:
        panel = run.build("panel")
        for name in self.specs:
            last = run.build("fit", spec={"name": name}, count=self.count, panel=panel)
        return last

    def plan(self) -> list[tuple[str, str]]:
        return [(job.plan, job.reason) for job in self.runs.plan(self.pipeline).jobs[1:]]

    def run(self) -> list[Built]:
        return self.runs.run(self.pipeline).jobs[1:]


@pytest.fixture
def fits(package: Path) -> Fits:
    made = Fits(package)
    assert [job.fresh for job in made.run()] == [True, True]
    return made


def test_siblings_that_swap_are_reused_one_more_is_new_and_one_less_is_forgotten(fits: Fits) -> None:
    fits.specs = ["y", "x"]
    assert fits.plan() == [(REUSE, "")] * 2
    assert [job.job for job in fits.run()] == ["main-2", "main-1"]
    assert fits.plan() == [(REUSE, "")] * 2
    fits.specs = ["z", "x", "y"]
    assert fits.plan() == [(BUILD, "new"), (REUSE, ""), (REUSE, "")]
    fits.specs = ["y"]
    assert fits.plan() == [(REUSE, "")]


def test_a_sibling_is_compared_with_itself(fits: Fits) -> None:
    fits.specs, fits.count = ["y", "x"], 2
    assert fits.plan() == [(BUILD, "option count: 1 → 2")] * 2
    assert [job.reason for job in fits.run()] == ["option count: 1 → 2"] * 2
    with Store() as store:
        manifests = [store.manifest_of(f"main-{number}") for number in (3, 4)]
    assert [manifest.previous for manifest in manifests if manifest] == ["main-2", "main-1"]


def test_files_of_a_plan_may_be_unknown_and_lists_of_jobs_empty(package: Path) -> None:
    runs = Runs(package)
    files = [write(package, f"{name}.csv", name) for name in "ab"]

    def pipeline(run: Run) -> Built:
        assert [file.path for file in run.files(files)] == files
        assert run.file(files[0]).content == ""
        return run.build("panel")

    write(package, "methods/a_panel.py", "options = {}\n\n\ndef synthesis():\n    pass\n")
    assert runs.plan(pipeline).unread == 3
    write(package, "methods/a_many.py", "jobs = (['every'],)\n\n\ndef synthesis():\n    pass\n")
    runs = Runs(package)
    for built in (1, 0):
        assert sum(job.fresh for job in runs.run(lambda run: run.build("many", every=[])).jobs) == built


@pytest.fixture
def file(package: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that was read some time ago."""
    write(
        package,
        "methods/a_first.py",
        "options = {'files': {}, 'partition': None}\n\ndef synthesis():\n    pass\n",
    )
    file = write(package, "a.npz", "one")
    monkeypatch.setattr("shortloop.keys.file_state.SETTLED_NS", 0)
    time.sleep(0.01)
    register([file])
    return file


def test_what_was_read_young_is_read_once_more(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan right after a run of files that were copied a moment before knows them, too."""
    read = files_read(monkeypatch)
    file, other = (write(package, f"{name}.npz", name) for name in "ab")
    (content,) = register([file])
    assert read == [file]
    assert known_content([file, other]) == [content, ""]
    assert read == [file, file]
    time.sleep(0.02)  # a tick of the file system's clock
    file.write_text("c", encoding="utf-8")  # of the same size
    assert known_content([file]) == [""]
    register([file])
    read.clear()
    monkeypatch.setattr("shortloop.keys.file_state.SETTLED_NS", 0)
    (changed,) = known_content([file])
    assert changed not in ("", content)
    assert known_content([file]) == content_of([file]) == [changed]
    assert read == [file]  # now it is old, and its hash is kept
    register([file])
    file.unlink()
    assert known_content([file]) == [""]


def planned(contents: list[str], pipeline: str = "p") -> tuple[str, str]:
    with Store() as store:
        job = Planner(Lookup(store, pipeline)).build("first", partition="A", files={"study": contents})
    return job.plan, job.reason


def test_a_job_of_a_file_that_is_not_read_is_perhaps_built(file: Path) -> None:
    contents = known_content([file])
    assert planned(contents) == (BUILD, "new")
    assert planned([""]) == (BUILD, "new")
    options: dict[str, Any] = {"files": {"study": contents}, "partition": "A"}
    manifest = replace(recorded_job(Path.cwd(), "main-0", parts_of("first", options, {})), partition="A")
    write_manifest(Path.cwd() / "workdirs/main/main-0", manifest)
    with Store() as store:
        store.index.insert(manifest, [])
        store.index.put_in_places({Place("p", "first", "A", ""): "main-0"})
    assert planned(contents) == (REUSE, "")
    for pipeline in ("p", "another"):
        assert planned([""], pipeline) == (PERHAPS, "if the content of its unread files changed")
    file.write_text("two!", encoding="utf-8")
    (changed,) = register([file])
    assert planned([changed]) == (BUILD, "file a.npz was changed")
    assert planned([*contents, ""]) == (BUILD, "one more file")
