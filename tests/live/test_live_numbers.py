"""docs/numbers.ipynb runs as it is where a study has run, and has the numbers of its report. What docs/ say
of a second build script, and of a notebook, works in a new project and a real kernel."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from live_project import Begun
from source_tree import ROOT

from shortloop.analyses import find_analyses
from shortloop.cli.init import EXAMPLE, write_project

pytestmark = [
    pytest.mark.slow,
    *(
        pytest.mark.skipif(find_spec(library) is None, reason=f"{library} is not installed")
        for library in ("nbclient", "nbformat", "xarray")
    ),
]
BOOK = ROOT / "docs" / "numbers.ipynb"
STUDY = """\
name = "tiny"
participants = ["A", "B", "C"]
classes = ["x", "y"]
phases = {train = "study", decode = "test"}
input = {format = "simulated", channels = 6, trials = 24, sfreq = 64, tmin = -0.3, tmax = 0.8}
decoding = {folds = 3, select_alpha = 1.0}
estimator = {kind = "lda"}
permutations = {count = 20}
features.amplitude = {bins = 8, bin_samples = 6}
"""
# What its cells have left, for this test to compare.
LEFT = """\
left = table.values, for_mne.generalizing, scores.test_times.values
print(json.dumps([each.tolist() for each in left]))
"""


@pytest.fixture(scope="module")
def project() -> Iterator[Begun]:
    """A study that has run; its server is gone."""
    # Not tmp_path: the path of a Unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="sl-") as above:
        template = find_analyses()["eeg"].template
        assert template is not None
        made = Begun(Path(above) / "new")
        made.run_name = "tiny"
        write_project(made.folder, template)
        made.write_study(STUDY)
        made.works("run")
        shutil.copy(BOOK, made.folder)
        yield made


@pytest.fixture(scope="module")
def book(project: Begun) -> Any:
    """The notebook, run, with one more cell."""
    import nbformat

    read = nbformat.read(project.folder / BOOK.name, as_version=4)
    read.cells.append(nbformat.v4.new_code_cell(LEFT, id="left"))
    return executed(project, read)


def executed(project: Begun, book: Any) -> Any:
    """A notebook, run in a kernel."""
    import nbclient

    resources = {"metadata": {"path": str(project.folder)}}
    client = nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources=resources)
    return client.execute(env=project.environment())


def outputs(book: Any, cell: str) -> list[Any]:
    (found,) = [each.outputs for each in book.cells if each.id == cell]
    return list(found)


def text(book: Any, cell: str) -> str:
    return "".join(each.text for each in outputs(book, cell) if each.get("name") == "stdout")


def test_it_is_kept_with_what_it_gives(book: Any) -> None:
    """Of the default study, for the pages; here of another, but each cell gives the same sorts of things."""
    import nbformat

    read = nbformat.read(BOOK, as_version=4)
    nbformat.validate(read)
    code = [cell for cell in read.cells if cell.cell_type == "code"]
    assert len(code) >= 10
    for cell in code:
        mine, now = (list(map(sort_of, each)) for each in (cell.outputs, outputs(book, cell.id)))
        assert mine == [each for each in now if each[1] != "stderr"], cell.id
    kept = BOOK.read_text(encoding="utf-8")
    assert "study simulated, report main-118, statistics main-67, main-109" in kept
    assert not re.search(r"/(tmp|home|root|work)\b", kept)


def sort_of(output: Any) -> tuple[Any, ...]:
    page = output.get("data", {}).get("text/html", "").startswith("<div><svg")  # xarray's, which is not kept
    return (
        output.output_type,
        output.get("name"),
        {*output.get("data", {})} - ({"text/html"} if page else set()),
    )


def test_its_numbers_are_those_of_the_report(project: Begun, book: Any) -> None:
    table, planes, test_times = json.loads(text(book, "left"))
    said = project.summary()
    assert text(book, "newest").startswith(f"study tiny, report {said['report']}, statistics main-")
    for cell in ("curve", "plane"):
        drawn = [each.data.get("image/png", "") for each in outputs(book, cell) if "data" in each]
        assert max(map(len, drawn)) > 5000
    listed = said["scores"]
    assert [each["participant"] for each in listed] == ["A", "B", "C"]
    np.testing.assert_array_equal(table, [each["curve"] for each in listed])
    np.testing.assert_array_equal(test_times, listed[0]["test_times"])
    of_report = np.array([each["generalization"] for each in listed])  # test × train
    np.testing.assert_allclose(planes, of_report.transpose(0, 2, 1) / 100, rtol=1e-12)
    assert not np.allclose(planes, of_report / 100, atol=0.02)


def test_what_it_takes_away_says_where_it_is_from(project: Begun, book: Any) -> None:
    assert "made from 18 jobs: amplitude, apply, import_epochs, permute, retrain, train" in text(book, "keep")
    import xarray

    with xarray.open_dataset(project.folder / "scores.nc", engine="h5netcdf") as kept:
        assert kept.attrs["stage"] == "group"
        assert kept.plane_scores.dims == ("participants", "test_times", "train_times")
        made = {each["job"]: each for each in json.loads(kept.attrs["provenance"])}
    (train, *_) = [each for each in made.values() if each["stage"] == "train"]
    assert train["options"]["estimator"]["kind"] == "lda"
    assert "numpy" in train["versions"]


CELLS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8"), re.S)
PAGE = (ROOT / "docs" / "your-own-analysis.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def analysis() -> Iterator[Begun]:
    # Not tmp_path: the path of a Unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="sl-") as above:
        write_project(Path(above) / "new", EXAMPLE)
        panel = Path(above) / "new/data/panel.parquet"
        rows = pd.read_parquet(panel)
        rows[rows["firm"].isin(sorted(set(rows["firm"]))[:40])].to_parquet(panel)  # of 500
        yield Begun(Path(above) / "new")


def test_a_second_build_script_shares_jobs(analysis: Begun) -> None:
    (script,) = re.findall(r"```python\n# (build_scripts/build_market.py)\n(.*?)```", PAGE, re.S)
    analysis.write(*script)
    assert " built " in analysis.works("run", "analysis")
    assert "0 jobs built, 2 reused" in analysis.works("run", "market")


def said_by(analysis: Begun, cells: list[str]) -> list[str]:
    """What each cell gave."""
    import nbformat

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return [
        "".join(str(out.get("text") or out.get("data", {}).get("text/plain", "")) for out in cell.outputs)
        for cell in executed(analysis, book).cells
    ]


def test_the_notebook_of_the_docs(analysis: Begun) -> None:
    assert len(CELLS) == 3
    *_, last = said_by(analysis, CELLS)
    assert "spread" in last
    assert "F001" in last
    assert re.search(r"built growth +main-\d+", last)
    edit = "LEAST = 6\njob = ax.build(growth, panel=panel, column='investment')"
    *_, last, size, edited = said_by(analysis, [*CELLS, "len(job['spread']), str(job)", edit])
    assert "built" not in last
    assert size.startswith("(40, 'main-")
    assert "code of a_growth.LEAST" in edited
    assert "0 jobs built" in analysis.works("run", "market")
