"""Chains of toy jobs run what they should and nothing else, and what cannot be installed is left out."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import first_cases

from benchmarks import chains
from benchmarks.__main__ import main
from benchmarks.chains_exax import NO_SERVER
from benchmarks.chains_parts import PARTS, measure_parts, table_of_parts
from benchmarks.chains_project import CASES, ChainProject
from benchmarks.chains_tools import JOBLIB, TOOLS

BINARIES = Path(sys.executable).parent
JOBLIB_ALONE = {"joblib.Memory": TOOLS["joblib.Memory"]}


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sl-") as made:
        yield Path(made)


def test_a_tool_is_measured_in_every_case() -> None:
    found = chains.measure(3, JOBLIB_ALONE, BINARIES, 1, ours=False)
    assert {name: tuple(cases) for name, cases in found.items()} == {"joblib.Memory": CASES}
    for each in found["joblib.Memory"].values():
        assert len(each["seconds"]["values"]) == 1
        assert each["seconds"]["min"] > 0


@pytest.mark.slow
def test_the_parts_of_a_job_are_measured_and_leave_a_rest() -> None:
    measured = measure_parts(1, 4)
    assert measured["jobs"] == 4
    assert tuple(measured["ms"]) == tuple(PARTS)
    assert all(len(runs) == 1 for runs in measured["ms"].values())
    assert all(measured["ms"][part][0] > 0 for part in PARTS)
    assert [part for part, _, _ in table_of_parts(measured)["rows"]] == list(PARTS)


@first_cases(
    1,
    ("text", "message"),
    [
        (JOBLIB.replace("@memory.cache", ""), "unchanged: 3 jobs ran, not 0"),
        (JOBLIB.replace("= previous + step", "= previous + 2 * step"), "cold: the last job made 6"),
        ("raise SystemExit('no such luck')\n", "no such luck"),
    ],
)
def test_chains_that_fail_or_do_something_else(folder: Path, text: str, message: str) -> None:
    tool = replace(TOOLS["joblib.Memory"], files={"chain.py": text})
    with ChainProject(folder / "chain", "joblib.Memory", 3, BINARIES, tool) as chain:

        def run_all() -> None:
            for case in CASES:
                chain.seconds(case)

        with pytest.raises(RuntimeError, match=message):
            run_all()
    assert not (folder / "chain").exists()


@pytest.mark.slow
@pytest.mark.live
def test_the_part_leaves_out_what_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setattr(chains, "TOOLS", JOBLIB_ALONE)
    monkeypatch.setattr(chains, "QUICK", (3,))
    assert main(["chains", "--quick", "--runs", "1", "--folder", str(tmp_path)]) == 0
    found: dict[str, Any] = json.loads((tmp_path / "chains.json").read_text(encoding="utf-8"))
    assert "No matching distribution" in found["left_out"]["joblib.Memory"]
    assert set(found["versions"]) == {"exax"}
    assert {name: set(cases) for name, cases in found["sizes"]["3"].items()} == {
        "Shortloop": {*CASES, NO_SERVER},
        "Shortloop -q": {CASES[1]},
        "exax": {*CASES, NO_SERVER},
        "exax -q": {CASES[1]},
    }
    assert found["sizes"]["3"]["Shortloop"][CASES[0]]["over_ours"]["median"] == 1.0
    page = (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert "### A chain of 3 jobs" in page
    assert "| joblib.Memory | left out: No matching distribution" in page
    for ending in ("png", "pdf"):
        assert (tmp_path / f"chains.{ending}").stat().st_size > 1000
