"""What the header of an EDF or BDF recording says of its size: MNE would read what there is of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError

__all__ = ["READERS", "EdfHeader", "declared", "in_its_encoding", "is_bdf"]

READERS = ("RawEDF", "RawBDF")  # what MNE calls recordings that it read from such files

BYTES_OF_SAMPLE = 4  # in memory, for each byte in the file
EDF, BDF = b"0       ", b"\xffBIOSEMI"  # what files begin with; samples are of two and of three bytes
LATIN = "latin1"
NAMES = 256  # where the names of channels begin
UNITS, SAMPLES = 96, 216  # bytes of each channel before its unit, and before its samples in a record


@dataclass(frozen=True)
class EdfHeader:
    """Header of an EDF or BDF file.

    bdf: whether samples have three bytes.
    kind: ``b"EDF+C"`` and the like; of plain EDF anything.
    start: bytes of the header.
    records: number of records; -1: the recorder did not know.
    seconds: length of a record.
    names, units: of each channel, without the space around.
    samples: of each channel in a record.
    """

    bdf: bool
    kind: bytes
    start: int
    records: int
    seconds: float
    names: list[bytes]
    units: list[bytes]
    samples: list[int]

    @classmethod
    def read(cls, file: Path) -> EdfHeader:
        """Read the header of a file that is EDF or BDF."""
        with file.open("rb") as stream:
            header = stream.read(NAMES)
            signals = int(header[252:256])

            def fields(before: int, width: int) -> list[bytes]:
                stream.seek(NAMES + signals * before)
                return [stream.read(width).strip() for _ in range(signals)]

            return cls(
                bdf=header[:8] == BDF,
                kind=header[192:197],
                start=int(header[184:192]),
                records=int(header[236:244]),
                seconds=float(header[244:252]),
                names=fields(0, 16),
                units=fields(UNITS, 8),
                samples=[int(each) for each in fields(SAMPLES, 8)],
            )

    @property
    def width(self) -> int:
        """Bytes of a sample."""
        return 3 if self.bdf else 2


def declared(file: Path, participant: str) -> int:
    """Bytes of all samples in memory, after the size of the file was found to be what its header says."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        first = stream.read(8)
    if size < NAMES or first not in (EDF, BDF):
        raise InputError(
            "the file is not EDF, nor BDF",
            participant=participant,
            file=file,
            found=f"{size} bytes that begin with {first!r}",
            expected="a header that begins with '0' or 'BIOSEMI'",
            hint="check that the file is whole and of the format that the study names",
        )
    header = EdfHeader.read(file)
    per_record = header.width * sum(header.samples)
    whole, rest = divmod(size - header.start, per_record)
    # -1: the recorder did not know; all that is there counts if it is whole.
    if rest or whole < 1 or header.records not in (whole, -1):
        short = rest or whole < max(header.records, 1)
        raise InputError(
            "the file is truncated" if short else "the file is longer than its header says",
            participant=participant,
            file=file,
            found=f"{size} bytes: {whole} records" + (f" and {rest} bytes" if rest else ""),
            expected=f"{header.start + header.records * per_record} bytes: {header.records} records"
            if header.records > 0
            else None,
            hint="copy the file again from its source",
        )
    return BYTES_OF_SAMPLE * (size - header.start)


def is_bdf(file: Path) -> bool:
    """Whether a file is BDF."""
    with file.open("rb") as stream:
        return stream.read(8) == BDF


def in_its_encoding(read: Callable[..., Any]) -> Any:
    """Read annotations in UTF-8, as EDF+ has it, or else in Latin-1, as some recorders write them."""
    try:
        return read()
    except Exception as error:  # MNE raises no other
        if f"encoding='{LATIN}'" not in str(error):
            raise
    return read(encoding=LATIN)
