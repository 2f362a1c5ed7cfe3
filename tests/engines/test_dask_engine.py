"""The Dask engine asks again for what is slow, and does not take that for a lost connection."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

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
