"""What a format of recordings is: its settings, the files that it wants, and how one of them is read.

A format is a module beside this one with one record in it. The record is read with every study, so nothing
of size may be imported but within its functions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field

from shortloop.eeg.formats.files import Named
from shortloop.settings.record_by_kind import Tagged

if TYPE_CHECKING:
    from shortloop.eeg.data import Epochs
    from shortloop.eeg.formats.sessions import Part

__all__ = [
    "FOLDER",
    "FilesInput",
    "GeneratedInput",
    "InputSettings",
    "Patterns",
    "RecordedInput",
    "all_named",
    "none_other",
]

Patterns = tuple[str, ...]

FOLDER = "relative to the study file; ${NAME=default} is expanded; default: beside the study file"
FILES = (
    "files of each phase, as paths below `folder`; '{participant}' stands for the participant's name, "
    "and * and ? match; no default"
)


def _as_text(values: object) -> object:
    """Codes of events may be written as numbers."""
    if not isinstance(values, list | tuple):
        return values
    return tuple(str(each) if type(each) is int else each for each in values)


Events = Annotated[Patterns, BeforeValidator(_as_text)]


class InputSettings(Tagged):
    """Where the recordings are and how they are read: base of `GeneratedInput`, `RecordedInput` and
    `FeaturesInput`, of which each format is one."""

    tag = "format"
    group = "shortloop.formats"
    places: ClassVar[frozenset[str]] = frozenset()
    """Fields that say where the files are, and nothing of how they are read."""
    any_kind: ClassVar[bool] = False
    """Whether files of any kind are read."""

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        """Raise ValueError unless this input can give all phases, classes and kinds of features."""

    def check_participants(self, participants: tuple[str, ...]) -> None:
        """Raise ValueError if anything is said of somebody who is no participant."""

    def how_to_read(self, participant: str) -> dict[str, Any]:
        """All that decides what comes of a file, and not where it is: plain data, to be validated again."""
        return self.model_dump(mode="json", exclude=set(self.places))

    @classmethod
    def to_read(cls, values: Mapping[str, object]) -> InputSettings:
        """The settings again, without places."""
        has_files = "files" in cls.named(str(values[cls.tag])).model_fields
        places: dict[str, Any] = {"files": {}} if has_files else {}
        return InputSettings.model_validate({**values, **places})

    def warm_up(self) -> None:
        """Import what reading takes, so that processes forked later share it."""


class GeneratedInput(InputSettings):
    """Epochs that are made, without files."""

    @abstractmethod
    def generate(
        self, *, participant: str, phase: str, classes: Sequence[str], seed: int, training: bool
    ) -> Epochs:
        """One participant's epochs in one phase."""


class RecordedInput(InputSettings):
    """Epochs in files, one or several for each participant and phase."""

    places = frozenset({"folder"})
    folder: str = Field(".", description=f"folder of the recordings, {FOLDER}")
    events: dict[str, Events] = Field(
        default_factory=dict,
        description="names of the events of each class; default: the class's own name",
    )
    phase_events: dict[str, dict[str, Events]] = Field(
        default_factory=dict,
        description="the same of phases that have events of their own, as phase_events.test.face = [11]; "
        "default: as in `events`",
    )

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        if self.events:
            all_named("input.events", classes, self.events)
        none_other("input.phase_events", phases, self.phase_events)
        for phase, events in self.phase_events.items():
            all_named(f"input.phase_events.{phase}", classes, events)
            none_other(f"input.phase_events.{phase}", classes, events)

    def events_of(self, name: str) -> Patterns:
        """Names of the events of one class."""
        return self.events.get(name, (name,))

    def of_phase(self, phase: str) -> Self:
        """How recordings of one phase are read."""
        events = self.phase_events.get(phase, self.events)
        return self.model_copy(update={"events": events, "phase_events": {}})

    @abstractmethod
    def find(self, folder: Path, participant: str, phase: str) -> list[Path]:
        """Recordings of one participant in one phase; asked on every run, before anything is read."""

    def together(self, file: Path) -> Named:
        """The files of a recording; asked on every run, before anything is read."""
        return [("", file)]

    @abstractmethod
    def declared(self, file: Path, participant: str) -> int:
        """What a file says that it unpacks to; limits of the process that reads it follow from this."""

    @abstractmethod
    def read_part(self, file: Path, participant: str, classes: Sequence[str]) -> Part:
        """Epochs of one file."""


class FilesInput(RecordedInput):
    """Epochs in files that the study names."""

    places = frozenset({"folder", "files"})
    folders: ClassVar[frozenset[str]] = frozenset()
    """Endings of folders that are recordings of this format."""
    files: dict[str, Patterns] = Field(description=FILES)

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        all_named("input.files", phases, self.files)
        super().check_phases(phases, classes, kinds)

    def find(self, folder: Path, participant: str, phase: str) -> list[Path]:
        from shortloop.eeg.formats.files import find_files

        return find_files(
            folder, self.files[phase], participant=participant, phase=phase, folders=self.folders
        )


def all_named(field: str, wanted: Sequence[str], table: Mapping[str, object]) -> None:
    """Raise ValueError unless a table has all keys that are wanted."""
    missing = [name for name in wanted if name not in table]
    if missing:
        have = ", ".join(table) or "none"
        raise ValueError(f"{field}: nothing given for {', '.join(missing)} (given: {have})")


def none_other(field: str, known: Sequence[str], table: Mapping[str, object]) -> None:
    """Raise ValueError if a table has a key that is not known."""
    others = [name for name in table if name not in known]
    if others:
        raise ValueError(f"{field}: {', '.join(others)} is none of {', '.join(known)}")
