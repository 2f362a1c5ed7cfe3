"""Which threads keep a process from being forked, and what tells jobs from later ones of the same id."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from jobs_project import CONFIGURATION, fresh_python

from shortloop.exax.unit_processes import states_above
from shortloop.stages.task import Folders, Task

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


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "accelerator.conf").write_text(CONFIGURATION, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "workdirs/main"


def finish(folder: Path, started: float) -> None:
    folder.mkdir(parents=True)
    (folder / "setup.json").write_text("{}", encoding="utf-8")
    (folder / "post.json").write_text(json.dumps({"starttime": started}), encoding="utf-8")


def states(*jobs: Folders, before: str | None = None) -> list[object]:
    named = {str(number): each for number, each in enumerate(jobs)}
    return [*states_above(Task("a", "methods.a_a", "A", None, {}, named, before))]


def test_a_job_of_the_same_id_is_another_one(workdir: Path) -> None:
    one, two = workdir / "main-1", workdir / "main-2"
    finish(one, 1.0)
    finish(two, 2.0)
    before = states(str(one), [str(two)], None)
    assert before == states([str(one), str(two)], None, []) == states(str(one), before=str(two))
    assert len({str(each) for each in before}) == 2
    assert states("main-1/default", ["main-2/rows"]) == before  # of datasets
    shutil.rmtree(one)
    assert states(str(one), [str(two)], None) != before
    finish(one, 1.0)
    os.utime(one / "post.json", ns=(0, 0))
    after = states(str(one), [str(two)], None)
    assert after[0] != before[0]
    assert after[1] == before[1]
