"""Files that are damaged in any way give a result or one message, soon and in little memory.

MUTANTS is the number of .mat files; a sixth or a twelfth as many of each other format. SEED makes others.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats_mutants import FORMATS, mutant, seeds
from scipy.io import loadmat

from shortloop.base.errors import InputError
from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.brainvision import BrainvisionInput
from shortloop.eeg.formats.csv import CsvInput
from shortloop.eeg.formats.edf import EdfInput
from shortloop.eeg.formats.eeglab import EeglabInput
from shortloop.eeg.formats.fieldtrip import FieldtripInput
from shortloop.eeg.formats.fif import FifInput
from shortloop.eeg.formats.npz import NpzInput
from shortloop.eeg.formats.read import read_epochs, read_features
from shortloop.eeg.formats.thesis import ThesisInput

MUTANTS = int(os.environ.get("MUTANTS", "240"))
SEED = int(os.environ.get("SEED") or 0)
SECONDS = 5.0
BYTES = 10**9
FILES = {
    "mat": "s.mat",
    "npz": "s.npz",
    "fif": "s-epo.fif",
    "edf": "s.edf",
    "set": "s.set",
    "vhdr": "s.vhdr",
    "ft": "s.mat",
    "csv": "s.csv",
}
CLASSES = ("left", "right")


CUT: dict[str, Any] = {"files": {"run": ("x",)}, "tmin": -0.25, "tmax": 0.5}
INPUTS: dict[str, FilesInput] = {
    "npz": NpzInput(format="npz", files={"run": ("x",)}),
    "fif": FifInput(format="fif", files={"run": ("x",)}),
    "edf": EdfInput(format="edf", **CUT),
    "set": EeglabInput(format="eeglab", **CUT),
    "vhdr": BrainvisionInput(format="brainvision", **CUT),
    "csv": CsvInput(format="csv", **CUT),
    "ft": FieldtripInput(format="fieldtrip", files={"run": ("x",)}, events={"left": ("1",), "right": ("2",)}),
}


def read(kind: str, file: Path) -> np.ndarray:
    """What the door gives of a file."""
    if kind != "mat":
        return read_epochs(INPUTS[kind], [file], participant="S1", phase="run", classes=CLASSES).data
    return read_features(
        ThesisInput(format="thesis", power={"run": "x"}),
        file,
        kind="power",
        participant="S1",
        phase="run",
        classes=CLASSES,
    ).data


def load_libraries(kind: str, file: Path) -> None:
    """Read a whole file in this process, so that those that read the others need not load what it takes."""
    if kind == "mat":
        loadmat(file)
    elif kind != "npz":
        INPUTS[kind].read_part(file, "S1", CLASSES)


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
    if kind == "mat":
        expected[2] = "level N, or no Nmat file"
    assert ends == expected


def peak_of_children() -> int:
    """Bytes that a process which this one has started, and which has ended, held at most."""
    return 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def read_mutants(kind: str, folder: Path) -> int:
    """Read them all in this process, which does nothing else; bytes that a reader held at most."""
    warnings.simplefilter("ignore")
    whole = seeds(kind, folder)
    file = folder / FILES[kind]
    ends: Counter[str] = Counter()
    slowest = slowest_clock = 0.0
    file.write_bytes(whole[0])
    load_libraries(kind, file)
    for number in range(MUTANTS // {"mat": 1, "set": 12, "vhdr": 12, "ft": 12}.get(kind, 6)):
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
    memory = peak_of_children()
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


@pytest.mark.parametrize("kind", FORMATS)
def test_a_mutant_gives_a_result_or_the_message(anew: ProcessPoolExecutor, tmp_path: Path, kind: str) -> None:
    assert anew.submit(read_mutants, kind, tmp_path).result() < BYTES
