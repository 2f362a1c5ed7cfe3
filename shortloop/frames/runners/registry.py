"""The libraries there are. Their modules are not imported here: each is in the keys of its own jobs alone."""

from __future__ import annotations

from typing import NamedTuple

from shortloop.frames.work import APPLY, COLUMN, GROUPS

__all__ = ["EXAX", "LIBRARIES", "MODIN", "ONE_CORE", "TRAP", "TRAP_NAME", "Library"]

ROOM = "shortloop.frames.runners"


class Library(NamedTuple):
    """One way to do the work.

    Parameters
    ----------
    title : str
        What pages call it.
    module : str
        Of its runner.
    needs : tuple of str
        Libraries that must be installed, by the names that they are imported by; the first is shown with its
        version.
    cores : str
        What it uses several cores with: ``"threads"``, ``"processes"``; or ``"one core"``.
    how : dict of str to str
        How it does each transformation.
    """

    title: str
    module: str
    needs: tuple[str, ...]
    cores: str
    how: dict[str, str]


PANDAS = ("pandas", "pyarrow")
THREADS, PROCESSES, ONE_CORE = "threads", "processes", "one core"
IN_PARTS = {
    APPLY: "frame.apply(f, axis=1) of each file",
    COLUMN: "a column of each file",
    GROUPS: "groupby of each file, sums added",
}


def _in(module: str) -> str:
    return f"{ROOM}.{module}"


LIBRARIES = {
    "pandas": Library("pandas", _in("pandas_parts"), PANDAS, ONE_CORE, IN_PARTS),
    "dask-threads": Library(
        "Dask, threads",
        _in("dask_frame"),
        ("dask", *PANDAS),
        THREADS,
        {
            APPLY: "map_partitions of frame.apply(f, axis=1)",
            COLUMN: "map_partitions",
            GROUPS: "groupby of a frame with a column of ones: sum",
        },
    ),
    "dask-processes": Library(
        "Dask, processes",
        _in("dask_frame"),
        ("dask", *PANDAS),
        PROCESSES,
        {
            APPLY: "map_partitions of frame.apply(f, axis=1)",
            COLUMN: "map_partitions",
            GROUPS: "groupby of a frame with a column of ones: sum",
        },
    ),
    "modin": Library(
        "Modin on Ray",
        _in("modin_ray"),
        ("modin", "pandas", "pyarrow", "ray"),
        PROCESSES,
        {
            APPLY: "frame.apply(f, axis=1)",
            COLUMN: "a column",
            GROUPS: "groupby of a frame with a column of ones: sum",
        },
    ),
    "pool": Library("multiprocessing.Pool", _in("pool"), PANDAS, PROCESSES, IN_PARTS),
    "joblib-threads": Library("joblib, threads", _in("joblib_parts"), ("joblib", *PANDAS), THREADS, IN_PARTS),
    "joblib-processes": Library(
        "joblib, processes", _in("joblib_parts"), ("joblib", *PANDAS), PROCESSES, IN_PARTS
    ),
    "polars": Library(
        "Polars",
        _in("polars_frame"),
        ("polars",),
        THREADS,
        {APPLY: "map_elements of x", COLUMN: "an expression", GROUPS: "group_by: len and sum"},
    ),
    "duckdb": Library(
        "DuckDB",
        _in("duckdb_sql"),
        ("duckdb",),
        THREADS,
        {APPLY: "a Python function in SQL, of x", COLUMN: "an expression", GROUPS: "GROUP BY"},
    ),
    "numba": Library(
        "numba",
        _in("numba_threads"),
        ("numba", "pyarrow"),
        THREADS,
        {
            APPLY: "a compiled function of x, called in a loop",
            COLUMN: "a compiled loop over rows",
            GROUPS: "a compiled loop over rows",
        },
    ),
    "exax": Library(
        "exax dataset",
        _in("exax_slices"),
        ("accelerator",),
        PROCESSES,
        {
            APPLY: "a loop over iterate(slice, x)",
            COLUMN: "an array of iterate(slice, x)",
            GROUPS: "a loop over iterate(slice), hashed by the key",
        },
    ),
}
"""By the names that settings have."""
EXAX, MODIN, TRAP_NAME = "exax", "modin", "fork-trap"
TRAP = Library(
    "np.random in forks",
    _in("fork_trap"),
    PANDAS,
    PROCESSES,
    {COLUMN: "multiprocessing.Pool, with the random numbers of NumPy's global state"},
)
"""A mistake on purpose, to see that it is noticed."""
