"""Base class of formats that MNE reads: from a recording, continuous or in epochs, to a `Part`."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError, warn
from shortloop.eeg.formats.epochs.settings import EpochedInput, events_beside
from shortloop.eeg.formats.files.find import Named
from shortloop.eeg.formats.recording_format import Part
from shortloop.eeg.headers import brainvision, edf, fif_tags
from shortloop.eeg.headers.units import scale_to_volts

FDT_BYTES = 4  # of each sample in .fdt
SIZES: dict[str, Callable[[Path], object]] = {
    **dict.fromkeys((".edf", ".bdf", ".rec"), edf.check_size),
    **dict.fromkeys((".vhdr", ".ahdr"), brainvision.check_size),
    ".fif": fif_tags.blocks,
}
"""Checks of recordings by their ending: MNE would read truncated files without an error."""

# Harmless warnings of MNE, and those that are given here in other words.
HARMLESS = (
    ".*(naming conventions|At least one epoch has multiple events|All epochs were dropped|Not setting posi"
    "tion|channels without locations|contains 'boundary' events).*"
)


class SignalInput(EpochedInput):
    """Recordings that MNE reads, cut into epochs around their events if they are continuous.

    ``trial_info``: ``"file"`` (number), ``"event"``, if continuous ``"onset"`` (s in the file), of epochs
    their metadata.
    """

    @abstractmethod
    def open(self, file: Path, participant: str) -> Any:
        """Open the recording as a Raw or Epochs of MNE."""

    def together(self, file: Path) -> Named:
        return [(each.name, each) for each in [file, *self.beside(file), *events_beside(file)]]

    def beside(self, file: Path) -> list[Path]:
        """List files in the same folder that belong to a recording, without its events."""
        return []

    def warm_up(self) -> None:
        import mne.channels.montage
        import mne.epochs
        import mne.event
        import mne.io.array
        import mne.io.fiff
        import mne.time_frequency.tfr
        import pandas  # noqa: F401
        import scipy.signal  # noqa: F401

        import shortloop.eeg.formats.epochs.cut  # noqa: F401

        if self.preprocessing.interpolate:  # its compiled code is loaded here, too
            import mne.channels.interpolation
            import mne.forward  # noqa: F401
            import numba  # noqa: F401

    def declared(self, file: Path, participant: str) -> int:
        if check := SIZES.get(file.suffix.lower()):
            check(file)
        return super().declared(file, participant)

    def read_part(self, file: Path, participant: str, classes: Sequence[str]) -> Part:
        from shortloop.eeg.formats.epochs.cut import part_of
        from shortloop.eeg.formats.epochs.gaps import align_to_samples

        with _prefixed_warnings(f"{participant}, {file.name}: "):
            signal = self.open(file, participant)
            if signal.info["comps"] is None:  # of CTF without MEG; MNE cannot pick its channels then
                with signal.info._unlock():  # noqa: SLF001  MNE has no other way to set these
                    signal.info["comps"] = []
            signal.rename_channels({name: name.strip("\0 ") for name in signal.ch_names if "\0" in name})
            _check_samples(signal, file)
            scale_to_volts(signal, file)
            tables = events_beside(file) if self.event_source in (None, "tsv") else []
            align_to_samples(signal, next(iter(tables), None))
            return part_of(self, signal, file, participant, classes)


def _check_samples(signal: Any, file: Path) -> None:
    """Raise InputError if samples are read from elsewhere, or are not all there."""
    beside = {path.resolve() for path in (file if file.is_dir() else file.parent).iterdir()}
    for path in map(Path, filter(None, getattr(signal, "filenames", ()))):
        if path.is_file() and path.resolve() not in beside:
            problem = "samples are in a file that is not known to belong to the recording"
            expected = "files in the same folder, with the names that the writer of the format gives them"
            hint = "save the recording again where it is, in place of moving or renaming its files"
            raise InputError(problem, found=path, expected=expected, hint=hint)
        needed = FDT_BYTES * len(signal.ch_names) * signal.n_times
        if path.suffix == ".fdt" and path.stat().st_size != needed:
            wrong = "the samples are not those of the dataset"
            found = f"{path.name} of {path.stat().st_size} bytes"
            wanted = f"{needed} bytes: {len(signal.ch_names)} channels, {signal.n_times} samples"
            advice = "copy both files again from their source"
            raise InputError(wrong, found=found, expected=wanted, hint=advice)


@contextmanager
def _prefixed_warnings(prefix: str) -> Iterator[None]:
    """Repeat warnings of MNE and ours with a prefix, each once."""
    import mne

    from shortloop.eeg.formats.epochs.gaps import MOVED

    with warnings.catch_warnings(record=True) as caught, mne.utils.use_log_level("WARNING"):
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of what is collected meanwhile
        warnings.filterwarnings("ignore", message=HARMLESS)
        yield
    known = [each for each in caught if each.category in (RuntimeWarning, UserWarning)]
    texts = dict.fromkeys(" ".join(str(each.message).split()) for each in known)
    # MNE omits events after the end, before they are moved to their samples.
    moved = any(MOVED in text for text in texts)
    for text in [text for text in texts if not (moved and text.startswith("Omitted "))]:
        warn(prefix + text)
