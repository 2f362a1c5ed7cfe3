"""Whatever MNE reads, by the ending of the file's name."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.epoching import events_beside
from shortloop.eeg.formats.files import ENDINGS, Named, files_in, is_recording
from shortloop.eeg.formats.recognised import recognised
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.formats.sizes import declared

__all__ = ["MneInput"]

OF_NIHON_KOHDEN = {".pnt": ".PNT", ".21e": ".21E", ".log": ".LOG"}
"""Files beside a recording of Nihon Kohden, and how MNE expects them to be written."""
ALONE = (".gdf", ".edf", ".bdf", ".nedf")
"""Recordings that have all in one file, whatever is called like them."""
OF_PERSYST = (
    "write in this section of the header BirthDate=01/31/80, Hand=, TestDate=2020.01.31 and "
    "TestTime=12:00:00; nothing is made of them"
)
MISSING = re.compile(r"the module (\w+) is needed")


class MneInput(SignalInput, FilesInput):
    """Continuous recordings of any format that ``mne.io.read_raw`` knows by its ending, such as BCI2000
    (.dat), Neuroscan and ANT (.cnt), Curry (.cdt, .dat), GDF, KIT, Nihon Kohden, Nicolet and Persyst, and the
    folders of EGI (.mff) and CTF (.ds).

    All files in the same folder that have the same name but for the ending belong to a recording, unless its
    format has no others.
    """

    any_kind = True
    folders = ENDINGS
    format: Literal["mne"] = Field(
        description="continuous recordings of any other format that mne.io.read_raw reads, by its ending"
    )

    data_format: Literal["int16", "int32"] | None = Field(
        None, description="samples of Neuroscan's .cnt; default: as the header says"
    )

    def warm_up(self) -> None:
        # What MNE reads ANT, Curry and EGI with, where it is installed: its version counts, too.
        with suppress(ImportError):
            import antio  # noqa: F401
        with suppress(ImportError):
            import curryreader  # noqa: F401
        with suppress(ImportError):
            import mffpy  # noqa: F401

        super().warm_up()

    def together(self, file: Path) -> Named:
        if file.suffix.lower() == ".eeg":
            return [
                (_as_mne_expects(path), path) for path in [file, *self.beside(file), *events_beside(file)]
            ]
        if not is_recording(file):
            return super().together(file)
        inside = files_in(file)
        stem = Path(inside[0][0]).parent.stem
        return [*inside, *((f"{stem}_events.tsv", each) for each in events_beside(file))]

    def beside(self, file: Path) -> list[Path]:
        if file.suffix.lower() in ALONE:
            return []
        if file.suffix.lower() == ".eeg":
            beside = sorted(path for path in file.parent.iterdir() if path.stem == file.stem)
            return [path for path in beside if path.suffix.lower() in OF_NIHON_KOHDEN]
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

        read, options = mne.io.read_raw, dict[str, Any]()
        if file.suffix.lower() == ".data":  # Nicolet does not say it
            options["ch_type"] = "eeg"
        elif file.suffix.lower() == ".dat" and _is(file, "BCI2000"):  # MNE reads it whole or not at all
            options["preload"] = True
        elif _is(file, "Neuroscan CNT"):  # the reader of ANT's would be tried first, and may end the process
            read, options = mne.io.read_raw_cnt, {"data_format": self.data_format or "auto"}
        try:
            raw = read(file, **options)
        except (ImportError, RuntimeError) as error:
            if "data_format" in str(error):
                raise InputError(
                    "the header does not say whether samples have 2 or 4 bytes",
                    participant=participant,
                    file=file,
                    field="input.data_format",
                    expected="int16 or int32, as the recorder was set",
                    hint='write data_format = "int32" under [input], or "int16": the wrong one gives noise',
                ) from None
            missing = MISSING.search(str(error))
            if missing is None:
                raise
            raise InputError(
                f"a library is missing that reads this format: {missing[1]}",
                participant=participant,
                file=file,
                hint="pip install 'shortloop[formats]'",
            ) from None
        except (KeyError, TypeError, UnboundLocalError) as error:
            if file.suffix.lower() != ".lay":
                raise
            raise InputError(
                "MNE does not read this header of Persyst without all that it expects of the patient",
                participant=participant,
                file=file,
                field="[Patient]",
                found=f"{type(error).__name__}: {error}",
                hint=OF_PERSYST,
            ) from None
        return raw


def _is(file: Path, name: str) -> bool:
    kind = recognised(file)
    return kind is not None and kind.name == name


def _as_mne_expects(path: Path) -> str:
    return path.stem + OF_NIHON_KOHDEN.get(path.suffix.lower(), path.suffix)
