"""The Dask engine asks again for what is slow, and joblib's ends without waiting for units in progress."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from source_tree import ROOT

from shortloop.base.errors import TransientError
from shortloop.engines.dask_engine import PATIENCE, DaskEngine


def future(error: Exception) -> Any:
    """A task that is done, whose result does not come."""

    def result(timeout: float) -> object:
        raise error

    return SimpleNamespace(status="finished", result=result)


@pytest.fixture
def engine() -> DaskEngine:
    made: DaskEngine = DaskEngine.__new__(DaskEngine)
    made._where = "tcp://somewhere:8786"
    return made


def test_what_is_slow_is_no_lost_connection(engine: DaskEngine) -> None:
    assert engine._kept(future(TimeoutError())) is None
    assert engine._reply(future(TimeoutError()), PATIENCE) is None


def test_a_lost_connection_is_said(engine: DaskEngine) -> None:
    for ask in (engine._kept, lambda each: engine._reply(each, PATIENCE)):
        with pytest.raises(TransientError, match="connection to Dask's scheduler is lost"):
            ask(future(ConnectionError()))


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
