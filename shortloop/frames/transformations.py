"""Transformations of a Parquet table, and the libraries that are timed on them.

Build scripts import this module in every run, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from shortloop.base.types import FloatArray, IntArray
    from shortloop.stages.results import Result

APPLY, COLUMN, GROUPS = "apply", "column", "groups"
TRANSFORMATIONS = (APPLY, COLUMN, GROUPS)
KEY, X = "key", "x"  # columns of the table: the group, and the input of APPLY and COLUMN
ROW, NEW, COUNT = "row", "new", "count"  # row number in an exax dataset; new column; rows of each group
ADDED = 100.0
STEP = 2.0**-10  # all values are multiples, below 2⁹: sums of up to 2³⁴ are exact in float64, in any order
BYTES = 8  # of a value
GUIDE = (25_000_000, 50)  # rows and columns of the table in the guide that the transformations come from
COPIES = 4  # how often the table must fit into memory: libraries hold it as they read it, and as they compute
FOLDER = "table"  # of the Parquet files, in the folder of the job


class Aggregates(NamedTuple):
    """Result of `groups`: counts, (groups,), and sums of all columns but the key, (groups, columns)."""

    counts: IntArray
    sums: FloatArray


@dataclass(frozen=True)
class Work:
    """A table in Parquet files, and the library that works on it."""

    library: str
    folder: str
    rows: tuple[int, ...]  # of each file
    columns: tuple[str, ...]  # without the key
    groups: int  # keys are 0 to groups - 1
    workers: int  # cores that the library may use
    seed: int

    @classmethod
    def on(cls, table: Result, library: str = "", workers: int = 1, seed: int = 0) -> Work:
        rows, columns = tuple(table.facts["rows"]), tuple(table.facts["columns"])
        return cls(library, str(table.path / FOLDER), rows, columns, table.facts["groups"], workers, seed)

    def file(self, part: int) -> str:
        return f"{self.folder}/{file_name(part)}"

    def files(self, parts: Sequence[int]) -> list[str]:
        return [*map(self.file, parts)]

    def generator(self, *names: str | int) -> np.random.Generator:
        """Generator of one part of the work, independent of those of other parts and libraries."""
        import numpy as np

        from shortloop.base.seeds import seed_for

        return np.random.default_rng(seed_for(self.seed, "frames", self.library, *names))


def file_name(part: int) -> str:
    return f"part-{part:06d}.parquet"


def rows_that_fit(rows: int, columns: int, memory: float) -> int:
    """Largest number of rows, up to `rows`, that fits `COPIES` times into `memory` bytes."""
    return max(1, min(rows, int(memory / (COPIES * BYTES * columns))))


class Library(NamedTuple):
    title: str
    function: str  # of shortloop.frames.runners
    needs: tuple[str, ...]  # libraries that it imports; the report shows the version of the first
    cores: str  # "threads", "processes" or "one core"
    how: str

    @property
    def runner(self) -> str:
        return f"shortloop.frames.runners:{self.function}"


PANDAS = ("pandas", "pyarrow")
DASK, JOBLIB, ON_RAY = ("dask", *PANDAS), ("joblib", *PANDAS), ("modin", *PANDAS, "ray")
THREADS, PROCESSES, ONE_CORE = "threads", "processes", "one core"
FILES, FRAME = "frames of rows, file by file", "one frame of rows"
EXAX, MODIN, TRAP = "exax", "modin", "fork-trap"  # the trap is a mistake, to show that checks find it
LIBRARIES = {  # by the names that settings use
    "pandas": Library("pandas", "pandas", PANDAS, ONE_CORE, FILES),
    "dask-threads": Library("Dask, threads", "dask", DASK, THREADS, FRAME),
    "dask-processes": Library("Dask, processes", "dask", DASK, PROCESSES, FRAME),
    MODIN: Library("Modin on Ray", "modin", ON_RAY, PROCESSES, FRAME),
    "pool": Library("multiprocessing.Pool", "pool", PANDAS, PROCESSES, FILES),
    "joblib-threads": Library("joblib, threads", "joblib", JOBLIB, THREADS, FILES),
    "joblib-processes": Library("joblib, processes", "joblib", JOBLIB, PROCESSES, FILES),
    "polars": Library("Polars", "polars", ("polars",), THREADS, "expressions, map_elements of x"),
    "duckdb": Library("DuckDB", "duckdb", ("duckdb",), THREADS, "SQL, a Python function of x"),
    "numba": Library("numba", "numba", ("numba", "pyarrow"), THREADS, "compiled loops, a function of x"),
    EXAX: Library("exax dataset", "exax", ("accelerator",), PROCESSES, "loops over iterate(slice)"),
}
MISTAKE = "a mistake on purpose: NumPy's global state"
EVERY = {**LIBRARIES, TRAP: Library("np.random in forks", "pool", PANDAS, PROCESSES, MISTAKE)}
