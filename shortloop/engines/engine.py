"""Interface of engines, engines by name, and connecting to clusters with a time limit."""

from __future__ import annotations

import importlib
import os
import secrets
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from pathlib import Path
from typing import NamedTuple, TypeVar

from shortloop.base.errors import TransientError
from shortloop.base.extras import entry_point, load_entry_point, need
from shortloop.base.plain import Plain
from shortloop.base.text import counted, listed
from shortloop.engines.send_files import Supplies
from shortloop.settings.engine import ENGINE_GROUP, EngineSettings
from shortloop.units.messages import Reply
from shortloop.units.queue import Batches

CONNECT, BUSY = 8.0, 60.0  # s that the machine of a cluster may take to answer, and its scheduler or head
# Class of each engine, imported on first use; slices are exax's own.
ENGINES = {
    "joblib": "shortloop.engines.joblib_engine.JoblibEngine",
    "dask": "shortloop.engines.dask_engine.DaskEngine",
    "ray": "shortloop.engines.ray_engine.RayEngine",
}
# Import names of the libraries that each engine needs; extras have the names of the engines.
LIBRARIES = {"joblib": ("joblib",), "dask": ("dask", "distributed"), "ray": ("ray",)}
T = TypeVar("T")
# What a job asks of the engine: as of `joblib.parallel_config`, and the `Resources` that its stage declares.
Asked = Mapping[str, Plain]


class Resources(NamedTuple):
    """What each batch of a job needs, or a worker or node has."""

    cores: float = 1
    memory: float = 0  # bytes
    gpus: float = 0

    @classmethod
    def of(cls, asked: Asked) -> Resources:
        return cls(*(float(str(asked.get(name, usual))) for name, usual in cls._field_defaults.items()))

    def times(self, needed: Resources) -> int:
        """How many batches have room at a time."""
        return int(min(has / each for has, each in zip(self, needed) if each))  # memory may be endless

    def lacking(self, those: Iterable[Resources]) -> str:
        """Say what none of those has that is needed; empty: one has it all."""
        known = [*those]
        if any(each.times(self) for each in known):
            return ""
        most = map(max, zip(Resources(0), *known))
        words = (
            counted(int(self.cores), "core"),
            f"{self.memory / 1e9:,.6g} GB of memory",
            counted(int(self.gpus), "GPU"),
        )
        lack = [word for word, needed, has in zip(words, self, most) if needed > has]
        return listed(lack or [word for word, needed in zip(words, self) if needed])


class Computed(NamedTuple):
    """A batch that was computed, or lost with its worker."""

    units: list[bytes]
    reply: Reply


class Engine(ABC):
    """Workers of one library. It is kept for all jobs of a run, and asked by one thread for each job.

    One that cannot send anything to a certain worker leaves `supplies` alone but for its `work`: the project
    must be on its nodes then, and a reply that says otherwise ends the run.
    """

    message: float = 0.0  # seconds of one core that the library's scheduler takes for any batch

    def __init__(self, settings: EngineSettings, workers: int) -> None:
        self.settings, self.count = settings, workers  # how many it is to start

    def workers(self, asked: Asked) -> int:
        """Return how many batches it can compute at a time, now."""
        return self.count

    @abstractmethod
    def compute(self, supplies: Supplies, batches: Batches[bytes], asked: Asked) -> Iterator[Computed]:
        """Compute batches until there are no more; in the order in which they are done.

        Where workers start anew for each, `batches.resize` says how long a batch must be to be worth that.
        """

    def silent(self, asked: Asked) -> str:
        """Say who does not answer, or what nobody has, when nothing was computed for a while; else nothing.

        It is called by a thread of its own, and may take as long as it wants: that is an answer, too.
        """
        return ""

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
        elif name == "ray" and _has_ray_token():  # which `ray start` asks for where it finds one
            os.environ.setdefault("RAY_AUTH_MODE", "token")
        module, _, last = ENGINES[name].rpartition(".")
        kind: type[Engine] = getattr(importlib.import_module(module), last)
    elif (point := entry_point(ENGINE_GROUP, name)) is None:  # it was there when the run began
        raise TransientError("the engine is not installed", field="engine.name", found=name)
    else:
        wrong = f"an entry point of {ENGINE_GROUP} cannot be used"
        expected = "a class below shortloop.engines.engine.Engine, with all its methods"
        kind = load_entry_point(point, _is_engine, wrong, expected)
    return kind(settings, settings.workers or workers)


def _has_ray_token() -> bool:
    named = os.environ.get("RAY_AUTH_TOKEN_PATH", "~/.ray/auth_token")
    return "RAY_AUTH_TOKEN" in os.environ or Path(named).expanduser().is_file()


def _is_engine(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Engine) and not found.__abstractmethods__


def connected(what: str, settings: EngineSettings, hint: str, connect: Callable[[], T]) -> T:
    """Connect to a cluster; raise TransientError that says why it cannot be reached."""
    address = str(settings.address)

    def refused(reason: str) -> TransientError:
        problem = f"{what} cannot be reached"
        return TransientError(problem, field="engine.address", found=f"{address}: {reason}", hint=hint)

    if reason := _unreachable(address):
        raise refused(reason)
    answer: Future[T] = Future()

    def attempt() -> None:
        try:
            answer.set_result(connect())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=attempt, daemon=True).start()
    if wait([answer], BUSY).not_done:
        raise refused(f"it listens, and has not answered within {BUSY:g} s")
    if (error := answer.exception()) is None:
        return answer.result()
    if isinstance(error, TransientError):
        raise error
    first, text = error.__cause__ or error, str(error.__cause__ or error)
    if "InvalidAuthToken" in text:
        raise refused("it asks for another token: see RAY_AUTH_MODE, RAY_AUTH_TOKEN and ~/.ray/auth_token")
    lines = [line for line in text.splitlines() if line.strip()]
    raise refused(
        f"it listens, and does not take the connection: {type(first).__name__}: {''.join(lines[-1:])}"
    )


def _unreachable(address: str) -> str:
    """Say why an address cannot be reached; empty if it can, or if it names no port."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not (host and port.isdecimal()):
        return ""
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT).close()
    except ConnectionRefusedError:
        return "refused: that machine answers, and nothing listens on this port"
    except socket.gaierror as error:
        return f"unknown host: {error.strerror}"
    except TimeoutError:
        return f"unreachable: no answer of that machine within {CONNECT:g} s"
    except OSError as error:
        return f"unreachable: {error.strerror}"
    return ""
