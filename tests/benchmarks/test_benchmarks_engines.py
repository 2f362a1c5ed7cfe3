"""What a unit costs on an engine is what the work alone does not explain; peers compute all of it."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from benchmarks import engines_overhead, engines_plain, ours
from benchmarks.__main__ import main
from benchmarks.engines import table_of_speedup, tables_of_overhead
from benchmarks.engines_decode import WORKS, opened
from benchmarks.engines_overhead import COUNTERPARTS, TARGETS, floor_seconds, overhead
from benchmarks.engines_plain import PEERS, not_installed, plain
from benchmarks.engines_project import ENGINES, EngineProject
from benchmarks.engines_speedup import SYSTEMS, Decoding, ladder, speedups
from benchmarks.engines_spin import bytes_for, spin
from benchmarks.measure import interleaved, ratio, seconds_of, spread, with_interval
from benchmarks.options import Options
from benchmarks.plots import LOOKS
from benchmarks.thesis_data import QUICK, simulate
from shortloop.eeg.decoding.metrics.scores import recall_scores
from shortloop.eeg.decoding.permute import permuted_labels


def test_spread_and_ratio_of_some_measurements() -> None:
    assert spread([3.0, 1.0, 2.0]) == {"median": 2.0, "min": 1.0, "max": 3.0, "values": [3.0, 1.0, 2.0]}
    assert spread(np.array([1.0, 2.0]))["median"] == 1.5
    # In the second run the machine was ten times slower; ratios do not see it.
    assert ratio([2.0, 20.0], [1.0, 10.0])["values"] == [2.0, 2.0]
    with pytest.raises(ValueError, match="shorter"):
        ratio([1.0, 2.0], [1.0])
    assert 0.02 <= seconds_of(lambda: time.sleep(0.02)) < 1.0


def test_each_run_measures_everything_and_begins_with_another() -> None:
    order: list[tuple[str, int]] = []

    def note(name: str, run: int) -> float:
        order.append((name, run))
        return 10.0 * run + "abc".index(name)

    found = interleaved({name: lambda run, name=name: note(name, run) for name in "abc"}, 4)  # type: ignore[misc]
    assert found == {name: [10.0 * run + at for run in range(4)] for at, name in enumerate("abc")}
    assert "".join(name for name, _ in order) == "abcbcacababc"
    assert [run for _, run in order] == sorted(run for _, run in order)


def test_interval_is_student_s_and_one_run_has_none() -> None:
    values = [1.8, 1.95, 2.2, 1.7, 1.9]
    found = with_interval(values)
    expected = stats.ttest_1samp(np.log(values), 0).confidence_interval(0.95)
    assert found["mean"] == pytest.approx(stats.gmean(values))
    assert (math.log(found["low"]), math.log(found["high"])) == pytest.approx(tuple(expected))
    alone = with_interval([2.0])
    assert (alone["mean"], alone["low"], alone["high"]) == (pytest.approx(2.0), None, None)


def test_overhead_is_what_the_work_does_not_explain() -> None:
    # 100,000 units of 1 ms on two workers take 50 s by themselves.
    assert overhead(51.5, 100_000, 0.5e-3) == pytest.approx(15)
    assert overhead(50.0, 100_000, 0.5e-3) == pytest.approx(0)
    assert overhead(49.0, 100_000, 0.5e-3) == pytest.approx(-10)


@pytest.mark.parametrize(("workers", "units"), [(1, 5), (2, 10), (2, 9)])
def test_plain_forks_share_the_units(workers: int, units: int) -> None:
    assert 0.02 / workers <= floor_seconds(workers, units, lambda unit: time.sleep(0.02)) < 0.2 / workers


def test_slow_forks_count_by_their_speed_and_failing_ones_not(capfd: pytest.CaptureFixture[str]) -> None:
    """One of 30 ms and one of 90 ms a unit do four units in 90 ms."""
    number = get_context("fork").Value("i", 0)
    pause: list[float] = []

    def work(unit: int) -> None:
        if not pause:  # the first call in this fork
            with number.get_lock():
                pause.append((0.03, 0.09)[number.value])
                number.value += 1
        time.sleep(pause[0])

    def fail(unit: int) -> None:
        raise ZeroDivisionError("no luck")

    assert 0.0225 <= floor_seconds(2, 20, work) < 0.045
    with pytest.raises(RuntimeError, match="fork failed"):
        floor_seconds(1, 2, fail)
    assert "no luck" in capfd.readouterr().err
    with pytest.raises(RuntimeError, match=r"Pool.*(\n.*)*none\.npy"):
        plain("Pool.imap_unordered, large chunks", 1, 2, {"work": "train", "file": "none.npy"})


def test_a_buffer_takes_about_as_long_as_asked_for() -> None:
    size = bytes_for(2e-3)
    taken = []
    for unit in range(20):
        start = time.perf_counter()
        assert spin(unit, size) == unit
        taken.append(time.perf_counter() - start)
    assert min(taken) == pytest.approx(2e-3, rel=0.5)


@pytest.mark.parametrize("peer", [name for name in PEERS if name.startswith("Pool")])
def test_a_peer_computes_every_unit(peer: str) -> None:
    found = plain(peer, 2, 40, {"size": 10})
    assert found["content"] == hashlib.sha256(np.arange(40).tobytes()).hexdigest()
    assert found["seconds"] > 0
    assert found["start"] > 0


def test_every_engine_has_a_target_plain_use_beside_it_and_a_look_of_its_own() -> None:
    assert TARGETS.keys() == COUNTERPARTS.keys() == ENGINES.keys()
    assert {*COUNTERPARTS.values()} <= PEERS.keys()
    needed = {"nothing": "", "numpy": "numpy", "more": "no_such_library"}
    assert not_installed(needed) == {"more": "no_such_library is not installed"}
    assert LOOKS.keys() == SYSTEMS.keys()
    for what in zip(*LOOKS.values(), strict=True):
        assert len({*what}) == len(LOOKS)


def test_tables_compare_runs_with_each_other_and_say_what_is_left_out() -> None:
    def found(units: int, each: list[float], over: list[float]) -> dict[str, Any]:
        times = {"start": spread([0.1]), "each": spread(each), "fits": spread([0.4])}
        return {"units": units, "overhead": spread(over), **times}

    slices = {**found(1000, [510.0, 1020.0], [9.0, 11.0]), "idle": spread([5.0])}
    result = {"workers": 2, "fits": 500, "unit_ms": spread([1.0])}
    result["engines"] = {"slices": slices, "joblib": found(1000, [530.0, 530.0], [30.0, 30.0])}
    result["plain"] = {COUNTERPARTS["slices"]: found(1000, [1020.0, 2040.0], [20.0, 20.0])}
    result["left_out"] = dict.fromkeys(("ray", "Ray: a task a unit, ray.get"), "ray is not installed")
    engines, peers, fits = tables_of_overhead(result)
    slices, joblib, ray = engines["rows"]
    assert slices[3:] == ["10.0 µs (9.00–11.0)", "10 µs", "yes", "20.0 µs (20.0–20.0)", "0.500 (0.500–0.500)"]
    assert "do nothing take slices 5.00 µs (5.00–5.00) each" in engines["note"]
    assert joblib[4:] == ["20 µs", "no", "–", "–"]
    assert ray[:2] == ["ray", "left out: ray is not installed"]
    assert peers["rows"][1][:2] == ["Ray: a task a unit, ray.get", "left out: ray is not installed"]
    assert fits["rows"] == [["slices", "0.400 s (0.400–0.400)"], ["joblib", "0.400 s (0.400–0.400)"]]
    for table in (engines, peers, fits):
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_all_workers_are_measured_and_some_between() -> None:
    ladders = {1: [1], 3: [1, 2, 3], 6: [1, 2, 3, 4, 6], 32: [1, 2, 3, 4, 8, 16, 32]}
    assert {most: ladder(most) for most in ladders} == ladders


def test_speed_up_is_over_one_slice_of_the_same_run() -> None:
    # The machine was four times slower in the second run; speed-up does not see it.
    seconds = {"slices": {1: [10.0, 40.0], 2: [5.0, 20.0]}, "ray": {1: [12.5, 50.0], 2: [8.0, 20.0]}}
    found = speedups(seconds, seconds["slices"][1])
    assert found["slices"]["1"]["speedup"]["values"] == [1.0, 1.0]
    assert found["slices"]["2"]["speedup"] == with_interval([2.0, 2.0])
    assert found["ray"]["1"]["speedup"]["mean"] == pytest.approx(0.8)
    assert found["ray"]["2"]["speedup"] == with_interval([1.25, 2.0])
    assert found["ray"]["2"]["seconds"]["median"] == 14.0


def test_table_of_speed_up_has_a_row_for_each_number_of_workers() -> None:
    works = {work: speedups({"slices": {1: [10.0, 10.0], 4: [2.5, 2.5]}}, [10.0, 10.0]) for work in WORKS}
    units = dict.fromkeys(WORKS, 1200)
    table = table_of_speedup({"works": works, "units": units, "left_out": {"ray": "ray is not installed"}})
    assert len(table["rows"]) == 2 * len(WORKS) + 1
    assert table["rows"][1] == [
        WORKS["train"], "slices", "4", "2.50 s (2.50–2.50)", "4.00", "4.00–4.00", "100 %",
    ]  # fmt: skip
    assert table["rows"][-1][1:3] == ["ray", "left out: ray is not installed"]
    assert {len(row) for row in table["rows"]} == {len(table["columns"])}


@pytest.mark.slow
def test_units_are_those_of_the_stages(tmp_path: Path) -> None:
    decoding = Decoding(tmp_path, 2, QUICK, blocks=2, labellings=3)
    assert decoding.units == {"train": 2 * QUICK.bins, "permute": 4, "retrain": 3}
    works = {work: opened(work, file) for work, file in decoding.files.items()}
    for work, compute in works.items():
        last = compute(decoding.units[work] - 1)
        assert list(last.shape) == decoding.shapes[work]
        assert last.dtype == np.float64
        assert np.array_equal(last, compute(decoding.units[work] - 1))
        assert not np.array_equal(last, compute(0))
    # The second participant's first bin, and permutations 50 to 99 of the second participant.
    person = simulate(2, QUICK)
    folds = ours.folds_of(person.labels)
    weights = ours.train(person.study[0], person.labels, folds).weights
    assert np.array_equal(works["train"](QUICK.bins), weights)
    votes = np.load(decoding.files["permute"])[1]
    shuffled = permuted_labels(person.labels, 100, seed=0, names=("bench",))
    assert np.array_equal(works["permute"](3), recall_scores(votes, shuffled)[50:])


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: the path of a Unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="sl-") as made:
        yield Path(made)


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.timeout(1800)
def test_the_part_measures_engines_and_peers(folder: Path) -> None:
    assert main(["engines", "--quick", "--runs", "1", "--folder", str(folder)]) == 0
    found = json.loads((folder / "engines.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert not (folder / "engines").exists()
    there = ENGINES.keys() - not_installed(ENGINES)
    cost = found["overhead"]
    assert {*cost["engines"], *cost["plain"], *cost["left_out"]} == ENGINES.keys() | PEERS.keys()
    assert {*cost["engines"]} == there
    peers = {name: peer.library for name, peer in PEERS.items()}
    assert {*cost["plain"]} == peers.keys() - not_installed(peers)
    floor = cost["unit_ms"]
    assert floor["min"] > 0
    for name, each in {**cost["engines"], **cost["plain"]}.items():
        assert each["each"]["min"] > 0, name
        lowest, highest = (1e3 * floor[end] / cost["workers"] for end in ("min", "max"))
        explained = each["each"]["median"] - each["overhead"]["median"]
        assert lowest - 1e-6 <= explained <= highest + 1e-6, name
    assert all(each["fits"]["min"] > 0 for each in cost["engines"].values())
    speedup = found["speedup"]
    for systems in speedup["works"].values():
        assert {*systems} == {name for name, engine in SYSTEMS.items() if not engine or engine in there}
        assert systems["slices"]["1"]["speedup"]["values"] == [1.0]
        assert all([*map(int, each)] == speedup["ladder"] for each in systems.values())
    page = (folder / "tables.md").read_text(encoding="utf-8")
    for table in found["tables"]:
        assert f"### {table['title']}" in page
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}
    with Image.open(folder / "engines.png") as image:
        assert min(image.size) > 300
    assert (folder / "engines.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
@pytest.mark.live
def test_what_is_not_installed_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines_plain, "find_spec", lambda library: None)
    with EngineProject(folder / "project") as project:
        found = engines_overhead.measure_overhead(Options(folder, runs=1, quick=True), project)
    assert {*found["engines"]} == {"slices"}
    assert found["left_out"]["dask"] == found["left_out"]["Dask: Client.map, gather"]
    assert found["left_out"]["ray"] == "ray is not installed"
    assert all(name.startswith("Pool") for name in found["plain"])


@pytest.mark.slow
@pytest.mark.live
def test_a_job_that_fails_is_no_measurement(folder: Path) -> None:
    with EngineProject(folder / "project") as project:
        method = folder / "project" / "methods" / "a_fit.py"
        text = method.read_text(encoding="utf-8").replace('return {"slope"', '1 / 0\n    return {"slope"')
        method.write_text(text, encoding="utf-8")
        with pytest.raises(RuntimeError, match=r"slices: (.*\n)*.*ZeroDivisionError"):
            project.build("slices", 1, [("fit", {"count": 2})])
