"""Contents of recordings, read in parallel before any class of events is chosen."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TypeVar

from shortloop.analyses import Tell
from shortloop.base.errors import InputError
from shortloop.eeg.formats.files.find import Named
from shortloop.eeg.formats.read import read_parts
from shortloop.eeg.formats.recording_format import InputSettings, Part, RecordedInput
from shortloop.eeg.formats.signals import SignalInput

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Recorded:
    """Contents of a recording; rate in Hz, times in s relative to events, onsets in samples."""

    rate: float = 0.0  # 0: it has no events, or holds features
    channels: tuple[str, ...] = ()  # to be decoded
    channels_in_file: int = 0
    seconds: float | None = None  # None: it is in epochs
    start: float = 0.0
    stop: float = 0.0
    source: str = ""  # of the events
    events: dict[str, int] = field(default_factory=dict)
    onsets: dict[str, list[int]] = field(default_factory=dict)


def read_recording(settings: RecordedInput, named: Named, participant: str) -> Recorded | InputError:
    """Read a recording in a process of its own, and return its contents or its problem."""

    def contents(parts: list[Part]) -> Recorded:
        (part,) = parts
        return Recorded(
            rate=part.sfreq,
            channels=part.channels,
            channels_in_file=int(part.account.get("channels_in_file", len(part.channels))),
            seconds=part.account.get("seconds"),
            start=float(part.times[0]),
            stop=float(part.times[-1]),
            source=str(part.account.get("events_from", "file")),
            events=dict(part.seen),
            onsets={name: samples.tolist() for name, samples in part.onsets.items()},
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run repeats them
        try:
            return read_parts(settings, [named], participant, (), contents)
        except InputError as error:
            return error


def warm_up(settings: InputSettings) -> None:
    """Load the readers, and the compiled code of MNE, once before processes are forked."""
    settings.warm_up()
    if isinstance(settings, SignalInput):
        import mne
        import numpy as np

        # The times of a recording come from compiled code, which takes longer to load than a recording.
        assert len(mne.io.RawArray(np.zeros((1, 2)), mne.create_info(1, 1.0), verbose="ERROR").times) == 2


def parallel_map(work: Callable[[T], R], items: Sequence[T], tell: Tell) -> list[R]:
    """Map a function over items, in processes forked from this one; `tell` shows progress."""
    cores = max(1, min(len(os.sched_getaffinity(0)), len(items)))
    context = multiprocessing.get_context("fork")  # shares the modules that this process has imported
    # Ctrl-C is left to the process that waits.
    with ProcessPoolExecutor(cores, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        tell(0, len(items))
        futures = [pool.submit(work, item) for item in items]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                tell(done, len(items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
