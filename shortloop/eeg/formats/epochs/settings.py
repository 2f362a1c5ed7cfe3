"""Settings of epochs cut from recordings: times, channels, events, sections and preprocessing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from shortloop.eeg.checks.participants import Participant
from shortloop.eeg.checks.plausible import in_seconds
from shortloop.eeg.formats.recording_format import Patterns, RecordedInput, check_keys
from shortloop.settings.base import Settings

MOST = 0.1  # V, T or T/m
THRESHOLDS = "of each type of channel, in V (T for mag, T/m for grad), e.g."
Edge = str | float


class Preprocessing(Settings):
    """Steps between a recording and its epochs, in their order.

    Continuous recordings are filtered before they are cut, epochs as they are. Filters are MNE's default:
    zero-phase FIR, Hamming window, automatic widths.
    """

    montage: str | None = Field(
        None, description="MNE's name of positions of channels, as 'easycap-M1'; default: those in the file"
    )
    bads: dict[Participant, Patterns] = Field(
        {}, description="bad channels of each participant, besides those that a file marks; default: none"
    )
    highpass: float | None = Field(None, gt=0, description="lower edge of the pass band, Hz; default: none")
    lowpass: float | None = Field(None, gt=0, description="upper edge of the pass band, Hz; default: none")
    notch: float | tuple[float, ...] | None = Field(
        None, description="frequencies to take out, Hz, e.g. 50 or [50, 100]; default: none"
    )
    interpolate: bool = Field(
        False, description="whether bad channels are interpolated, by positions, or left out; default false"
    )
    reference: Literal["average"] | Patterns | None = Field(
        None,
        description="new reference of the EEG: 'average', or channels whose mean it is; default: as recorded",
    )
    baseline: tuple[float, float] | None = Field(
        None, description="interval whose mean is subtracted, s relative to the event; default: none"
    )
    reject: dict[str, float] = Field(
        {},
        description=f"most peak-to-peak amplitude of a trial {THRESHOLDS} {{ eeg = 150e-6 }}; default: any",
    )
    flat: dict[str, float] = Field(
        {}, description=f"least peak-to-peak amplitude of a trial {THRESHOLDS} {{ eeg = 1e-6 }}; default: any"
    )
    resample: float | None = Field(
        None, gt=0, description="new sampling rate of the epochs, Hz, by the FFT; default: as recorded"
    )

    _in_seconds = field_validator("baseline")(in_seconds)

    @model_validator(mode="after")
    def _consistent(self) -> Preprocessing:
        if self.highpass is not None and self.lowpass is not None and self.highpass >= self.lowpass:
            raise ValueError(f"highpass: {self.highpass:g} Hz is not below the lowpass, {self.lowpass:g} Hz")
        if self.baseline is not None and self.baseline[0] > self.baseline[1]:
            raise ValueError("baseline: it ends before it begins")
        for field in ("reject", "flat"):
            for kind, value in getattr(self, field).items():
                if value <= 0:
                    raise ValueError(f"{field}.{kind}: {value:g} is not above 0")
                if value > MOST:
                    hint = f"for {value:g} µV, write {value:g}e-6"
                    raise ValueError(f"{field}.{kind}: {value:g} V is more than any brain gives; {hint}")
        return self


class Section(Settings):
    """Place of a phase in a recording."""

    start: Edge | None = Field(
        None, description="event with which it begins, each time, or time in s; default: the first sample"
    )
    stop: Edge | None = Field(
        None, description="event before which it ends, or time in s; default: the next section, else the end"
    )


class EpochedInput(RecordedInput):
    """Recordings that are cut into epochs, or are epochs."""

    tmin: float | None = Field(
        None, description="start of the epochs, s from the event; default: -0.5 s, of epochs as they are"
    )
    tmax: float | None = Field(
        None, description="end of the epochs, s from the event; default: 1.5 s, of epochs as they are"
    )
    picks: Patterns = Field(
        (),
        description="channels to decode, by name or type of MNE, in order; default: EEG, MEG, intracranial",
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
        None, description="which events count, by pandas.DataFrame.query: 'correct == 1'; default: all"
    )
    event_unit: Literal["s", "ms", "samples"] | None = Field(
        None, description="unit of onsets in the tsv: s, ms or samples from 0; default: s"
    )
    stim_channel: str | None = Field(None, description="channel of codes; default: MNE's choice")
    sections: dict[str, Section] = Field(
        {}, description='part of a recording of each phase, as sections.test = {start = "test"}; default: all'
    )
    preprocessing: Preprocessing = Field(Preprocessing(), description="filters, reference, rejection")

    _in_seconds = field_validator("tmin", "tmax")(in_seconds)

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        super().check_phases(phases, classes, kinds)
        if self.sections:
            check_keys("input.sections", self.sections, phases, phases)
        if self.tmin is not None and self.tmax is not None and self.tmax <= self.tmin:
            raise ValueError(f"tmax: the epochs end before they begin, at {self.tmin:g} s")

    def of_phase(self, phase: str) -> Self:
        """Return the settings of a phase, with its section first."""
        own = {phase: self.sections[phase]} if phase in self.sections else {}
        return super().of_phase(phase).model_copy(update={"sections": {**own, **self.sections}})

    def check_participants(self, participants: tuple[str, ...]) -> None:
        if unknown := [name for name in self.preprocessing.bads if name not in participants]:
            raise ValueError(f"input.preprocessing.bads: {', '.join(unknown)} is no participant")

    def how_to_read(self, participant: str) -> dict[str, Any]:
        values = super().how_to_read(participant)
        bads = values["preprocessing"]["bads"]
        values["preprocessing"]["bads"] = {name: bads[name] for name in bads if name == participant}
        return values


def events_beside(file: Path) -> list[Path]:
    """Return the table of events beside a recording, named as in BIDS, if there is one."""
    stem = Path(file.name.removesuffix(".gz")).stem
    name, _, suffix = stem.rpartition("_")
    names = [stem, name] if name and suffix in ("eeg", "ieeg", "meg") else [stem]
    found = [file.with_name(f"{each}_events.tsv") for each in names]
    return [path for path in found if path.is_file()][:1]
