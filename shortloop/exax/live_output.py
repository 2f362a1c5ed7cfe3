"""Output of running jobs, shown line by line."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shortloop.base.text import counted, one_line
from shortloop.store.integrity import LOGS

VERBOSE = "SHORTLOOP_VERBOSE"  # environment variable: show log records below WARNING as well
LOOK_EVERY = 0.2  # s
STATE_EVERY = 1.0  # s between states of a line that is written again and again, as by tqdm
LINES = 300  # that are shown in a second
HELD = 2.0  # s that a traceback waits: if its job fails, the run shows it
READ = 1 << 22  # bytes at a time
LONGEST = 1 << 16  # bytes of one line
OF_EXAX = b"LAUNCH:  The deathening!"  # printed by exax in the name of a job that fails
TRACEBACK = b"Traceback (most recent call last):"
MINOR = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (?:DEBUG|INFO) ")  # as `store.notes` writes it
# What moves the cursor or sets a colour, and titles of windows.
_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_BELOW = re.compile(rb"\n+([^\n]*?)(?:\x1b\[A)+")  # a second bar of tqdm, below the first


def shown_line(raw: bytes) -> str:
    """Return a line as a terminal would leave it: its last state, without colours."""
    text = raw.decode("utf-8", "backslashreplace")
    if "\r" in text:
        text = next((state for state in reversed(text.split("\r")) if state.strip()), "")
    text = _CONTROL.sub("", text) if "\x1b" in text else text
    return one_line(text.expandtabs().rstrip())


def parts_of_output(folder: Path) -> list[Path]:
    """List the files of a job's output: of ``prepare``, of its units by slices, of ``synthesis``."""
    try:
        names = [name for name in os.listdir(folder / LOGS) if "." not in name]
    except (FileNotFoundError, NotADirectoryError):
        return []
    order = {"prepare": -2, "synthesis": 1 << 62}
    names.sort(key=lambda name: (int(name) if name.isdecimal() else order.get(name, -1), name))
    return [folder / LOGS / name for name in names]


class LiveOutput(contextlib.AbstractContextManager["LiveOutput"]):
    """Shows the output of running jobs, with one thread for all jobs."""

    def __init__(self, show: Callable[[str], None], verbose: bool = False, most: int | None = LINES) -> None:
        # What takes each line, from any thread; and lines that are shown in a second, or all.
        self._show, self._verbose, self._most = show, verbose, most
        self._jobs: dict[Path, _Job] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._since, self._shown = 0.0, 0  # of the second that passes

    def __exit__(self, kind: object, *error: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for folder in [*self._jobs]:
            self.ended(folder, failed=kind is not None)

    def mute(self) -> None:
        """Show nothing from now on, because jobs are being ended."""
        self._show = lambda line: None

    def follow(self, folder: Path, prefix: str) -> None:
        with self._lock:
            self._jobs[folder] = _Job(folder, f"{one_line(prefix)} | " if prefix else "")
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def ended(self, folder: Path, failed: bool = False) -> None:
        """Show the rest of a job's output; of a failed one without the traceback, which the run shows."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if (job := self._jobs.pop(folder, None)) is not None:
                self._read(job)
                self._show_lines(job, [line for tail in job.tails.values() for line in tail.rest(failed)])
                self._say_left_out(job)

    def _watch(self) -> None:
        while not self._stop.wait(LOOK_EVERY):
            with self._lock, contextlib.suppress(OSError, ValueError):  # a terminal that is gone
                for job in self._jobs.values():
                    self._read(job)

    def _read(self, job: _Job) -> None:
        for file in parts_of_output(job.folder):
            for lines in job.tails.setdefault(file, _Tail(file)).read(time.monotonic()):
                self._show_lines(job, lines)

    def _show_lines(self, job: _Job, lines: list[bytes]) -> None:
        now = time.monotonic()
        if now - self._since >= 1:
            self._since, self._shown = now, 0
        lines = [line for line in lines if line != OF_EXAX and (self._verbose or not MINOR.match(line))]
        room = len(lines) if self._most is None else max(0, self._most - self._shown)
        if lines and room:
            self._say_left_out(job)
        for line in lines[:room]:
            self._show(f"{job.prefix}{shown_line(line)}")
        self._shown += len(lines[:room])
        job.left_out += len(lines[room:])

    def _say_left_out(self, job: _Job) -> None:
        if job.left_out:
            count, job.left_out = job.left_out, 0
            left_out = counted(count, "line")
            self._show(f"{job.prefix}… {left_out} left out: shortloop logs {job.folder.name}")


@dataclass
class _Job:
    folder: Path
    prefix: str
    left_out: int = 0  # lines
    tails: dict[Path, _Tail] = field(default_factory=dict)  # as far as each file of its output is read


class _Tail:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._place = 0
        self._open = b""  # an unfinished line
        self._state, self._state_at = b"", 0.0  # of it that was shown last
        self._held, self._held_at = list[bytes](), 0.0

    def read(self, now: float) -> Iterator[list[bytes]]:
        with contextlib.suppress(FileNotFoundError):
            if os.stat(self._file).st_size > self._place:
                with self._file.open("rb") as stream:
                    stream.seek(self._place)
                    while data := stream.read(READ):
                        self._place += len(data)
                        yield self._lines(data, now)
        if b"\r" in self._open and now - self._state_at >= STATE_EVERY and self._open != self._state:
            self._state, self._state_at = self._open, now
            yield self._not_held([self._open], now)
        if self._held and now - self._held_at > HELD:  # its job goes on
            held, self._held = self._held, []
            yield held

    def rest(self, failed: bool) -> list[bytes]:
        lines = [] if failed else self._held
        if self._open and _last_state(self._open) != self._state:
            lines = [*lines, self._open]
        self._held, self._open = [], b""
        return lines

    def _lines(self, data: bytes, now: float) -> list[bytes]:
        data = self._open + data
        if b"\x1b[A" in data:
            data = _BELOW.sub(b"\r", data)
        *lines, last = data.split(b"\n")
        if lines:
            if self._state and _last_state(lines[0]) == self._state:
                del lines[0]  # it was shown when it was not ended
            self._state = b""
        self._open = _last_state(last) if b"\r" in last else last[-LONGEST:]
        return self._not_held(lines, now)

    def _not_held(self, lines: list[bytes], now: float) -> list[bytes]:
        """Lines up to a traceback: from there on they wait."""
        if self._held:
            self._held += lines
            return []
        for place, line in enumerate(lines):
            before, title, after = line.partition(TRACEBACK)
            if title:  # after what was printed without an end of the line
                self._held, self._held_at = [title + after, *lines[place + 1 :]], now
                return lines[:place] + [before] * bool(before)
        return lines


def _last_state(line: bytes) -> bytes:
    """Return the last state of an overwritten line, marked as such."""
    state = next((each for each in reversed(line.split(b"\r")) if each.strip()), b"")
    return b"\r" + state if state and b"\r" in line else state
