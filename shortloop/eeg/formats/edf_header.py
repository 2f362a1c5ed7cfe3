"""What the header of an EDF or BDF recording says of its size: MNE would read what there is of it."""

from __future__ import annotations

from pathlib import Path

from shortloop.errors import InputError

__all__ = ["declared", "is_bdf"]

BYTES_OF_SAMPLE = 4  # in memory, for each byte in the file
EDF, BDF = b"0       ", b"\xffBIOSEMI"  # what files begin with; samples are of two and of three bytes


def declared(file: Path, participant: str) -> int:
    """Bytes of all samples in memory, after the size of the file was found to be what its header says.

    Parameters
    ----------
    file, participant
        As of `RecordedInput.declared`.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If it is no EDF or BDF, not all there, or discontinuous.
    """
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


def is_bdf(file: Path) -> bool:
    """Whether a file is BDF.

    Parameters
    ----------
    file : Path
        The file.

    Returns
    -------
    bool
    """
    with file.open("rb") as stream:
        return stream.read(8) == BDF
