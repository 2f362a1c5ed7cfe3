"""The profilers of ``shortloop profile``: what each records of a repeated job, and what it finds."""

from __future__ import annotations

import linecache
import pickle
import re
import shutil
import sysconfig
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from shortloop.base.errors import TransientError
from shortloop.base.extras import need
from shortloop.base.text import amount, duration
from shortloop.exax import repeated_job
from shortloop.profile import recorders
from shortloop.profile.flame_graph import Frame, flame_graph, frame_of_calls, frame_of_stacks
from shortloop.profile.job_times import PHASES, Calls, Function, JobTimes, is_users, place_of
from shortloop.store.setup import setup_of
from shortloop.units import recording

LISTED = 12  # functions, lines or places
RATE = 100  # samples a second
Key = TypeVar("Key")
FRAME = re.compile(r"(.+) \((.+?)(?::(\d+))?\)")  # of py-spy


class Report(NamedTuple):
    """What a profiler found: a sentence, a table, and the files that it wrote."""

    bottleneck: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    files: list[Path]


class Profiler(ABC):
    """A profiler; what it finds is written into a folder."""

    name: ClassVar[str]  # of its option, and of its files
    what: ClassVar[str]
    recorder: ClassVar[str] = "nothing"  # function of `recorders`
    library: ClassVar[str] = ""  # of the extra `profile`, by the name that it is imported by

    def __init__(self, job: Path, place: Path, title: str, functions: Sequence[str] = ()) -> None:
        self.place, self.title, self.functions = place, title, functions
        setup = setup_of(job)
        self.method = f"{setup['package']}.a_{setup['method']}"
        if self.library:
            need("profile", [self.library])

    def order(self) -> list[str]:
        return [recorders.__name__, self.recorder, *self.functions]

    def prefix(self, of: str = "job") -> list[str]:
        return []

    def page(self, whole: Frame, found: str, amount: Callable[[float], str] = duration) -> Path:
        """Write a flame graph, with what was found above it."""
        file = self.place / f"{self.name}.html"
        file.write_text(
            flame_graph(whole, f"{self.title}, repeated with {self.what}", found, amount), "utf-8"
        )
        return file

    @abstractmethod
    def report(self, folder: Path, times: JobTimes) -> Report:
        """Read what was recorded in the scratch folder."""


class Time(Profiler):
    """Calls of functions, by cProfile."""

    name, what, recorder = "time", "cProfile", "time"

    def report(self, folder: Path, times: JobTimes) -> Report:
        files = folder.glob(f"*{recorders.TIME}")
        waits = times.has_workers  # `prepare`, for them
        calls = Calls(file for file in files if not (waits and file.name.startswith("prepare")))
        bottleneck = times.bottleneck(calls.main)
        page, kept = self.page(frame_of_calls(calls), bottleneck), self.place / "time.prof"
        merged: Any = calls.merged()
        merged.dump_stats(str(kept))
        own = {function: each[2] for function, each in merged.stats.items()}
        rows = [
            (duration(took), share, f"{merged.stats[function][1]:,}", place_of(function))
            for function, took, share in _largest(own)
        ]
        return Report(bottleneck, ("own time", "share", "calls", "function"), rows, [page, kept])


class Lines(Profiler):
    """Lines of functions, by line_profiler."""

    name, what, recorder, library = "lines", "line_profiler", "lines", "line_profiler"

    def order(self) -> list[str]:
        return [recorders.__name__, self.recorder, *(self.functions or [self.method])]

    def report(self, folder: Path, times: JobTimes) -> Report:
        from line_profiler import show_text

        lines: defaultdict[Any, dict[int, tuple[int, int]]] = defaultdict(dict)  # hits and time of each
        unit = 1.0
        for recorded in sorted(folder.glob(f"*{recorders.LINES}")):
            timings, unit = pickle.loads(recorded.read_bytes())
            for of, timed in timings.items():
                for line, number, took in timed:
                    before = lines[of].get(line, (0, 0))
                    lines[of][line] = before[0] + number, before[1] + took
        file = self.place / "lines.txt"
        with file.open("w", encoding="utf-8") as stream:
            listed = {of: [(at, *each[at]) for at in sorted(each)] for of, each in lines.items()}
            show_text(listed, unit, stream=stream, sort=True, stripzeros=True)
        took_of = {(of, line): float(each[1]) for of, every in lines.items() for line, each in every.items()}
        rows = []
        for (of, line), took, share in _largest(took_of):
            where = f"{place_of((of[0], line, of[2]))}: {linecache.getline(of[0], line).strip()}"
            rows.append((duration(took * unit), share, f"{lines[of][line][0]:,}", where))
        found = f"not found: the job calls none of {', '.join(self.order()[2:])}"
        if rows:
            found = f"a line, {rows[0][1]} of the time of all lines: {rows[0][3]}"
        return Report(found, ("time", "share", "hits", "line"), rows, [file])


class Memory(Profiler):
    """Allocations, by memray, with frames of compiled code."""

    name, what, recorder, library = "memory", "memray", "memory", "memray"

    def report(self, folder: Path, times: JobTimes) -> Report:
        from memray import FileReader

        files = sorted(folder.glob(f"*{recorders.MEMORY}"))
        snapshots = (each for file in files for each in FileReader(file).get_memory_snapshots())
        resident = max((each.rss for each in snapshots), default=0)
        allocated = {file: _allocated(FileReader(file)) for file in files}
        largest = max(files, key=lambda file: sum(allocated[file].values()))
        places: defaultdict[str, float] = defaultdict(float)
        for stack, size in allocated[largest].items():
            places[place_of(_asked(stack))] += size
        rows = [(amount(size), share, where) for where, size, share in _largest(places)]
        process = f"one process ({PHASES[largest.name.partition('-')[0]]})"
        found = f"{amount(sum(places.values()))} allocated by {process}, {amount(resident)} resident at most"
        found += f"; {rows[0][1]} by {rows[0][2]}" if rows else ""
        page, kept = (
            self.page(frame_of_stacks(allocated[largest]), found, amount),
            self.place / "memory.memray",
        )
        shutil.copy(largest, kept)
        return Report(found, ("memory", "share", "allocated by"), rows, [page, kept])


def _asked(stack: tuple[Function, ...]) -> Function:
    """The innermost function of the user's own in a stack; else of Python, else of all."""
    inner = stack[::-1]
    python = (each for each in inner if each[0].endswith(".py"))
    return next(filter(is_users, inner), None) or next(python, inner[0])


def _allocated(reader: Any) -> dict[tuple[Function, ...], float]:
    """Bytes that a process held at its peak, by the stack that asked for them, outermost call first."""
    from memray import AllocatorType

    found: defaultdict[tuple[Function, ...], float] = defaultdict(float)
    for record in reader.get_high_watermark_allocation_records(merge_threads=True):
        if record.allocator != AllocatorType.MMAP:  # files, and what allocators keep for later
            stack = [(file, line, name) for name, file, line in record.hybrid_stack_trace()]
            found[tuple(reversed(stack)) or (("~", 0, "compiled code"),)] += record.size
    return found


class Sample(Profiler):
    """Stacks of all processes, by py-spy, which looks at them from outside."""

    name, what = "sample", "py-spy"

    def prefix(self, of: str = "job") -> list[str]:
        program = str(Path(sysconfig.get_path("scripts")) / self.what)
        if not Path(program).exists():
            raise TransientError(f"{self.what} is not installed", hint="`pip install 'shortloop[profile]'`")
        how = ["--rate", str(RATE), "--subprocesses", "--idle", "--full-filenames", "--function"]
        return [program, "record", *how, "--format", "raw", "--output", str(self._stacks(of)), "--"]

    def _stacks(self, of: str) -> Path:
        file = self.place / f"sample-{of}.folded"
        file.unlink(missing_ok=True)
        return file

    def report(self, folder: Path, times: JobTimes) -> Report:
        stacks: Counter[tuple[Function, ...]] = Counter()
        # While an engine computes, the job waits for it.
        wanted = ["engine"] if times.has_workers else ["job", "engine"]
        files = [file for of in wanted if (file := self.place / f"sample-{of}.folded").exists()]
        for line in [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]:
            frames, _, number = line.rpartition(" ")
            every = [*map(_frame, frames.split(";"))]
            inside = [place for place, each in enumerate(every, 1) if _is_recorder(each)]
            if inside and every[inside[-1] :]:  # in a phase: others wait for those that are
                stacks[tuple(every[inside[-1] :])] += int(number)
        seconds = {stack: number / RATE for stack, number in stacks.items()}
        own: defaultdict[Function, float] = defaultdict(float)
        for stack, took in seconds.items():
            own[stack[-1]] += took
        rows = [(duration(took), share, place_of(function)) for function, took, share in _largest(own)]
        bottleneck = times.bottleneck(lambda phase: _main(seconds))
        page = self.page(frame_of_stacks(seconds), bottleneck)
        return Report(bottleneck, ("own time", "share", "function"), rows, [page, *files])


def _main(stacks: Mapping[tuple[Function, ...], float]) -> str:
    """Describe the function with the most samples of its own below each of the user's."""
    own: defaultdict[tuple[Function, Function | None], float] = defaultdict(float)
    for stack, seconds in stacks.items():
        own[stack[-1], next(filter(is_users, reversed(stack)), None)] += seconds
    if not own:
        return "functions that no sample met"
    function, user = max(own, key=lambda each: own[each])
    above = "" if user is None or user == function else f", called by {place_of(user)}"
    return f"{own[function, user] / sum(own.values()):.0%} in {place_of(function)}{above}"


def _is_recorder(function: Function) -> bool:
    """True for the function of a repeated job that calls a phase."""
    files = (repeated_job.__file__, recording.__file__)
    return function[0] in files and function[2].endswith((".call", ".compute_recorded"))


def _frame(text: str) -> Function:
    found = FRAME.fullmatch(text)
    return (found[2], int(found[3] or 0), found[1]) if found else ("~", 0, text)


def _largest(found: Mapping[Key, float]) -> list[tuple[Key, float, str]]:
    """The largest values, each with its share of all."""
    total = sum(found.values()) or 1.0
    largest = sorted(found.items(), key=lambda each: -each[1])[:LISTED]
    return [(key, value, f"{value / total:.0%}") for key, value in largest]


PROFILERS = {each.name: each for each in (Time, Lines, Memory, Sample)}
