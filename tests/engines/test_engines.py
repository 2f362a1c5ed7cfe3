"""What is slow, lost or late, workers that start at the same time or differ, and what they have room for."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from copy import deepcopy
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from blake3 import blake3
from joblib.externals.loky import reusable_executor
from source_tree import ROOT

from shortloop.base.errors import TransientError
from shortloop.engines import joblib_engine
from shortloop.engines.engine import Resources
from shortloop.engines.handed_out import BACKLOG, LATE, HandedOut
from shortloop.engines.joblib_engine import JoblibEngine
from shortloop.run.scheduler import JobNeeds
from shortloop.settings.engine import EngineSettings
from shortloop.stages.needs import Needs
from shortloop.units.machine_facts import Facts, check_alike, check_same_code, facts_here
from shortloop.units.messages import Reply
from shortloop.units.queue import Batches

ENDED = """
import sys, threading, time
from pathlib import Path
import joblib
from shortloop.engines.joblib_engine import JoblibEngine
from shortloop.settings.engine import EngineSettings

begun = Path(sys.argv[1])


def unit(number):
    (begun / str(number)).touch()
    time.sleep(60)


def job():
    tasks = (joblib.delayed(unit)(number) for number in range(100))
    list(joblib.Parallel(2, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")(tasks))


engine = JoblibEngine(EngineSettings(name="joblib"), 2)
threading.excepthook = lambda given: None  # of jobs whose workers end
for _ in range(2):
    threading.Thread(target=job, daemon=True).start()
while not any(begun.iterdir()):
    time.sleep(0.01)
since = time.monotonic()
engine.close()
print(time.monotonic() - since)
"""


def test_it_waits_for_no_unit(tmp_path: Path) -> None:
    file, begun = tmp_path / "ended.py", tmp_path / "begun"
    begun.mkdir()
    file.write_text(ENDED, encoding="utf-8")
    command = [sys.executable, str(file), str(begun)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert float(done.stdout) < 30, done.stderr


class _Work:
    def _replace(self, **_: object) -> _Work:
        return self


def answer(work: object, units: list[bytes]) -> tuple[bytes, Reply]:
    return units[0], Reply(0.0, b"", "")


def test_no_job_takes_workers_that_another_is_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    """joblib lets others see an executor before it has a manager of temporary files."""
    pool: Any = reusable_executor._ReusablePoolExecutor
    original = pool.get_reusable_executor.__func__

    def slow(kind: Any, *arguments: Any, **more: Any) -> Any:
        found = original(kind, *arguments, **more)
        if not found[1]:  # it is new: now others find it, and it lacks its manager
            time.sleep(1)
        return found

    monkeypatch.setattr(pool, "get_reusable_executor", classmethod(slow))
    monkeypatch.setattr(joblib_engine, "_compute", answer)
    engine = JoblibEngine(EngineSettings(name="joblib", backend="loky"), 2)
    done: list[int] = []
    errors: list[BaseException] = []

    def job() -> None:
        batches = Batches(dict.fromkeys([b"%d" % number for number in range(4)], 1.0), 2, engine.message)
        supplies: Any = SimpleNamespace(work=_Work())
        try:
            done.extend(len(each.units) for each in engine.compute(supplies, batches, {}))
        except BaseException as error:
            errors.append(error)

    jobs = [threading.Thread(target=job) for _ in range(3)]
    try:
        for each in jobs:
            each.start()
        for each in jobs:
            each.join(120)
    finally:
        engine.close()
    assert not errors
    assert sum(done) == 3 * 4


HERE: Facts = {
    "host": "here",
    "versions": {"python": "3.11.7", "shortloop": "0.1.0", "numpy": "2.4.6"},
    "kernels": {"libopenblas 0.3": "SkylakeX", "numpy": "AVX2 SSE"},
}


def other(**changes: str) -> Facts:
    found = deepcopy(HERE)
    found["host"] = "node-7"
    for name, value in changes.items():
        where = found["versions"] if name in found["versions"] else found["kernels"]
        where[name] = value
    return found


def test_the_same_is_taken() -> None:
    """What only one of them has loaded is no difference."""
    check_alike(HERE, other(), False)
    there = other()
    del there["kernels"]["libopenblas 0.3"]
    there["kernels"]["numba"] = "skylake"
    check_alike(HERE, there, False)
    found = facts_here(["numpy", "pandas"])
    assert np.version.version in found["versions"]["numpy"]
    assert found["kernels"]["numpy"]
    assert any("openblas" in name for name in found["kernels"]), found
    check_alike(found, facts_here(["numpy"]), False)


def test_another_copy_of_a_module_is_named_if_it_is_another(tmp_path: Path) -> None:
    """The same file that changed meanwhile is none: its job is built again."""
    here, link, there = (tmp_path / name for name in ("here.py", "link.py", "there.py"))
    here.write_text("FACTOR = 1\n")
    link.symlink_to(here)

    def check(file: Path, text: str) -> None:
        loaded = {"steps": (str(file), blake3(text.encode()).hexdigest()), "other": ("other.py", "")}
        notes = b"".join(json.dumps(line).encode() + b"\n" for line in [{"opened": "x"}, {"loaded": loaded}])
        check_same_code({"steps": here}, notes, "node-7")

    check(here, "FACTOR = 2\n")
    check(link, "FACTOR = 2\n")
    check(there, "FACTOR = 1\n")
    with pytest.raises(TransientError) as caught:
        check(there, "FACTOR = 2\n")
    for each in ("copy of steps", str(there), "node-7", str(here)):
        assert each in caught.value.message


@pytest.mark.parametrize("library", ["python", "shortloop", "numpy"])
@pytest.mark.parametrize("version", ["9.9", "not installed"])
def test_another_version_is_named(library: str, version: str) -> None:
    with pytest.raises(TransientError) as caught:
        check_alike(HERE, other(**{library: version}), True)
    (line,) = [each.split() for each in caught.value.message.splitlines() if library in each.split()[:1]]
    assert line == [library, HERE["versions"][library], *version.split()]
    assert "node-7" in caught.value.message
    assert facts_here(["no_such_library"])["versions"]["no_such_library"] == "not installed"


def test_another_kind_of_processor_is_refused_unless_it_is_allowed() -> None:
    there = other(**{"libopenblas 0.3": "Haswell"})
    with pytest.raises(TransientError, match=r"SkylakeX +Haswell"):
        check_alike(HERE, there, False)
    check_alike(HERE, there, True)


NEEDED = Resources.of({"cores": 2, "gpus": 1, "n_jobs": 3})


@pytest.mark.parametrize(
    ("has", "times"),
    [(Resources(5, 9, 3), 2), (Resources(9, 9, 3), 3), (Resources(1, 9, 3), 0), (Resources(9), 0)],
)
def test_how_many_batches_have_room(has: Resources, times: int) -> None:
    assert has.times(NEEDED) == times
    assert has._replace(memory=inf).times(NEEDED._replace(memory=1)) == times
    assert Resources(times).times(Resources.of({})) == times


def test_what_nobody_has_is_named() -> None:
    assert NEEDED.lacking([Resources(1), Resources(2, gpus=1)]) == ""
    assert NEEDED.lacking([Resources(4), Resources(1)]) == "1 GPU"
    assert NEEDED.lacking([Resources(2), Resources(1, gpus=1)]) == "2 cores and 1 GPU"  # not at one place
    assert NEEDED.lacking([]) == "2 cores and 1 GPU"
    assert Resources.of({"memory": 30_000_000_000}).lacking([Resources(8, 2e10)]) == "30 GB of memory"


def test_only_what_is_unusual_is_asked_for() -> None:
    assert JobNeeds(Needs(), True).resources == {}
    asked = JobNeeds(Needs(2, 10**9, 1, retries=3), True).resources
    assert asked == {"cores": 2, "memory": 10**9, "gpus": 1}
    assert Resources.of(asked) == (2, 1e9, 1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("outage", [0.0, 30.0])
def test_what_waits_behind_others_is_not_late(clock: list[float], outage: float) -> None:
    """Units of a second for one worker, which computes them in their order, and may be away for a while."""
    batches = Batches({b"%d" % number: 1.0 for number in range(24)}, 1)
    out: HandedOut[int] = HandedOut(batches)
    supplies: Any = None
    again, key = 0, 0
    waiting: list[int] = []
    while not out.is_over or not key:
        while out.has_room(1, 2, elastic=True) and (batch := out.next()) is not None:
            again += bool(batch.keys)
            out.add(key, batch)
            waiting.append(key)
            key += 1
        clock[0] += 1.0
        if key >= 12:
            clock[0], outage = clock[0] + outage, 0.0
        first = waiting.pop(0)
        units = out._out[first].units
        batches.done(units, float(len(units)))
        out.came(first, Reply(1.0, b"done"), supplies)
    assert again <= (clock[0] > 24)


def test_what_a_frozen_worker_has_is_handed_out_again(clock: list[float]) -> None:
    batches = Batches({b"%d" % number: 1.0 for number in range(4)}, 2)
    out: HandedOut[int] = HandedOut(batches)
    given = []
    for key in range(4):
        assert out.has_room(2, 2, elastic=True)
        given.append(out.next())
        assert given[-1] is not None
        out.add(key, given[-1])
    batches.done(given[0].units, 1.0)  # type: ignore[union-attr]
    out.came(0, Reply(1.0, b"done"), None)  # type: ignore[arg-type]
    clock[0] = LATE
    assert out.next() is None
    clock[0] = LATE + BACKLOG
    late = out.next()
    assert late is given[1]
