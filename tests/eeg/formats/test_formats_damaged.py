"""Damaged files, and whatever happens to the process that reads: a result, or one message, and no remains."""

from __future__ import annotations

import io
import multiprocessing
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import first_cases
from formats_mutants import FORMATS, mutant, seeds
from refusal import refusal
from scipy.io import loadmat, savemat

from shortloop.base.errors import InputError, TransientError
from shortloop.eeg.formats.files import process
from shortloop.eeg.formats.files.process import read_apart, reading, start_reading
from shortloop.eeg.formats.read import read_epochs, read_features
from shortloop.eeg.formats.recording_format import FilesInput, InputSettings

pytestmark = pytest.mark.apart
MUTANTS = int(os.environ.get("MUTANTS", "120"))
SEED = int(os.environ.get("SEED") or 0)
SECONDS = 5.0
BYTES = 10**9
CLASSES = ("left", "right")
FORMS = {"mat": "thesis", "set": "eeglab", "vhdr": "brainvision", "ft": "fieldtrip"}
FILES = {"mat": "s.mat", "ft": "s.mat", "fif": "s-epo.fif"}
FILES |= {kind: f"s.{kind}" for kind in ("npz", "edf", "set", "vhdr", "csv")}


def form(kind: str) -> InputSettings:
    """How a study reads these files."""
    given: dict[str, Any] = {"format": FORMS.get(kind, kind)}
    given |= {"power": {"run": "x"}} if kind == "mat" else {"files": {"run": ("x",)}}
    if kind in ("edf", "set", "vhdr", "csv"):
        given |= {"tmin": -0.25, "tmax": 0.5}
    if kind == "ft":
        given |= {"events": {"left": ("1",), "right": ("2",)}}
    return InputSettings.model_validate(given)


def read(kind: str, file: Path) -> np.ndarray:
    """What the door gives of a file."""
    who: dict[str, Any] = {"participant": "S1", "phase": "run", "classes": CLASSES}
    if kind != "mat":
        return read_epochs(form(kind), [file], **who).data
    return read_features(form(kind), file, kind="power", **who).data


def load_libraries(kind: str, file: Path) -> None:
    """Read a whole file in this process, so that those that read the others need not load what it takes."""
    if kind == "mat":
        loadmat(file)
    elif kind != "npz":
        known = form(kind)
        assert isinstance(known, FilesInput)
        known.read_part(file, "S1", CLASSES)


def end_of(kind: str, file: Path) -> str:
    """How reading ended, in a few words; anything but a result or the message fails."""
    problem = None
    try:
        data = read(kind, file)
    except InputError as error:
        problem = error
    if problem is None:
        assert np.isfinite(data).all()
        return "result"
    assert problem.where["participant"] == "S1"
    assert str(file) in str(problem.file)
    said = str(problem.found) if problem.problem == "the file cannot be read" else problem.problem
    return re.sub(r"[\d.]+", "N", re.split(r"[:(\\]", said)[0]).strip()[:60]


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("kind", FORMATS)
def test_seeds_are_whole(tmp_path: Path, kind: str) -> None:
    file = tmp_path / FILES[kind]
    ends = []
    for content in seeds(kind, tmp_path):
        file.write_bytes(content)
        ends.append(end_of(kind, file))
    expected = ["result"] * len(ends)
    if kind == "mat":  # of level 4, which has no structs
        expected[2] = "the file has no struct of its own name"
    assert ends == expected


def read_mutants(kind: str, folder: Path, count: int) -> int:
    """Read them all in this process, which does nothing else; bytes that a reader held at most."""
    warnings.simplefilter("ignore")
    whole = seeds(kind, folder)
    file = folder / FILES[kind]
    ends: Counter[str] = Counter()
    slowest = slowest_clock = 0.0
    file.write_bytes(whole[0])
    load_libraries(kind, file)
    for number in range(count // {"mat": 2, "csv": 3, "set": 12, "vhdr": 12, "ft": 12}.get(kind, 6)):
        file.write_bytes(mutant(kind, whole, np.random.default_rng([SEED, number])))
        before, clock = processor_time(), time.monotonic()
        try:
            ends[end_of(kind, file)] += 1
        except BaseException:
            print(f"SEED={SEED}, mutant {number} of {kind}: {file}")
            raise
        slowest = max(slowest, processor_time() - before)
        slowest_clock = max(slowest_clock, time.monotonic() - clock)
        assert slowest < SECONDS, f"SEED={SEED}, mutant {number} of {kind}: {file}"
    memory = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"\n{kind}: {ends.total()} mutants; at most {slowest:.2f} s of the processor,")
    print(f"{slowest_clock:.2f} s by the clock and {memory / 1e6:.0f} MB")
    print("\n".join(f"{count:7} {end}" for end, count in ends.most_common()))
    assert 0 < ends["result"] < ends.total()
    return memory


@pytest.fixture(scope="module")
def anew() -> Iterator[ProcessPoolExecutor]:
    """A process to read in: readers are forks, and would hold all that tests before left in memory."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


@first_cases(1, "count", [MUTANTS, 4 * MUTANTS])
@pytest.mark.parametrize("kind", FORMATS)
def test_mutants_are_read_or_fail(anew: ProcessPoolExecutor, tmp_path: Path, kind: str, count: int) -> None:
    assert anew.submit(read_mutants, kind, tmp_path, count).result() < BYTES


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    made = [tmp_path / "a", tmp_path / "b"]
    for file in made:
        file.write_bytes(bytes(1000))
    return made


def apart(does: Callable[[], Any], files: list[Path], size: int = 1000) -> Any:
    return read_apart(does, files, participant="S1", declared=lambda file, who: size)


def expect(does: Callable[[], Any], files: list[Path], found: str, size: int = 1000) -> None:
    """The message names the file that was being read."""

    def read_second() -> None:
        with reading(files[0], "S1"):
            pass
        with reading(files[1], "S1"):
            does()

    with refusal(found, participant="S1", file=files[1]) as caught:
        apart(read_second, files, size)
    assert caught.value.hint
    assert no_children()


def children() -> set[str]:
    """Processes that this one has started, ended or not."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split())


BEFORE: set[str] = set()


@pytest.fixture(autouse=True)
def _children_before() -> None:
    """Other tests may have left a helper process of Python's."""
    BEFORE.clear()
    BEFORE.update(children())


def no_children() -> bool:
    return children() <= BEFORE


SIGNALS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE)
ENDS: list[tuple[Callable[[], Any], str]] = [
    *((lambda each=each: os.kill(os.getpid(), each), f"crashed .{each.name}.") for each in SIGNALS),
    *((lambda status=status: os._exit(status), "ended without a result") for status in (0, 1, 7)),
    (lambda: sys.exit(7), "ended without a result"),
    (lambda: [][1], "IndexError"),
    (lambda: np.ones(10**9), "needs more than 537 MB of memory"),
]


@pytest.mark.parametrize(("does", "found"), ENDS)
def test_crashes_ends_and_errors_are_messages(files: list[Path], does: Callable[[], Any], found: str) -> None:
    expect(does, files, found)


def test_memory_is_granted_and_an_error_told_when_no_file_is_being_read(files: list[Path]) -> None:
    assert apart(lambda: np.ones(5 * 10**7).sum(), files) == 5 * 10**7
    assert apart(lambda: np.empty(10**8).size, files, 10**7) == 10**8
    with refusal("ZeroDivisionError", file=f"{files[0]}, {files[1]}"):
        apart(lambda: 1 / 0, files)


def test_too_much_time_is_a_message(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "SECONDS", 1)

    def hang() -> None:
        while True:
            pass

    expect(hang, files, "takes longer than 1 s")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGALRM])
def test_an_end_from_outside_says_nothing_of_the_file(files: list[Path], number: int) -> None:
    with pytest.raises(TransientError, match="was killed") as caught:
        apart(lambda: os.kill(os.getpid(), number), files)
    assert "S1" in str(caught.value)
    assert str(files[1]) in str(caught.value)


def test_the_readers_own_message_comes_whole(files: list[Path]) -> None:
    facts = {"file": "f", "field": "x", "found": 3, "expected": (4, 5), "hint": "h"}
    told = InputError("odd", participant="S2", **facts)  # type: ignore[arg-type]

    def refuse() -> None:
        raise told

    with refusal("odd", participant="S2", **facts) as caught:
        apart(refuse, files)
    assert str(caught.value) == told.message


def test_warnings_come_in_order(files: list[Path]) -> None:
    def warn() -> str:
        for number in range(3):
            warnings.warn(f"w{number}", UserWarning, stacklevel=1)
        return "done"

    with pytest.warns(UserWarning, match="w") as caught:
        assert apart(warn, files) == "done"
    assert [str(each.message) for each in caught] == ["w0", "w1", "w2"]


def test_arrays_come_as_they_were(files: list[Path], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 20, 40))
    arrays: dict[str, Any] = {
        "rows": x,
        "columns": np.asfortranarray(x),
        "turned": x.transpose(1, 0, 2),
        "singles": x.astype(np.float32)[:, [3, 1]],
        "part": x[::2, 1:, ::3],
        "backwards": x[::-1],
        "texts": rng.choice(["a", "bcd"], 5000),
        "objects": np.array([1, "a", None], dtype=object),
        "none": np.empty((0, 3)),
        "one": np.float64(3),
        "pair": np.zeros(3000, dtype=[("a", "i4"), ("b", "f8")]),
    }
    found = apart(lambda: arrays, files)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert np.asarray(found[name]).dtype == np.asarray(array).dtype
    for name in ("rows", "columns"):
        assert found[name].strides == arrays[name].strides
        assert found[name].flags.writeable


def test_maps_of_files_stay_maps(files: list[Path], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(60.0).reshape(5, 12))
    read_only = apart(lambda: np.load(tmp_path / "x.npy", mmap_mode="r")[1:, 2:4], files)
    found = apart(lambda: np.load(tmp_path / "x.npy", mmap_mode="r+")[1:, 2:4], files)
    np.testing.assert_array_equal(found, np.arange(60.0).reshape(5, 12)[1:, 2:4])
    assert not read_only.flags.writeable
    found[0, 0] = -1
    assert read_only[0, 0] == -1
    assert np.load(tmp_path / "x.npy")[1, 2] == -1

    def lose() -> np.ndarray:
        content = np.load(tmp_path / "x.npy", mmap_mode="r")
        (tmp_path / "x.npy").unlink()
        return content

    with refusal("FileNotFoundError"):
        apart(lose, files)


def test_readers_end_when_nobody_waits_and_two_read_at_the_same_time(files: list[Path]) -> None:
    started = time.monotonic()
    with (
        pytest.raises(KeyboardInterrupt),
        start_reading(lambda: time.sleep(60), files, participant="S1", declared=lambda file, who: 0),
    ):
        raise KeyboardInterrupt
    assert time.monotonic() - started < 30
    assert no_children()
    large = np.random.default_rng(0).standard_normal(10**6)
    how: dict[str, Any] = {"participant": "S1", "declared": lambda file, who: 0}
    with (
        start_reading(lambda: (os.getpid(), large), files, **how) as one,
        start_reading(lambda: (os.getpid(), -large), files, **how) as other,
    ):
        second, first = other(), one()
    assert len({first[0], second[0], os.getpid()}) == 3
    np.testing.assert_array_equal(first[1], -second[1])


def test_a_reader_ends_with_the_job_that_started_it(files: list[Path]) -> None:
    code = """
import os, sys, time
from pathlib import Path
from shortloop.eeg.formats.files.process import read_apart
from shortloop.units.process_ends import forks_end_with_this
forks_end_with_this()
def read():
    print(os.getpid(), flush=True, file=sys.__stdout__)
    time.sleep(60)
os.dup2 = lambda *given: None  # that it may print
read_apart(read, [Path(sys.argv[1])], participant="S1", declared=lambda file, who: 0)
"""
    job = subprocess.Popen([sys.executable, "-c", code, str(files[0])], stdout=subprocess.PIPE, text=True)
    assert job.stdout is not None
    reader = int(job.stdout.readline())
    job.kill()
    job.wait()
    deadline = time.monotonic() + 20
    while is_running(reader):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def message(kind: str, file: Path) -> str:
    with refusal("", participant="S1", file=file) as caught:
        read(kind, file)
    return str(caught.value)


def test_files_that_are_cut_short_and_tags_that_go_round_are_refused(tmp_path: Path) -> None:
    file = tmp_path / FILES["mat"]
    hdf5 = seeds("mat", tmp_path)[5]
    for content in (hdf5[:700], hdf5[512:700]):
        file.write_bytes(content)
        assert "OSError" in message("mat", file)
    file = tmp_path / FILES["npz"]
    stream = io.BytesIO()
    np.save(stream, np.zeros((10, 100)))
    longer = stream.getvalue().replace(b"(10, 100), }", b"(10, 200), }")
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("X", "y", "t", "ch"):
            archive.writestr(f"{name}.npy", longer)
    assert "expected 16000 bytes got 8000" in message("npz", file)
    file = tmp_path / FILES["fif"]
    damaged = bytearray(seeds("fif", tmp_path)[0])
    struct.pack_into(">i", damaged, 36 + 12, 36)  # the second tag is followed by itself
    file.write_bytes(damaged)
    assert "a tag at byte 36" in message("fif", file)


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "FEW_BYTES", 2**20)
    monkeypatch.setattr(process, "MEMORY", 2**26)
    file = tmp_path / FILES["npz"]
    np.savez_compressed(file, X=np.zeros((10, 100, 1000)), y=np.zeros(10))
    assert "8 MB of arrays in a file of 0.0" in message("npz", file)
    file = tmp_path / FILES["mat"]
    savemat(file, {"s": np.zeros((4000, 4000))}, do_compression=True)
    assert "more than" in message("mat", file)
