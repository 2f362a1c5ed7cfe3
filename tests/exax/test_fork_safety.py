"""Which threads keep a process from being forked: those that its forks would lack."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs_project import fresh_python

STARTED = {
    "nothing": ("", ""),
    "numpy": ("import numpy as np; np.ones((99, 99)) @ np.ones((99, 99))", ""),
    "arrow": ("import pyarrow as pa, pandas as pd; pa.table({'a': [1]}).to_pandas()", ""),
    "parquet": (
        "import io, pandas as pd; pd.read_parquet(io.BytesIO(pd.DataFrame({'a': [1]}).to_parquet()))",
        "",
    ),
    "polars, imported": ("import polars", ""),
    "polars": ("import polars as pl; pl.DataFrame({'a': [1, 2]}).group_by('a').len()", "polars"),
    "duckdb": ("import duckdb; c = duckdb.connect()", "duckdb"),
    "a pool": (
        "from concurrent.futures import ThreadPoolExecutor as P; p = P(1); p.submit(abs, 1).result()",
        "the thread ThreadPoolExecutor-0_0",
    ),
    "a pool that has ended": (
        "from concurrent.futures import ThreadPoolExecutor as P\nwith P(1) as p: p.submit(abs, 1).result()",
        "",
    ),
}
# A process that another has forked, as each job is.
FORKED = """
import os
if os.fork():
    raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))
{code}
from shortloop.exax.unit_processes import threads_lost_by_fork
print(*threads_lost_by_fork(), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("name", STARTED)
def test_threads_are_told_by_what_has_started_them(name: str, tmp_path: Path) -> None:
    code, owner = STARTED[name]
    said = fresh_python(FORKED.format(code=code), tmp_path, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    assert owner in said
    assert bool(owner) == bool(said.strip())
