"""EDF and BDF headers: layout and size. MNE would read truncated files without an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError

READERS = ("RawEDF", "RawBDF")  # MNE's classes of recordings from such files

EDF, BDF = b"0       ", b"\xffBIOSEMI"  # first bytes; samples have two and three bytes
LATIN = "latin1"
NAMES = 256  # where the names of channels begin
UNITS, SAMPLES = 96, 216  # bytes of each channel before its unit, and before its samples in a record


@dataclass(frozen=True)
class EdfHeader:
    """Header of an EDF or BDF file."""

    bdf: bool
    kind: bytes  # b"EDF+C" and the like; anything in plain EDF
    start: int  # bytes of the header
    records: int  # -1: the recorder did not know
    seconds: float  # of a record
    names: list[bytes]  # of each channel, stripped
    units: list[bytes]
    samples: list[int]  # of each channel in a record

    @classmethod
    def read(cls, file: Path) -> EdfHeader:
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
        return 3 if self.bdf else 2


def check_size(file: Path) -> None:
    """Check the size of a file against its header."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        first = stream.read(8)
    if size < NAMES or first not in (EDF, BDF):
        found = f"{size} bytes that begin with {first!r}"
        expected = "a header that begins with '0' or 'BIOSEMI'"
        hint = "check that the file is whole and of the format that the study names"
        raise InputError("the file is not EDF, nor BDF", found=found, expected=expected, hint=hint)
    header = EdfHeader.read(file)
    per_record = header.width * sum(header.samples)
    whole, rest = divmod(size - header.start, per_record)
    # -1: the recorder did not know; any number of whole records is right.
    if rest or whole < 1 or header.records not in (whole, -1):
        short = rest or whole < max(header.records, 1)
        problem = "the file is truncated" if short else "the file is longer than its header says"
        found = f"{size} bytes: {whole} records" + (f" and {rest} bytes" if rest else "")
        said = f"{header.start + header.records * per_record} bytes: {header.records} records"
        hint = "copy the file again from its source"
        raise InputError(problem, found=found, expected=said if header.records > 0 else None, hint=hint)


def decoded(text: bytes) -> str:
    """Decode UTF-8, or else Latin-1."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode(LATIN)


def in_its_encoding(read: Callable[..., Any]) -> Any:
    """Read annotations as UTF-8, the encoding of EDF+, or else as Latin-1, which some recorders write."""
    try:
        return read()
    except Exception as error:  # MNE has no more specific class
        if f"encoding='{LATIN}'" not in str(error):
            raise
    return read(encoding=LATIN)
