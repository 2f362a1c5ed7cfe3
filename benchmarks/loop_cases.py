"""Cases of the loop: what is done before, what is timed, and in which order of the commits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.chains_exax import ExaxChain
from benchmarks.chains_project import CASES
from benchmarks.engines_plain import not_installed
from benchmarks.engines_project import ENGINES
from benchmarks.loop_sides import Side, settle
from benchmarks.loop_toys import KINDS, Toys, span_of
from benchmarks.options import Options, cores
from benchmarks.project import ROOT, Watch
from benchmarks.thesis_data import QUICK, THESIS, write_study
from shortloop.settings.engine import ENGINE_VARIABLE
from shortloop.units.messages import SLICES

EXAX = "plain exax"
COLD, UNCHANGED = "cold", "unchanged"
MANY_SLICES = 32
MANY = f"cold, {MANY_SLICES} slices"
GRID = "[0.0001, 0.001, 0.01]"
SETTINGS = f"""

[estimator]
kind = "linear-svm"
C = {GRID}

[permutations]
count = 100

[group]
smooth = 1.0
"""
# One change after the other, each to the study that the one before left.
CHANGES = {
    UNCHANGED: ("", ""),
    "group: smooth 1 → 2": ("smooth = 1.0", "smooth = 2.0"),
    "permutations: 100 → 500": ("count = 100", "count = 500"),
    "grid of C: 3 values → 4": (GRID, GRID.replace("]", ", 0.1]")),
}
QUICK_CHANGES = 1
MANIFESTS = ("manifest.json", "seal.json")  # as it is called, and was
NEW = 2  # participants of a new project
TOYS, QUICK_TOYS = 200, 5
INDEPENDENT, SECONDS, QUICK_SECONDS = 8, 1.0, 0.1


class Step(NamedTuple):
    """Something to do for one commit."""

    case: str  # "" if it only prepares
    side: str
    work: Callable[[], dict[str, Any] | None]


class Subject:
    """What all groups of cases are given."""

    def __init__(self, options: Options, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.participants = min(2, options.participants) if options.quick else options.participants
        self.data = options.folder / ("data-quick" if options.quick else "data")
        self.names: list[str] = []
        self.toys: dict[str, Toys | ExaxChain] = {}

    def simulate(self) -> None:
        """Write the recordings, unless they are there."""
        self.names = write_study(self.data, self.participants, QUICK if self.options.quick else THESIS)


def study_text(data: Path, names: list[str]) -> str:
    """The thesis's study, as TOML, with all settings that the benchmark changes written out."""
    kept = []
    for line in (ROOT / "studies" / "thesis.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("participants ="):
            line = f"participants = {names}".replace("'", '"')
        elif line.startswith("folder ="):
            line = f"folder = '{data}'"
        kept.append(line)
    return "\n".join(kept) + SETTINGS


def toys_of(quick: bool) -> tuple[int, int, float]:
    """Length of the chain, number of independent jobs, seconds of each of these."""
    return (QUICK_TOYS, INDEPENDENT, QUICK_SECONDS) if quick else (TOYS, INDEPENDENT, SECONDS)


def warm_up(subject: Subject, sides: Sequence[Side]) -> Iterator[Step]:
    """A run that does not count: bytecode and machine code are there, libraries are in the page cache."""
    for side in sides:
        yield Step("", side.name, partial(_first_run, subject, side, subject.names[:NEW], False))


def _new(subject: Subject, sides: Sequence[Side]) -> Iterator[Step]:
    """The first run of a project: with machine code to compile, and with that of another project there."""
    names = subject.names[:NEW]
    for what, compile_again in (("to compile", True), ("there", False)):
        for side in sides:
            yield Step(
                f"new project, machine code {what}",
                side.name,
                partial(_first_run, subject, side, names, compile_again),
            )


def _first_run(subject: Subject, side: Side, names: list[str], compile_again: bool) -> dict[str, Any]:
    _fresh(subject, side, names)
    if compile_again:
        side.forget_machine_code()
    return _measured(subject, side, "shortloop", "run")


def _workload(subject: Subject, sides: Sequence[Side]) -> Iterator[Step]:
    """The thesis workload: cold, and after one change after the other."""
    for side in sides:
        yield Step("", side.name, partial(_serve, subject, side, None))
    for side in sides:
        yield Step(COLD, side.name, partial(_timed, subject, side, "", "", "processor"))
    for number, (case, (old, new)) in enumerate(CHANGES.items()):
        if not subject.options.quick or number < QUICK_CHANGES:
            for side in sides:
                yield Step(case, side.name, partial(_timed, subject, side, old, new))
    for side in sides:
        yield Step(f"{UNCHANGED}, no server", side.name, partial(_alone, subject, side))


def _slices(subject: Subject, sides: Sequence[Side]) -> Iterator[Step]:
    """The cold workload with more slices than cores, its memory watched."""
    for side in sides:
        yield Step("", side.name, partial(_serve, subject, side, MANY_SLICES))
        yield Step(MANY, side.name, partial(_timed, subject, side, "", "", "memory"))
        yield Step("", side.name, side.project.stop)


def _toys(subject: Subject, sides: Sequence[Side]) -> Iterator[Step]:
    """A chain of toy jobs, and the same in plain exax."""
    jobs = toys_of(subject.options.quick)[0]
    names = [*(side.name for side in sides), EXAX]
    for case in CASES[:2]:
        for name in names:
            yield Step(f"{jobs} toy jobs, {case}", name, partial(_chain, subject, sides, name, case))
    for name in names:
        yield Step("", name, lambda name=name: subject.toys[name].stop())  # type: ignore[misc]


def _independent(subject: Subject, sides: Sequence[Side]) -> Iterator[Step]:
    """Jobs without units that need nothing of each other, on each engine."""
    _, jobs, seconds = toys_of(subject.options.quick)
    engines = [SLICES] if subject.options.quick else [name for name in ENGINES if ":" not in name]
    left_out = not_installed(ENGINES)
    for side in sides:
        yield Step("", side.name, partial(_open, subject, side))
    for engine in engines:
        for kind in KINDS:
            for side in sides:
                if engine not in left_out and (engine == SLICES or side.knows(ENGINE_VARIABLE)):
                    case = f"{jobs} jobs that {kind} {seconds:g} s, {engine}"
                    yield Step(case, side.name, partial(_independent_on, subject, side, kind, engine))
    for side in sides:
        yield Step("", side.name, lambda side=side: _toys_of(subject, side).stop())  # type: ignore[misc]


GROUPS: dict[str, Callable[[Subject, Sequence[Side]], Iterator[Step]]] = {
    "new": _new,
    "workload": _workload,
    "slices": _slices,
    "toys": _toys,
    "independent": _independent,
}
"""Cases that are measured together."""


def _fresh(subject: Subject, side: Side, names: list[str]) -> None:
    """Nothing computed yet, the study as it begins, its recordings in the page cache."""
    side.project.stop()
    side.project.forget()
    # As a checkout has it; exax starts no server without.
    (side.source / "workdirs" / "main").mkdir(parents=True)
    side.project.study.write_text(study_text(subject.data, names), encoding="utf-8")
    for file in sorted(file for name in names for file in (subject.data / name).rglob("*.mat")):
        with file.open("rb", buffering=0) as stream:
            while stream.read(2**24):
                pass


def _serve(subject: Subject, side: Side, slices: int | None) -> None:
    _fresh(subject, side, subject.names)
    side.project.start(slices)
    settle(subject.folder)


def _timed(subject: Subject, side: Side, old: str, new: str, watch: Watch = "") -> dict[str, Any]:
    """A run on the server, after an edit of the study."""
    text = side.project.study.read_text(encoding="utf-8")
    if old not in text:
        raise ValueError(f"the study has no {old!r}")
    if old:
        side.project.study.write_text(text.replace(old, new), encoding="utf-8")
    settle(subject.folder)
    return _measured(subject, side, "ax", "run", "build_pipeline", watch=watch)


def _alone(subject: Subject, side: Side) -> dict[str, Any]:
    side.project.stop()
    return _measured(subject, side, "shortloop", "run")


def _measured(subject: Subject, side: Side, *command: str, watch: Watch = "") -> dict[str, Any]:
    """Seconds of a command, and what its jobs' records say."""
    found = side.project.run(*command, watch=watch)
    built = side.project.built()
    found["jobs"] = len(built)
    if command[0] == "shortloop":
        del found["processor"]  # a server that it started and left is not in there
    samples = found.pop("samples", [])
    if watch == "memory":
        found["peak_mb"] = max(megabytes for _, megabytes in samples)
    if watch == "processor":
        folders = [job["folder"] for job in built]
        found |= {"span": span_of(folders), "busy": _busy(samples, folders), "stages": _stages(built)}
    settle(subject.folder)
    return found


def _busy(samples: list[tuple[float, float]], jobs: list[Path]) -> float:
    """Share of the cores at work between the start of the first job and the end of the last."""
    posts = [json.loads((job / "post.json").read_text(encoding="utf-8")) for job in jobs]
    first, last = min(each["starttime"] for each in posts), max(each["endtime"] for each in posts)
    clock, spent = np.array(samples).T
    began, ended = np.interp([first, last], clock, spent)
    return float((ended - began) / (last - first) / cores())


def _stages(built: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Jobs of each stage, and processor seconds as their manifests say."""
    found: dict[str, dict[str, float]] = {}
    for job in built:
        (manifest,) = (file for name in MANIFESTS if (file := job["folder"] / name).exists())
        cost = json.loads(manifest.read_text(encoding="utf-8"))["cost"]
        stage = found.setdefault(job["stage"], {"jobs": 0, "processor": 0.0, "unknown": 0})
        stage["jobs"] += 1
        stage["processor"] += cost.get("cpu_seconds", 0.0)
        stage["unknown"] += "cpu_seconds" not in cost
    return found


def _toys_of(subject: Subject, side: Side) -> Toys:
    there = subject.toys.get(side.name)
    if not isinstance(there, Toys):
        there = Toys(subject.folder / f"t{len(subject.toys)}", side, *toys_of(subject.options.quick))
        subject.toys[side.name] = there
    return there


def _chain(subject: Subject, sides: Sequence[Side], name: str, case: str) -> dict[str, Any]:
    jobs = toys_of(subject.options.quick)[0]
    if name == EXAX:
        chain = subject.toys.setdefault(name, ExaxChain(subject.folder / "x", name, jobs))
    else:
        chain = _toys_of(subject, next(side for side in sides if side.name == name))
    settle(subject.folder)
    seconds = chain.seconds(case)
    return {"seconds": seconds, "processor": chain.processor, "jobs": jobs if case == COLD else 0}


def _open(subject: Subject, side: Side) -> None:
    _toys_of(subject, side).forget()
    settle(subject.folder)


def _independent_on(subject: Subject, side: Side, kind: str, engine: str) -> dict[str, Any]:
    settle(subject.folder)
    return _toys_of(subject, side).independent(kind, engine)
