"""What the processes of a job noted, against its key: what changed, what it cannot see, what was opened."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3
from jobs_project import empty_project, own_package, write, write_configuration

from shortloop.base.errors import InputError
from shortloop.exax.evidence import Evidence, evidence_of, given_files
from shortloop.exax.patches import watch
from shortloop.keys import own_code
from shortloop.keys.code import Code, code_state
from shortloop.keys.file_state import states_of_files
from shortloop.keys.key import Parts
from shortloop.store.inputs import locate, register
from shortloop.store.process_notes import NOTED, note, take_notes

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)


class Job:
    """A job that has noted what it did."""

    def __init__(self, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.package = package
        self.method = write(package, "methods/a_one.py", "import shortloop.a\n")
        self.file = write(package, "shortloop/a.py", "x = 1\n")
        self.folder = package / "job"
        self.folder.mkdir()
        monkeypatch.setattr("shortloop.store.process_notes._file", "")
        monkeypatch.setenv("SHORTLOOP_NOTES", "")  # put back when the test ends
        take_notes(self.folder)
        self.before = code_state(self.method)
        self.load("methods.a_one", self.method)

    def load(self, name: str, file: Path) -> None:
        note(loaded={name: (str(file), blake3(file.read_bytes()).hexdigest())})

    def evidence(self, **other: Any) -> Evidence:
        before: Code = self.before._replace(**other)
        parts = Parts("methods.one", self.before.code, self.before.versions, {}, {})
        return evidence_of(self.folder, parts, before)


@pytest.fixture
def job(package: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    return Job(package, monkeypatch)


def test_a_job_that_ran_what_its_key_says(job: Job) -> None:
    """A module is known by its file; what watches jobs is no code of theirs."""
    link = job.package / "link.py"
    link.symlink_to(job.file)
    for name, file in (("shortloop.a", job.file), ("under.another.name", job.file), ("link", link)):
        job.load(name, file)
        assert job.evidence() == Evidence()
    job.file.write_text("x = 1  # a remark\n", encoding="utf-8")
    code_state(job.method)  # as the run reads it, when it looks at the next job
    job.load("shortloop.a", job.file)
    assert job.evidence() == Evidence()
    patches = [f"exax.patches.{each}" for each in ("watch", "machine_code", "loading", "processes")]
    for name in ("keys.closure", "units.process_ends", *patches):
        file = own_code.ROOT.joinpath("shortloop", *name.split(".")).with_suffix(".py")
        job.load(f"shortloop.{name}", file)
    assert job.evidence() == Evidence()


def test_a_job_that_noted_nothing_or_not_even_its_method(job: Job) -> None:
    (job.folder / NOTED).unlink()
    assert "not known" in job.evidence().changed
    (job.folder / NOTED).write_text('{"loaded": {', encoding="utf-8")
    assert "not known" in job.evidence().changed
    (job.folder / NOTED).unlink()
    job.load("shortloop.a", job.file)
    assert "not known" in job.evidence().changed


def test_a_library_of_another_version_where_jobs_run(job: Job) -> None:
    """As where the server was started in another environment."""
    note(versions=job.before.versions)
    assert job.evidence() == Evidence()
    note(versions={**job.before.versions, "python": "3.10.1"})
    assert job.evidence().changed == f"python was 3.10.1 where jobs run, not {job.before.versions['python']}"


def test_code_that_was_another_one(job: Job) -> None:
    job.file.write_text("x = 2\n", encoding="utf-8")
    job.load("shortloop.a", job.file)
    job.file.write_text("x = 1\n", encoding="utf-8")
    assert job.evidence().changed == "the code of shortloop.a changed"


def test_code_that_the_key_does_not_know(job: Job) -> None:
    hidden = write(job.package, "methods/hidden.py", "x = 1\n")
    job.load("methods.hidden", hidden)
    evidence = job.evidence()
    assert evidence.unseen == [("methods.hidden", str(hidden))]
    with pytest.raises(InputError, match=r"methods\.hidden \(.*hidden\.py\)") as caught:
        evidence.check("one")
    assert caught.value.hint


@pytest.mark.parametrize("when_located", [False, True])
def test_an_input_that_was_another_one(job: Job, when_located: bool) -> None:
    file = write(job.package, "data.txt", "1")
    (content,) = register([file])
    if not when_located:
        locate(content)
        assert job.evidence() == Evidence()
        time.sleep(0.02)
    file.write_text("2", encoding="utf-8")
    if when_located:
        with pytest.raises(InputError):
            locate(content)
    file.write_text("1", encoding="utf-8")
    assert job.evidence().changed == f"the file {file} changed"


def test_a_library_that_was_replaced(job: Job) -> None:
    info = write(job.package, "toolbox-1.0.dist-info/METADATA", "Version: 1.0")
    (state,) = states_of_files([str(info)])
    watched = [(str(info), state)]
    assert job.evidence(watched=watched) == Evidence()
    time.sleep(0.02)
    other = info.with_name("other")
    info.rename(other)
    info.write_text("Version: 1.1", encoding="utf-8")
    other.rename(info)  # and put back
    assert "declares, changed" in job.evidence(watched=watched).changed
    info.unlink()
    assert "declares, changed" in job.evidence(watched=watched).changed
    assert "declares, changed" in job.evidence(versions={"numpy": "0"}).changed


def test_files_that_were_opened(job: Job) -> None:
    data, declared = write(job.package, "data.txt", "1"), write(job.package, "declared.txt", "1")
    located = write(job.package, "located.txt", "1")
    locate(*register([located]))
    for file in (data, declared, located, job.file, data):
        note(opened=str(file))
    folder = f"{job.file.parent}/"  # what is in it now is in the key, what is added later is not
    note(opened=folder)
    evidence = job.evidence(declared=[declared])
    assert evidence == Evidence(opened=[str(data), folder])
    (said,) = evidence.warnings("main-1", "one")
    assert "main-1 (one) has read data.txt, shortloop/, which its key does not see" in said
    assert json.loads((job.folder / NOTED).read_text(encoding="utf-8").splitlines()[0])


def test_a_file_that_is_given_as_a_path_must_stay_as_it_is(job: Job) -> None:
    file = write(job.package, "given.csv", "1")
    paths = {str(file): register([file])[0]}
    given = given_files(paths)
    note(opened=str(file))
    parts = Parts("methods.one", job.before.code, job.before.versions, {}, {})
    assert evidence_of(job.folder, parts, job.before, given) == Evidence()
    time.sleep(0.02)
    file.write_text("2", encoding="utf-8")
    with pytest.raises(InputError, match="changed or moved"):
        given_files(paths)
    file.write_text("1", encoding="utf-8")
    assert evidence_of(job.folder, parts, job.before, given).changed == f"the file {file} changed"
    given_files(paths)  # it holds the same, so the next attempt may begin
    file.unlink()
    with pytest.raises(InputError, match="changed or moved"):
        given_files(paths)


@pytest.mark.parametrize("above", ["project", ".hidden/project"])
def test_what_may_be_data_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, above: str) -> None:
    project = tmp_path / above
    project.mkdir(parents=True)
    write_configuration(project)
    monkeypatch.chdir(project)
    is_watched = watch._watched_files()
    watched = ["data.csv", "methods/table.txt", "methods/helper.py", "a b/ü.npz", "results/x/summary.json"]
    assert [name for name in watched if not is_watched(str(project / name))] == []
    others = [
        "workdirs/main/main-1/x.npy",
        "workdirs/.cache/code/parsed.json",
        "elsewhere/other/other-1/x.npy",  # of the other workdir
        ".git/config",
        ".socket.dir/server",
        "methods/__pycache__/a.pyc",
        "accelerator.conf",
    ]
    assert [name for name in others if is_watched(str(project / name))] == []
    assert not is_watched(str(tmp_path / "beside.csv"))
    assert not is_watched(watch.__file__)
