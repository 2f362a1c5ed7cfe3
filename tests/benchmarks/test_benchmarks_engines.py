"""What a unit costs on an engine is what the work alone does not explain; peers compute all of it."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from benchmarks import engines_overhead, engines_plain, ours
from benchmarks.__main__ import main
from benchmarks.engines_decode import opened
from benchmarks.engines_overhead import COUNTERPARTS, TARGETS
from benchmarks.engines_plain import PEERS, not_installed, plain
from benchmarks.engines_project import ENGINES, EngineProject
from benchmarks.engines_speedup import SYSTEMS, Decoding, speedups
from benchmarks.measure import ratio, seconds_of, spread, with_interval
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


def test_interval_is_student_s_and_one_run_has_none() -> None:
    values = [1.8, 1.95, 2.2, 1.7, 1.9]
    found = with_interval(values)
    expected = stats.ttest_1samp(np.log(values), 0).confidence_interval(0.95)
    assert found["mean"] == pytest.approx(stats.gmean(values))
    assert (math.log(found["low"]), math.log(found["high"])) == pytest.approx(tuple(expected))
    alone = with_interval([2.0])
    assert (alone["mean"], alone["low"], alone["high"]) == (pytest.approx(2.0), None, None)


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


def test_speed_up_is_over_one_slice_of_the_same_run() -> None:
    # The machine was four times slower in the second run; speed-up does not see it.
    seconds = {"slices": {1: [10.0, 40.0], 2: [5.0, 20.0]}, "ray": {1: [12.5, 50.0], 2: [8.0, 20.0]}}
    found = speedups(seconds, seconds["slices"][1])
    assert found["slices"]["1"]["speedup"]["values"] == [1.0, 1.0]
    assert found["slices"]["2"]["speedup"] == with_interval([2.0, 2.0])
    assert found["ray"]["1"]["speedup"]["mean"] == pytest.approx(0.8)
    assert found["ray"]["2"]["speedup"] == with_interval([1.25, 2.0])
    assert found["ray"]["2"]["seconds"]["median"] == 14.0


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
