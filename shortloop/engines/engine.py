"""Interface of engines, engines by name, and connecting to clusters with a time limit."""

from __future__ import annotations

import importlib
import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from typing import ClassVar, NamedTuple, TypeVar

from shortloop.base.errors import TransientError
from shortloop.base.extras import entry_point, load_entry_point, need
from shortloop.base.plain import Plain
from shortloop.engines.send_files import Supplies
from shortloop.settings.engine import ENGINE_GROUP, EngineSettings
from shortloop.units.messages import Reply
from shortloop.units.queue import Batches

CONNECT = 8.0  # s that a cluster may take to answer
# Class of each engine, imported on first use; slices are exax's own.
ENGINES = {
    "joblib": "shortloop.engines.joblib_engine.JoblibEngine",
    "dask": "shortloop.engines.dask_engine.DaskEngine",
    "ray": "shortloop.engines.ray_engine.RayEngine",
}
# Import names of the libraries that each engine needs; extras have the names of the engines.
LIBRARIES = {"joblib": ("joblib",), "dask": ("dask", "distributed"), "ray": ("ray",)}
T = TypeVar("T")
Asked = Mapping[str, Plain]  # what a job asks of the engine, as of `joblib.parallel_config`


class Computed(NamedTuple):
    """A batch that was computed, or lost with its worker."""

    units: list[bytes]
    reply: Reply


class Engine(ABC):
    """Workers of one library. It is kept for all jobs of a run, and asked by one thread for each job.

    It is made of the settings and the number of workers to start: ``Kind(settings, workers)``.
    """

    message: ClassVar[float]  # seconds of one core that the library's scheduler takes for any batch

    @abstractmethod
    def workers(self, asked: Asked) -> int:
        """Return how many batches it can compute at a time, now."""

    @abstractmethod
    def compute(self, supplies: Supplies, batches: Batches[bytes], asked: Asked) -> Iterator[Computed]:
        """Compute batches until there are no more; in the order in which they are done."""

    @abstractmethod
    def described(self) -> dict[str, Plain]:
        """Describe the engine for records: `version` of its library, and `where` it is."""

    @abstractmethod
    def close(self) -> None:
        """End what was started for it; a cluster that was there before goes on."""


def open_engine(settings: EngineSettings, workers: int) -> Engine:
    name = settings.name
    if name in ENGINES:
        need(name, LIBRARIES[name])
        if name == "ray" and settings.address is None:  # it must not be imported yet
            os.environ.pop("RAY_AUTH_TOKEN_PATH", None)
            # It listens on 127.0.0.1 alone, not where other nodes could reach it, and asks for a token.
            token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
            os.environ |= {**token, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
        module, _, last = ENGINES[name].rpartition(".")
        kind: type[Engine] = getattr(importlib.import_module(module), last)
    elif (point := entry_point(ENGINE_GROUP, name)) is None:  # it was there when the run began
        raise TransientError("the engine is not installed", field="engine.name", found=name)
    else:
        wrong = f"an entry point of {ENGINE_GROUP} cannot be used"
        expected = "a class below shortloop.engines.engine.Engine, with all its methods"
        kind = load_entry_point(point, _is_engine, wrong, expected)
    return kind(settings, settings.workers or workers)  # type: ignore[call-arg]


def _is_engine(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Engine) and not found.__abstractmethods__


def connected(what: str, address: str, hint: str, connect: Callable[[], T]) -> T:
    """Connect to a cluster; raise TransientError if it cannot be reached in time."""
    answer: Future[T] = Future()

    def attempt() -> None:
        try:
            answer.set_result(connect())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=attempt, daemon=True).start()
    if wait([answer], CONNECT).not_done:
        reason = "no answer"
    elif (error := answer.exception()) is None:
        return answer.result()
    elif isinstance(error, TransientError):
        raise error
    else:
        first = error.__cause__ or error
        reason = f"{type(first).__name__}: {first}"
    problem = f"{what} cannot be reached"
    found = f"{address}: {reason}"
    expected = f"one that answers within {CONNECT:g} s"
    raise TransientError(problem, field="engine.address", found=found, expected=expected, hint=hint)
