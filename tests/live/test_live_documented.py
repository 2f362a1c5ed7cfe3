"""What docs/ say of a second build script, and of a notebook, in a new project and a real kernel."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from live_project import Begun
from nbclient import NotebookClient
from source_tree import ROOT

from shortloop.cli.init import EXAMPLE, write_project

CELLS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8"), re.S)
PAGE = (ROOT / "docs" / "your-own-analysis.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project() -> Iterator[Begun]:
    # Not tmp_path: the path of a Unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="sl-") as above:
        write_project(Path(above) / "new", EXAMPLE)
        panel = Path(above) / "new/data/panel.parquet"
        rows = pd.read_parquet(panel)
        rows[rows["firm"].isin(sorted(set(rows["firm"]))[:40])].to_parquet(panel)  # of 500
        yield Begun(Path(above) / "new")


@pytest.mark.slow
def test_a_second_build_script_shares_jobs(project: Begun) -> None:
    (script,) = re.findall(r"```python\n# (build_scripts/build_market.py)\n(.*?)```", PAGE, re.S)
    project.write(*script)
    assert " built " in project.works("run", "analysis")
    assert "0 jobs built, 2 reused" in project.works("run", "market")


def executed(project: Begun, cells: list[str]) -> list[str]:
    """What each cell gave."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    resources = {"metadata": {"path": str(project.folder)}}
    NotebookClient(book, timeout=300, kernel_name="python3", resources=resources).execute(
        env=project.environment()
    )
    return [
        "".join(str(out.get("text") or out.get("data", {}).get("text/plain", "")) for out in cell.outputs)
        for cell in book.cells
    ]


@pytest.mark.slow
def test_the_notebook_of_the_docs(project: Begun) -> None:
    assert len(CELLS) == 3
    *_, last = executed(project, CELLS)
    assert "spread" in last
    assert "F001" in last
    assert re.search(r"built growth +main-\d+", last)
    edit = "LEAST = 6\njob = ax.build(growth, panel=panel, column='investment')"
    *_, last, size, edited = executed(project, [*CELLS, "len(job['spread']), str(job)", edit])
    assert "built" not in last
    assert size.startswith("(40, 'main-")
    assert "code of a_growth.LEAST" in edited
    assert "0 jobs built" in project.works("run", "market")
