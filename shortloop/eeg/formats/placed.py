"""Recordings of several files, each in a folder of its own, where its files have the names by which they know
each other, and where nothing else can be read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.eeg.formats.folders import whole

if TYPE_CHECKING:
    from shortloop.eeg.formats.base import Named

__all__ = ["placed"]


@contextmanager
def placed(recordings: Sequence[Named]) -> Iterator[list[Path]]:
    """Put recordings where they can be read.

    Parameters
    ----------
    recordings : sequence of lists of (str, Path)
        The named files of each.

    Yields
    ------
    list of Path
        Where each is: where it lies, if its name does not matter, else in a folder of links that is gone with
        the context.
    """
    with tempfile.TemporaryDirectory(prefix="shortloop-") as folder:
        yield [_place(Path(folder) / str(number), each) for number, each in enumerate(recordings)]


def _place(folder: Path, recording: Named) -> Path:
    if not recording[0][0]:
        return recording[0][1]
    for name, path in recording:
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path.absolute())
    return whole(folder / recording[0][0])
