"""Base classes of recording formats: their settings, the files they need, and what reading gives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar

from pydantic import BeforeValidator, Field

from shortloop.base.errors import InputError
from shortloop.eeg.formats.files.find import Named, find_files
from shortloop.settings.base import Tagged

if TYPE_CHECKING:
    import numpy as np

    from shortloop.base.types import FloatArray, IntArray, Span
    from shortloop.eeg.data import Epochs

T = TypeVar("T")
UNPACKED = 10  # bytes in memory, for each of a file: packed samples, or text, as doubles
Patterns = tuple[str, ...]

FOLDER = "relative to the study file; ${NAME=default} is expanded; default: beside the study file"


def _as_text(values: object) -> object:
    """Accept event codes that are written as numbers."""
    if not isinstance(values, list | tuple):
        return values
    return tuple(str(each) if type(each) is int else each for each in values)


Events = Annotated[Patterns, BeforeValidator(_as_text)]


@dataclass(frozen=True)
class Part:
    """Epochs of one file."""

    file: Path
    data: FloatArray  # (trials, channels, samples), in `unit`
    labels: IntArray  # index of each trial's class
    times: FloatArray  # of each sample, s
    sfreq: float  # Hz
    channels: tuple[str, ...]
    seen: Mapping[str, int]  # count of each event in the file, also of events of no class
    info: Mapping[str, np.ndarray] = field(default_factory=dict)  # anything else known of each trial
    unit: str = "V"
    # Plain data: what was recorded and done, how many trials were left out, and why.
    account: Mapping[str, Any] = field(default_factory=dict)
    positions: FloatArray | None = None  # (channels, 3)
    onsets: Mapping[str, IntArray] = field(default_factory=dict)  # samples of each event, if continuous
    moments: IntArray | None = None  # sample of each trial's event, where it was cut from


@dataclass(frozen=True)
class Found:
    """Content of a file of one participant in one phase."""

    trials: list[str]  # class of each
    features: tuple[str, ...]
    cells: Sequence[np.ndarray] | np.ndarray  # of each bin, trials × features
    times: np.ndarray | None = None  # centre of each bin, s; None: bins are numbered from 0
    span: Span | None = None  # place of the cells in the file, if they are maps of it


class InputSettings(Tagged):
    """Where recordings are and how they are read; a format is below one of the classes below this."""

    # Formats are imported with every study: heavy libraries only within functions.

    tag = "format"
    group = "shortloop.formats"
    places: ClassVar[frozenset[str]] = frozenset()  # fields that only locate files
    any_kind: ClassVar[bool] = False  # True if files of any kind are read

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        """Raise ValueError unless the input has all phases, classes and kinds of features."""

    def check_participants(self, participants: tuple[str, ...]) -> None:
        """Raise ValueError if a setting names an unknown participant."""

    def how_to_read(self, participant: str) -> dict[str, Any]:
        """Return the settings without places, as plain data."""
        return self.model_dump(mode="json", exclude=set(self.places))

    @classmethod
    def to_read(cls, values: Mapping[str, object]) -> Self:
        """Restore settings from what `how_to_read` returned."""
        has_files = "files" in cls.named(str(values[cls.tag])).model_fields
        places: dict[str, Any] = {"files": {}} if has_files else {}
        return cls.model_validate({**values, **places})

    def warm_up(self) -> None:
        """Import the libraries that read files, so that processes forked later share them."""

    def declared(self, file: Path, participant: str) -> int:
        """Return the unpacked bytes a file declares, from which limits of the reading process follow."""
        return UNPACKED * file.stat().st_size


class GeneratedInput(InputSettings):
    """Generated epochs, without files."""

    @abstractmethod
    def generate(
        self, *, participant: str, phase: str, classes: Sequence[str], seed: int, training: bool
    ) -> Epochs:
        """Generate one participant's epochs in one phase."""


class RecordedInput(InputSettings):
    """Epochs in files, one or several for each participant and phase."""

    places = frozenset({"folder"})
    folder: str = Field(".", description=f"folder of the recordings, {FOLDER}")
    events: dict[str, Events] = Field({}, description="events of each class; default: the class's own name")
    phase_events: dict[str, dict[str, Events]] = Field(
        {}, description="events of phases with their own, as phase_events.test.face = [11]; default: `events`"
    )

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        if self.events:
            check_keys("input.events", self.events, classes)
        check_keys("input.phase_events", self.phase_events, known=phases)
        for phase, events in self.phase_events.items():
            check_keys(f"input.phase_events.{phase}", events, classes, classes)

    def class_of_event(self, classes: Sequence[str]) -> dict[str, int]:
        """Map each event name to the index of its class."""
        found: dict[str, int] = {}
        for index, name in enumerate(classes):
            for event in self.events.get(name, (name,)):
                set_class(found, event, index, event, classes)
        return found

    def of_phase(self, phase: str) -> Self:
        """Return the settings for recordings of one phase."""
        events = self.phase_events.get(phase, self.events)
        return self.model_copy(update={"events": events, "phase_events": {}})

    @abstractmethod
    def find(self, folder: Path, participant: str, phase: str) -> list[Path]:
        """Find a participant's recordings of one phase; called on every run, before any file is read."""

    def together(self, file: Path) -> Named:
        """List the files of a recording; called on every run, before any file is read."""
        return [("", file)]

    @abstractmethod
    def read_part(self, file: Path, participant: str, classes: Sequence[str]) -> Part:
        """Read the epochs of one file."""


class FilesInput(RecordedInput):
    """Epochs in files that the study names."""

    places = frozenset({"folder", "files"})
    folders: ClassVar[frozenset[str]] = frozenset()  # suffixes of folders that are recordings of this format
    files: dict[str, Annotated[Patterns, Field(min_length=1)]] = Field(
        description="files of each phase below `folder`, with {participant} for the name, * and ?; no default"
    )

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        check_keys("input.files", self.files, phases)
        super().check_phases(phases, classes, kinds)

    def find(self, folder: Path, participant: str, phase: str) -> list[Path]:
        field = f"input.files.{phase}"
        folders = self.folders
        return find_files(folder, self.files[phase], participant=participant, field=field, folders=folders)


class FeaturesInput(InputSettings):
    """Ready-made features: a file for each participant, phase and kind of features."""

    places = frozenset({"folder", "amplitude", "power"})
    classes_in: ClassVar[str]  # name of the classes in a file, for messages
    remedy: ClassVar[str] = ""  # for features that are the class itself; empty: not looked for
    folder: str = Field(".", description=f"folder of the files, {FOLDER}")
    amplitude: dict[str, str] = Field(
        {}, description="file of amplitude features of each phase; default: none"
    )
    power: dict[str, str] = Field({}, description="file of power features of each phase; default: none")

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        for kind in kinds:
            # The decoded phase may be missing: those features are then cross-validated only.
            check_keys(f"input.{kind}", self.files_of(kind), phases[:1])

    def files_of(self, kind: str) -> Mapping[str, str]:
        """Return the file of each phase with features of one kind."""
        return {"amplitude": self.amplitude, "power": self.power}[kind]

    def files_of_labels(self) -> Mapping[str, str]:
        """Return the file of each phase with the trials' classes, if these have files of their own."""
        return {}

    def holds_several(self) -> bool:
        """True if one file holds several participants."""
        return False

    @abstractmethod
    def unit_of(self, kind: str) -> str:
        """Return the unit of features of a kind."""

    @abstractmethod
    def find_in(self, file: Path, labels: Path | None, participant: str, phase: str) -> Found:
        """Read all trials of a participant in a phase."""


def check_keys(
    field: str, table: Mapping[str, object], required: Sequence[str] = (), known: Sequence[str] | None = None
) -> None:
    """Raise ValueError if a table lacks a required key, or has an unknown one."""
    if missing := [name for name in required if name not in table]:
        have = ", ".join(table) or "none"
        raise ValueError(f"{field}: nothing given for {', '.join(missing)} (given: {have})")
    if others := [name for name in table if known is not None and name not in known]:
        raise ValueError(f"{field}: {', '.join(others)} is none of {', '.join(known or ())}")


def set_class(labels: dict[T, int], key: T, label: int, event: str, classes: Sequence[str]) -> None:
    """Set the class of an event; raise InputError if it has another one."""
    if labels.setdefault(key, label) != label:
        found = f"{event} in {classes[labels[key]]} and {classes[label]}"
        raise InputError("an event belongs to two classes", field="input.events", found=found)


def kept_channels(names: Sequence[str], drop: Sequence[str], *, known: Sequence[str]) -> list[str]:
    """Drop channels that the study names."""
    refuse_unknown(drop, known, "a channel to drop is not in the file", "input.drop")
    if not (kept := [name for name in names if name not in drop]):
        found = f"dropped: {', '.join(drop) or 'none'}"
        raise InputError("no channels are left", field="input.drop", found=found, hint="drop fewer channels")
    return kept


def refuse_unknown(
    names: Iterable[str], known: Collection[object], problem: str, field: str, expected: str | None = None
) -> None:
    """Raise InputError if a name of the study is not known."""
    if unknown := [name for name in names if name not in known]:
        expected = expected or f"names among {', '.join(map(str, known))}"
        raise InputError(problem, field=field, found=", ".join(unknown), expected=expected)
