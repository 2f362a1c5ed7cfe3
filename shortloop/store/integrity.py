"""Content of a job: hash its files, and verify them against its manifest.

exax describes a dataset in a pickle, which names jobs: the one that it belongs to, those in which its columns
lie, the dataset before it in a chain, and the one that it was made of. Here each of these counts by its
content, so that a dataset that is written again, and came out the same, is the same.
"""

from __future__ import annotations

import codecs
import datetime
import json
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from shortloop.base.plain import Plain
from shortloop.keys.file_state import file_state, plain_size, size_problem
from shortloop.keys.hashing import canonical, digest, hash_file
from shortloop.stages.records import FAILED_UNITS, RECORD, ROWS
from shortloop.store.manifest import MANIFEST, Manifest, States
from shortloop.store.setup import json_object

CONTENT = re.compile(r"[0-9a-f]{64}( .+)?", re.DOTALL)  # with the name of the file, if it counts
"""What hashes of contents look like."""
READ_BY_NAME = (".npy", ".npz", ".pickle", ".pkl")


def damage(folder: Path, manifest: Manifest) -> str | None:
    """Read all of a job, and say what is wrong with it."""
    try:
        present = set(output_files(folder))
    except OSError:
        return "its folder is missing"
    for name, (size, _) in manifest.files.items():
        if name not in present:
            return f"{name} is missing"
        if what := size_problem(folder / name, size):
            return f"{name} {what}"
    try:
        files = hash_outputs(folder, sorted(manifest.files))
    except OSError as error:
        return f"{error.filename or 'a file'} cannot be read: {error.strerror}"
    for name, known in manifest.files.items():
        if files[name] != known:
            return f"{name} was altered"
    for name in added_files(folder, manifest):  # readers open files by name, and would take it for a result
        if name == RECORD or name.endswith(READ_BY_NAME):
            return f"has a result file that it did not write: {name}"
    return forged(folder, manifest, files)


def added_files(folder: Path, manifest: Manifest) -> list[str]:
    """List files in a recorded job's folder that it did not write, except logs and dotfiles."""
    return [name for name in output_files(folder) if name not in manifest.files]


def forged(folder: Path, manifest: Manifest, files: dict[str, tuple[int, str]]) -> str | None:
    """Compare intact files with what the manifest says about them."""
    try:
        content, rejected = content_of_job(folder, files, manifest.rests_on)
        setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
        method = f"{setup['package']}.{setup['method']}"
        options = setup["options"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "its record or setup.json cannot be read, though its files are as recorded"
    if content != manifest.content:
        return "its manifest has another content hash than its files"
    if rejected != manifest.rejected:
        return f"its manifest says that it {'did not reject' if rejected else 'rejected'} its input"
    if method != manifest.parts.method:
        return f"its manifest says {manifest.parts.method}, and setup.json {method}"
    for name, given in manifest.parts.options.items():
        if name not in options or _differ(given, options[name]):
            noted = canonical(options[name]) if name in options else "none"
            return f"its manifest says {name} = {canonical(given)}, and setup.json {noted}"
    return None


def _differ(given: Plain, noted: Plain) -> bool:
    """True if exax cannot have turned one into the other: texts into numbers, lists into sets."""
    if isinstance(given, dict) and isinstance(noted, dict):
        return given.keys() != noted.keys() or any(_differ(each, noted[name]) for name, each in given.items())
    if isinstance(given, list) and isinstance(noted, list):
        if noted != given and [*map(canonical, noted)] == sorted({canonical(each) for each in given}):
            return False
        return len(given) > len(noted) or any(map(_differ, given, noted))
    if isinstance(given, str) and isinstance(noted, str) and CONTENT.fullmatch(given):
        return given != noted and not os.path.isabs(noted)  # exax may be given the path of a file
    alike = type(given) is type(noted) or {type(given), type(noted)} == {int, float}
    return alike and bool(given != noted)


NOTES = ("setup.json", "post.json", "method.tar.gz", ROWS, FAILED_UNITS)
"""Part of what is checked, but no result: exax's own notes of a job, and what its units gave, each under the
hash of what it read."""
LOGS = "OUTPUT"  # what a job printed; it may still be written when the job is done
# Entries of a record that are no results.
VOLATILE = ("versions", "threads", "taken", "engine", "attempts", "objects")


def output_files(folder: Path) -> list[str]:
    """List the files of a finished job below its folder, except manifest and logs."""
    found = []
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(folder / below) as entries:
            for entry in entries:
                name = f"{below}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if name != LOGS:
                        waiting.append(f"{name}/")
                elif name != MANIFEST and not entry.name.startswith("."):
                    found.append(name)
    return sorted(found)


def hash_outputs(folder: Path, names: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Size and hash of regular files, read in parallel; links and pipes are refused."""

    def one(name: str) -> tuple[int, str]:
        read: list[int] = []
        found = hash_file(folder / name, read.append)
        return sum(read), found

    sizes = {name: plain_size(folder / name) for name in names}
    if sum(sizes.values()) < 10_000_000:  # threads cost more than they save
        return {name: one(name) for name in names}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return dict(zip(names, pool.map(one, names), strict=True))


def content_of_job(
    folder: Path, files: dict[str, tuple[int, str]], rests_on: Mapping[str, str] | None = None
) -> tuple[str, bool]:
    """Hash of a job's results, independent of when and how it was built, and if it rejected its input."""
    rejected = False
    results: dict[str, Plain] = {name: found for name, (_, found) in files.items() if name not in NOTES}
    for name in filter(is_description, files if rests_on else ()):
        results[name] = dataset_content(folder / name, rests_on or {}) or results[name]
    if RECORD in results:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        # Facts as text: the next stage sees their order.
        results[RECORD] = {name: json.dumps(value) for name, value in record.items() if name not in VOLATILE}
        rejected = record.get("problem") is not None
    return digest(results), rejected


def data_outside(folder: Path) -> list[tuple[str, str]]:
    """Names and contents of input files that hold arrays of a job; none if its record cannot be read."""
    arrays: Any = json_object(folder / RECORD).get("arrays", {})
    outside = [each["outside"] for each in arrays.values() if each.get("outside")]
    return [(each["name"], each["content"]) for each in outside]


def states_of(folder: Path, names: Sequence[str]) -> States:
    """Stat files: the state changes if a file is edited, truncated, replaced or touched."""
    above = f"{folder}/"
    return [[name, *file_state(above + name)[0]] for name in names]


TIMES = ("date", "datetime", "time", "timedelta", "timezone")
LOCATION = 2  # where that is in the description of a column
CACHES = ("cache", "cache_distance")  # copies of what the datasets before it say


def is_description(name: str) -> bool:
    """True if a file of a job describes a dataset."""
    return name.startswith("DS/") and name.endswith(".p")


def jobs_named(folder: Path, names: Iterable[str]) -> set[str]:
    """Jobs that the datasets of a job refer to: itself, and those they need."""
    found = [_read(folder / name) for name in names if is_description(name)]
    named = {place.partition("/")[0] for data in found if data is not None for place in _places(data)}
    return {folder.name, *named} if found else set()


def dataset_content(file: Path, contents: Mapping[str, str]) -> str | None:
    """Hash a dataset's description; its data files are hashed separately."""
    if (data := _read(file)) is None:
        return None
    workdirs = "|".join({re.escape(job.rpartition("-")[0]) for job in contents})
    said = {name: value for name, value in data.items() if name not in CACHES} | {
        "caption": data.get("caption")
    }
    if isinstance(said["caption"], str):  # exax writes job ids into it
        said["caption"] = re.sub(rf"\b(?:{workdirs})-\d+\b", "job", said["caption"])
    move_dataset(said, lambda job, inside: f"{contents[job]}/{inside}")
    return digest(_plain(said))


def move_dataset(description: dict[str, object], place_of: Callable[[str, str], str]) -> None:
    """Replace the places in a dataset's description, each of a job and what is named in it."""
    data: dict[str, Any] = description

    def moved(place: str | None) -> str | None:
        job, _, inside = (place or "").partition("/")
        return None if place is None else place_of(job, inside)

    parent = data["parent"]
    data["parent"] = tuple(map(moved, parent)) if isinstance(parent, tuple) else moved(parent)
    data["previous"] = moved(data["previous"])
    for name, column in data["columns"].items():
        fields = [*column]
        fields[LOCATION] = moved(fields[LOCATION])
        data["columns"][name] = type(column)(*fields)


class _Column(tuple[Any, ...]):
    """Stand-in for exax's description of a column."""

    def __new__(cls, *fields: Any) -> _Column:
        return super().__new__(cls, fields)


class DescriptionReader(pickle.Unpickler):
    """Unpickler of dataset descriptions only: a pickle can execute anything."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) == ("accelerator.dataset", "_DatasetColumn_3_3"):
            return _Column
        if (module, name) in (("accelerator.extras", "DotDict"), ("collections", "OrderedDict")):
            return dict
        if module == "datetime" and name in TIMES:
            return getattr(datetime, name)
        if (module, name) == ("_codecs", "encode"):
            return codecs.encode
        raise pickle.UnpicklingError(f"{module}.{name}")


def _read(file: Path) -> dict[str, Any] | None:
    try:
        with file.open("rb") as stream:
            data = DescriptionReader(stream).load()
        [*_places(data)]
        _plain(data)
    except OSError:
        raise
    except Exception:  # whatever is in it
        return None
    return data if isinstance(data, dict) else None


def _places(data: dict[str, Any]) -> Iterator[str]:
    parent = data["parent"]
    each = [data["previous"], *(parent if isinstance(parent, tuple) else [parent])]
    for place in [*each, *(column[LOCATION] for column in data["columns"].values())]:
        if place is not None:
            yield str(place)


def _plain(value: Any) -> Plain:
    """Convert a description; the order of columns counts, because some readers see it."""
    if isinstance(value, dict):
        return ["dict", *([_plain(name), _plain(each)] for name, each in value.items())]
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if type(value).__module__ == "datetime":
        return [type(value).__name__, repr(value)]
    raise TypeError(type(value))
