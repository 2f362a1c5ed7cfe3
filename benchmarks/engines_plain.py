"""The same units with a library as its users call it, in a process of its own: ``python -m``, then JSON."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shortloop.stages.threads import VARIABLES, set_single_thread

ROOT = Path(__file__).resolve().parents[1]
CHUNKS = 64  # for each worker, where chunks are large
Mapped = Callable[[Callable[[int], Any], int], Sequence[Any]]
"""Computes so many units: what they give, in any order."""


@contextmanager
def _pool(workers: int, in_chunks: bool) -> Iterator[Mapped]:
    with multiprocessing.get_context("fork").Pool(workers) as pool:

        def mapped(work: Callable[[int], Any], units: int) -> list[Any]:
            if in_chunks:
                return list(pool.imap_unordered(work, range(units), max(1, units // (CHUNKS * workers))))
            return list(pool.imap(work, range(units)))

        yield mapped


@contextmanager
def _joblib(workers: int, batch_size: int | str) -> Iterator[Mapped]:
    import joblib
    from joblib.externals.loky import get_reusable_executor

    parallel = joblib.Parallel(workers, batch_size=batch_size)
    yield lambda work, units: parallel(joblib.delayed(work)(unit) for unit in range(units))
    get_reusable_executor().shutdown(wait=True, kill_workers=True)


@contextmanager
def _dask(workers: int) -> Iterator[Mapped]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield lambda work, units: client.gather(client.map(work, range(units), pure=False))


@contextmanager
def _ray(workers: int) -> Iterator[Mapped]:
    import logging

    import ray

    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:

        def mapped(work: Callable[[int], Any], units: int) -> list[Any]:
            remote: Any = ray.remote(lambda unit: work(unit))
            found: list[Any] = ray.get([remote.remote(unit) for unit in range(units)])
            return found

        yield mapped
    finally:
        ray.shutdown()


class Peer:
    """A library as its users call it.

    library: what it needs, as it is imported; "" for nothing.
    open: takes a number of workers, gives what computes units on them.
    is_slow: whether a unit costs it so much that fewer of them tell enough.
    """

    def __init__(self, library: str, open: Callable[[int], Any], is_slow: bool = False) -> None:
        self.library = library
        self.open = open
        self.is_slow = is_slow


PEERS = {
    "Pool.imap, one unit a chunk": Peer("", partial(_pool, in_chunks=False)),
    "Pool.imap_unordered, large chunks": Peer("", partial(_pool, in_chunks=True)),
    "joblib.Parallel (loky)": Peer("joblib", partial(_joblib, batch_size="auto")),
    "joblib.Parallel (loky), one unit a batch": Peer("joblib", partial(_joblib, batch_size=1), True),
    "Dask: Client.map, gather": Peer("distributed", _dask, True),
    "Ray: a task a unit, ray.get": Peer("ray", _ray, True),
}
"""By what they are called in results."""


def not_installed(libraries: Mapping[str, str]) -> dict[str, str]:
    """What is left out as its library is not there."""
    return {
        name: f"{library} is not installed"
        for name, library in libraries.items()
        if library and find_spec(library) is None
    }


def plain(peer: str, workers: int, units: int, work: Mapping[str, Any]) -> dict[str, Any]:
    """Have a peer compute units, in a process of its own."""
    asked = json.dumps({"peer": peer, "workers": workers, "units": units, "work": dict(work)})
    environment = {**os.environ, **dict.fromkeys(VARIABLES, "1"), "PYTHONPATH": str(ROOT)}
    # A short path: Ray keeps sockets there.
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.engines_plain", asked],
            cwd=ROOT,
            env={**environment, "TMPDIR": folder, "RAY_TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(f"{peer}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(asked: str) -> None:
    """Measure one peer, and print what was found as a line of JSON."""
    set_single_thread()
    said = json.loads(asked)
    work, units, workers = _work(**said["work"]), said["units"], said["workers"]
    began = time.perf_counter()
    with PEERS[said["peer"]].open(workers) as mapped:
        mapped(work, 4 * workers)
        start = time.perf_counter()
        values = mapped(work, units)
        seconds = time.perf_counter() - start
    print()  # whatever was said before
    print(json.dumps({"seconds": seconds, "start": start - began, "content": _content(values)}))


def _work(size: int = 0, work: str = "", file: str = "") -> Callable[[int], Any]:
    if not work:
        from benchmarks.engines_spin import spin

        return partial(spin, size=size)
    from benchmarks.engines_decode import opened

    global _opened  # inherited by the forks of a pool, which take no functions of functions
    _opened = opened(work, Path(file))
    return _numbered


def _numbered(unit: int) -> tuple[int, Any]:
    return unit, _opened(unit)


_opened: Callable[[int], Any]


def _content(values: Sequence[Any]) -> str:
    import hashlib

    import numpy as np

    if isinstance(values[0], tuple):
        values = [value for _, value in sorted(values, key=lambda numbered: numbered[0])]
    else:
        values = sorted(values)
    return hashlib.sha256(np.array(values).tobytes()).hexdigest()


if __name__ == "__main__":
    main(sys.argv[1])
