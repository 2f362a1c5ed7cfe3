"""Jobs side by side start joblib's shared workers one at a time."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from joblib.externals.loky import reusable_executor

from shortloop.engines import joblib_engine
from shortloop.engines.joblib_engine import JoblibEngine
from shortloop.settings.engine import EngineSettings
from shortloop.units.messages import Reply
from shortloop.units.queue import Batches


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
        units = [b"%d" % number for number in range(4)]
        batches = Batches(dict.fromkeys(units, 1.0), 2, engine.message)
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
