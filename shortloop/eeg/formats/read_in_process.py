"""Recordings are read in a process of their own. A damaged file can make a library crash, hang or take all
memory; it does so there, within limits that follow from the file, and here it becomes one message."""

from __future__ import annotations

import faulthandler
import math
import mmap
import os
import resource
import signal
import struct
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from shortloop.base.errors import InputError, TransientError
from shortloop.eeg.formats.array_pipe import receive, send

__all__ = ["Declared", "begun", "read_apart", "reading"]

T = TypeVar("T")
Declared = Callable[[Path, str], int]
"""Bytes that a file says it unpacks to; an InputError if it cannot hold what it says."""

# What a reader may take: something for the libraries, and the rest in proportion to what is read. Samples are
# copied a few times, as eight bytes each, in epochs that may overlap.
MEMORY, MEMORY_PER_BYTE = 512 * 2**20, 32
SECONDS, SECONDS_PER_BYTE = 3, 1e-6  # of the processor, so that a busy machine makes no difference
# By the clock: a reader that waits longer waits for something that is no matter of the file.
CLOCK, CLOCK_PER_SECOND = 60, 10
# Samples do not shrink to less than a few hundredths, unless there are none to speak of.
PACKED, FEW_BYTES = 100, 2**28

NO_MEMORY = 3  # exit status
# Which file is being read, and the limits of memory (bytes) and time (s).
STATE = struct.Struct("=3q")
FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM}

# In the process that reads: where it says which file it is at, and the files.
_telling: tuple[mmap.mmap, Sequence[Path]] | None = None


def read_apart(read: Callable[[], T], files: Sequence[Path], *, participant: str, declared: Declared) -> T:
    """Read files in a process of its own."""
    with begun(read, files, participant=participant, declared=declared) as wait:
        return wait()


@contextmanager
def begun(
    read: Callable[[], T], files: Sequence[Path], *, participant: str, declared: Declared
) -> Iterator[Callable[[], T]]:
    """Begin to read files in a process of its own, which ends with the context at the latest."""
    child, state = 0, mmap.mmap(-1, STATE.size)  # shared with the child
    outcome, answer = os.pipe()
    try:
        # No signal may end the child as if it were this process.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, FROM_OUTSIDE)
        try:
            child = os.fork()
            if not child:
                _run(read, files, participant, declared, state, answer)
        finally:
            os.close(answer)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

        def wait() -> T:
            nonlocal child
            try:
                found = receive(outcome)
            except EOFError:
                found = None
            except Exception as lost:  # a file that is to be mapped is gone
                raise _unreadable(type(lost).__name__, str(lost), _names(files), participant) from lost
            ended, child = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0
            if found is None:
                raise _end(ended, state, files, participant)
            value, problem, said = found
            for message, category, filename, line in said:
                warnings.warn_explicit(message, category, filename, line)
            if problem is not None:
                raise problem
            result: T = value
            return result

        yield wait
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(outcome)


@contextmanager
def reading(file: Path, participant: str, place: Path | None = None) -> Iterator[None]:
    """Turn whatever a library raises while it reads a file into an InputError that names the file."""
    _tell(file)
    try:
        yield
    except MemoryError:
        raise
    except InputError as error:
        if place is not None and error.file == str(place):
            error.file = str(file)
            error.args = (error.message,)
        raise
    except Exception as error:
        said = str(error) if place is None else str(error).replace(f"{place.parent}{os.sep}", "")
        raise _unreadable(type(error).__name__, said, file, participant) from error
    _tell(None)


def _tell(file: Path | None) -> None:
    if _telling is not None:
        state, files = _telling
        struct.pack_into("=q", state, 0, files.index(file) if file in files else -1)


def _unreadable(kind: str, said: str, file: object, participant: str) -> InputError:
    text = " ".join(said.split())
    return InputError(
        "the file cannot be read",
        participant=participant,
        file=file,
        found=f"{kind}: {text[:300]}",
        hint="check that the file is whole and of the format that the study names",
    )


def _run(
    read: Callable[[], Any],
    files: Sequence[Path],
    participant: str,
    declared: Declared,
    state: mmap.mmap,
    answer: int,
) -> NoReturn:
    """All that the child does."""
    global _telling
    status = 1
    try:
        _be_apart()
        STATE.pack_into(state, 0, -1, 0, 0)
        _telling = state, files
        found = _attempt(read, files, participant, declared)
        signal.alarm(0)
        send(found, answer)
        status = 0
    except MemoryError:
        status = NO_MEMORY
    finally:
        os._exit(status)


def _attempt(read: Callable[[], Any], files: Sequence[Path], participant: str, declared: Declared) -> Any:
    """What was read, or what is wrong, and the warnings."""
    value, problem = None, None
    with warnings.catch_warnings(record=True) as caught:
        try:
            _limit(*_sizes(files, participant, declared))
            value = read()
        except InputError as error:
            problem = error
        except MemoryError:
            raise
        except Exception as error:
            problem = _unreadable(type(error).__name__, str(error), _names(files), participant)
    said = [(str(each.message), each.category, each.filename, each.lineno) for each in caught]
    return value, problem, said


def _be_apart() -> None:
    """Print nothing, and end at once when asked to."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    faulthandler.disable()
    for number in (*FROM_OUTSIDE - {signal.SIGKILL}, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU):  # what the user has set holds
        resource.setrlimit(kind, (resource.getrlimit(kind)[0],) * 2)


def _sizes(files: Sequence[Path], participant: str, declared: Declared) -> tuple[int, int]:
    """Bytes of the files, and what they unpack to."""
    sizes, unpacked = [], []
    for file in files:
        with reading(file, participant):
            size = file.stat().st_size
            _limit(size, size)
            says = declared(file, participant)
            if says > FEW_BYTES + PACKED * size:
                raise InputError(
                    "the file cannot be read",
                    participant=participant,
                    file=file,
                    found=f"{says / 1e6:.0f} MB of arrays in a file of {size / 1e6:.3g} MB",
                    expected=f"at most {PACKED} times the size of the file",
                    hint="the file is damaged, or holds next to nothing; if it is fine, save it uncompressed",
                )
        sizes.append(size)
        unpacked.append(max(size, says))
    return sum(sizes), sum(unpacked)


def _limit(size: int, unpacked: int) -> None:
    """Let this process end when it takes too much; `size` bytes may be mapped besides."""
    page = os.sysconf("SC_PAGE_SIZE")
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * page
    memory = min(MEMORY + MEMORY_PER_BYTE * unpacked, os.sysconf("SC_PHYS_PAGES") * page)
    seconds = SECONDS + round(SECONDS_PER_BYTE * unpacked)
    until = math.ceil(time.process_time()) + seconds
    for kind, most in ((resource.RLIMIT_AS, mapped + size + memory), (resource.RLIMIT_CPU, until)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    signal.alarm(CLOCK + CLOCK_PER_SECOND * seconds)
    assert _telling is not None
    struct.pack_into("=2q", _telling[0], 8, memory, seconds)


def _end(ended: int, state: mmap.mmap, files: Sequence[Path], participant: str) -> InputError:
    """Why the child made nothing of the files."""
    at, memory, seconds = STATE.unpack(state)
    outside = -ended in FROM_OUTSIDE
    if ended == NO_MEMORY:
        found = f"its reader needs more than {memory / 1e6:.0f} MB of memory"
    elif ended == -signal.SIGXCPU:
        found = f"its reader takes longer than {seconds} s"
    elif ended < 0:  # with SIGALRM it waited, for what is no matter of the file
        name = signal.Signals(-ended).name if -ended in set(signal.Signals) else f"signal {-ended}"
        found = f"its reader {'was killed' if outside else 'crashed'} ({name})"
    else:
        found = f"its reader ended without a result (status {ended})"
    damaged = "the file is probably damaged: copy it again from its source, or save it again"
    # What a machine allows, or somebody does, says nothing of the file for good.
    kind = TransientError if outside or ended in (NO_MEMORY, -signal.SIGXCPU) else InputError
    return kind(
        "the file cannot be read",
        participant=participant,
        file=files[at] if 0 <= at < len(files) else _names(files),
        found=found,
        hint="run again" if outside else damaged,
    )


def _names(files: Sequence[Path]) -> str:
    return ", ".join(map(str, files))
