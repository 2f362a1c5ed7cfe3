"""Every library comes to the right numbers, and the mistake made on purpose is found."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import accelerator.dataset
import numpy as np
import pytest
from frames_tiny import checked, tiny
from source_tree import ROOT

from methods.a_frames_run import FramesRun
from shortloop.base.extras import is_installed
from shortloop.frames.measure import measure
from shortloop.frames.settings import Frames
from shortloop.frames.table import parts_of, result_of
from shortloop.frames.transformations import (
    COLUMN,
    EVERY,
    EXAX,
    GROUPS,
    KEY,
    LIBRARIES,
    MODIN,
    ROW,
    TRANSFORMATIONS,
    TRAP,
    Aggregates,
    Work,
)
from shortloop.keys.closure import closure

APART = "polars"  # its threads are what the environment of a fresh process says
SLOW = ("dask-processes", "joblib-processes")  # which are as their threads, and take seconds to start
HERE = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
    for name in LIBRARIES
    if name not in (EXAX, MODIN, APART)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("table")


def need(name: str) -> None:
    missing = [each for each in LIBRARIES[name].needs if not is_installed(each)]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")


@pytest.mark.parametrize("name", HERE)
def test_it_is_right_about_all_files_and_some(folder: Path, tmp_path: Path, name: str) -> None:
    need(name)
    work = tiny(folder, name)
    with pkgutil.resolve_name(LIBRARIES[name].runner)(work) as run:
        for what in TRANSFORMATIONS:
            assert checked(work, result_of(run(what, range(len(work.rows))), what, work)).wrong == ""
        assert len(result_of(run(COLUMN, [0]), COLUMN, work)) == work.rows[0]
    if name == "pandas":  # groups without rows are there
        work = tiny(tmp_path, name, rows=40, groups=100)
        with pkgutil.resolve_name(LIBRARIES[name].runner)(work) as run:
            few = result_of(run(GROUPS, range(len(work.rows))), GROUPS, work)
        assert checked(work, few).wrong == ""
        assert isinstance(few, Aggregates)
        assert (few.counts == 0).sum() > 50


@pytest.mark.parametrize("what", TRANSFORMATIONS)
@pytest.mark.parametrize("name", [APART, MODIN])
def test_it_is_right_in_a_process_of_its_own(folder: Path, name: str, what: str) -> None:
    python = None
    if name == MODIN:
        environment = os.environ.get("MODIN_ENVIRONMENT")
        if not environment:
            pytest.skip("MODIN_ENVIRONMENT names no environment with Modin")
        python = Path(environment) / "bin" / "python"
    else:
        need(name)
    work = tiny(folder, name)
    measured = measure(work, LIBRARIES[name].runner, what, 1, 100, python)
    assert measured.failed == ""
    assert checked(work, measured.result).wrong == ""
    assert measured.peak
    assert measured.start > 0


class Rows:
    """Rows as exax has them, in slices by the key."""

    def __init__(self, work: Work, slices: int) -> None:
        parts = list(parts_of(work))
        keys = np.concatenate([part[0] for part in parts])
        self._columns = {KEY: keys, ROW: np.arange(len(keys))}
        for number, name in enumerate(work.columns):
            self._columns[name] = np.concatenate([part[1][number] for part in parts])
        self._where = [np.flatnonzero(keys % slices == each) for each in range(slices)]
        self.lines = [len(each) for each in self._where]

    def iterate(self, sliceno: int, columns: str | Sequence[str], status_reporting: bool) -> Iterator[Any]:
        if isinstance(columns, str):
            return iter(self._columns[columns][self._where[sliceno]].tolist())
        return zip(*(self._columns[name][self._where[sliceno]].tolist() for name in columns))


@pytest.mark.parametrize("slices", [1, 3, 9])  # of 9, one has no rows
def test_slices_are_right_together(tmp_path: Path, slices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/live/test_live_frames.py reads a dataset that exax wrote."""
    work = tiny(tmp_path, EXAX, groups=8)
    monkeypatch.setattr(accelerator.dataset, "Dataset", {"main-7": Rows(work, slices)}.__getitem__)
    with pkgutil.resolve_name(LIBRARIES[EXAX].runner)(replace(work, folder=f"{tmp_path}/main-7")) as run:
        run(COLUMN, [0])
        for what in TRANSFORMATIONS:
            assert checked(work, result_of(run(what, range(len(work.rows))), what, work)).wrong == ""


def test_workers_that_draw_the_same_numbers_are_found(folder: Path) -> None:
    work = tiny(folder, TRAP)
    measured = measure(work, EVERY[TRAP].runner, COLUMN, 1, 100)
    assert measured.failed == ""
    found = checked(work, measured.result)
    assert "workers drew the same" in found.wrong
    assert found.repeated == pytest.approx(0.75, abs=0.01)  # four files, the numbers of one
    assert found.ks_p is not None
    assert found.ks_p > 1e-6  # which this test does not notice


def test_random_numbers_of_parts_and_libraries_differ(tmp_path: Path) -> None:
    first, second = tiny(tmp_path, "pool"), tiny(tmp_path, "pandas")
    drawn = [each.random(4) for each in (first.generator(0), first.generator(1), second.generator(0))]
    assert len(np.unique(drawn)) == 12
    np.testing.assert_array_equal(first.generator(1).random(4), drawn[1])


@pytest.mark.parametrize("name", ["polars", "duckdb", "numba", "dask-threads", "pool"])
def test_a_library_is_in_the_keys_of_its_own_jobs_alone(name: str) -> None:
    library = LIBRARIES[name]
    named = FramesRun.modules({"runner": library.runner, "needs": list(library.needs)})
    modules, libraries = closure(ROOT / "methods" / "a_frames_run.py", named)
    assert {f"shortloop.frames.{each}" for each in ("measure", "runners", "table")} <= modules.keys()
    # The checks and the table need these, whatever is measured.
    others = {each for other in LIBRARIES.values() for each in other.needs} - {*library.needs, "pyarrow"}
    assert {*library.needs} <= libraries
    assert libraries & others == set()


def test_settings_name_every_library() -> None:
    assert Frames(name="a").libraries == tuple(LIBRARIES)
    assert Frames(name="a").transformations == TRANSFORMATIONS
    for wrong in ({"libraries": ["excel"]}, {"transformations": ["rows"]}, {"libraries": ["numba"] * 2}):
        with pytest.raises(ValueError, match=r"excel|rows|named twice|pandas|apply"):
            Frames(name="a", **wrong)
