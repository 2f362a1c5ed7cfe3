"""Every library comes to the right numbers, and the mistake made on purpose is noticed."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import numpy as np
import pytest
from frames_tiny import checked, tiny
from house import ROOT

from shortloop.extras import is_installed
from shortloop.frames.measure import measure
from shortloop.frames.runners.registry import EXAX, LIBRARIES, MODIN, TRAP, TRAP_NAME
from shortloop.frames.settings import Frames
from shortloop.frames.stages.frames_run import FramesRun
from shortloop.frames.work import COLUMN, GROUPS, TRANSFORMATIONS
from shortloop.jobs.keys.closure import closure

# It is told its threads by the environment, so it runs in a fresh process only.
APART = ("polars",)
SLOW = ("dask-processes", "joblib-processes")  # which are as their threads, and take seconds to start
HERE = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
    for name in LIBRARIES
    if name not in (EXAX, MODIN, *APART)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("table")


def need(name: str) -> None:
    missing = [each for each in LIBRARIES[name].needs if not is_installed(each)]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")


@pytest.mark.parametrize("name", HERE)
def test_it_is_right_about_all_files_and_some(folder: Path, name: str) -> None:
    need(name)
    work = tiny(folder, name)
    runner = importlib.import_module(LIBRARIES[name].module).RUNNER(work)
    try:
        runner.start()
        for transformation in TRANSFORMATIONS:
            found = runner.run(transformation, range(len(work.rows)))
            if transformation == GROUPS:
                assert checked(work, None, runner.aggregates(found)).wrong == ""
            else:
                assert checked(work, runner.values(found), None).wrong == ""
        few = runner.values(runner.run(COLUMN, [0]))
        assert len(few) == work.rows[0]
    finally:
        runner.close()


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("name", APART)
def test_it_is_right_in_a_process_of_its_own(folder: Path, name: str, transformation: str) -> None:
    need(name)
    work = tiny(folder, name)
    measured = measure(work, LIBRARIES[name].module, transformation, 1, 100)
    assert measured.failed == ""
    assert checked(work, measured.values, measured.aggregates).wrong == ""
    assert measured.timed.peak
    assert measured.timed.start > 0


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_modin_is_right_in_its_environment(folder: Path, transformation: str) -> None:
    environment = os.environ.get("SHORTLOOP_MODIN")
    if not environment:
        pytest.skip("SHORTLOOP_MODIN names no environment with Modin")
    work = tiny(folder, MODIN)
    python = Path(environment) / "bin" / "python"
    measured = measure(work, LIBRARIES[MODIN].module, transformation, 1, 100, python)
    assert measured.failed == ""
    assert checked(work, measured.values, measured.aggregates).wrong == ""


def test_workers_that_draw_the_same_numbers_are_noticed(folder: Path) -> None:
    work = tiny(folder, TRAP_NAME)
    measured = measure(work, TRAP.module, COLUMN, 1, 100)
    assert measured.failed == ""
    found = checked(work, measured.values, None)
    assert "drew the same numbers" in found.wrong
    assert found.repeated == pytest.approx(0.5, abs=0.01)  # two workers, the numbers of one
    assert found.ks_p is not None
    assert found.ks_p > 1e-6  # which this test does not notice


def test_groups_without_rows_are_there(tmp_path: Path) -> None:
    work = tiny(tmp_path, "pandas", rows=40, groups=100)
    runner = importlib.import_module(LIBRARIES["pandas"].module).RUNNER(work)
    found = runner.aggregates(runner.run(GROUPS, range(len(work.rows))))
    assert checked(work, None, found).wrong == ""
    assert (found.counts == 0).sum() > 50


def test_random_numbers_of_parts_and_libraries_are_others(tmp_path: Path) -> None:
    first, second = tiny(tmp_path, "pool"), tiny(tmp_path, "pandas")
    drawn = [each.random(4) for each in (first.generator(0), first.generator(1), second.generator(0))]
    assert len(np.unique(drawn)) == 12
    np.testing.assert_array_equal(first.generator(1).random(4), drawn[1])


@pytest.mark.parametrize("name", ["polars", "duckdb", "numba", "dask-threads", "pool"])
def test_a_library_is_in_the_keys_of_its_own_jobs_alone(name: str) -> None:
    named = FramesRun.modules({"module": LIBRARIES[name].module})
    modules, libraries = closure(ROOT / "methods" / "a_frames_run.py", named)
    assert {"shortloop.frames.child", "shortloop.frames.timing", LIBRARIES[name].module} <= modules.keys()
    others = {each for other in LIBRARIES.values() for each in other.needs} - {*LIBRARIES[name].needs}
    assert {*LIBRARIES[name].needs} <= libraries
    assert libraries & others == set()


def test_settings_name_every_library() -> None:
    assert Frames(name="a").libraries == tuple(LIBRARIES)
    assert Frames(name="a").transformations == tuple(TRANSFORMATIONS)
    assert all(library.how.keys() == TRANSFORMATIONS.keys() for library in LIBRARIES.values())
