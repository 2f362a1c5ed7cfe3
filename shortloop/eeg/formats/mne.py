"""Whatever MNE reads, by the ending of the file's name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.formats.sizes import declared

__all__ = ["MneInput"]


class MneInput(SignalInput, FilesInput):
    """Continuous recordings of any format that ``mne.io.read_raw`` knows by its ending, such as Neuroscan and
    ANT (.cnt), Curry (.cdt, .dat), GDF, KIT, Nihon Kohden, Nicolet and Persyst.

    All files in the same folder that have the same name but for the ending belong to a recording.
    """

    any_kind = True
    format: Literal["mne"] = Field(
        description="continuous recordings of any other format that mne.io.read_raw reads, by its ending"
    )

    def warm_up(self) -> None:
        # What MNE reads ANT and Curry with, where it is installed: its version counts, too.
        with suppress(ImportError):
            import antio  # noqa: F401
        with suppress(ImportError):
            import curryreader  # noqa: F401

        super().warm_up()

    def beside(self, file: Path) -> list[Path]:
        stem = file.name.partition(".")[0]
        return sorted(
            path
            for path in file.parent.iterdir()
            if path != file and path.is_file() and path.name.startswith(f"{stem}.")
        )

    def declared(self, file: Path, participant: str) -> int:
        """What its format says of it, if that is known; it must be whole then."""
        return declared(file, participant) or super().declared(file, participant)

    def open(self, file: Path, participant: str) -> Any:
        import mne

        return mne.io.read_raw(file)
