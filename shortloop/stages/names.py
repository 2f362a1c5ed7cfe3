"""Names allowed for results in a job's folder."""

from __future__ import annotations

from pathlib import PurePosixPath

from shortloop.stages.records import RECORD, ROWS

__all__ = ["check_array_name", "check_file_name"]

# Of exax, and of this package.
OF_OTHERS = {"setup.json", "post.json", "method.tar.gz", "result.pickle", "manifest.json", RECORD, ROWS}
FOLDERS_OF_OTHERS = {"OUTPUT", "DS"}


def check_array_name(name: str) -> None:
    """Refuse what is no name of an array."""
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        raise ValueError(f"an array cannot have the name {name!r}")


def check_file_name(name: str) -> None:
    """Refuse what is no path of a file of a job."""
    path = PurePosixPath(name)
    hidden = any(part.startswith(".") for part in path.parts)  # so is ".."
    if not path.parts or str(path) != name or path.is_absolute() or hidden or "\0" in name:
        raise ValueError(f"a file of a job cannot have the path {name!r}: it must be below the job's folder")
    is_array = len(path.parts) == 1 and path.suffix == ".npy"
    if is_array or name in OF_OTHERS or path.parts[0] in FOLDERS_OF_OTHERS:
        raise ValueError(f"a file of a job cannot have the path {name!r}: it is that of another file")
