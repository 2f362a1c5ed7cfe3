"""EDF, EDF+, BDF and BDF+ recordings (Kemp & Olivan 2003, Clin. Neurophysiol. 114(9):1755)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.signals import SignalInput
from shortloop.errors import InputError

__all__ = ["EdfInput"]

BYTES_OF_SAMPLE = 4  # in memory, for each byte in the file
EDF, BDF = b"0       ", b"\xffBIOSEMI"  # what files begin with; samples are of two and of three bytes


class EdfInput(SignalInput, FilesInput):
    """EDF, EDF+, BDF and BDF+ recordings.

    Channels whose EDF+ label has a type other than EEG are left out; names that are padded with dots, as in
    the PhysioNet motor imagery database, are standardised.
    """

    format: Literal["edf"] = Field(description="EDF, EDF+, BDF and BDF+")

    def warm_up(self) -> None:
        import mne.datasets.eegbci
        import mne.io.edf  # noqa: F401

        super().warm_up()

    def declared(self, file: Path, participant: str) -> int:
        """Bytes of all samples in memory, after the size of the file was found to be what its header says:
        MNE would read what there is of it. It must not be discontinuous."""
        with file.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            header = stream.read(256)
            if len(header) < 256 or header[:8] not in (EDF, BDF):
                raise InputError(
                    "the file is not EDF, nor BDF",
                    participant=participant,
                    file=file,
                    found=f"{size} bytes that begin with {header[:8]!r}",
                    expected="a header that begins with '0' or 'BIOSEMI'",
                    hint="check that the file is whole and of the format that the study names",
                )
            if header[192:197] in (b"EDF+D", b"BDF+D"):
                raise InputError(
                    "the recording is discontinuous (EDF+D or BDF+D)",
                    participant=participant,
                    file=file,
                    expected="a continuous recording (EDF+C or BDF+C)",
                    hint="export it without gaps, so that annotations and samples keep the same time",
                )
            start, records, signals = int(header[184:192]), int(header[236:244]), int(header[252:256])
            stream.seek(256 + signals * 216)
            per_record = (3 if header[:8] == BDF else 2) * sum(int(stream.read(8)) for _ in range(signals))
        whole, rest = divmod(size - start, per_record)
        # -1: the recorder did not know; all that is there counts if it is whole.
        if rest or whole < 1 or records not in (whole, -1):
            short = rest or whole < max(records, 1)
            raise InputError(
                "the file is truncated" if short else "the file is longer than its header says",
                participant=participant,
                file=file,
                found=f"{size} bytes: {whole} records" + (f" and {rest} bytes" if rest else ""),
                expected=f"{start + records * per_record} bytes: {records} records" if records > 0 else None,
                hint="copy the file again from its source",
            )
        return BYTES_OF_SAMPLE * (size - start)

    def open(self, file: Path, participant: str) -> Any:
        import mne
        import mne.datasets.eegbci

        read = mne.io.read_raw_bdf if _is_bdf(file) else mne.io.read_raw_edf
        raw = read(file, infer_types=True)
        if any(name.endswith(".") for name in raw.ch_names):
            mne.datasets.eegbci.standardize(raw)
        return raw


def _is_bdf(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(8) == BDF
