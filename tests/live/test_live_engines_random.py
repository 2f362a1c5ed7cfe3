"""Processes of engines killed at random moments: the next run ends well, with right values, and nothing is
left running.

KILLS says how many, SEED which; ``make soak`` asks for many.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from engine_project import EngineProject
from live_project import PATIENCE, processes, served, wait_for
from toy_project import server_processes

pytestmark = [pytest.mark.skipif("KILLS" not in os.environ, reason="takes minutes: `make soak` does it")]
KILLS = int(os.environ.get("KILLS", "8"))
SEED = int(os.environ.get("SEED") or 0)
PAUSE = 0.05  # s that a unit takes
COUNT = 14  # units of a job; of all but the first, some are computed early
PARTITIONS = "PQR"
GROUPS = 40  # of the first run; each has one more
LIBRARIES = {"joblib": "joblib", "dask": "distributed", "ray": "ray"}
ENGINES = [name for name, library in LIBRARIES.items() if find_spec(library)]
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
VICTIMS = ("unit", "unit", "forkserver", "worker", "host", "method", *SIGNALS)
ENDS_WELL = {"unit", "forkserver", "worker"}
"""Victims without which a run goes on."""
Values = dict[str, np.ndarray]


class Attack:
    """Kills processes of a project, one after the other, and counts them."""

    def __init__(self, project: EngineProject, rng: random.Random, expected: Values) -> None:
        self.project, self.rng, self.expected = project, rng, expected
        self.kills: Counter[str] = Counter()
        self.runs = 0

    def once(self) -> str:
        """Run new jobs, kill something on the way, and run again; what was done."""
        project, rng = self.project, self.rng
        groups = GROUPS + self.runs
        partitions = [f"{name}{self.runs}" for name in PARTITIONS]
        project.ask(partitions=partitions, factors={"count": COUNT}, fit={"groups": groups})
        project.mend()
        self.runs += 1
        engine, victim, after = rng.choice(ENGINES), rng.choice(VICTIMS), rng.uniform(0, 2)
        again, since = rng.choice([*ENGINES, "slices"]), rng.choice(["its start", "its first unit"])
        what = f"{engine}, {victim} {after:.2f} s after {since}, then {again}"
        running = project.start(engine)
        if since == "its first unit":
            wait_for(lambda: project.computed() or running.poll() is not None)
        hit = self.kill(victim, running, after)
        said = "".join(running.communicate(timeout=PATIENCE))
        if victim in SIGNALS:
            assert not hit or running.returncode != 0, what
        else:
            assert running.returncode in ((0,) if victim in ENDS_WELL or not hit else (0, 1)), what + said
        is_python_starting = "Fatal Python error: init" in said  # before any code of ours can answer
        assert "Traceback" not in said or is_python_starting, what + said
        self.all_have_ended(what)
        done = project.go(again)
        assert done.returncode == 0, what + done.stdout + done.stderr
        self.check(groups, what)
        self.all_have_ended(what)
        self.kills[f"{engine} {victim}"] += hit
        return what + ("" if hit else " (there was none)")

    def kill(self, victim: str, running: subprocess.Popen[str], after: float) -> bool:
        deadline = time.monotonic() + after
        while time.monotonic() < deadline and running.poll() is None:
            time.sleep(0.002)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and running.poll() is None:
            if victim in SIGNALS:
                running.send_signal(SIGNALS[victim])
                return True
            found = self.find(victim)
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.rng.choice(found), signal.SIGKILL)
                    return True
        return False

    def all_have_ended(self, what: str) -> None:
        deadline = time.monotonic() + 30
        while (left := self.project.processes()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not left, f"{what}: these are left: {left}"

    def find(self, victim: str) -> list[int]:
        if victim == "method":
            return server_processes(self.project.folder)["method"]
        if victim == "worker":
            return sorted(self.project.workers())
        found = self.project.processes()
        if victim == "host":
            return [process for process, command in found.items() if "engines.engine_process" in command]
        all_of_them = {process for process, command in found.items() if "engines.forkserver" in command}
        units = {number for number, each in processes().items() if {number, each.parent} <= all_of_them}
        return sorted(units if victim == "unit" else all_of_them - units)

    def check(self, groups: int, what: str) -> None:
        found = values_of(self.project)
        for name, values in {**self.expected, "lines": self.expected["lines"][:groups]}.items():
            np.testing.assert_array_equal(found[name], values, err_msg=f"{what}: {name}")


def values_of(project: EngineProject) -> Values:
    """What the last job of the last run left."""
    pages = [job for job, said in project.jobs().items() if said["parts"]["method"] == "methods.page"]
    folder = project.folder / "workdirs/main" / max(pages, key=lambda job: int(job.rpartition("-")[2]))
    return {name: np.load(folder / f"{name}.npy") for name in ("lines", "values", "sums")}


class SlowProject(EngineProject):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, PAUSE)


def test_kills_at_random() -> None:
    print(f"SEED={SEED}")
    with served(EngineProject) as reference:
        reference.ask(partitions=[*PARTITIONS], factors={"count": COUNT}, fit={"groups": GROUPS + 3 * KILLS})
        reference.go("slices").ok()
        expected = values_of(reference)
    with served(SlowProject) as project:
        attack = Attack(project, random.Random(SEED), expected)
        while attack.kills.total() < KILLS and attack.runs < 3 * KILLS:
            print(attack.once(), flush=True)
    print(f"killed {dict(attack.kills)}")
    assert attack.kills.total() == KILLS
