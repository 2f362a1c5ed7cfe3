"""Panels that exax imports as datasets, and results that are datasets again."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from live_project import fixture_of
from panel_project import BLOCKS, IMPORTED, PANEL, PanelProject

OWN = """\
from build_scripts.build_panel import fit_all
from shortloop.panel.pipeline import import_dataset, run_panel


def main(urd):
    return run_panel(urd, pipeline)


def pipeline(run):
    return fit_all(run, import_dataset(run, run.build("written")))
"""
WRITTEN = """\
import csv

from shortloop.keys.code import code_of

depend_extra = code_of(__file__)


def synthesis(job):
    with open(FILE) as stream:
        rows = list(csv.DictReader(stream))[::-1]
    types = {"firm": "unicode", "value": "float64", "capital": "float64", "invest": ("float64", True)}
    types |= {"big": "int64", "none": "json"}
    first = None
    for name, part in (("old", rows[:100]), ("default", rows[100:])):
        writer = job.datasetwriter(name=name, columns=types, previous=first)
        write = writer.get_split_write_dict()
        for row in part:
            numbers = {each: float(row[each] or "nan") for each in ("value", "capital")}
            invest = float(row["invest"]) if row["invest"] else None
            write({"firm": row["firm"], **numbers, "invest": invest, "big": 2**60, "none": {}})
        first = writer
"""


pytestmark = pytest.mark.slow
project = fixture_of(PanelProject)


def test_a_dataset_gives_what_the_file_gives(project: PanelProject) -> None:
    project.write_panel(PANEL)
    project.built()
    of_file = project.table("coefficients")
    project.write_panel(IMPORTED)
    assert project.built() == {
        "csvimport": 1,
        "dataset_type": 1,
        "import_dataset": 1,
        "panel_groups": 1,
        "panel_block": BLOCKS,
        "panel_report": 1,
    }  # and no fits: blocks came out the same
    pd.testing.assert_frame_equal(project.table("coefficients"), of_file, check_exact=True)
    assert project.built() == {}
    project.stop_server()
    project.start_server(SHORTLOOP_SLICES="1")
    assert {"csvimport", "dataset_type", "import_dataset"} <= {*project.built()}
    pd.testing.assert_frame_equal(project.table("coefficients"), of_file, check_exact=True)
    project.stop_server()
    project.start_server()


def test_a_dataset_of_ones_own(project: PanelProject) -> None:
    written = WRITTEN.replace("FILE", repr(str(project.folder / "firms.csv")), 1)
    project.write("dev/a_written.py", written)
    project.write("dev/build_own.py", OWN)
    project.write_panel(PANEL)
    project.built()
    of_file = project.table("coefficients")
    done = project.ax("run", "own").ok()
    found = next(line.split()[3] for line in done.stdout.splitlines() if "] built panel_results" in line)
    frame = f"import shortloop; print(shortloop.load('{found}').to_frame().to_json(double_precision=15))"
    said = project.python(frame)
    mine = pd.DataFrame(json.loads(said)).reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, of_file, check_dtype=False, rtol=1e-12)


def test_results_are_datasets_if_that_is_asked_for(project: PanelProject) -> None:
    project.write_panel("datasets = true\n" + PANEL)
    built = project.built()
    assert built["panel_dataset"] == 1
    summary = project.summary()
    (job,) = (each["job"] for each in summary["jobs"] if each["stage"] == "panel_dataset")
    shown = project.ax("grep", "--format", "json", "F01", f"{job}/coefficients").stdout
    found = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
    expected = project.table("coefficients")
    expected = expected[expected["firm"] == "F01"].reset_index(drop=True)
    mine = pd.DataFrame(found).sort_values("term", ignore_index=True)
    pd.testing.assert_frame_equal(
        mine[list(expected.columns)], expected.sort_values("term", ignore_index=True), check_dtype=False
    )
