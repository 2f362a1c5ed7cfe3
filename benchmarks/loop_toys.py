"""Toy jobs of a commit: a chain of many, as of the part ``chains``, and independent ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.chains_exax import ShortloopChain
from benchmarks.loop_sides import Side
from benchmarks.measure import seconds_of
from shortloop.settings.engine import ENGINE_VARIABLE

KINDS = ("sleep", "compute")
# A job's own work, before it says that it ran; below zero it sleeps, else it needs a core.
WORK = """\
import time
until = time.process_time() + SECONDS
if value < 0:
    time.sleep(SECONDS)
while value > 0 and time.process_time() < until:
    pass
"""
RAN = re.compile(r'^( +)(?=with open\(RAN, "a"\))', re.M)
STEP = re.compile(r"^( +)step = .*\n", re.M)
# None follows from the one before.
ALONE = r'\1previous, step = None, settings["last"] + number' + "\n"


class Toys(ShortloopChain):
    """A chain of toy jobs, and beside it a pipeline of independent ones, as a version writes both."""

    def __init__(self, folder: Path, side: Side, jobs: int, independent: int, each: float) -> None:
        super().__init__(folder, side.name, jobs, side.project.binaries, side.source)
        self._independent = independent
        self._each = each
        self._engine = ""
        self._asked = 0

    def write(self) -> None:
        """Write both pipelines into the folder."""
        work = WORK.replace("SECONDS", repr(self._each)).splitlines(keepends=True)
        toy, toys = RAN.subn(lambda found: "".join(found[1] + line for line in work) + found[1], self.toy)
        build, builds = STEP.subn(ALONE, self.build)
        build = build.replace('"toy"', '"alone"').replace('name="chain"', 'name="alone"')
        toy = toy.replace("class Toy(", "class Alone(").replace("exax_method(Toy,", "exax_method(Alone,")
        if (toys, builds) != (1, 1):
            raise RuntimeError(f"{self.name}: its toy has no line that says it ran, or no step")
        super().write()
        toy = toy.replace("RAN", repr(str(self.folder / "ran")))
        (self.folder / "methods" / "a_alone.py").write_text(toy, encoding="utf-8")
        (self.folder / "build_scripts" / "build_alone.py").write_text(build, encoding="utf-8")

    def independent(self, kind: str, engine: str) -> dict[str, float]:
        """Build all independent jobs anew."""
        self._asked += 2 * self._independent
        first = self._asked if kind == "compute" else -self._asked
        settings = self.folder / "settings.json"
        settings.write_text(json.dumps({"jobs": self._independent, "last": first}), encoding="utf-8")
        before = {*self._jobs()}
        self._engine = engine
        try:
            seconds = seconds_of(lambda: self.shell("ax", "run", "alone"))
        finally:
            self._engine = ""
        ran = sorted(map(int, (self.folder / "ran").read_text(encoding="utf-8").split()))
        (self.folder / "ran").unlink()
        built = [job for job in self._jobs() if job not in before]
        if ran != [*range(first, first + self._independent)] or len(built) != len(ran):
            raise RuntimeError(f"{self.name}, {kind}, {engine}: {ran} ran, {len(built)} jobs were built")
        return {"seconds": seconds, "processor": self.processor, "span": span_of(built), "jobs": len(built)}

    def environment(self) -> dict[str, str]:
        """The user's environment, with the engine that is measured."""
        found = super().environment()
        return {**found, ENGINE_VARIABLE: self._engine} if self._engine else found

    def _jobs(self) -> list[Path]:
        done = self.folder.glob("workdirs/*/*-[0-9]*/post.json")
        return [each.parent for each in done if _setup(each.parent)["method"] == "alone"]


def span_of(jobs: list[Path]) -> float:
    """Seconds from the start of the first of some jobs to the end of the last."""
    times = [_setup(job) for job in jobs]
    return float(max(each["endtime"] for each in times) - min(each["starttime"] for each in times))


def _setup(job: Path) -> dict[str, Any]:
    setup = json.loads((job / "setup.json").read_text(encoding="utf-8"))
    post = json.loads((job / "post.json").read_text(encoding="utf-8"))
    return {**setup, **post}
