"""What formats have in common that MNE reads: from a recording, continuous or in epochs, to a part."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, field_validator

from shortloop.eeg.formats.base import Named, Patterns, RecordedInput, all_named, none_other
from shortloop.eeg.formats.edf_records import MOVED, at_samples
from shortloop.eeg.formats.header_units import in_volts
from shortloop.eeg.formats.plausible import in_seconds
from shortloop.eeg.formats.preprocessing import Preprocessing
from shortloop.eeg.formats.samples import check_samples
from shortloop.eeg.formats.sections import Section

if TYPE_CHECKING:
    from shortloop.eeg.formats.sessions import Part

__all__ = ["BYTES", "PACKED", "SignalInput", "events_beside"]

PACKED, BYTES = 10, 4  # in memory, for each byte of a packed file and of samples of two bytes
# It is no matter, or said in other words.
NO_MATTER = (
    ".*(naming conventions|At least one epoch has multiple events|All epochs were dropped|Not setting posi"
    "tion|channels without locations|contains 'boundary' events).*"
)


class SignalInput(RecordedInput):
    """Recordings that MNE reads. Continuous ones are cut into epochs around their events.

    A name of an event stands for all events that have it among their ``/``-separated parts, as in MNE. Data
    are in V (T, T/m for MEG), of EEG, MEG and intracranial channels that are neither dropped nor marked as
    bad; projections are applied. ``trial_info``: ``"file"`` (number of the file), ``"event"``, of continuous
    recordings ``"onset"`` (s in the file), of epochs the columns of their metadata. It is said how many
    trials are left out, and why.
    """

    tmin: float | None = Field(
        None,
        description="start of the epochs, s relative to the event; default: -0.5 s, of epochs as they are",
    )
    tmax: float | None = Field(
        None,
        description="end of the epochs, s relative to the event; default: 1.5 s, of epochs as they are",
    )
    picks: Patterns = Field(
        (),
        description="channels to decode, by name or by type as MNE calls it, in this order; default: EEG, "
        "MEG, intracranial, as the file has them",
    )
    drop: Patterns = Field((), description="channels to leave out, e.g. those of the eyes; default: none")
    event_source: Literal["tsv", "annotations", "stim"] | None = Field(
        None,
        description="where events of continuous recordings are: 'tsv' (NAME_events.tsv beside it, as in "
        "BIDS), 'annotations', or 'stim' (a channel of codes); default: the first that has one of a class",
    )
    event_column: str | None = Field(
        None,
        description="column with the names of events: of the tsv, of the metadata of epochs, or a field of "
        "EEGLAB's events; default: trial_type of the tsv, else value, of others the event's own name",
    )
    event_query: str | None = Field(
        None,
        description="which events count, by their columns, as of pandas.DataFrame.query: 'correct == 1'; "
        "default: all",
    )
    event_unit: Literal["s", "ms", "samples"] | None = Field(
        None,
        description="unit of onsets in the tsv: s, ms or samples from 0; default: s, which is refused where "
        "most are after the end",
    )
    stim_channel: str | None = Field(None, description="channel of codes; default: MNE's choice")
    sections: dict[str, Section] = Field(
        default_factory=dict,
        description='where in a continuous recording each phase is, as sections.test = {start = "test"}; '
        "default: each phase has recordings of its own, or events",
    )
    preprocessing: Preprocessing = Field(
        Preprocessing(), description="filters, reference, rejection and the like"
    )

    _in_seconds = field_validator("tmin", "tmax")(in_seconds)

    @abstractmethod
    def open(self, file: Path, participant: str) -> Any:
        """The recording as MNE has it.

        Parameters
        ----------
        file, participant
            As of `read_part`.

        Returns
        -------
        mne.io.BaseRaw or mne.BaseEpochs
        """

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        super().check_phases(phases, classes, kinds)
        if self.sections:
            all_named("input.sections", phases, self.sections)
            none_other("input.sections", phases, self.sections)
        if self.tmin is not None and self.tmax is not None and self.tmax <= self.tmin:
            raise ValueError(f"tmax: the epochs end before they begin, at {self.tmin:g} s")

    def of_phase(self, phase: str) -> Self:
        """The same; its section comes first."""
        own = {phase: self.sections[phase]} if phase in self.sections else {}
        return super().of_phase(phase).model_copy(update={"sections": {**own, **self.sections}})

    def check_participants(self, participants: tuple[str, ...]) -> None:
        unknown = [name for name in self.preprocessing.bads if name not in participants]
        if unknown:
            raise ValueError(f"input.preprocessing.bads: {', '.join(unknown)} is no participant")

    def how_to_read(self, participant: str) -> dict[str, Any]:
        mine = self.model_copy(update={"preprocessing": self.preprocessing.of(participant)})
        return super(SignalInput, mine).how_to_read(participant)

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

        import shortloop.eeg.formats.cutting  # noqa: F401

        if self.preprocessing.interpolate:  # of which compiled code is a part
            import mne.channels.interpolation
            import mne.forward  # noqa: F401
            import numba  # noqa: F401

    def declared(self, file: Path, participant: str) -> int:
        """Bytes of the file as doubles, of two-byte samples."""
        return (PACKED if file.suffix in (".gz", ".mat") else BYTES) * file.stat().st_size

    def read_part(self, file: Path, participant: str, classes: Sequence[str]) -> Part:
        from shortloop.eeg.formats.cutting import part_of

        with _told(file, participant):
            signal = self.open(file, participant)
            if signal.info["comps"] is None:  # of CTF without MEG, of which MNE cannot pick channels then
                with signal.info._unlock():
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


def events_beside(file: Path) -> list[Path]:
    """The table of events beside a recording, named as in BIDS, if there is one.

    Parameters
    ----------
    file : Path
        The recording.

    Returns
    -------
    list of Path
        One or none: of ``sub-1_task-x_eeg.edf`` ``sub-1_task-x_events.tsv``, of ``S1.edf`` ``S1_events.tsv``.
    """
    stem = Path(file.name.removesuffix(".gz")).stem
    name, _, suffix = stem.rpartition("_")
    names = [stem, name] if name and suffix in ("eeg", "ieeg", "meg") else [stem]
    found = [file.with_name(f"{each}_events.tsv") for each in names]
    return [path for path in found if path.is_file()][:1]
