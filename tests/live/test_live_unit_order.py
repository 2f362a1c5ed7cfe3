"""Units whose order differs from process to process have their own values: on every engine, after a kill, and
when units of an earlier job are taken over."""

from __future__ import annotations

import itertools
import json
import re
import signal
from typing import Any, ClassVar

from cases import first_cases
from live_project import PATIENCE, SHORTLOOP, EmptyProject, fixture_of, script, stages, wait_for

from shortloop.store.crash_repair import kept_units

SOURCES = '''\
"""Units whose order is nobody's: each has its number in its name and in its data."""

import random
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import pandas as pd


def from_set(names):
    return {name: float(name[1:]) for name in set(names)}


def shuffled(names):
    return [(name, [float(name[1:])]) for name in random.SystemRandom().sample(names, len(names))]


def from_threads(names):
    def read(name):
        time.sleep(random.SystemRandom().random() / 100)
        return name, {"x": float(name[1:])}

    with ThreadPoolExecutor(8) as pool:
        return dict(each.result() for each in as_completed([pool.submit(read, name) for name in names]))


def frames(names):
    order = random.SystemRandom().sample(names, len(names))
    rows = pd.DataFrame({"firm": order, "x": [float(name[1:]) for name in order]})
    return rows.groupby("firm", sort=False)


def polars(names):
    import polars as pl

    rows = pl.DataFrame({"firm": names * 2, "x": [float(name[1:]) for name in names] * 2})
    return {firm: part for (firm,), part in rows.group_by("firm")}


def number(read):
    """The number in what a unit reads."""
    if isinstance(read, list | float):
        return read[0] if isinstance(read, list) else read
    return float(read["x"] if isinstance(read, dict) else max(read["x"]))


def names_of(count, first):
    return [f"u{each}" for each in range(first, first + count)]
'''
COUNTED = """\
from methods import sources


def count(name):
    with open(os.environ["COMPUTED"], "a") as stream:
        stream.write(f"{name}\\n")
    if os.path.exists(os.environ["COMPUTED"] + ".slow"):
        time.sleep(0.05)


def parts(source: str, count: int, first: int = 0):
    return getattr(sources, source)(sources.names_of(count, first))

"""
METHODS = stages(f"""\
# each
{COUNTED}
@stage(units=parts)
def each(read, factor: float = 1.0):
    count(sources.number(read))
    return {{"x": factor * sources.number(read)}}

# named
{COUNTED}
@stage(units=parts)
def named(read, unit: str, factor: float = 1.0):
    count(sources.number(read))
    return {{"said": unit, "x": factor * sources.number(read)}}

# own
{COUNTED}
@stage
class Own(Stage):
    source: str
    count: int
    first: int = 0
    factor: float = 1.0

    def open(self):
        units = parts(self.source, self.count, self.first)
        pairs = list(units.items() if isinstance(units, dict) else units)
        self._names = [name for name, _ in pairs]
        self._reads = [read for _, read in pairs]

    def units(self):
        return len(self._reads)

    def outputs(self):
        return {{"x": Out((len(self._reads),), "f8", "units", "numbers")}}

    def compute(self, unit):
        count(sources.number(self._reads[unit]))
        return {{"x": self.factor * sources.number(self._reads[unit])}}

    def finish(self, out):
        return Finished({{"units": self._names}})
""")
SCRIPT = script(
    """
for stage, options in asked:
    job = run.build(stage, partition=f"{stage} {options['source']}", **options)
return job
""",
    reads="asked.json",
)


class OrderProject(EmptyProject):
    """Stages whose units have no order."""

    sources: ClassVar = {**METHODS, "methods/sources.py": SOURCES, "build_scripts/build_x.py": SCRIPT}
    run_name = "x"

    def ask(self, *jobs: tuple[str, dict[str, Any]]) -> None:
        """Stages, and options of each."""
        self.write("asked.json", json.dumps(jobs))

    def go(self, engine: str = "slices", status: int = 0) -> str:
        done = self.shortloop("run", "x", SHORTLOOP_ENGINE=engine)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def cut_off(self, engine: str, least: int, number: int = signal.SIGKILL) -> int:
        """Start it, with units that take their time, and end it as soon as some are kept; how many."""
        self.computed()
        slow = self.folder / ".computed.slow"
        slow.touch()
        running = self.popen(SHORTLOOP, "run", "x", SHORTLOOP_ENGINE=engine)
        wait_for(lambda: self.kept() >= least or running.poll() is not None)
        kept = self.kept()
        running.send_signal(number)
        running.communicate(timeout=PATIENCE)
        slow.unlink()
        return kept

    def kept(self) -> int:
        """How many units of jobs that are not finished are kept."""
        return sum(done for done, _ in kept_units(self.folder / "workdirs/main").values())

    def check(self, jobs: int, units: int, factor: float = 1.0, first: int = 0) -> None:
        """Each unit has its own value, by what its name says; no process but this one is asked."""
        found = self.last_results()
        assert len(found) == jobs
        for where, result in found.items():
            names = result.facts["units"]
            assert sorted(names) == sorted(f"u{each}" for each in range(first, first + units)), where
            assert result["x"].tolist() == [factor * float(name[1:]) for name in names], where
            if "said" in result.arrays:
                assert result["said"].tolist() == names, where


ORDERS = ("from_set", "shuffled", "from_threads", "frames")
STAGES = ("each", "named")
FIRST = itertools.count(1)  # hundred units, which no other test has had computed
project = fixture_of(OrderProject)


def asked(
    *sources: str, stages: tuple[str, ...] = STAGES, **options: Any
) -> list[tuple[str, dict[str, Any]]]:
    return [(stage, {"source": source, **options}) for stage in stages for source in sources or ORDERS]


def test_workers_compute_the_units_that_they_are_asked_for(project: OrderProject) -> None:
    """Polars gives groups in another order in each process, as a set of texts does; also for the jobs whose
    units are computed before they begin."""
    jobs = asked(*ORDERS, "polars", count=12)
    project.ask(*jobs)
    project.go("joblib")
    project.check(len(jobs), 12)
    assert len(project.computed()) == 12 * len(jobs)


@first_cases(
    1,
    ("engine", "then", "number"),
    [
        ("joblib", "slices", signal.SIGKILL),
        ("slices", "slices", signal.SIGINT),
        ("joblib", "joblib", signal.SIGINT),
        ("slices", "joblib", signal.SIGKILL),
        ("dask", "slices", signal.SIGINT),
        ("slices", "dask", signal.SIGINT),
        ("ray", "ray", signal.SIGINT),
    ],
)
def test_a_run_that_was_cut_off_goes_on_with_the_right_units(
    project: OrderProject, engine: str, then: str, number: int
) -> None:
    """The stage is opened again, and finds its units in another order."""
    first = 100 * next(FIRST)
    jobs = asked("shuffled", "frames", count=40, first=first)
    project.ask(*jobs)
    kept = project.cut_off(engine, 12, number)
    project.computed()
    assert kept >= 12
    project.go(then)
    project.check(len(jobs), 40, first=first)
    assert len(project.computed()) <= 40 * len(jobs) - kept


def test_units_of_a_class_are_computed_anew_if_it_finds_others(project: OrderProject) -> None:
    """They have no names, so nobody knows which of them were done."""
    project.ask(*asked("shuffled", "from_set", stages=("own",), count=20))
    project.cut_off("slices", 10, signal.SIGINT)
    project.go()
    project.check(2, 20)


def test_a_class_that_finds_other_units_in_a_worker_is_refused(project: OrderProject) -> None:
    project.ask(*asked("shuffled", stages=("own",), count=9, factor=2.0))
    said = " ".join(project.go("joblib", status=1).split())
    assert re.search("differ between processes.*SHORTLOOP_ENGINE=slices", said)
    assert "of the stage Own" in said
    project.go("slices")  # as it says
    project.check(1, 9, factor=2.0)
