"""What a message, a task, a job and a byte cost on this machine: the constants of the simulation."""

from __future__ import annotations

import multiprocessing
import pickle
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import Client, Listener
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.measure import seconds_of, spread
from benchmarks.options import Options
from benchmarks.thesis_data import QUICK, THESIS, simulate

RESULT_BYTES = 1_634_000  # what training a bin of power leaves
LIBRARIES = {"dask": "distributed", "ray": "ray"}


@dataclass(frozen=True)
class Constants:
    """Seconds and bytes that the simulation is made with; the defaults are those of docs/scaling.md.

    dask_task, ray_task: seconds of the one process that every task passes: Dask's scheduler, the driver of
        Ray.
    dask_start, ray_start: seconds from nothing to the first workers, on one machine.
    bytes_per_second: of arrays, pickled, through a loopback socket and unpickled.
    train_power, train_amplitude, apply, permute: seconds of a unit of ours on one core: a bin, a bin, a test
        bin, fifty permutations.
    job: seconds of key, fork, evidence and seal of a job; of `make bench PARTS=chains` on a quiet machine.
    opening: seconds in which a worker opens the inputs of a job. With it, 130 jobs of which 54 have units
        cost the 11 s that a run of 18 participants was seen to have besides computing.
    """

    dask_task: float = 1.4e-3
    ray_task: float = 0.63e-3
    dask_start: float = 3.2
    ray_start: float = 7.3
    bytes_per_second: float = 0.65e9
    train_power: float = 0.055
    train_amplitude: float = 0.017
    apply: float = 0.022
    permute: float = 0.0087
    job: float = 0.043
    opening: float = 0.1


def measure(options: Options) -> dict[str, Any]:
    """Measure the constants."""
    tasks = 100 if options.quick else 2000
    found: dict[str, Any] = {"bytes_per_second": spread([_loopback() for _ in range(options.runs)])}
    found |= _units(options)
    for workers in (1,) if options.quick else (1, 2):
        for library, cost in (("dask", _dask), ("ray", _ray)):
            if find_spec(LIBRARIES[library]) is not None:
                more = "" if workers == 1 else f", {workers} workers"
                each = cost(workers, tasks, options.runs)
                found |= {f"{library}_{name}{more}": spread(values) for name, values in each.items()}
    return found


def median_of(measured: dict[str, Any]) -> Constants:
    """The constants of what was measured; defaults for the others."""
    names = Constants.__dataclass_fields__
    return Constants(**{name: each["median"] for name, each in measured.items() if name in names})


def _loopback() -> float:
    """Bytes per second of arrays that go through a socket, as an engine sends results."""
    sent = np.random.default_rng(0).standard_normal(RESULT_BYTES // 8)
    times = 60
    with Listener(("127.0.0.1", 0)) as listener:

        def send() -> None:
            with Client(listener.address) as connection:
                for _ in range(times):
                    connection.send_bytes(pickle.dumps(sent, protocol=5))

        sender = multiprocessing.get_context("fork").Process(target=send)
        sender.start()
        with listener.accept() as connection:
            seconds = seconds_of(lambda: [pickle.loads(connection.recv_bytes()) for _ in range(times)])
        sender.join()
    return times * sent.nbytes / seconds


def _units(options: Options) -> dict[str, Any]:
    """Seconds of the units of one participant; each value is a median over the units of a run."""
    ours.ready()
    person = simulate(1, QUICK if options.quick else THESIS)
    labels, folds = person.labels, ours.folds_of(person.labels)
    models = ours.applied_models([ours.train(x, labels, folds) for x in person.study])
    votes = np.stack([ours.apply(x, models) for x in person.test])
    works: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "train_power": (person.study, lambda x: ours.train(x, labels, folds)),
        "train_amplitude": (person.amplitude, lambda x: ours.train(x, labels, folds)),
        "apply": (person.test, lambda x: ours.apply(x, models)),
        "permute": (range(4), lambda _: ours.permute(votes, labels, ours.PER_UNIT)),
    }
    return {name: spread([_median(*each) for _ in range(options.runs)]) for name, each in works.items()}


def _median(units: Iterable[Any], work: Callable[[Any], Any]) -> float:
    return statistics.median([seconds_of(partial(work, unit)) for unit in units])


def _dask(workers: int, tasks: int, runs: int) -> dict[str, list[float]]:
    from distributed import Client as Connection
    from distributed import SubprocessCluster

    found: dict[str, list[float]] = {"task": [], "driver": [], "wall": [], "start": []}
    started = time.perf_counter()
    # The scheduler has a process of its own, so that its seconds are its own.
    with (
        SubprocessCluster(n_workers=workers, dashboard_address=None) as cluster,  # type: ignore[arg-type]
        Connection(cluster) as client,
    ):
        client.wait_for_workers(workers)
        found["start"].append(time.perf_counter() - started)
        client.gather(client.map(lambda number: number, range(50), pure=False))
        for _ in range(runs):
            scheduler, driver = client.run_on_scheduler(time.process_time), time.process_time()
            began = time.perf_counter()
            client.gather(client.map(lambda number: number, range(tasks), pure=False))
            found["wall"].append((time.perf_counter() - began) / tasks)
            found["driver"].append((time.process_time() - driver) / tasks)
            found["task"].append((client.run_on_scheduler(time.process_time) - scheduler) / tasks)
    return found


def _ray(workers: int, tasks: int, runs: int) -> dict[str, list[float]]:
    import logging

    import ray

    found: dict[str, list[float]] = {"task": [], "wall": [], "start": []}
    started = time.perf_counter()
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        noop: Any = ray.remote(lambda number: number)
        ray.get([noop.remote(number) for number in range(workers)])
        found["start"].append(time.perf_counter() - started)
        ray.get([noop.remote(number) for number in range(50)])
        for _ in range(runs):
            began, driver = time.perf_counter(), time.process_time()
            ray.get([noop.remote(number) for number in range(tasks)])
            found["wall"].append((time.perf_counter() - began) / tasks)
            found["task"].append((time.process_time() - driver) / tasks)
    finally:
        ray.shutdown()
    return found
