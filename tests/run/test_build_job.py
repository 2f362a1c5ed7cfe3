"""Making one job: what exax hands out is used only if it is what was ordered."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3
from jobs_exax import Exax
from jobs_project import write
from jobs_runs import Told
from refusal import refusal
from toy_jobs import make_outdated

from shortloop.exax import client
from shortloop.keys.code import code_texts
from shortloop.plan.explain.reasons import stored_code
from shortloop.plan.pipeline import Built
from shortloop.plan.planner import Lookup, Planner
from shortloop.project.project import FINISHED, SET_ASIDE
from shortloop.run.build_jobs import Executor
from shortloop.store.manifest import MANIFEST, read_manifest
from shortloop.store.process_notes import NOTED
from shortloop.store.store import Store

METHOD = """\
options = {"a": 0, "b": 0}


def synthesis():
    import shortloop.a
"""


class Toy:
    """One job of one method, by an exax that can be asked."""

    def __init__(self, project: Path) -> None:
        write(project, "methods/a_toy.py", METHOD)
        write(project, "shortloop/a.py", "x = 1\n")
        self.project = project
        self.exax = Exax(project)
        time.sleep(0.02)  # a tick of the file system's clock: the code is older than all jobs

    def build(self, **options: Any) -> Built:
        with Store() as store:
            return Executor(Lookup(store, "toy"), self.exax, Told()).build("toy", **options)

    def forget(self, *, manifests: bool) -> None:
        """As if the last run had been cut off before all was written."""
        for file in (self.project / "workdirs/main/.shortloop").glob("*.sqlite*"):
            file.unlink()
        if manifests:
            for file in (self.project / "workdirs/main").glob(f"*/{MANIFEST}"):
                file.unlink()
                (file.parent / NOTED).write_text(self.exax.notes[file.parent], encoding="utf-8")


@pytest.fixture
def toy(package: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    monkeypatch.setattr(client, "reload_methods", lambda: None)  # this exax always has them as they are
    return Toy(package)


def test_code_that_exax_does_not_keep_is_kept_with_the_job(toy: Toy) -> None:
    write(toy.project, "shortloop/named.py", "import shortloop.a, shortloop.below  # a comment\n")
    write(toy.project, "shortloop/below.py", "def low(x):\n    return x\n")
    with_them, without = toy.build(modules=["shortloop.named"]), toy.build()
    its_own = stored_code(without.path)  # it does not say its code, with `code_of`
    assert its_own.keys() == {"methods.a_toy", "shortloop.a"}
    assert stored_code(with_them.path) == its_own | {
        "shortloop.below": "def low(x):\n    return x",
        "shortloop.named": "import shortloop.a, shortloop.below",
    }
    assert with_them.content == without.content
    manifest = read_manifest(with_them.path)
    assert manifest is not None
    assert code_texts(Path("methods/a_toy.py"), ["shortloop.named"]).keys() == manifest.parts.code.keys()


@pytest.mark.parametrize("manifests", [False, True])
def test_a_job_that_the_index_lost_or_nobody_recorded_is_taken_over(toy: Toy, manifests: bool) -> None:
    """Also if a file of its code was written since: what it has loaded is known. Not if a power cut may
    have cut its files short."""
    with Store() as store:
        assert Planner(Lookup(store, "toy")).build("toy").plan == "build"
    assert toy.exax.asked == []  # a plan makes nothing
    first = toy.build(b=2, a=1)
    for text in ("x = 1\n", "x = 1\n"):
        toy.forget(manifests=manifests)
        again = toy.build(b=2, a=1)
        assert (again.job, again.fresh, again.content) == (first.job, False, first.content)
        write(toy.project, "shortloop/a.py", text)
    assert len(toy.exax.made) == 1
    manifest = read_manifest(again.path)
    assert manifest is not None
    assert (manifest.job, manifest.content) == (first.job, first.content)
    assert (manifest.pipeline, manifest.parts.options) == ("toy", {"a": 1, "b": 2})
    assert manifest.key == manifest.parts.key()
    assert manifests or (manifest.reason, manifest.cost["seconds"]) == ("new", 0.25)
    assert manifest.cost["bytes"] == sum(size for size, _ in manifest.files.values())


def test_not_if_it_was_made_before_the_machine_started(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    first = toy.build()
    toy.forget(manifests=True)
    monkeypatch.setattr(time, "clock_gettime", lambda clock: 0.0)  # as if it starts just now
    again = toy.build()
    assert (again.fresh, again.job != first.job) == (True, True)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "manifest cut short": lambda job: os.truncate(job / MANIFEST, 50),
    "result damaged": lambda job: (job / "record.json").write_text("{}", encoding="utf-8"),
    "set aside": lambda job: (job / FINISHED).rename(job / SET_ASIDE),
    "manifest of another version": lambda job: make_outdated(job, "manifest"),
    "record of another version": lambda job: make_outdated(job, "record"),
    "nobody knows what it has loaded": lambda job: (job / NOTED).unlink(),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_not_if_it_cannot_be_trusted(toy: Toy, how: str) -> None:
    """Though exax still hands it out, and all else of it fits."""
    first = toy.build()
    toy.forget(manifests=how.startswith("nobody"))
    (first.path / NOTED).write_text(toy.exax.notes[first.path], encoding="utf-8")
    DAMAGES[how](first.path)
    again = toy.build()
    assert (again.fresh, again.job != first.job) == (True, True)


def test_code_that_changes_while_the_job_runs(toy: Toy) -> None:
    """It is made again with the code as it is; what came of the code before is kept as that."""

    def edit() -> None:
        toy.exax.while_running = lambda: None
        write(toy.project, "shortloop/a.py", "x = 22\n")

    toy.exax.while_running = edit
    built = toy.build()
    assert built.fresh
    assert toy.exax.numbers == 2
    again = toy.build()
    assert (again.job, again.fresh) == (built.job, False)
    write(toy.project, "shortloop/a.py", "x = 1\n")
    assert toy.build().job == "main-0"


def test_code_that_is_loaded_after_it_changed(toy: Toy) -> None:
    """What the mixture left is used by nobody, also if the code is put back before the job ends."""

    def swap() -> None:
        toy.exax.while_running = lambda: None
        write(toy.project, "shortloop/a.py", "x = 22\n")
        late = {"shortloop.a": (str(toy.project / "shortloop/a.py"), blake3(b"x = 22\n").hexdigest())}
        notes = toy.project / "workdirs/main/main-0" / NOTED
        notes.write_text(notes.read_text(encoding="utf-8") + json.dumps({"loaded": late}), encoding="utf-8")
        write(toy.project, "shortloop/a.py", "x = 1\n")

    toy.exax.while_running = swap
    assert toy.build().job == "main-1"
    mixed = toy.project / "workdirs/main/main-0"
    assert (mixed / SET_ASIDE).is_file()
    assert not (mixed / MANIFEST).exists()


def test_code_that_goes_on_changing(toy: Toy) -> None:
    """A remark costs nothing."""
    toy.exax.while_running = lambda: write(toy.project, "shortloop/a.py", "x = 1  # a remark\n")
    assert toy.build(a=1).job == "main-0"
    number = iter(range(10))
    toy.exax.while_running = lambda: write(toy.project, "shortloop/a.py", f"x = 10{next(number)}\n")
    with refusal("keeps changing") as raised:
        toy.build()
    assert raised.value.found
    assert toy.exax.numbers == 4


def test_a_job_of_methods_that_exax_had_not_loaded_again(toy: Toy) -> None:
    """What it has loaded is of before the edit, as in a server that nobody told."""
    old, older = toy.exax.loaded, write(toy.project, "older.py", "x = 0\n")

    def stale(method: str) -> list[tuple[str, Path]]:
        toy.exax.loaded = old  # type: ignore[method-assign]
        return [("shortloop.a", older)]

    toy.exax.loaded = stale  # type: ignore[method-assign]
    assert toy.build().job == "main-1"
    assert not (toy.project / "workdirs/main/main-0" / FINISHED).exists()
