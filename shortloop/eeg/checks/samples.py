"""Whether the samples that MNE found are those of the recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError

__all__ = ["check_samples"]

FDT_BYTES = 4  # of each sample in .fdt


def check_samples(signal: Any, file: Path, participant: str) -> None:
    """Raise InputError if samples are read from elsewhere, or are not all there."""
    folder = file if file.is_dir() else file.parent
    beside = {path.resolve() for path in folder.iterdir()}
    for path in map(Path, filter(None, getattr(signal, "filenames", ()))):
        if path.is_file() and path.resolve() not in beside:
            raise InputError(
                "samples are in a file that is not known to belong to the recording",
                participant=participant,
                file=file,
                found=path,
                expected="files in the same folder, with the names that the writer of the format gives them",
                hint="save the recording again where it is, in place of moving or renaming its files",
            )
        needed = FDT_BYTES * len(signal.ch_names) * signal.n_times
        if path.suffix == ".fdt" and path.stat().st_size != needed:
            raise InputError(
                "the samples are not those of the dataset",
                participant=participant,
                file=file,
                found=f"{path.name} of {path.stat().st_size} bytes",
                expected=f"{needed} bytes: {len(signal.ch_names)} channels, {signal.n_times} samples",
                hint="copy both files again from their source",
            )
