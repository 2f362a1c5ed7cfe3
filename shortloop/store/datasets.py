"""Content of exax datasets, whichever job they are in.

exax describes a dataset in a pickle, which names jobs: the one that it belongs to, those in which its columns
lie, the dataset before it in a chain, and the one that it was made of. Here each of these counts by its
content, so that a dataset that is written again, and came out the same, is the same.
"""

from __future__ import annotations

import codecs
import datetime
import pickle
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shortloop.base.plain import Plain
from shortloop.keys.hashing import digest

__all__ = ["dataset_content", "is_description", "jobs_named"]

TIMES = ("date", "datetime", "time", "timedelta", "timezone")
LOCATION = 2  # where that is in the description of a column
CACHES = ("cache", "cache_distance")  # copies of what the datasets before it say


def is_description(name: str) -> bool:
    """Whether a file of a job describes a dataset."""
    return name.startswith("DS/") and name.endswith(".p")


def jobs_named(folder: Path, names: Iterable[str]) -> set[str]:
    """Jobs that the datasets of a job name: itself, and those that they need."""
    found = [_read(folder / name) for name in names if is_description(name)]
    named = {place.partition("/")[0] for data in found if data is not None for place in _places(data)}
    return {folder.name, *named} if found else set()


def dataset_content(file: Path, contents: Mapping[str, str]) -> str | None:
    """A hash of what a dataset is; its data lies in files that are hashed by themselves."""
    data = _read(file)
    if data is None:
        return None

    def known(place: str | None) -> str | None:
        if place is None:
            return None
        job, _, inside = place.partition("/")
        return f"{contents[job]}/{inside}"

    workdirs = "|".join({re.escape(job.rpartition("-")[0]) for job in contents})
    caption = data.get("caption")
    if isinstance(caption, str):  # exax writes job ids into it
        caption = re.sub(rf"\b(?:{workdirs})-\d+\b", "job", caption)
    parent = data["parent"]
    columns = {
        name: [*column[:LOCATION], known(column[LOCATION]), *column[LOCATION + 1 :]]
        for name, column in data["columns"].items()
    }
    said = {name: value for name, value in data.items() if name not in CACHES}
    said |= {"columns": columns, "caption": caption, "previous": known(data["previous"])}
    said["parent"] = [*map(known, parent)] if isinstance(parent, tuple) else known(parent)
    return digest(_plain(said))


class _Column(tuple[Any, ...]):
    """In place of exax's description of a column."""

    def __new__(cls, *fields: Any) -> _Column:
        return super().__new__(cls, fields)


class _Reader(pickle.Unpickler):
    """Reads descriptions of datasets, and nothing else: a pickle can run anything."""

    def find_class(self, module: str, name: str) -> Any:
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
            data = _Reader(stream).load()
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
    """Of what a description holds; the order of columns counts, as some see it."""
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
