"""Continuous recordings that `mne.io.read_raw` reads, by the ending of the file."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.formats.epochs.settings import events_beside
from shortloop.eeg.formats.files.find import ENDINGS, Named, files_in, is_recording
from shortloop.eeg.formats.files.recognised import recognised
from shortloop.eeg.formats.recording_format import FilesInput
from shortloop.eeg.formats.signals import SignalInput

OF_NIHON_KOHDEN = {".pnt": ".PNT", ".21e": ".21E", ".log": ".LOG"}  # files beside, as MNE expects them
ALONE = (".gdf", ".edf", ".bdf", ".nedf")  # recordings in one file, whatever else has their name
OF_PERSYST = (
    "write in this section of the header BirthDate=01/31/80, Hand=, TestDate=2020.01.31 and "
    "TestTime=12:00:00; they are not used"
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
    format: Literal["mne"] = Field(description="continuous recordings of any other format of mne.io.read_raw")
    data_format: Literal["int16", "int32"] | None = Field(
        None, description="samples of Neuroscan's .cnt; default: as the header says"
    )

    def warm_up(self) -> None:
        # Readers of ANT, Curry and EGI, if installed: their versions are in the key.
        with suppress(ImportError):
            import antio  # noqa: F401
            import curryreader  # noqa: F401
            import mffpy  # noqa: F401

        super().warm_up()

    def together(self, file: Path) -> Named:
        if not is_recording(file):
            ours = OF_NIHON_KOHDEN if file.suffix.lower() == ".eeg" else {}
            paths = [path for _, path in super().together(file)]
            return [(path.stem + ours.get(path.suffix.lower(), path.suffix), path) for path in paths]
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

    def open(self, file: Path, participant: str) -> Any:
        import mne

        read, options = mne.io.read_raw, dict[str, Any]()
        kind = recognised(file)
        name = kind and kind.name
        if file.suffix.lower() == ".data":  # Nicolet does not say it
            options["ch_type"] = "eeg"
        elif file.suffix.lower() == ".dat" and name == "BCI2000":  # MNE only reads it as a whole
            options["preload"] = True
        elif name == "Neuroscan CNT":  # MNE would try the reader of ANT first, which may end the process
            read, options = mne.io.read_raw_cnt, {"data_format": self.data_format or "auto"}
        try:
            return read(file, **options)
        except (ImportError, RuntimeError) as error:
            if "data_format" in str(error):
                wrong = "the header does not say whether samples have 2 or 4 bytes"
                expected = "int16 or int32, as the recorder was set"
                hint = 'write data_format = "int32" under [input], or "int16": the wrong one gives noise'
                raise InputError(wrong, field="input.data_format", expected=expected, hint=hint) from None
            if (missing := MISSING.search(str(error))) is None:
                raise
            problem = f"a library is missing that reads this format: {missing[1]}"
            raise InputError(problem, hint="pip install 'shortloop[formats]'") from None
        except (KeyError, TypeError, UnboundLocalError) as error:
            if file.suffix.lower() != ".lay":
                raise
            wrong = "MNE does not read this header of Persyst without all that it expects of the patient"
            found = f"{type(error).__name__}: {error}"
            raise InputError(wrong, field="[Patient]", found=found, hint=OF_PERSYST) from None
