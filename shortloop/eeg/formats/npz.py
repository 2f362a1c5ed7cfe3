"""Arrays in .npz: X, y, t and ch, one file a session."""

from __future__ import annotations

import math
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.eeg.formats.base import FilesInput, Patterns
from shortloop.eeg.formats.plausible import SECONDS, check_rate
from shortloop.eeg.formats.selection import class_of_event, kept_channels
from shortloop.eeg.formats.units import Unit
from shortloop.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from shortloop.eeg.formats.sessions import Part

__all__ = ["NpzInput"]

KEYS = ("X", "y", "t", "ch")
DOUBLE = 8  # bytes


class NpzInput(FilesInput):
    """Arrays: X (trials × channels × samples), y (trials), t (samples), ch (channel names).

    Values of y are compared as text: class ``face`` with event ``"1"`` is ``y == 1``. ``trial_info``:
    ``"file"`` (number of the file) and ``"event"`` (y).
    """

    format: Literal["npz"] = Field(description="arrays in .npz")
    unit: Unit = Field("V", description="unit of X, which is taken as it is; default V")
    time_unit: Literal["s", "ms", "us", "µs", "ns"] | None = Field(
        None, description="unit of t; default: s, which is refused where it can hardly be so"
    )
    drop: Patterns = Field((), description="channels to leave out; default: none")

    def declared(self, file: Path, participant: str) -> int:
        """Bytes of the arrays as doubles, after each was found to be as long as its shape says."""
        total = 0
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                if member.filename.removesuffix(".npy") not in KEYS:
                    continue
                with archive.open(member) as stream:
                    shape, dtype = _header(stream)
                    size = math.prod(shape) * dtype.itemsize
                    if size > member.file_size - stream.tell() and not dtype.hasobject:
                        raise InputError(
                            "the file cannot be read",
                            participant=participant,
                            file=file,
                            field=member.filename,
                            found=f"{member.file_size - stream.tell()} bytes",
                            expected=f"{size} bytes: shape {shape} of {dtype}",
                            hint="copy the file again from its source, or save it again",
                        )
                total += max(member.file_size, math.prod(shape) * DOUBLE)
        return total

    def read_part(self, file: Path, participant: str, classes: Sequence[str]) -> Part:
        import numpy as np

        from shortloop.eeg.formats.sessions import Part

        wanted = class_of_event(self, classes)
        data, y, times, ch = _arrays(file, participant)
        times = times if self.time_unit in (None, "s") else times * SECONDS[self.time_unit]
        sfreq = _rate(times, file, participant)
        believed = self.time_unit is not None
        check_rate(
            sfreq,
            float(times[-1] - times[0]),
            believed=believed,
            field="input.time_unit",
            participant=participant,
            file=file,
        )
        names = [str(name) for name in ch]
        channels = kept_channels(names, self.drop, known=names, file=file, participant=participant)
        events = [_text(value) for value in y]
        kept = np.array([index for index, name in enumerate(names) if name in channels], dtype=np.intp)
        chosen = np.array([index for index, event in enumerate(events) if event in wanted], dtype=np.intp)
        return Part(
            file=file,
            data=data[np.ix_(chosen, kept)],
            labels=np.array([wanted[events[index]] for index in chosen], dtype=np.int64),
            times=times,
            sfreq=sfreq,
            channels=tuple(channels),
            seen=Counter(events),
            info={"event": np.array([events[index] for index in chosen], dtype=str)},
            unit=self.unit,
        )


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type that an array says it has."""
    from numpy.lib import format as npy

    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype


def _arrays(file: Path, participant: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    import numpy as np

    with np.load(file, allow_pickle=False) as content:
        keys = list(getattr(content, "files", ()))
        missing = [key for key in KEYS if key not in keys]
        if missing:
            raise InputError(
                f"the file has no array {', '.join(missing)}",
                participant=participant,
                file=file,
                found=", ".join(keys) or "no named arrays",
                expected=", ".join(KEYS),
                hint="save the four arrays with numpy.savez",
            )
        data, y, times, ch = (_array(content, key, file, participant) for key in KEYS)
    if data.shape != (y.size, ch.size, times.size) or (y.ndim, ch.ndim, times.ndim) != (1, 1, 1):
        raise InputError(
            "the arrays do not fit together",
            participant=participant,
            file=file,
            field="X",
            found=f"X {data.shape}, y {y.shape}, ch {ch.shape}, t {times.shape}",
            expected="X (trials, channels, samples), y (trials), ch (channels), t (samples)",
            hint="save arrays that belong together",
        )
    if data.dtype.kind not in "iuf" or times.dtype.kind not in "iuf":
        raise InputError(
            "X and t must hold real numbers",
            participant=participant,
            file=file,
            found=f"X {data.dtype}, t {times.dtype}",
            hint="save the signal and its times as floating-point numbers",
        )
    return data, y, times.astype(np.float64), ch


def _array(content: Any, key: str, file: Path, participant: str) -> np.ndarray:
    try:
        found: np.ndarray = content[key]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        what = {"y": "labels", "ch": "names of channels"}.get(key, key)
        raise InputError(
            f"{what} are Python objects, which are not read",
            participant=participant,
            file=file,
            field=key,
            expected="an array of numbers or of text",
            hint=f"save it again with {key}.astype({'str' if key in ('y', 'ch') else 'float'})",
        ) from None
    return found


def _rate(times: np.ndarray, file: Path, participant: str) -> float:
    span = float(times[-1] - times[0]) if len(times) > 1 else 0.0
    if not span > 0:
        raise InputError(
            "times do not increase",
            participant=participant,
            file=file,
            field="t",
            found=f"{len(times)} times over {span:g} s",
            expected="two samples or more, each later than the one before",
        )
    # Twelve digits: what rounding did to the times must not show in the rate.
    return float(f"{(len(times) - 1) / span:.12g}")


def _text(value: object) -> str:
    import numpy as np

    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
