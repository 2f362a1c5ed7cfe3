"""What a finished job achieved, from its record, against what the machine can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from shortloop.base.text import amount, duration
from shortloop.profile.limits import Limits, machine_here
from shortloop.stages.records import RECORD
from shortloop.stages.results import Setup
from shortloop.store.manifest import Cost, Manifest, read_manifest
from shortloop.store.setup import json_object, setup_of

CORES = (32, 100)  # for which Amdahl's bound is told
THREADS = 1.25  # processor time by time of processes: from there on, libraries use threads
SHORT = 0.1  # s; shorter jobs are bound by nothing that is worth a word
RATES = {"flop": "FLOP/s", "flop32": "FLOP/s in single precision", "bytes": "B/s"}
BOUNDS = {"bytes": "memory bandwidth", "flop": "arithmetic", "flop32": "arithmetic"}
LISTED = 16  # workers
LOST = 0.3  # of the time: what loses less does not bound a job, but computing does
FULL = 0.7  # of a limit: from there on, it is what bounds a job


@dataclass(frozen=True)
class JobSpeed:
    """Where the time of a job went, in seconds, and the work that it did."""

    seconds: float
    alone: float  # of one process, before and after the units; of a job without units, all
    parallel: float  # while units were computed
    busy: tuple[float, ...]  # of each process that computed units; empty: not known
    # Of each of these processes, empty if not known: processor seconds, and seconds of waiting for a core.
    computed: tuple[float, ...]
    queued: tuple[float, ...]
    workers: int
    cpu: float | None  # processor seconds of all processes
    work: Mapping[str, float]  # see `OptionalEntries`
    cost: Cost
    threads: int  # of BLAS and the like, at most, in a process

    @property
    def units(self) -> int:
        return int(self.work.get("units", 0))

    @property
    def units_a_second(self) -> float | None:
        return self.units / self.seconds if self.units and self.seconds else None

    @property
    def core_seconds(self) -> float:
        """Seconds that processes had for computing: alone, and while units were computed."""
        return self.alone + sum(self.busy or (self.parallel,) * self.workers)

    @property
    def idle(self) -> float:
        """Share of the workers' time after their last unit, while others computed theirs."""
        if not self.busy or not self.parallel:
            return 0.0
        return max(1 - sum(self.busy) / (self.parallel * len(self.busy)), 0.0)

    @property
    def imbalance(self) -> float | None:
        """Time of the process that took longest by that of all on average."""
        mean = sum(self.busy) / len(self.busy) if self.busy else 0.0
        return max(self.busy) / mean if mean else None

    @property
    def waiting(self) -> float | None:
        """Share of the time of processes in which they neither computed, queued for a core nor idled."""
        if self.computed and sum(self.busy):
            return max(1 - (sum(self.computed) + sum(self.queued)) / sum(self.busy), 0.0)
        if self.cpu is None or not self.core_seconds:
            return None
        return max(1 - self.cpu / self.core_seconds, 0.0)

    @property
    def queueing(self) -> float:
        """Share of the time of processes in which they could compute, and other processes had the cores."""
        return min(sum(self.queued) / sum(self.busy), 1.0) if sum(self.busy) else 0.0

    @property
    def serial(self) -> float:
        """Share of all work that one process does alone."""
        return self.alone / self.core_seconds if self.core_seconds else 1.0

    def amdahl(self, cores: int) -> float:
        """How many times as fast as one core that many can be (Amdahl 1967)."""
        return 1 / (self.serial + (1 - self.serial) / cores)

    def rate(self, name: str) -> float | None:
        """Achieved "flop", "flop32" or "bytes" a second, while units were computed."""
        share = self.units / self.work["of"] if self.work.get("of") else 1.0
        took = self.parallel or self.seconds
        return self.work[name] * share / took if self.work.get(name) and took else None

    def attainable(self, name: str, limits: Limits) -> float:
        """Rate that the same number of processes can reach on this machine."""
        rates: list[float] = getattr(limits, name)
        pairs = zip(limits.processes, rates, strict=True)
        return max(rate for number, rate in pairs if number <= self.workers)

    def fields(self, limits: Limits | None) -> dict[str, object]:
        """Fields of the JSON document."""
        return {
            "units": self.units,
            "units_a_second": self.units_a_second,
            "busy_seconds": self.busy,
            "idle": self.idle,
            "imbalance": self.imbalance,
            "waiting": self.waiting,
            "queueing": self.queueing,
            "serial": self.serial,
            "amdahl": [{"cores": cores, "factor": self.amdahl(cores)} for cores in CORES],
            "achieved": {name: self.rate(name) for name in RATES},
            "attainable": {name: limits and self.attainable(name, limits) for name in RATES},
            "threads": self.threads,
            "bound": self.bound(limits),
        }

    def bound(self, limits: Limits | None = None) -> str:
        """Name in one sentence what bounds the job."""
        if self.seconds < SHORT:
            return f"nothing: the job takes {duration(self.seconds)}"
        if limits is not None:
            for name, what in BOUNDS.items():
                rate, most = self.rate(name), self.attainable(name, limits)
                if rate is not None and rate > FULL * most:
                    of = f"{rate / most:.0%} of what {self.workers} processes of this machine can do"
                    return f"{what}: {of}"
        if self.cpu is not None and self.cpu > THREADS * self.core_seconds:
            more = f"{self.cpu / self.core_seconds:.1f} cores for each process"
            return f"threads of libraries, which use {more}: leave them at one, as each core has a process"
        has_units = bool(self.units or self.busy)
        alone = self.alone / self.seconds if has_units else 0.0
        left, waits, queues = (1 - alone) * (1 - self.idle), self.waiting or 0.0, self.queueing
        lost = {
            "alone": alone,
            "idle": (1 - alone) * self.idle,
            "waiting": left * waits,
            "queueing": left * queues,
        }
        most_lost = max(lost, key=lambda each: lost[each])
        if lost[most_lost] < LOST:
            most_lost = "computing"
            lost[most_lost] = max(left * (1 - waits - queues), 0.0)
        share = f"{lost[most_lost]:.0%} of the time"
        starts = "" if self.busy or not has_units else "workers to start, "
        if not has_units and most_lost == "computing":
            return f"one process, which computes: the stage has no units to spread over cores ({share})"
        return {
            "alone": f"one process alone, {share}: what comes before and after the units",
            "idle": f"idle workers, {share}: they end at different times; smaller units balance better",
            "waiting": f"waiting, {share}: for {starts}a disk, a lock or a network",
            "queueing": f"the machine, {share}: other jobs or programs take its cores",
            "computing": f"computing units, {share}",
        }[most_lost]


def speed_of(folder: Path) -> JobSpeed | None:
    """Read what a job achieved; None if it has no times, is of a build script, or its record is damaged."""
    setup, manifest = setup_of(folder), read_manifest(folder)
    if "exectime" not in setup or setup.get("is_build"):
        return None
    try:
        return _speed(setup, manifest, json_object(folder / RECORD))
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def _speed(setup: Setup, manifest: Manifest | None, record: Mapping[str, Any]) -> JobSpeed:
    took: Mapping[str, Any] = setup["exectime"]
    cost = manifest.cost if manifest else {}
    work: dict[str, Any] = {**cast("Mapping[str, Any]", cost.get("work", {}))}
    names = record.get("facts", {}).get("units")
    if "units" not in work and isinstance(names, list):  # of a job before there was `work`
        work["units"] = len(names)
    busy = tuple(map(float, took.get("per_slice", ())))
    computed, queued = (tuple(work.pop(name, ())) for name in ("cpu_seconds", "queued_seconds"))
    engine = record.get("engine") or {}
    parallel = float(work.get("seconds", took.get("analysis", 0.0)))
    total = float(took["total"])
    workers = int(engine.get("workers", len(busy) or 1))
    if not parallel and work.get("units"):  # in one process, as all together are small
        parallel, busy = total, (total,)
    return JobSpeed(
        total,
        max(total - parallel, 0.0),
        parallel,
        busy,
        computed,
        queued,
        workers,
        cost.get("cpu_seconds"),
        work,
        cost,
        max((pool["threads_used"] for pool in record.get("threads", ())), default=1),
    )


def speed_rows(speed: JobSpeed, limits: Limits | None) -> Iterator[tuple[str, str]]:
    """What a job achieved, in words: a name and a text each."""
    if (rate := speed.units_a_second) is not None:
        resumed = f"; {each:,} resumed from an interrupted run" if (each := speed.work.get("resumed")) else ""
        yield "units", f"{speed.units:,} in {duration(speed.seconds)}: {rate:,.4g} a second{resumed}"
    else:
        yield "units", f"{'not counted' if speed.busy else 'none'}; the job took {duration(speed.seconds)}"
    if speed.cpu is not None and speed.seconds >= SHORT:
        cores = speed.cpu / speed.seconds
        waits = "" if speed.waiting is None else f", waiting {speed.waiting:.0%} of the time of processes"
        yield "processors", f"{cores:.2f} of {speed.workers} busy on average{waits}"
    if len(speed.busy) > 1:
        span = f"busy for {duration(min(speed.busy))} to {duration(max(speed.busy))}, idle {speed.idle:.0%}"
        yield "workers", f"{len(speed.busy)}, {span}; imbalance {speed.imbalance:.2f}"
        if len(speed.busy) <= LISTED:
            yield from (("", _worker(speed, number)) for number in range(len(speed.busy)))
    if speed.units or speed.busy:
        bounds = ", ".join(f"{speed.amdahl(cores):.1f} × on {cores}" for cores in CORES)
        yield "alone", f"{speed.serial:.1%} of the work, in one process: at most {bounds} cores (Amdahl)"
    for name, unit in RATES.items():
        if (rate := speed.rate(name)) is not None:
            yield {"bytes": "memory"}.get(name, "arithmetic"), _against(speed, name, rate, unit, limits)
    if (peak := speed.cost.get("peak_bytes")) is not None:
        yield "peak memory", amount(peak)
    yield "threads", f"{speed.threads} of BLAS and OpenMP in each process, at most"
    yield "bound by", speed.bound(limits)


def _worker(speed: JobSpeed, number: int) -> str:
    took, waits = speed.busy[number], ""
    if speed.computed:
        queued = speed.queued[number]
        waited = max(took - speed.computed[number] - queued, 0.0)
        waits = f" ({waited:.2f} s waiting, {queued:.2f} s without a core)"
    return f"{number}: busy {took:.2f} s{waits}, idle {max(speed.parallel - took, 0.0):.2f} s"


def _against(speed: JobSpeed, name: str, rate: float, unit: str, limits: Limits | None) -> str:
    achieved = f"{rate / 1e9:.3g} G{unit}"
    if limits is None:
        return f"{achieved}; `shortloop limits` measures what this machine can do"
    most = speed.attainable(name, limits)
    elsewhere = "" if limits.machine == machine_here() else f", measured on {limits.machine}"
    return f"{achieved}, {rate / most:.0%} of {most / 1e9:.3g} in {speed.workers} processes{elsewhere}"
