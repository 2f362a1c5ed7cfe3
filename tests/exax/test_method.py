"""An exax method made of a stage or by `@stage`: what exax finds in it, and what comes of its functions."""

from __future__ import annotations

import gc
import importlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from blake3 import blake3
from in_process import do_job, files_of
from jobs_project import empty_project, make_job, own_methods, own_package, write
from toy_stages import Growing, Numbers, Powers, task_of
from units_runs import MethodJob, run_method

from shortloop.base.errors import InputError, TransientError
from shortloop.exax.cost import WORK
from shortloop.exax.method import exax_method
from shortloop.keys.code import Code, code_file, code_state
from shortloop.keys.file_state import states_of_files
from shortloop.keys.methods import STAGE
from shortloop.stages.results import Result, open_result
from shortloop.stages.stage import Finished, Outputs, Stage
from shortloop.store.inputs import register
from shortloop.store.process_notes import NOTED

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)
SLICES = 3


class Jobs:
    """Runs methods as exax does, in folders of jobs, one slice after the other."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.number = 0

    def run(
        self, stage: type[Stage], options: Mapping[str, Any], jobs: Mapping[str, Any] | None = None
    ) -> tuple[MethodJob, Result]:
        self.number += 1
        job = MethodJob(f"main-{self.number}")
        method = stage.__name__.lower()
        folder = make_job(self.project, job, method=method, options=options)
        job.path = str(folder)
        file = write(self.project, f"methods/a_{method}.py", "x = 1\n")
        run_method(exax_method(stage, str(file)), job, options, jobs or {}, SLICES)
        return job, open_result(folder)

    def numbers(self) -> MethodJob:
        (content,) = register([write(self.project, "numbers.txt", "1 2 3")])
        return self.run(Numbers, {"file": content})[0]


@pytest.fixture
def jobs(package: Path) -> Jobs:
    return Jobs(package)


STYLE = {"style": {"name": "x"}}


def test_what_exax_finds(package: Path) -> None:
    method = write(package, "methods/a_powers.py", "x = 1\n")
    made: dict[str, Any] = exax_method(Powers, str(method))
    assert made[STAGE] is Powers
    assert made["description"].startswith("Powers of numbers; a unit")
    assert made["depend_extra"] == [str(code_file(method))]
    assert made["options"] == {"partition": None, "modules": None, "count": None, "style": None}
    assert made["jobs"] == ("numbers", ["others"], "offset")
    assert exax_method(Growing, str(method))["jobs"] == ("numbers", "before")
    assert {"prepare", "analysis", "synthesis"} < made.keys()
    numbers: dict[str, Any] = exax_method(Numbers, str(method))
    assert numbers["options"]["scale"] is None  # exax would make values of the type of a default
    assert numbers["jobs"] == ()
    assert not {"prepare", "analysis"} & numbers.keys()


def test_units_are_shared_out_and_files_registered(jobs: Jobs, tmp_path: Path) -> None:
    numbers = jobs.numbers()
    job, result = jobs.run(Powers, {"count": 4, **STYLE}, {"numbers": numbers, "others": [numbers]})
    assert not job.early
    assert job.registered == [*(f"pages/{number}.txt" for number in range(4)), "report/all.txt"]
    plain = task_of(
        Powers,
        {"count": 4, **STYLE},
        {"numbers": str(numbers.path), "others": [str(numbers.path)]},
        versions=result.record["versions"],
    )
    expected, found = files_of(do_job(plain, tmp_path / "plain").path), files_of(Path(job.path))
    record = json.loads(found.pop("record.json"))
    assert record["threads"]
    assert record.pop("engine") == {"name": "slices", "workers": 3}
    assert (WORK["units"], WORK["of"]) == (4, 4)
    assert len(WORK["cpu_seconds"]) == 3
    assert {**record, "threads": []} == json.loads(expected.pop("record.json"))
    assert {name: found[name] for name in expected} == expected
    assert found.keys() - expected.keys() == {"post.json"}


def test_a_job_without_units_is_done_at_once(jobs: Jobs) -> None:
    """Partition and modules are no options of its stage."""
    (content,) = register([write(jobs.project, "numbers.txt", "1 2 3")])
    more = {"scale": 1.0, "partition": "north", "modules": ["json"]}
    _, result = jobs.run(Numbers, {"file": content, **more})
    assert (result.partition, result.stage) == ("north", "numbers")
    np.testing.assert_array_equal(result.arrays["numbers"], [1, 2, 3])
    assert result.record["threads"]
    assert result.record["versions"].keys() >= {"python"}
    _, refused = jobs.run(Numbers, {"file": content, "modules": ["json"]})  # which says nothing of the scale
    assert "option scale" in str(refused.problem)


class Small(Powers):
    def is_small(self) -> bool:
        return True


@pytest.mark.parametrize(("stage", "count"), [(Small, 4), (Powers, 1), (Powers, 0)])
def test_little_work_is_not_shared_out(jobs: Jobs, stage: type[Stage], count: int) -> None:
    job, result = jobs.run(stage, {"count": count, **STYLE}, {"numbers": jobs.numbers(), "others": []})
    assert job.early
    assert len(result.arrays["powers"]) == count
    assert job.registered == [*(f"pages/{number}.txt" for number in range(count)), "report/all.txt"]


def test_a_job_grows_from_the_one_before(jobs: Jobs) -> None:
    numbers = jobs.numbers()
    before, _ = jobs.run(Growing, {"count": 2}, {"numbers": numbers})
    _, result = jobs.run(Growing, {"count": 4}, {"numbers": numbers, "before": before})
    np.testing.assert_array_equal(result.arrays["powers"], np.array([1, 2, 3]) ** np.arange(4)[:, None])


class Refuses(Powers):
    where = "open"
    error: ClassVar[type[InputError]] = InputError

    def open(self) -> None:
        super().open()
        self._refuse("open")

    def compute(self, unit: int) -> Mapping[str, Any]:
        self._refuse("compute")
        return super().compute(unit)

    def finish(self, out: Outputs) -> Finished:
        self._refuse("finish")
        return super().finish(out)

    def _refuse(self, step: str) -> None:
        if self.where == step:
            raise self.error("no such numbers", file="a.txt")


@pytest.mark.parametrize(
    ("where", "error", "is_kept"),
    [
        ("open", InputError, True),
        ("finish", InputError, True),
        ("compute", InputError, False),  # which may be right the next time
        ("open", TransientError, False),
        ("finish", TransientError, False),
    ],
)
def test_input_that_is_refused_leaves_the_message(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, where: str, error: type[InputError], is_kept: bool
) -> None:
    monkeypatch.setattr(Refuses, "where", where)
    monkeypatch.setattr(Refuses, "error", error)
    given = {"count": 4, **STYLE}, {"numbers": jobs.numbers(), "others": []}
    if not is_kept:
        with pytest.raises(error, match="no such numbers"):
            jobs.run(Refuses, *given)
        assert not (jobs.project / "workdirs/main" / f"main-{jobs.number}" / "record.json").exists()
        return
    job, result = jobs.run(Refuses, *given)
    assert job.early == (where == "open")
    assert result.problem == "no such numbers\n  file:         a.txt"
    assert not [*result.path.glob("*.npy"), *result.path.rglob("*.txt"), *job.registered]
    assert len(result.arrays) == 0


class Late(Numbers):
    """Whose file changes when it has been read."""

    refuses = False

    def finish(self, out: Outputs) -> Finished:
        finished = super().finish(out)
        self.file.path.write_text("4 5 6", encoding="utf-8")
        if self.refuses:
            raise InputError("no such numbers")
        return finished


class LateRefuses(Late):
    refuses = True


@pytest.mark.parametrize(("stage", "now"), [(Numbers, "4 5 6"), (Late, "1 2 3"), (LateRefuses, "1 2 3")])
def test_a_file_that_changed_while_or_after_it_was_read_spoils_the_job(
    jobs: Jobs, stage: type[Stage], now: str
) -> None:
    (content,) = register([write(jobs.project, "numbers.txt", "1 2 3")])
    if now != "1 2 3":
        write(jobs.project, "numbers.txt", now)
    with pytest.raises(TransientError, match="changed while"):
        jobs.run(stage, {"file": content})


class CutOff(Powers):
    """Which is killed in its last unit the first time."""

    units_done: ClassVar[list[int]] = []
    is_killed = True

    def compute(self, unit: int) -> Mapping[str, Any]:
        if self.is_killed and unit == self.count - 1:
            raise KeyboardInterrupt
        self.units_done.append(unit)
        return super().compute(unit)


@pytest.mark.parametrize(
    ("also", "library", "begins_anew"),
    [
        ({}, "Version: 1.0", False),
        ({"opened": "settings.txt"}, "Version: 1.0", True),
        ({"loaded": {"methods.hidden": ["hidden.py", "0" * 64]}}, "Version: 1.0", True),
        ({"loaded": None}, "Version: 1.0", True),  # not even that it loaded its method
        ({}, "Version: 2.0", True),
    ],
)
def test_what_a_job_that_was_cut_off_has_left(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, also: dict[str, Any], library: str, begins_anew: bool
) -> None:
    """It is used if that job did only what its key says, with the libraries that there are now."""
    given = {"count": 4, **STYLE}, {"numbers": jobs.numbers(), "others": []}
    info = write(jobs.project, "toolbox-1.0.dist-info/METADATA", "Version: 1.0")

    def as_installed(*of: Any) -> Code:
        return code_state(*of)._replace(watched=[(str(info), states_of_files([str(info)])[0])])

    monkeypatch.setattr("shortloop.exax.method.code_state", as_installed)
    monkeypatch.setattr(CutOff, "units_done", [])
    with pytest.raises(KeyboardInterrupt):
        jobs.run(CutOff, *given)
    gc.collect()  # its lock
    cut_off = jobs.project / "workdirs/main" / f"main-{jobs.number}"
    method = jobs.project / "methods/a_cutoff.py"
    loaded = {"methods.a_cutoff": [str(method), blake3(method.read_bytes()).hexdigest()]}
    lines = [{"loaded": loaded}, also] if also.get("loaded", loaded) else [{"loaded": {}}]
    (cut_off / NOTED).write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    if library != info.read_text(encoding="utf-8"):
        info.with_name("new").write_text(library, encoding="utf-8")
        info.with_name("new").replace(info)
    monkeypatch.setattr(CutOff, "is_killed", False)
    _, result = jobs.run(CutOff, *given)
    assert CutOff.units_done == [0, 1, 2, *([0, 1, 2] if begins_anew else []), 3]
    assert result.arrays["powers"].tolist() == [[1, 1, 1], [1, 2, 3], [1, 4, 9], [1, 8, 27]]


@pytest.fixture
def methods(project: Path) -> Iterator[None]:
    Path("methods").mkdir(exist_ok=True)
    with own_methods(project / "methods"):
        yield


FUNCTION = '''\
"""A method."""

from shortloop import Job, stage


@stage
def double(numbers: Job, factor: float = 2.0):
    """Doubles."""
    return {"doubled": factor}
'''
UNITS = '''\
"""A method."""

from shortloop import Job, stage


def parts(numbers: Job):
    return {}


@stage(units=parts)
def double(part, factor: float):
    return {"doubled": factor * part}
'''
CLASS = '''\
"""A method."""

from shortloop import Job, Stage, stage


@stage
class Double(Stage):
    """Doubles."""

    numbers: Job
    factor: float = 2.0
'''


def loaded(text: str, file: str = "methods/a_double.py") -> Any:
    Path(file).write_text(text, encoding="utf-8")
    return importlib.import_module(file.removesuffix(".py").replace("/", "."))


@pytest.mark.usefixtures("methods")
@pytest.mark.parametrize(
    ("text", "description", "has", "given", "doubled"),
    [
        (FUNCTION, "Doubles.", ["synthesis"], None, 3),
        (UNITS, "double", ["analysis", "prepare", "synthesis"], 2, 6),
        (CLASS, "Doubles.", ["synthesis"], None, None),
    ],
)
def test_a_file_becomes_a_method(
    text: str, description: str, has: list[str], given: object, doubled: int | None
) -> None:
    """Whose function can be called as before."""
    made = loaded(text)
    assert (made.jobs, made.options["factor"], made.description) == (("numbers",), None, description)
    assert [name for name in ("analysis", "prepare", "synthesis") if hasattr(made, name)] == has
    assert doubled is None or made.double(given, 3) == {"doubled": doubled}


def test_a_file_of_another_name_is_no_method_and_two_stages_are_refused(methods: None) -> None:
    assert not hasattr(loaded(FUNCTION, "methods/steps.py"), "synthesis")
    with pytest.raises(InputError, match="double and triple"):
        loaded(FUNCTION + FUNCTION.replace("double", "triple"))
