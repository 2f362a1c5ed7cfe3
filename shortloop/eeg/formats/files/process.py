"""Read recordings in processes of their own, as a damaged file can make a library crash or hang."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import math
import mmap
import os
import pickle
import resource
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np

from shortloop.base.errors import InputError, TransientError
from shortloop.eeg.formats.files.find import LINKED

T = TypeVar("T")
Declared = Callable[[Path, str], int]  # unpacked bytes that a file declares; InputError if it is too short

# Limits of a reader: a constant for the libraries, and the rest in proportion to the file. Samples are copied
# a few times, as eight bytes each, in epochs that may overlap.
MEMORY, MEMORY_PER_BYTE = 512 * 2**20, 32
SECONDS, SECONDS_PER_BYTE = 3, 1e-6  # processor time, which a busy machine does not change
# Wall time: a reader that takes longer waits for something outside the file.
CLOCK, CLOCK_PER_SECOND = 60, 10
# Compression does not shrink samples below a few hundredths, unless there are hardly any.
PACKED, FEW_BYTES = 100, 2**28

NO_MEMORY = 3  # exit status
FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM}

ALIGNED = 64  # bytes; arrays begin at multiples of it

# In the reading process: its state, which its parent sees, and the files. The state is the index of the file
# that is being read, and the limits of memory (bytes) and time (s).
_shared: tuple[np.ndarray, Sequence[Path]] | None = None


def read_apart(read: Callable[[], T], files: Sequence[Path], *, participant: str, declared: Declared) -> T:
    with start_reading(read, files, participant=participant, declared=declared) as wait:
        return wait()


@contextlib.contextmanager
def start_reading(
    read: Callable[[], T], files: Sequence[Path], *, participant: str, declared: Declared
) -> Iterator[Callable[[], T]]:
    """Start to read files in a separate process, which ends with the context at the latest."""
    child, state = 0, np.frombuffer(mmap.mmap(-1, 3 * 8), np.int64)  # shared with the child
    state[0] = -1
    answer = os.memfd_create("answer")
    try:
        # The child inherits this process's handlers; it takes no signal before it has reset them.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, FROM_OUTSIDE)
        try:
            child = os.fork()
            if not child:
                _run(read, files, participant, declared, state, answer)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

        def wait() -> T:
            nonlocal child
            with located(participant, ", ".join(map(str, files))):
                ended, child = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0
                if ended or not os.fstat(answer).st_size:
                    raise _end(ended, state, files)
                try:
                    value, problem, said = _load(answer)
                except Exception as lost:  # a file to be mapped is gone
                    raise _unreadable(lost) from lost
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
        os.close(answer)


@contextlib.contextmanager
def located(participant: str | None, file: str | None) -> Iterator[None]:
    """Add participant and file to an `InputError` that lacks them."""
    try:
        yield
    except InputError as error:
        error.where.setdefault("participant", participant)
        error.file = error.file or file
        error.args = (error.message,)
        raise


@contextlib.contextmanager
def reading(file: Path, participant: str | None) -> Iterator[None]:
    """Turn errors into an `InputError` that names participant and file, and no link to it."""
    _report(file)
    with located(participant, str(file)):
        try:
            yield
        except MemoryError:
            raise
        except InputError as error:
            if error.file and LINKED.search(error.file):
                error.file = str(file)
            raise
        except Exception as error:
            raise _unreadable(error) from error
    _report(None)


def _report(file: Path | None) -> None:
    if _shared is not None:
        state, files = _shared
        state[0] = files.index(file) if file in files else -1


def _unreadable(error: Exception) -> InputError:
    found = f"{type(error).__name__}: {' '.join(LINKED.sub('', str(error)).split())[:300]}"
    hint = "check that the file is whole and of the format that the study names"
    hint = "ask its owner for access" if isinstance(error, PermissionError) else hint
    return InputError("the file cannot be read", found=found, hint=hint)


def _run(
    read: Callable[[], Any],
    files: Sequence[Path],
    participant: str,
    declared: Declared,
    state: np.ndarray,
    answer: int,
) -> NoReturn:
    """Run the child process: write the value or the problem, and the warnings; never return."""
    global _shared
    value, problem, status = None, None, 1
    try:
        _detach()
        _shared = state, files
        with warnings.catch_warnings(record=True) as caught:
            try:
                _limit(*_sizes(files, participant, declared))
                value = read()
            except InputError as error:
                problem = error
            except MemoryError:
                raise
            except Exception as error:
                problem = _unreadable(error)
        said = [(LINKED.sub("", str(w.message)), w.category, w.filename, w.lineno) for w in caught]
        signal.alarm(0)
        _dump((value, problem, said), answer)
        status = 0
    except MemoryError:
        status = NO_MEMORY
    finally:
        os._exit(status)


def _detach() -> None:
    """Silence output, restore default signal handlers and forbid core dumps."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    faulthandler.disable()
    for number in (*FROM_OUTSIDE - {signal.SIGKILL}, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU):  # limits that the user has set hold
        resource.setrlimit(kind, (resource.getrlimit(kind)[0],) * 2)


def _sizes(files: Sequence[Path], participant: str, declared: Declared) -> tuple[int, int]:
    """Return the bytes of the files, and of what they unpack to."""
    sizes, unpacked = [], []
    for file in files:
        with reading(file, participant):
            size = file.stat().st_size
            _limit(size, size)
            if (says := declared(file, participant)) > FEW_BYTES + PACKED * size:
                found = f"{says / 1e6:.0f} MB of arrays in a file of {size / 1e6:.3g} MB"
                expected = f"at most {PACKED} times the size of the file"
                hint = "the file is damaged, or holds next to nothing; if it is fine, save it uncompressed"
                raise InputError("the file cannot be read", found=found, expected=expected, hint=hint)
        sizes.append(size)
        unpacked.append(max(size, says))
    return sum(sizes), sum(unpacked)


def _limit(size: int, unpacked: int) -> None:
    """Limit memory and time of this process; `size` bytes may be mapped besides."""
    page = os.sysconf("SC_PAGE_SIZE")
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * page
    memory = min(MEMORY + MEMORY_PER_BYTE * unpacked, os.sysconf("SC_PHYS_PAGES") * page)
    seconds = SECONDS + round(SECONDS_PER_BYTE * unpacked)
    until = math.ceil(time.process_time()) + seconds
    for kind, most in ((resource.RLIMIT_AS, mapped + size + memory), (resource.RLIMIT_CPU, until)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    signal.alarm(CLOCK + CLOCK_PER_SECOND * seconds)
    assert _shared is not None
    _shared[0][1:] = memory, seconds


def _end(ended: int, state: np.ndarray, files: Sequence[Path]) -> InputError:
    """Explain why the child returned nothing."""
    at, memory, seconds = state.tolist()
    outside = -ended in FROM_OUTSIDE
    if ended == NO_MEMORY:
        found = f"its reader needs more than {memory / 1e6:.0f} MB of memory"
    elif ended == -signal.SIGXCPU:
        found = f"its reader takes longer than {seconds} s"
    elif ended < 0:  # SIGALRM: it waited for something outside the file
        name = signal.Signals(-ended).name if -ended in set(signal.Signals) else f"signal {-ended}"
        found = f"its reader {'was killed' if outside else 'crashed'} ({name})"
    else:
        found = f"its reader ended without a result (status {ended})"
    hint = "the file is probably damaged: copy it again from its source, or save it again"
    # Limits of this machine, and signals from outside, are not facts about the file: do not cache them.
    kind = TransientError if outside or ended in (NO_MEMORY, -signal.SIGXCPU) else InputError
    file = files[at] if 0 <= at < len(files) else None
    return kind("the file cannot be read", file=file, found=found, hint="run again" if outside else hint)


def _dump(value: object, answer: int) -> None:
    """Pickle an object to a file in memory: arrays as raw bytes, maps of files as their place in the file."""
    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    _Pickler(stream, 5, buffer_callback=buffers.append).dump(value)
    parts = [stream.getbuffer(), *(each.raw() for each in buffers)]
    with open(answer, "wb", closefd=False) as file:
        pickle.dump([len(each) for each in parts], file)
        for each in parts:
            file.seek(-file.tell() % ALIGNED, os.SEEK_CUR)
            file.write(each)


def _load(answer: int) -> Any:
    """Restore an object; its arrays are in the memory of the file, which is not copied."""
    content = mmap.mmap(answer, 0, access=mmap.ACCESS_COPY)
    sizes, view, parts = pickle.load(content), memoryview(content), []
    at = content.tell()
    for size in sizes:
        at += -at % ALIGNED
        parts.append(view[at : at + size])
        at += size
    return pickle.loads(parts[0], buffers=parts[1:])


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: object) -> Any:
        whole = obj
        while isinstance(whole, np.ndarray) and isinstance(whole.base, np.ndarray):
            whole = whole.base
        # Writes to a map of mode "c" do not reach its file.
        if not isinstance(whole, np.memmap) or whole.filename is None or whole.mode == "c":
            return NotImplemented
        assert isinstance(obj, np.ndarray)
        first, start = (each.__array_interface__["data"][0] for each in (obj, whole))
        offset = whole.offset + first - start
        mode = "r" if whole.mode == "r" else "r+"
        return _mapped, (whole.filename, mode, obj.shape, obj.dtype, offset, obj.strides)


def _mapped(file: str, mode: Literal["r", "r+"], *layout: Any) -> np.ndarray:
    shape, dtype, offset, strides = layout
    return np.ndarray(shape, dtype, np.memmap(file, np.uint8, mode), offset, strides)
