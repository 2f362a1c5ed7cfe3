"""What is measured: three transformations of a table in Parquet files, and the libraries that do them.

Nothing heavy is imported here, as build scripts need it in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from shortloop.base.types import FloatArray, IntArray
    from shortloop.stages.results import Result

__all__ = [
    "ADDED",
    "APPLY",
    "BYTES",
    "COLUMN",
    "COPIES",
    "COUNT",
    "EXAX",
    "FOLDER",
    "GROUPS",
    "GUIDE",
    "KEY",
    "LIBRARIES",
    "MODIN",
    "NEW",
    "ROW",
    "STEP",
    "TRANSFORMATIONS",
    "TRAP",
    "TRAP_NAME",
    "Aggregates",
    "Library",
    "Work",
    "X",
    "file_name",
    "rows_that_fit",
]

APPLY, COLUMN, GROUPS = "apply", "column", "groups"
TRANSFORMATIONS = {
    APPLY: "a Python function for each row: x + 100 + a random number",
    COLUMN: "a column at once: x + 100 + random numbers",
    GROUPS: "number of rows and sum of every column in each group",
}
KEY, X = "key", "x"
"""Columns of the table: the group, and the one that the new column is made of."""
ROW, NEW, COUNT = "row", "new", "count"
"""The number of a row, in a dataset of exax; columns of results: the new one, and the rows of groups."""
ADDED = 100.0
STEP = 2.0**-10
"""All values are multiples of it, below 2⁹: sums of up to 2³⁴ of them are exact in float64, in any order."""
BYTES = 8
"""Bytes of a value."""
GUIDE = (25_000_000, 50)
"""Rows and columns of the table in the guide whose transformations these are."""
COPIES = 4
"""How often the table must fit into memory: libraries hold it as they read it, and as they compute."""
FOLDER = "table"
"""Folder of the Parquet files, in the folder of the job."""


class Aggregates(NamedTuple):
    """Result of `groups`: counts, (groups,), and sums of all columns but the key, (groups, columns)."""

    counts: IntArray
    sums: FloatArray


@dataclass(frozen=True)
class Work:
    """A table, and the library that works on it.

    rows: rows of each file.
    columns: all columns but the key.
    groups: keys go from 0 to groups - 1.
    workers: cores that the library may use.
    seed: seed of random numbers.
    """

    library: str
    folder: str
    rows: tuple[int, ...]
    columns: tuple[str, ...]
    groups: int
    workers: int
    seed: int

    @classmethod
    def on(cls, table: Result, library: str = "", workers: int = 1, seed: int = 0) -> Work:
        """Work on the table of a job."""
        rows, columns = tuple(table.facts["rows"]), tuple(table.facts["columns"])
        return cls(library, str(table.path / FOLDER), rows, columns, table.facts["groups"], workers, seed)

    def file(self, part: int) -> str:
        """Path of a file."""
        return f"{self.folder}/{file_name(part)}"

    def files(self, parts: Sequence[int]) -> list[str]:
        """Paths of some files."""
        return [self.file(part) for part in parts]

    def generator(self, *names: str | int) -> np.random.Generator:
        """Random numbers of a part of the work, independent of those of other parts and libraries."""
        import numpy as np

        from shortloop.base.seeds import seed_for

        return np.random.default_rng(seed_for(self.seed, "frames", self.library, *names))


def file_name(part: int) -> str:
    """Name of a file of the table."""
    return f"part-{part:06d}.parquet"


def rows_that_fit(rows: int, columns: int, memory: float) -> int:
    """As many rows as fit into memory, in bytes."""
    return max(1, min(rows, int(memory / (COPIES * BYTES * columns))))


class Library(NamedTuple):
    """One way to do the work.

    runner: function of `shortloop.frames.runners`.
    needs: libraries it imports; the version of the first is shown.
    cores: what it uses several cores with: ``"threads"``, ``"processes"``; or ``"one core"``.
    apply, column, groups: how it does each transformation.
    """

    title: str
    runner: str
    needs: tuple[str, ...]
    cores: str
    apply: str
    column: str
    groups: str

    @property
    def is_parallel(self) -> bool:
        """True if it uses several cores."""
        return self.cores != ONE_CORE

    def how(self, transformation: str) -> str:
        """How it does a transformation."""
        found: str = getattr(self, transformation)
        return found


def _runner(name: str) -> str:
    return f"shortloop.frames.runners:{name}"


PANDAS = ("pandas", "pyarrow")
DASK, JOBLIB, ON_RAY = ("dask", *PANDAS), ("joblib", *PANDAS), ("modin", *PANDAS, "ray")
THREADS, PROCESSES, ONE_CORE = "threads", "processes", "one core"
PARTS = ("frame.apply(f, axis=1) of each file", "a column of each file", "groupby of each file, sums added")
ONES = "groupby of a frame with a column of ones: sum"
MAPPED = ("map_partitions of frame.apply(f, axis=1)", "map_partitions", ONES)
WHOLE = ("frame.apply(f, axis=1)", "a column", ONES)
SQL = ("a Python function in SQL, of x", "an expression", "GROUP BY")
EXPRESSIONS = ("map_elements of x", "an expression", "group_by: len and sum")
CALLED = "a compiled function of x, called in a loop"
LOOPS = (CALLED, CALLED, "a compiled loop over rows")
SLICES = (
    "a loop over iterate(slice, x)",
    "an array of iterate(slice, x)",
    "a loop over iterate(slice), hashed by the key",
)
EXAX, MODIN, TRAP_NAME = "exax", "modin", "fork-trap"
LIBRARIES = {
    "pandas": Library("pandas", _runner("pandas"), PANDAS, ONE_CORE, *PARTS),
    "dask-threads": Library("Dask, threads", _runner("dask"), DASK, THREADS, *MAPPED),
    "dask-processes": Library("Dask, processes", _runner("dask"), DASK, PROCESSES, *MAPPED),
    MODIN: Library("Modin on Ray", _runner("modin"), ON_RAY, PROCESSES, *WHOLE),
    "pool": Library("multiprocessing.Pool", _runner("pool"), PANDAS, PROCESSES, *PARTS),
    "joblib-threads": Library("joblib, threads", _runner("joblib"), JOBLIB, THREADS, *PARTS),
    "joblib-processes": Library("joblib, processes", _runner("joblib"), JOBLIB, PROCESSES, *PARTS),
    "polars": Library("Polars", _runner("polars"), ("polars",), THREADS, *EXPRESSIONS),
    "duckdb": Library("DuckDB", _runner("duckdb"), ("duckdb",), THREADS, *SQL),
    "numba": Library("numba", _runner("numba"), ("numba", "pyarrow"), THREADS, *LOOPS),
    EXAX: Library("exax dataset", _runner("exax"), ("accelerator",), PROCESSES, *SLICES),
}
"""By the names that settings have."""
TRAPPED = "a mistake on purpose: forks that draw from NumPy's global state"
TRAP = Library("np.random in forks", _runner("fork_trap"), PANDAS, PROCESSES, "", TRAPPED, "")
"""A mistake on purpose, to see that it is found."""
