"""Epochs in NumPy archives (.npz): X, y, t and ch, one file per session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.checks.plausible import SECONDS, check_rate
from shortloop.eeg.formats.recording_format import FilesInput, Part, Patterns, kept_channels
from shortloop.eeg.headers import numpy_files
from shortloop.eeg.headers.units import Unit

if TYPE_CHECKING:
    import numpy as np

SOME = 20  # trials in which codes are looked for
KEYS = ("X", "y", "t", "ch")


class NpzInput(FilesInput):
    """Arrays: X (trials × channels × samples), y (trials), t (samples), ch (channel names).

    Values of y are compared as text: class ``face`` with event ``"1"`` is ``y == 1``. ``trial_info``:
    ``"file"`` (number of the file) and ``"event"`` (y).
    """

    format: Literal["npz"] = Field(description="arrays in .npz")
    unit: Unit = Field("V", description="unit of X, which is taken as it is; default V")
    time_unit: Literal["s", "ms", "us", "µs", "ns"] | None = Field(None, description="unit of t; default: s")
    drop: Patterns = Field((), description="channels to leave out; default: none")

    def declared(self, file: Path, participant: str) -> int:
        return numpy_files.declared(file, KEYS)

    def read_part(self, file: Path, participant: str, classes: Sequence[str]) -> Part:
        import numpy as np

        from shortloop.eeg.checks.recording import check_increasing, warn_of_codes

        wanted = self.class_of_event(classes)
        data, y, times, ch = _arrays(file)
        times = times if self.time_unit in (None, "s") else times * SECONDS[self.time_unit]
        check_increasing(times, "t")
        span = float(times[-1] - times[0])
        # Twelve digits: rounding of the times must not show in the rate.
        sfreq = float(f"{(len(times) - 1) / span:.12g}")
        check_rate(sfreq, span, believed=self.time_unit is not None, field="input.time_unit")
        names = [str(name) for name in ch]
        channels = kept_channels(names, self.drop, known=names)
        events = [numpy_files.as_text(value) for value in y]
        kept = np.array([index for index, name in enumerate(names) if name in channels], dtype=np.intp)
        chosen = np.array([index for index, event in enumerate(events) if event in wanted], dtype=np.intp)
        data = data[np.ix_(chosen, kept)]
        warn_of_codes(data[:SOME].astype(np.float64), channels)
        return Part(
            file=file,
            data=data,
            labels=np.array([wanted[events[index]] for index in chosen], dtype=np.int64),
            times=times,
            sfreq=sfreq,
            channels=tuple(channels),
            seen=Counter(events),
            info={"event": np.array([events[index] for index in chosen], dtype=str)},
            unit=self.unit,
        )


def _arrays(file: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    import numpy as np

    with np.load(file, allow_pickle=False) as content:
        keys = list(getattr(content, "files", ()))
        numpy_files.refuse_missing(KEYS, keys, "save the four arrays with numpy.savez")
        data, y, times, ch = (numpy_files.read_array(content, key) for key in KEYS)
    if data.shape != (y.size, ch.size, times.size) or (y.ndim, ch.ndim, times.ndim) != (1, 1, 1):
        found = f"X {data.shape}, y {y.shape}, ch {ch.shape}, t {times.shape}"
        expected = "X (trials, channels, samples), y (trials), ch (channels), t (samples)"
        raise InputError("the arrays do not fit together", field="X", found=found, expected=expected)
    numpy_files.refuse_other_types({"X": data, "t": times})
    return data, y, times.astype(np.float64), ch
