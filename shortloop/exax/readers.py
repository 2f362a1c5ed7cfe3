"""Wrappers of library functions that open files without Python's audit hooks."""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.machinery
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

# Functions that read, and classes whose `__init__` reads, by module. A star stands for any end of a name.
READERS = {
    "duckdb": ("connect", "from_*", "parquet_metadata", "read_*"),
    "fastparquet": ("ParquetFile",),
    "geopandas": ("read_*",),
    "h5py": ("File",),
    "polars": ("read_*", "scan_*"),
    "pyarrow": ("input_stream", "memory_map"),
    "pyarrow.csv": ("open_csv", "read_csv"),
    "pyarrow.dataset": ("dataset", "parquet_dataset"),
    "pyarrow.feather": ("read_feather", "read_table"),
    "pyarrow.json": ("read_json",),
    "pyarrow.orc": ("read_table", "ORCFile"),
    "pyarrow.parquet": ("ParquetDataset", "ParquetFile", "read_*"),
    "pyreadstat": ("read_*",),
    "tables": ("open_file",),
    "xarray": ("load_*", "open_*"),
    "zarr": ("open*",),
}
QUERIES = ("execute", "query", "sql")  # of DuckDB: their text names files
SAME_FRAME = "SET python_scan_all_frames=true"
"""DuckDB finds frames of pandas by the variables of its caller, which would else be those of the wrapper."""
QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")
MANY = 1000  # paths in one call

Hear = Callable[[str], None]
_hear: Hear | None = None


def watch_readers(hear: Hear) -> None:
    """Pass paths that functions of libraries are given to read to `hear`, in forks as well."""
    global _hear
    first, _hear = _hear is None, hear
    if first:
        sys.meta_path.insert(0, _Finder())
        for name in READERS.keys() & sys.modules.keys():
            _wrap_all(sys.modules[name])


def paths_in(value: object) -> Iterator[str]:
    """Give possible paths in an argument: a path, several, or a text that quotes them."""
    if isinstance(value, str | bytes | os.PathLike):
        with contextlib.suppress(TypeError, ValueError):
            text = os.fsdecode(value)
            yield text.removeprefix("file://")
            for single, double in QUOTED.findall(text):
                yield single or double
    elif isinstance(value, list | tuple | set | frozenset):
        for each in list(value)[:MANY]:
            yield from paths_in(each)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing itself, but wraps found modules once they are loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in READERS:
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                if spec.loader is not None:
                    _wrap_when_loaded(spec.loader)
                return spec
        return None


def _wrap_when_loaded(loader: Any) -> None:
    original = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        original(module)
        _wrap_all(module)

    loader.exec_module = exec_module


def _wrap_all(module: ModuleType) -> None:
    names = READERS[module.__name__]
    starts = tuple(each[:-1] for each in names if each.endswith("*"))
    for name in [each for each in vars(module) if each in names or (starts and each.startswith(starts))]:
        found = getattr(module, name)
        if isinstance(found, type):
            with contextlib.suppress(TypeError):  # of a compiled class
                found.__init__ = _telling(found.__init__)  # type: ignore[misc]
        elif callable(found):
            setattr(module, name, _telling(found))
    if module.__name__ == "duckdb":
        _wrap_queries(module)


def _wrap_queries(duckdb: Any) -> None:
    connection = duckdb.DuckDBPyConnection
    plain = {duckdb: duckdb.sql, connection: connection.sql}
    for place in plain:
        for name in QUERIES:
            setattr(place, name, _asking(getattr(place, name), plain[place], place is connection))


def _asking(_original: Callable[..., Any], _sql: Callable[..., Any], _is_method: bool) -> Callable[..., Any]:
    @functools.wraps(_original)
    def asking(*_arguments: Any, **_more: Any) -> Any:  # DuckDB looks for frames in its variables first
        _tell(_arguments, _more)
        with contextlib.suppress(Exception):  # the query itself says what is wrong
            _sql(*_arguments[:_is_method], SAME_FRAME)
        return _original(*_arguments, **_more)

    return asking


def _telling(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def telling(*arguments: Any, **more: Any) -> Any:
        _tell(arguments, more)
        return original(*arguments, **more)

    return telling


def _tell(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    if _hear is not None:
        for each in (*arguments, *more.values()):
            for path in paths_in(each):
                _hear(path)
