"""Units that a process reads from the file of another are those that it would have found itself."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import first_cases

from shortloop.base.plain import Plain
from shortloop.stages.content import content_of
from shortloop.units.shared_units import UnitFile, Written, can_be_written, write_units

NUMBERS = np.random.default_rng(5).standard_normal((500, 4))
TEXTS: list[Any] = ["x", "yy", "", None, "z"]
FRAME = pd.DataFrame(NUMBERS, columns=[*"abcd"]).assign(
    text=TEXTS * 100,
    kind=pd.Categorical(["u", None, "v", "u", "v"] * 100, categories=["v", "u", "none"], ordered=True),
    day=pd.date_range("2020", periods=500, tz="Europe/Stockholm"),
    whole=pd.array([1, None, 3, 4, 5] * 100, dtype="Int64"),
    lists=pd.Series([[1, 2], [], None, [3.5], ["a"]] * 100),
    firm=np.arange(500) * 7 % 11,
)
MORE = pl.DataFrame({"a": NUMBERS[:, 0], "text": ["x", None] * 250, "lists": [[1], []] * 250}).with_columns(
    pl.col("text").cast(pl.Categorical).alias("kind"), (pl.col("a") > 0).alias("firm")
)
UNITS: dict[str, list[Any]] = {
    "interleaved": [rows for _, rows in FRAME.groupby("firm")],
    "sorted": [rows for _, rows in FRAME.sort_values("firm").groupby("firm")],
    "one giant": [FRAME, FRAME.iloc[:1]],
    "slices": [FRAME.iloc[start : start + 9] for start in range(0, 500, 9)],
    "every third row": [FRAME.iloc[start::3] for start in range(3)],
    "empty groups": [rows for _, rows in FRAME.groupby("kind", observed=False, dropna=False)]
    + [FRAME.iloc[:0]],
    "null keys": [rows for _, rows in FRAME.groupby("whole", dropna=False)],
    "an index": [rows for _, rows in FRAME.set_index("day").groupby("firm")],
    "several levels": [rows for _, rows in FRAME.set_index(["firm", "text"]).groupby(level="firm")],
    "columns of several levels": [pd.concat({"one": FRAME[["a"]], "two": FRAME[["b"]]}, axis=1)],
    "series": [rows for _, rows in FRAME.groupby("firm")["a"]] + [FRAME["text"], FRAME["lists"]],
    "objects": [FRAME.astype({"text": object}), pd.DataFrame({"x": [1, "a", None, (1, 2)]})],
    "polars": [rows for _, rows in MORE.group_by("firm")] + [MORE[3:7], MORE["lists"], MORE.sort("a")],
    "arrays": [
        NUMBERS,
        NUMBERS.T,
        NUMBERS[:, 1],
        NUMBERS[::-1, 0],
        NUMBERS[:0],
        np.array("text"),
        NUMBERS[0, 0],
    ],
    "several": [{"rows": FRAME, "other": (MORE, [1, 2.5, None, "x"])}, (NUMBERS, FRAME["a"])],
}


def written(folder: Path, reads: list[Any]) -> UnitFile:
    names: list[Plain] = [f"u{number}" for number in range(len(reads))]
    write_units(folder / "units", reads, Written(names, [1.0] * len(reads), [], {}, []))
    found = UnitFile(folder / "units")
    (folder / "units").unlink()  # it is open
    return found


@pytest.mark.parametrize("name", UNITS)
def test_units_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    reads = UNITS[name]
    assert all(map(can_be_written, reads))
    found = written(tmp_path, reads)
    assert len(found) == len(reads)
    for unit in (*range(len(reads)), 0):
        assert content_of(found[unit], str) == content_of(reads[unit], str)
        assert type(found[unit]) is type(reads[unit])
    for one, two in zip(found, reads, strict=True):
        if isinstance(one, np.ndarray) and two.size:
            assert one.strides == two.copy(order="K").strides


@pytest.mark.parametrize(
    "value",
    [
        NUMBERS[:, 1:3].T,
        np.array([1, "a"], dtype=object),
        pl.concat([MORE["a"], MORE["a"]], rechunk=False),
        MORE.lazy(),
        pd.Series(pd.arrays.SparseArray([0.0, 0, 1])),
        pd.concat([pd.Series([0.5], dtype="float64[pyarrow]")] * 2),
        [object()],
        {1: {2}},
        iter([1]),
    ],
)
def test_what_pickle_lays_out_anew_is_not_written(value: object) -> None:
    assert not can_be_written(value)


def test_a_file_that_is_cut_short_is_an_error(tmp_path: Path) -> None:
    names: list[Plain] = ["a", "b"]
    write_units(tmp_path / "units", [NUMBERS, NUMBERS], Written(names, [1.0, 1.0], [], {}, []))
    found = UnitFile(tmp_path / "units")
    os.truncate(tmp_path / "units", 100)
    with pytest.raises(EOFError):
        found[1]


STAGES = """
import os
import numpy as np
import pandas as pd
from shortloop import File, Job, stage

SCALE = {}

def table(file):
    with open(os.environ["READS"], "a") as stream:
        stream.write("x")
    rng = np.random.default_rng(1)
    numbers = rng.random((400_000, 2))
    return pd.DataFrame(numbers, columns=["x", "y"]).assign(k=rng.integers(0, 9, 400_000))

def groups(file: File):
    return table(file).groupby("k")

@stage(units=groups)
def plain(rows):
    rows["x"] += 1
    return {"sum": rows["x"].sum(), "dot": rows["x"].to_numpy() @ rows["y"].to_numpy()}

def stateful(file: File):
    found = table(file)
    SCALE["x"] = found["x"].mean()
    return found.groupby("k")

@stage(units=stateful)
def leaves_state(rows):
    return {"sum": rows["x"].sum() * SCALE["x"]}

def settings(file: File):
    np.seterr(all="raise")
    return table(file).groupby("k")

@stage(units=settings)
def sets_numpy(rows):
    return {"sum": rows["x"].sum(), "state": np.geterr()["over"]}

def imports(file: File):
    import wave
    wave.scale = 2.0
    return table(file).groupby("k")

@stage(units=imports)
def imports_late(rows):
    import sys
    return {"sum": rows["x"].sum(), "there": "wave" in sys.modules}

def fails(file: File):
    table(file)
    raise ValueError("not today")

@stage(units=fails)
def never(rows):
    return {}

def small(file: File):
    return {k: len(rows) for k, rows in table(file).groupby("k")}

@stage(units=small)
def counts(rows):
    return {"count": rows}

def lazy(file: File):
    import polars as pl
    return [(k, pl.from_pandas(rows).lazy()) for k, rows in table(file).groupby("k")]

@stage(units=lazy)
def of_lazy(rows):
    return {"sum": rows.collect()["x"].sum()}
"""
PROCESS = """
import os, sys, pickle
from pathlib import Path
from shortloop.units import shared_units
shared_units.WORTH = 4_000_000
from shortloop.units.shared_units import open_shared, withdraw
from shortloop.stages.output import computed
from shortloop.stages.results import Where
from shortloop.stages.task import Task, costs_of, open_stage
kind, mine, how = sys.argv[1:]
task = Task(kind, "stages", kind, None, {"file": "abc data"}, {}, where=Where({"abc data": Path("data")}))
stage = open_stage(task) if how == "alone" else open_shared(task, {"task": kind}, Path(mine))
units = range(len(costs_of(stage)))
rows = [computed(stage, unit) for unit in units]
print(pickle.dumps([[*map(stage.unit_name, units)], costs_of(stage), rows]).hex())
sys.stdout.flush()
if how == "first":
    sys.stdin.read()
    withdraw()
"""


@pytest.fixture
def stages(tmp_path: Path) -> Path:
    (tmp_path / "stages.py").write_text(STAGES)
    (tmp_path / "process.py").write_text(textwrap.dedent(PROCESS))
    (tmp_path / "data").write_bytes(bytes(5_000_000))
    for name in ("one", "two", "tmp"):
        (tmp_path / name).mkdir()
    return tmp_path


def started(folder: Path, kind: str, mine: str, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "process.py", kind, mine, how],
        cwd=folder,
        env={**os.environ, "READS": str(folder / "reads"), "TMPDIR": str(folder / "tmp")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@first_cases(
    2,
    ("kind", "reads"),
    [
        ("plain", 1),
        ("leaves_state", 3),  # the fork that tries, and each process
        ("sets_numpy", 3),
        ("counts", 1),  # who finds them holds much
        ("imports_late", 1),
        ("of_lazy", 3),
    ],
)
def test_processes_of_a_node_give_the_same_rows(stages: Path, kind: str, reads: int) -> None:
    first = started(stages, kind, "one", "first")
    assert first.stdout is not None
    assert first.stderr is not None
    one = first.stdout.readline()
    assert one, first.stderr.read()
    two, said = started(stages, kind, "two", "other").communicate()
    assert two == one, said
    assert (stages / "reads").read_text() == "x" * reads
    first.communicate("")
    assert not [*(stages / "tmp").iterdir()]
    alone, said = started(stages, kind, "two", "alone").communicate()
    assert alone == one, said


def test_an_error_of_who_finds_the_units_is_raised_as_always(stages: Path) -> None:
    for name in ("one", "two"):
        _, said = started(stages, "never", name, "other").communicate()
        assert "ValueError: not today" in said.splitlines()[-1]


def test_a_file_whose_process_was_killed_is_written_again(stages: Path) -> None:
    first = started(stages, "plain", "one", "first")
    assert first.stdout is not None
    one = first.stdout.readline()
    first.kill()
    first.wait()
    (stages / "one" / ".units").unlink()  # as the forkserver does
    two, said = started(stages, "plain", "two", "other").communicate()
    assert two == one, said
    assert (stages / "reads").read_text() == "xx"
