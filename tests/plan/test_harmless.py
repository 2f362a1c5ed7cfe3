"""A change that is declared harmless: what is then taken for current, for how long, and what is refused."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from cases import first_cases
from jobs_project import write
from jobs_runs import Runs, Told
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.keys import installed, methods
from shortloop.keys.hashing import digest
from shortloop.plan.explain.causes import explain
from shortloop.plan.harmless import Declared, declare_harmless
from shortloop.plan.pipeline import BUILD, REUSE
from shortloop.plan.planner import Lookup, Planner
from shortloop.plan.selected_part import choose
from shortloop.plan.selection import Selection
from shortloop.project import project as project_module
from shortloop.run.build_jobs import Executor
from shortloop.store.index import Place
from shortloop.store.manifest import MANIFEST, manifest_problem, read_manifest
from shortloop.store.store import Store
from shortloop.upkeep.inventory import check_all, inventory

NUMBERS = itertools.count()
METHOD = """\
options = {{"partition": "", "count": 0}}
jobs = ("above", "before")
grows = {grows!r}


def synthesis():
    from shortloop.{name} import f
"""
SCRIPT = """\
from shortloop.run.executor import run_pipeline

options = {"first": {}, "second": {"count": 10}}


def main(urd):
    return run_pipeline(urd, pipeline, name="chain")


def pipeline(run):
    for name in "AB":
        first = run.build("first", partition=name, **options["first"])
        last = run.build("second", partition=name, above=first, **options["second"])
    return last
"""
FIRST = "shortloop/first.py"


class Chain:
    """Jobs of two stages for each of two partitions, run without a server."""

    def __init__(self, project: Path, scripts: str) -> None:
        self.folder = project
        for name, grows in (("first", ""), ("second", "count")):
            write(project, f"methods/a_{name}.py", METHOD.format(name=name, grows=grows))
            write(project, f"shortloop/{name}.py", "def f(): return 1\n")
        self.script = f"{scripts}.chain"
        self.module: Any = import_module(f"{scripts}.build_chain")
        self.runs = Runs(project, "chain")

    def edit(self, value: int, stage: str = "first") -> None:
        write(self.folder, f"shortloop/{stage}.py", f"def f(): return {value}\n")

    def plan(self) -> list[tuple[str, str]]:
        return [(job.plan, job.reason) for job in self.runs.plan(self.module.pipeline).jobs]

    def run(self, *force: str, name: str = "chain") -> dict[str, str]:
        """What was built, and why."""
        with Store() as store:
            plan = Planner(Lookup(store, name))
            self.module.pipeline(plan)
            part = choose(Selection(force=force), plan, store.index)
            lookup = Lookup(store, name)
            run = Executor(lookup, self.runs.exax, Told(), part=part)
            self.module.pipeline(run)
            store.index.put_in_places(lookup.places)
        return {f"{job.stage} {job.partition}": job.reason for job in run.jobs if job.fresh}

    def declare(self, stage: str = "first", why: str = "a new name") -> Declared:
        return declare_harmless(self.script, stage, why)

    def job(self, stage: str, partition: str, name: str = "chain") -> str:
        with Store() as store:
            return store.index.in_place(Place(name, stage, partition, ""))

    def folder_of(self, job: str) -> Path:
        return self.folder / "workdirs/main" / job

    def forget_index(self) -> None:
        shutil.rmtree(self.folder / "workdirs/main/.shortloop", ignore_errors=True)


@pytest.fixture
def chain(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chain]:
    scripts = f"harmless_{next(NUMBERS)}"
    conf = package / "accelerator.conf"
    text = conf.read_text(encoding="utf-8").replace(
        "auto-discover", f"auto-discover\n\t{scripts} auto-discover"
    )
    conf.write_text(text, encoding="utf-8")
    while scripts not in project_module.configuration().method_directories:
        project_module._configuration.cache_clear()  # a thread of an earlier test has just read it
    write(package, f"{scripts}/__init__.py", "")
    write(package, f"{scripts}/build_chain.py", SCRIPT)
    monkeypatch.setattr(sys, "path", [str(package), *sys.path])
    made = Chain(package, scripts)
    assert len(made.run()) == 4
    made.edit(2)
    yield made
    for name in [name for name in sys.modules if name.startswith(scripts)]:
        del sys.modules[name]


HARMLESS = (REUSE, "declared harmless: a new name")
ALL_REUSED = [HARMLESS, (REUSE, ""), HARMLESS, (REUSE, "")]


def test_its_jobs_are_current_and_say_why_and_later_changes_are_compared_with_them(chain: Chain) -> None:
    assert [plan for plan, _ in chain.plan()].count(BUILD) == 2
    done = chain.declare(why=" a new\n name ")
    assert [job for job, _ in done.jobs] == [chain.job("first", "A"), chain.job("first", "B")]
    assert chain.plan() == ALL_REUSED
    assert chain.run() == {}
    manifest = read_manifest(chain.folder_of(chain.job("first", "A")))
    assert manifest is not None
    (kept,) = manifest.harmless
    assert (kept.why, kept.what) == ("a new name", "code of first.f (shortloop/first.py)")
    assert list(kept.code) == ["shortloop.first"]
    assert kept.versions == {}
    assert kept.applied(manifest.parts).key() != manifest.key
    with Store() as store:  # upkeep sees its jobs as any others
        entries = inventory(store)
        assert {each.state for each in entries} == {"current"}
        assert check_all(entries) == []
    write(chain.folder, "methods/a_first.py", METHOD.format(name="first", grows="") + "    print(1)\n")
    built = chain.run()
    assert list(built) == ["first A", "first B"]
    assert built["first A"] == "code of a_first.synthesis (methods/a_first.py)"
    with Store() as store:
        explained = explain(store, chain.job("first", "A"))
        (cause,) = explained.causes
        assert cause.difference.name == "methods.a_first"
        named = explain(store, explained.manifest.job, against=explained.before)
        assert len(named.causes) == 2  # what they were really made of


def test_it_is_declared_again_after_each_change(chain: Chain) -> None:
    chain.edit(1)
    assert chain.run(name="other") == {}
    chain.edit(2)
    chain.declare()
    assert chain.run(name="other") == {}  # it holds in every pipeline that has the job
    assert chain.job("first", "A", "other") == chain.job("first", "A")
    chain.edit(3)
    chain.declare(why="another one")
    assert chain.run() == {}
    chain.edit(2)
    assert chain.plan() == ALL_REUSED
    chain.edit(1)
    assert chain.plan() == [(REUSE, "")] * 4


def test_a_damaged_job_is_not_declared_and_a_deleted_one_is_built(chain: Chain) -> None:
    job, other = chain.job("first", "A"), chain.job("first", "B")
    (chain.folder_of(job) / "record.json").write_text("{}", encoding="utf-8")
    done = chain.declare()
    assert [each for each, _ in done.jobs] == [other]
    assert done.left == [f"first A: {job} was damaged: record.json is cut short: 2 of 150 bytes"]
    (chain.folder_of(other) / "post.json").rename(chain.folder_of(other) / "post.deleted.json")
    with Store() as store:
        store.index.forget(other)
    built = chain.run()
    assert list(built) == ["first A", "first B"]
    assert built["first B"] == f"{other} was deleted"


def test_other_inputs_are_refused(chain: Chain) -> None:
    chain.edit(5, "second")
    with refusal("second A: first would be built first"):
        chain.declare("second")
    chain.declare()
    chain.declare("second")
    assert chain.run() == {}
    chain.edit(3)
    chain.edit(6, "second")
    chain.runs.exax.while_running = lambda: _leave_more(chain)
    chain.module.options["second"] = {"count": 11}  # so that these jobs are not built
    with refusal("option count: 10 → 11, first would be built first"):
        chain.declare("second")


def test_a_method_that_was_moved_is_another_one(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    """No declaration would find its jobs again, as a key holds the name of the method with its package."""
    write(chain.folder, "dev/__init__.py", "")
    monkeypatch.delitem(sys.modules, "dev", raising=False)  # that of the checkout, if a test has imported it
    (chain.folder / "methods/a_first.py").rename(chain.folder / "dev/a_first.py")
    folders = [(name, chain.folder / name) for name in ("dev", "methods")]
    monkeypatch.setattr(methods, "packages", lambda: folders)
    monkeypatch.setattr(methods, "_methods", {})
    with refusal(r"its method was methods\.first, and is dev\.first"):
        chain.declare()


def _leave_more(chain: Chain) -> None:
    """The job that runs leaves a file more than before."""
    newest = max((chain.folder / "workdirs/main").glob("main-*"), key=lambda each: int(each.name[5:]))
    (newest / "more.npy").write_bytes(b"1")


def test_what_cannot_be_declared(chain: Chain) -> None:
    with refusal("first, second"):
        chain.declare("third")
    with refusal("needs a reason"):
        chain.declare(why=" ")
    chain.module.options["first"] = {"count": 3}
    with refusal("first A: option count: none → 3; first B", "not only code and versions"):
        chain.declare()
    chain.module.options["first"] = {}
    assert [plan for plan, _ in chain.plan()].count(BUILD) == 2  # nothing is declared
    chain.edit(1)
    with refusal("2 are there"):
        chain.declare()


def test_built_once_more_and_the_same_or_different(chain: Chain, capsys: pytest.CaptureFixture[str]) -> None:
    chain.declare()
    old, other = chain.job("first", "A"), chain.job("first", "B")
    assert list(chain.run(old)) == ["first A"]
    assert f"came out the same as {old}" in capsys.readouterr().out
    assert chain.plan() == [(REUSE, ""), *ALL_REUSED[1:]]
    chain.runs.exax.while_running = lambda: _leave_more(chain)
    assert list(chain.run(other)) == ["first B", "second B"]
    said = capsys.readouterr().out
    assert f"came out different from {other}: array more" in said
    assert "that declaration is withdrawn" in said
    chain.runs.exax.while_running = lambda: None
    shutil.rmtree(chain.folder_of(chain.job("first", "B")))
    assert "first B" in chain.run()  # and the old one is not taken for it
    chain.edit(1)
    assert chain.plan()[2] == (REUSE, "")


def test_jobs_grow_from_it(chain: Chain) -> None:
    chain.declare()
    chain.edit(2, "second")
    chain.declare("second")
    old = chain.job("second", "A")
    chain.module.options["second"] = {"count": 20}
    assert list(chain.run()) == ["second A", "second B"]
    assert chain.runs.exax.asked[-2][2]["before"] == old
    chain.run(chain.job("second", "A"))
    assert "before" not in chain.runs.exax.asked[-1][2]


def test_another_version_of_a_library(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    write(chain.folder, FIRST, "import numpy\n")
    assert len(chain.run()) == 2
    as_it_is = installed.as_installed
    monkeypatch.setattr(installed, "as_installed", lambda name: {"numpy": "9.9"}.get(name) or as_it_is(name))
    assert chain.plan()[0][1].startswith("version numpy: ")
    ((_, kept), _) = chain.declare().jobs
    assert kept.code == {}
    assert kept.versions["numpy"][1] == "9.9"
    assert chain.run() == {}


class Model:
    """What must be there of one partition: jobs, what each was made of, and what was declared of it."""

    def __init__(self) -> None:
        self.jobs: list[dict[str, Any]] = []
        self.place: dict[str, Any] | None = None

    def find(self, state: int) -> dict[str, Any] | None:
        whole = [job for job in reversed(self.jobs) if job["whole"]]
        made = [job for job in whole if job["made"] == state]
        return next(iter(made + [job for job in whole if state in job["declared"]]), None)

    def run(self, state: int, job: str) -> bool:
        self.place = self.find(state)
        if self.place is None:
            self.place = {"id": job, "made": state, "declared": set(), "whole": True}
            self.jobs.append(self.place)
        return self.place["id"] == job

    def declare(self, state: int) -> bool:
        if self.find(state) is not None or self.place is None:
            return False
        found = self.find(self.place["made"])
        if found is None:
            return False
        found["declared"].add(state)
        return True


@first_cases(1, "seed", range(4))
def test_whatever_is_done_in_whatever_order(chain: Chain, seed: int) -> None:
    """A job is taken for current only if its code is as it is now, or that very change was declared of it."""
    rng = random.Random(seed)
    models = {name: Model() for name in "AB"}
    state = 1
    chain.edit(state)
    for name, model in models.items():
        model.run(state, chain.job("first", name))
    for _ in range(40):
        what = rng.choice(["edit", "edit", "declare", "declare", "run", "run", "damage", "forget"])
        if what == "edit":
            state = rng.randrange(1, 4)
            chain.edit(state)
        elif what == "declare":
            expected = [name for name, model in models.items() if model.declare(state)]
            with contextlib.suppress(InputError):
                assert len(chain.declare().jobs) == len(expected)
                continue
            assert expected == []
        elif what == "damage":
            name = rng.choice("AB")
            job = rng.choice(models[name].jobs)
            job["whole"] = False
            (chain.folder_of(job["id"]) / "record.json").write_text("{}", encoding="utf-8")
        elif what == "forget":
            chain.forget_index()
            for model in models.values():
                model.place = None
        else:
            built = chain.run()
            for name, model in models.items():
                before = len(model.jobs)
                model.run(state, chain.job("first", name))
                assert (f"first {name}" in built) == (len(model.jobs) > before)
                assert model.place is not None
                assert model.place["id"] == chain.job("first", name)


def test_a_declaration_of_another_job_is_damage(chain: Chain) -> None:
    chain.declare()
    folder = chain.folder_of(chain.job("first", "A"))
    plain = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    del plain["hash"]
    for how in (
        {"why": 3},
        {"code": {"shortloop.first": ["no hash", None]}},
        {"code": {"x": "ab"}},
        {"y": 1},
    ):
        forged = {**plain, "harmless": [{**plain["harmless"][0], **how}]}
        (folder / MANIFEST).write_text(json.dumps({**forged, "hash": digest(forged)}), encoding="utf-8")
        assert manifest_problem(folder) == "manifest.json is damaged", how
