"""Runners: one context manager for each data frame library.

A runner does what is not timed (imports, workers, compiling), yields the function that does the work, and
ends the workers. That function takes a transformation and numbers of files, and returns columns by name: the
new column, or keys, counts and sums. Libraries are imported by name: else all would be in the key of each
measurement.
"""

from __future__ import annotations

import glob
import multiprocessing
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, cast

import numpy as np

from shortloop.frames.transformations import ADDED, APPLY, COLUMN, COUNT, GROUPS, KEY, NEW, ROW, TRAP, Work, X

Columns = Mapping[str, Any]
Run = Callable[[str, Sequence[int]], Columns]
BACKENDS = {"joblib-threads": "threading", "joblib-processes": "loky"}
_load: Callable[[str], Any] = import_module  # keys would see the names in calls of `import_module` itself
_shared: Any = None  # the dataset that forks read


@contextmanager
def pandas(work: Work) -> Iterator[Run]:
    """pandas on one core, file by file."""
    _one_thread()
    yield lambda what, parts: _joined([_of_part(work, what, part) for part in parts], what)


@contextmanager
def pool(work: Work) -> Iterator[Run]:
    """pandas in a pool of forks; that of the known mistake has a new fork for each file."""
    _one_thread()
    trap = work.library == TRAP
    if trap:
        np.random.seed(work.seed)  # noqa: NPY002  all forks inherit this state, which is the mistake
    forks = multiprocessing.get_context("fork").Pool(work.workers, maxtasksperchild=1 if trap else None)
    with forks:
        yield lambda what, parts: _joined(forks.map(partial(_of_part, work, what), parts, chunksize=1), what)


@contextmanager
def joblib(work: Work) -> Iterator[Run]:
    """pandas in joblib's threads or processes, which are reused."""
    library = _load("joblib")
    _one_thread()
    backend, of_part = BACKENDS[work.library], library.delayed(_of_part)
    with library.Parallel(work.workers, backend=backend, batch_size=1) as parallel:
        yield lambda what, parts: _joined(parallel(of_part(work, what, part) for part in parts), what)
    if backend == "loky":
        _load("joblib.externals.loky").get_reusable_executor().shutdown(wait=True, kill_workers=True)


@contextmanager
def dask(work: Work) -> Iterator[Run]:
    """Dask's lazy frame over all files, on its threads or processes."""
    library, dd = _load("dask"), _load("dask.dataframe")
    _one_thread()
    workers, scheduler = work.workers, work.library.removeprefix("dask-")
    executor: Executor = ThreadPoolExecutor(workers)
    how: dict[str, Any] = {"scheduler": scheduler, "num_workers": workers}
    if scheduler == "processes":
        executor = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _one_thread)
        how["chunksize"] = 1  # Dask's own batches of six are too few for all workers

    def run(what: str, parts: Sequence[int]) -> Columns:
        frame = dd.read_parquet([*map(glob.escape, work.files(parts))], engine="pyarrow")
        if what == GROUPS:
            made = frame.assign(**{COUNT: 1}).groupby(KEY).sum()
        else:
            read = frame if what == APPLY else frame[[X]]
            made = read.map_partitions(_of_partition, work, what, meta=(None, "f8"))
        with library.config.set({**how, "pool": executor}):
            # Without `optimize`, reading is a task of its own: what a process has read comes back here, and
            # goes to a process again with the next task.
            found = made.optimize().compute()
        return found.reset_index() if what == GROUPS else {NEW: found}

    with executor:
        yield run


@contextmanager
def modin(work: Work) -> Iterator[Run]:
    """Modin on Ray: a frame that Ray's workers hold."""
    config, pd, ray = _load("modin.config"), _load("modin.pandas"), _load("ray")
    config.Engine.put("Ray")
    config.CpuCount.put(work.workers)
    config.NPartitions.put(work.workers)
    ray.init(num_cpus=work.workers, include_dashboard=False, log_to_driver=False)

    def run(what: str, parts: Sequence[int]) -> Columns:
        files = work.folder if len(parts) == len(work.rows) else work.file(parts[0])
        frame = pd.read_parquet(files, engine="pyarrow", columns=[X] if what == COLUMN else None)
        if what == GROUPS:
            grouped = frame.assign(**{COUNT: 1}).groupby(KEY).sum()
            return cast("Columns", grouped.modin.to_pandas().reset_index())
        if what == APPLY:
            return {NEW: frame.apply(_modin_row, axis=1).modin.to_pandas()}
        return {NEW: (frame[X] + ADDED + work.generator().random(len(frame))).modin.to_pandas()}

    yield run
    ray.shutdown()


@contextmanager
def polars(work: Work) -> Iterator[Run]:
    """Polars: a lazy frame over all files, on threads of its own."""
    pl = _load("polars")
    assert pl.thread_pool_size() == work.workers  # as the environment of this process says

    def run(what: str, parts: Sequence[int]) -> Columns:
        frame, rng = pl.scan_parquet(work.files(parts), glob=False), work.generator()
        if what == GROUPS:
            made = frame.group_by(KEY).agg(pl.len().alias(COUNT), pl.col(work.columns).sum())
            return cast("Columns", made.collect())
        if what == APPLY:
            made = pl.col(X).map_elements(lambda x: x + ADDED + rng.random(), return_dtype=pl.Float64)
        else:
            made = pl.col(X) + ADDED + pl.lit(pl.Series(rng.random(sum(work.rows[part] for part in parts))))
        return cast("Columns", frame.select(made.alias(NEW)).collect())

    yield run


@contextmanager
def duckdb(work: Work) -> Iterator[Run]:
    """DuckDB: SQL over all files, on threads of its own; its random numbers differ each time."""
    base = _load("duckdb").connect(config={"threads": work.workers})
    draw = work.generator().random
    base.create_function("of_row", lambda x: x + ADDED + draw(), ["DOUBLE"], "DOUBLE", side_effects=True)
    sums = ", ".join(f"sum({name}) AS {name}" for name in work.columns)
    query = {
        APPLY: f"SELECT of_row({X}) AS {NEW} FROM read_parquet($files)",
        COLUMN: f"SELECT {X} + {ADDED} + random() AS {NEW} FROM read_parquet($files)",
        GROUPS: f"SELECT {KEY}, count(*) AS {COUNT}, {sums} FROM read_parquet($files) GROUP BY {KEY}",
    }
    yield lambda what, parts: base.execute(query[what], {"files": work.files(parts)}).fetchnumpy()
    base.close()


@contextmanager
def numba(work: Work) -> Iterator[Run]:
    """numba: compiled code in threads, each of which takes the next file."""
    nb, pq = _load("numba"), _load("pyarrow.parquet")
    _load("pyarrow").set_cpu_count(1)  # threads share the work already

    @nb.njit(nogil=True)
    def of_row(x: Any, drawn: Any) -> Any:
        return x + ADDED + drawn

    @nb.njit(nogil=True)
    def of_rows(x: Any, rng: Any, made: Any) -> None:
        for row in range(len(x)):
            made[row] = of_row(x[row], rng.random())

    @nb.njit(nogil=True)
    def add(keys: Any, values: Any, sums: Any) -> None:
        for row in range(len(keys)):
            sums[keys[row]] += values[row]

    def read(part: int, columns: list[str]) -> list[np.ndarray]:
        table = pq.read_table(work.file(part), columns=columns, use_threads=False)
        return [table[name].to_numpy() for name in columns]

    def new(part: int) -> np.ndarray:
        (x,) = read(part, [X])
        made = np.empty(len(x))
        of_rows(x, work.generator(part), made)
        return made

    def grouped(part: int) -> np.ndarray:
        keys, *columns = read(part, [KEY, *work.columns])
        sums = np.zeros((1 + len(columns), work.groups))
        for column, each in zip([np.ones(len(keys)), *columns], sums):
            add(keys, column, each)
        return sums

    def run(what: str, parts: Sequence[int]) -> Columns:
        if what != GROUPS:
            return {NEW: np.concatenate([*threads.map(new, parts)])}
        columns = np.vstack([np.arange(work.groups), sum(threads.map(grouped, parts))])
        return dict(zip((KEY, COUNT, *work.columns), columns))

    with ThreadPoolExecutor(work.workers) as threads:
        yield run


@contextmanager
def exax(work: Work) -> Iterator[Run]:
    """exax: a loop over the rows of each slice of a dataset, the job in the folder, in forks."""
    workdir, _, job = work.folder.rpartition("/")
    _load("accelerator.job").WORKDIRS[job.rpartition("-")[0]] = workdir
    rows = _load("accelerator.dataset").Dataset(job)
    slices = range(len(rows.lines))
    places = [np.fromiter(rows.iterate(each, ROW, status_reporting=False), np.int64) for each in slices]

    global _shared
    _shared = rows

    def run(what: str, parts: Sequence[int]) -> Columns:
        chosen = slices if len(parts) == len(work.rows) else slices[: len(parts)]
        done = forks.map(partial(_of_slice, work, what), chosen, chunksize=1)
        if what != GROUPS:
            made = np.full(sum(work.rows), np.nan)
            for each, values in zip(chosen, done):
                made[places[each]] = values
            return {NEW: made}
        return dict(zip((KEY, COUNT, *work.columns), np.concatenate(done, axis=1)))

    with multiprocessing.get_context("fork").Pool(work.workers) as forks:
        yield run


def _one_thread() -> None:
    """Make pyarrow read in the calling thread; import what forks share."""
    arrow, *_ = map(_load, ("pyarrow", "pandas", "pyarrow.dataset", "pyarrow.parquet"))
    arrow.set_cpu_count(1)
    arrow.set_io_thread_count(1)


def _of_part(work: Work, what: str, part: int) -> Any:
    _one_thread()  # also in spawned processes
    rng: Any = np.random if work.library == TRAP else work.generator(part)
    how = {"engine": "pyarrow", "columns": [X] if what == COLUMN else None, "use_threads": False}
    frame = _load("pandas").read_parquet(work.file(part), **how)
    if what != GROUPS:
        return _new_column(frame, what, rng)
    groups = frame.groupby(KEY)
    return groups.sum().assign(**{COUNT: groups.size()})


def _new_column(frame: Any, what: str, rng: Any) -> Any:
    if what == APPLY:
        return frame.apply(lambda row: row[X] + ADDED + rng.random(), axis=1)
    return frame[X] + ADDED + rng.random(len(frame))


def _joined(done: Sequence[Any], what: str) -> Columns:
    pd = _load("pandas")
    if what == GROUPS:
        return cast("Columns", pd.concat(done).groupby(level=0).sum().reset_index())
    return {NEW: pd.concat(done, ignore_index=True)}


def _of_partition(frame: Any, work: Work, what: str, partition_info: Any = None) -> Any:
    assert partition_info is not None  # else all partitions would draw the same numbers
    return _new_column(frame, what, work.generator(int(partition_info["number"])))


def _modin_row(row: Any) -> Any:
    # Each of Ray's workers starts anew and seeds this itself; a generator would reach each as a copy.
    return row[X] + ADDED + random.random()


def _of_slice(work: Work, what: str, sliceno: int) -> np.ndarray:
    """The new column; or keys, counts and sums: (2 + columns, groups)."""
    rng, iterate = work.generator(sliceno), partial(_shared.iterate, sliceno, status_reporting=False)
    if what == APPLY:
        draw = rng.random
        return np.array([x + ADDED + draw() for x in iterate(X)])
    if what == COLUMN:
        x = np.fromiter(iterate(X), np.float64, _shared.lines[sliceno])
        return x + ADDED + rng.random(len(x))
    found: dict[int, list[float]] = {}
    for key, *values in iterate([KEY, *work.columns]):
        sums = found.get(key)
        found[key] = [1, *values] if sums is None else [a + b for a, b in zip(sums, (1, *values))]
    numbers = np.array([*found.values()], np.float64).reshape(len(found), 1 + len(work.columns))
    return np.vstack([np.array([*found], np.float64), numbers.T])
