"""What a recording says of its size, by the ending of its name, where no study says of what format it is. MNE
would read what there is of it."""

from __future__ import annotations

from pathlib import Path

from shortloop.eeg.headers import brainvision_header, edf_header, fif_tags

__all__ = ["declared"]

OF_ENDING = {
    ".edf": edf_header.declared,
    ".bdf": edf_header.declared,
    ".fif": fif_tags.declared,
    ".vhdr": brainvision_header.declared,
}


def declared(file: Path, participant: str) -> int | None:
    """Bytes that a recording unpacks to, after it was found to be whole."""
    of = OF_ENDING.get(file.suffix.lower())
    return None if of is None else of(file, participant)
