"""What formats have in common that MNE reads: from a recording, continuous or in epochs, to a part."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.eeg.checks.samples import check_samples
from shortloop.eeg.formats.edf_records import MOVED, at_samples
from shortloop.eeg.formats.epoching import EpochedInput, events_beside
from shortloop.eeg.formats.files import Named
from shortloop.eeg.formats.header_units import in_volts
from shortloop.eeg.headers.fif_tags import BYTES, PACKED

if TYPE_CHECKING:
    from shortloop.eeg.formats.sessions import Part

__all__ = ["SignalInput"]

# It is no matter, or said in other words.
NO_MATTER = (
    ".*(naming conventions|At least one epoch has multiple events|All epochs were dropped|Not setting posi"
    "tion|channels without locations|contains 'boundary' events).*"
)


class SignalInput(EpochedInput):
    """Recordings that MNE reads. Continuous ones are cut into epochs around their events.

    A name of an event stands for all events that have it among their ``/``-separated parts, as in MNE. Data
    are in V (T, T/m for MEG), of EEG, MEG and intracranial channels that are neither dropped nor marked as
    bad; projections are applied. ``trial_info``: ``"file"`` (number of the file), ``"event"``, of continuous
    recordings ``"onset"`` (s in the file), of epochs the columns of their metadata. It is said how many
    trials are left out, and why.
    """

    @abstractmethod
    def open(self, file: Path, participant: str) -> Any:
        """The recording as MNE has it."""

    def together(self, file: Path) -> Named:
        return [(each.name, each) for each in [file, *self.beside(file), *events_beside(file)]]

    def beside(self, file: Path) -> list[Path]:
        """Files in the same folder that belong to a recording, but for its events."""
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

        import shortloop.eeg.formats.cut_epochs  # noqa: F401

        if self.preprocessing.interpolate:  # of which compiled code is a part
            import mne.channels.interpolation
            import mne.forward  # noqa: F401
            import numba  # noqa: F401

    def declared(self, file: Path, participant: str) -> int:
        """Bytes of the file as doubles, of two-byte samples."""
        return (PACKED if file.suffix in (".gz", ".mat") else BYTES) * file.stat().st_size

    def read_part(self, file: Path, participant: str, classes: Sequence[str]) -> Part:
        from shortloop.eeg.formats.cut_epochs import part_of

        with _told(file, participant):
            signal = self.open(file, participant)
            if signal.info["comps"] is None:  # of CTF without MEG, of which MNE cannot pick channels then
                with signal.info._unlock():  # noqa: SLF001  MNE has no other way to set these
                    signal.info["comps"] = []
            signal.rename_channels({name: name.strip("\0 ") for name in signal.ch_names if "\0" in name})
            check_samples(signal, file, participant)
            in_volts(signal, file, participant)
            with_table = self.event_source in (None, "tsv")
            at_samples(
                signal, file, participant, table=next(iter(events_beside(file)), None) if with_table else None
            )
            return part_of(self, signal, file, participant, classes)


@contextmanager
def _told(file: Path, participant: str) -> Iterator[None]:
    """Pass on what MNE warns of, as notes on the file."""
    import mne

    with warnings.catch_warnings(record=True) as caught, mne.utils.use_log_level("WARNING"):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message=NO_MATTER)
        yield
    said = [each for each in caught if each.category in (RuntimeWarning, UserWarning)]
    start = f"{participant}, {file.name}: "
    texts = dict.fromkeys(" ".join(str(each.message).split()) for each in said)
    moved = any(
        MOVED in text for text in texts
    )  # of events that MNE took for later than the end, before that
    for text in [text for text in texts if not (moved and text.startswith("Omitted "))]:
        warnings.warn(start + text.removeprefix(start), stacklevel=3)
