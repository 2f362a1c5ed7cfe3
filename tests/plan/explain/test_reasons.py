"""The one-line reason to build a job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from jobs_project import write
from toy_jobs import ToyJobs, toy_project, with_code

from shortloop.plan.explain import reasons
from shortloop.plan.explain.reasons import NEW, reason_to_build
from shortloop.plan.pipeline import Built
from shortloop.store.inputs import register
from shortloop.store.manifest import Manifest
from shortloop.store.store import Store

NOW = with_code(steps="def step(x):\n    return x + 2\n\ndef other():\n    pass", more="LIMIT = 1")


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    monkeypatch.chdir(toy_project(tmp_path))
    monkeypatch.setattr(reasons, "_names", {})
    for name in ("steps", "more"):
        write(tmp_path, f"shortloop/{name}.py", NOW[f"shortloop.{name}"])
    monkeypatch.setattr(reasons, "find_method", lambda method: ("methods", tmp_path / f"a_{method}.py"))
    monkeypatch.setattr(reasons, "code_texts", lambda file, more=(): NOW)
    return ToyJobs(tmp_path)


def reason(jobs: ToyJobs, old: Manifest, new: Manifest, **above: Built | list[Built]) -> str:
    with Store() as store:
        return reason_to_build(store, new.parts, old, above)


def built(manifest: Manifest) -> Built:
    return Built(
        manifest.job, manifest.parts.method.rpartition(".")[2], manifest.partition, content=manifest.content
    )


def test_without_a_job_before_it_is_new(jobs: ToyJobs) -> None:
    with Store() as store:
        assert reason_to_build(store, jobs.make().parts, None, {}) == NEW == "new"


def test_the_same_key_means_that_the_result_is_gone(jobs: ToyJobs) -> None:
    one = jobs.make()
    assert reason(jobs, one, one) == "its result is gone"


def test_code_is_named_by_function_and_file(jobs: ToyJobs) -> None:
    one, two = jobs.make(), jobs.make(code={**NOW})
    assert reason(jobs, one, two) == (
        "code of steps.step, steps.other (shortloop/steps.py); "
        "code of more (shortloop/more.py), not used before"
    )
    assert reason(jobs, two, one).endswith("code of more (shortloop/more.py), no longer used")


def test_code_of_a_job_whose_code_is_gone_is_named_by_file(jobs: ToyJobs) -> None:
    one, two = jobs.make(), jobs.make(code=with_code(steps=NOW["shortloop.steps"]))
    (jobs.folder(one.job) / "method.tar.gz").unlink()
    assert reason(jobs, one, two) == "code of steps (shortloop/steps.py)"


def test_the_code_of_the_first_job_is_read_for_all(jobs: ToyJobs, monkeypatch: pytest.MonkeyPatch) -> None:
    ones = [jobs.make(name) for name in "ABC"]
    twos = [jobs.make(name, code=with_code(steps=NOW["shortloop.steps"])) for name in "ABC"]
    read: list[Path] = []
    stored = reasons.stored_code

    def stored_code(folder: Path) -> dict[str, str]:
        read.append(folder)
        return stored(folder)

    monkeypatch.setattr(reasons, "stored_code", stored_code)
    said = {reason(jobs, one, two) for one, two in zip(ones, twos)}
    assert said == {"code of steps.step, steps.other (shortloop/steps.py)"}
    assert read == [jobs.folder(ones[0].job)]


def test_files_are_named(jobs: ToyJobs) -> None:
    files = [jobs.project / name for name in ("a.npz", "b.npz")]
    for file in files:
        file.write_bytes(file.name.encode())
    a, b = register(files)
    files[0].write_bytes(b"changed")
    (changed,) = register(files[:1])
    one = jobs.make(options={"files": {"study": [a, b], "test": [a]}})
    for new, said in [
        ({"study": [changed, b], "test": [a]}, "file a.npz was changed"),
        ({"study": [b, b], "test": [a]}, "file a.npz → b.npz"),
        ({"study": [a], "test": [a]}, "file b.npz was removed"),
        ({"study": [a, b, changed], "test": [a]}, "file a.npz is new"),
        ({"study": [a, b], "test": "0" * 64}, "file a.npz → 000000000000…"),
    ]:
        assert reason(jobs, one, jobs.make(options={"files": new})) == said


def test_an_input_is_named_by_both_jobs(jobs: ToyJobs) -> None:
    old, new = jobs.make(left=1), jobs.make(left=2)
    one, two = jobs.make(above={"scores": old}), jobs.make(above={"scores": new})
    assert reason(jobs, one, two, scores=built(new)) == "scores main-0 → main-1 came out different"


def test_inputs_of_many_partitions_are_counted(jobs: ToyJobs) -> None:
    old = [jobs.make(name, left=1) for name in "ABC"]
    new = [jobs.make(name, left=2) for name in "ABC"]

    def said(*now: Manifest) -> str:
        two = jobs.make(None, above={"all": list(now)})
        return reason(jobs, one, two, all=[built(each) for each in now])

    one = jobs.make(None, above={"all": old})
    assert said(old[0], new[1], old[2]) == "scores B main-1 → main-4 came out different"
    assert said(*new) == "3 of 3 scores jobs came out different"
    # One that has another name takes another place, and moves those between.
    assert said(old[1], old[2], new[0]) == "scores A main-0 → main-3 came out different"
    assert said(old[1], old[2], old[0]) == "the order of 3 scores jobs changed"
    assert said(*old[:2]) == "all: 3 → 2 jobs"


def test_what_is_not_known_yet_is_no_reason(jobs: ToyJobs) -> None:
    above = jobs.make()
    one, two = jobs.make(above={"scores": above}), jobs.make(options={"seed": 2}, above={"scores": above})
    planned = replace(two, parts=replace(two.parts, inputs={"scores": ""}))
    assert reason(jobs, one, planned, scores=Built("", "scores", "A")) == "option seed: none → 2"
