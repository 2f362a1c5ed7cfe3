"""Every part runs, at a tiny size, and leaves JSON, tables and figures."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from benchmarks.__main__ import main
from benchmarks.options import cores

pytestmark = pytest.mark.slow


def run(folder: Path, *parts: str, runs: int = 2) -> dict[str, dict[str, Any]]:
    assert main([*parts, "--quick", "--runs", str(runs), "--folder", str(folder)]) == 0
    found = {}
    for part in parts:
        found[part] = json.loads(
            (folder / f"{part}.json").read_text(encoding="utf-8"), parse_constant=pytest.fail
        )
        assert found[part]["options"] == {"participants": 18, "runs": runs, "quick": True}
        assert found[part]["machine"]["cores"] == cores()
        with Image.open(folder / f"{part}.png") as image:
            assert min(image.size) > 300
        assert (folder / f"{part}.pdf").read_bytes().startswith(b"%PDF")
    page = (folder / "tables.md").read_text(encoding="utf-8")
    for part in parts:
        assert f"## {part}\n" in page
        for table in found[part]["tables"]:
            assert table["title"] in page
            assert table["rows"]
            assert {len(row) for row in table["rows"]} == {len(table["columns"])}
    return found


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    names = ("peers", "cluster", "panel", "files", "ladder", "diagnostics", "level", "units")
    return run(tmp_path_factory.mktemp("bench"), *names)


def test_peers_compute_the_same(parts: dict[str, dict[str, Any]]) -> None:
    found = parts["peers"]
    assert found["over_ours"]["ours"]["values"] == [1.0, 1.0]
    for name, spread in found["seconds"].items():
        assert 0 < spread["min"] <= spread["median"] <= spread["max"], name
    assert min(found["agreement"].values()) > 0.97


def test_clusters_are_simulated_with_what_was_measured(parts: dict[str, dict[str, Any]]) -> None:
    found = parts["cluster"]
    for name, spread in found["constants"].items():
        assert 0 < spread["min"] <= spread["median"] <= spread["max"]
        if name in found["used"]:
            assert found["used"][name] == spread["median"]
    assert found["thesis"]["divisions"]["participants"]["perfect"] > 27
    for modes in found["around"].values():
        assert all(each["seconds"] > each["ideal"] > 0 for each in modes.values())


def test_what_is_no_part_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["nonsense"], ["peers", "--runs", "0"], ["--participants", "0"]):
        with pytest.raises(SystemExit) as caught:
            main([*wrong, "--folder", str(tmp_path / "out")])
        assert caught.value.code == 2
    assert "nonsense" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_each_step_of_the_ladder_is_measured(parts: dict[str, dict[str, Any]]) -> None:
    steps = [*parts["ladder"]["steps"].values()]
    assert len(steps) == 6
    for before, step in pairwise(steps):
        ratios = [a / b for a, b in zip(before["seconds"]["values"], step["seconds"]["values"])]
        assert step["factor"]["values"] == pytest.approx(ratios)


def test_files_are_timed_in_new_processes_and_in_runs(parts: dict[str, dict[str, Any]]) -> None:
    ((measured,), (runs,)) = parts["files"]["files"], parts["files"]["runs"]
    assert {"fit_frame", "NumPy, batched", "statsmodels on arrays"} <= measured["seconds"].keys()
    assert min(each["min"] for each in measured["megabytes"].values()) > 10
    assert runs["seconds"]["nothing changed"]["max"] < runs["seconds"]["first run"]["max"]


def test_pages_of_groups_are_timed_in_every_way(parts: dict[str, dict[str, Any]]) -> None:
    found = parts["diagnostics"]
    assert len(found["seconds"]) == 4
    assert found["over_ours"].keys() == found["seconds"].keys()
    assert set(found["sizes"]) == {"ours.pdf", "plain.pdf", "reused-0.pdf", "reused-1.pdf"}
    assert min(found["sizes"].values()) > 10_000


def test_levels_are_of_every_null_and_map(parts: dict[str, dict[str, Any]]) -> None:
    found = parts["level"]
    assert found["studies"] == 100 * found["recordings"] == 200
    assert len(found["levels"]) == 4 + 3
    for both in found["levels"].values():
        for level in (both["maximum"], both["clusters"]):
            assert 0 <= level["low"] <= level["share"] <= level["high"] <= 1
            assert level["share"] * 200 == pytest.approx(round(level["share"] * 200))
    for of_labels, of_test_labels in (each.values() for each in found["moments"].values()):
        assert of_labels["deviation"] > of_test_labels["deviation"]


@pytest.mark.slow
def test_the_general_path_is_timed_on_every_engine(tmp_path: Path) -> None:
    (found,) = run(tmp_path, "general")["general"]["sizes"].values()
    assert {"slices", "joblib", "dask", "ray"} < found["seconds"].keys() == found["best_over"].keys()
