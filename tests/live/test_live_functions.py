"""Stages that are plain functions, on a real server: what they leave is read back, units that read the same
are not computed again, and what comes out is what would come out anew, on any number of slices."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
from live_project import EmptyProject, fixture_of, stages

METHODS = stages("""\
# panel
@stage
def panel(file: File):
    import pandas as pd

    return {"rows": pd.read_csv(file.path, dtype={"firm": str})}

# fit
def firms(panel: Job, least: int = 1):
    for name, rows in panel["rows"].groupby("firm"):
        if len(rows) >= least:
            yield name, rows


@stage(units=firms)
def fit(rows, unit: str, degree: int = 1):
    import numpy as np

    with Path(os.environ["COMPUTED"]).open("a") as stream:
        stream.write(unit + "\\n")
    found = np.polyfit(rows["year"], rows["x"], degree)
    return {"line": found, "mean": rows["x"].mean(), "n": len(rows), "last": rows.tail(1), "firm": unit}

# kinds
@stage
def kinds(fit: Job, words: dict[str, list[int]], extra: Job | None = None):
    import numpy as np
    import polars as pl
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot(fit["mean"])
    return {
        "array": np.arange(6.0).reshape(2, 3), "number": np.float64(0.5), "nothing": float("nan"),
        "pandas": fit.to_frame(), "polars": pl.DataFrame({"x": [1, 2]}), "means": figure,
        "page.html": "<p>é</p>", "raw.bin": b"\\0\\1", "words": words, "text": "a", "some": [1, None, "b"],
    }  # fmt: skip
""")
SCRIPT = """\
import json
from pathlib import Path

from methods.a_fit import fit
from shortloop import pipeline

ASKED = Path(__file__).parents[1] / "asked.json"


@pipeline
def main(run):
    asked = json.loads(ASKED.read_text())
    panel = run.build("panel", file=run.file("panel.csv"))
    has_kinds = asked.pop("kinds", False)
    fitted = run.build(fit, panel=panel, **asked)
    return run.build("kinds", fit=fitted, words={"a": [1, 2]}) if has_kinds else fitted
"""
FIRMS = {"a": 3, "b": 4, "c": 5, "007": 6}


class FunctionsProject(EmptyProject):
    """A panel, a fit for each of its firms, and results of every kind."""

    sources: ClassVar = {**METHODS, "build_scripts/build_panel.py": SCRIPT, "asked.json": "{}"}
    run_name = "panel"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.write_panel(FIRMS)

    def write_panel(self, firms: dict[str, int], **slopes: float) -> None:
        lines = [
            f"{firm},{year},{round(slopes.get(firm, 2.0) * year + (year % 3), 3)}"
            for firm, years in firms.items()
            for year in range(years)
        ]
        self.write("panel.csv", "\n".join(["firm,year,x", *lines]) + "\n")

    def ask(self, **options: Any) -> None:
        self.write("asked.json", json.dumps(options))

    def go(self) -> str:
        """Run it, which must work; what it said."""
        return self.ax("run", "panel").ok().stdout


project = fixture_of(FunctionsProject)


def test_results_of_every_kind_are_read_back(project: FunctionsProject) -> None:
    project.ask(kinds=True)
    project.go()
    project.ask()
    assert project.computed() == ["007", "a", "b", "c"]
    fit, found = project.last_result("fit"), project.last_result("kinds")
    assert fit["firm"].tolist() == ["007", "a", "b", "c"]
    assert fit["n"].tolist() == [6, 3, 4, 5]
    assert fit["line"].shape == (4, 2)
    assert fit["last"].columns.to_list() == ["unit", "firm", "year", "x"]
    assert fit["last"]["unit"].to_list() == ["007", "a", "b", "c"]
    assert found["array"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["number"] == 0.5
    assert found["nothing"] != found["nothing"]
    pd.testing.assert_frame_equal(found["pandas"], fit.to_frame())
    assert found["polars"].to_dicts() == [{"x": 1}, {"x": 2}]
    assert (found["words"], found["text"], found["some"]) == ({"a": [1, 2]}, "a", [1, None, "b"])
    assert found["page.html"].read_text(encoding="utf-8") == "<p>é</p>"
    assert found["raw.bin"].read_bytes() == b"\0\1"
    assert found["means"].read_bytes().startswith(b"\x89PNG")
    # `panel["rows"]` imports pandas, though the file of the fit does not.
    assert {"pandas", "pyarrow"} <= project.manifest(fit.job)["parts"]["versions"].keys()
    versions = project.manifest(project.last_result("panel").job)["parts"]["versions"]
    assert {"matplotlib", "polars"}.isdisjoint(versions)
    assert re.search("pandas(.|\n)*polars", project.shortloop("show", found.job).stdout)
    assert {file.name for file in (project.folder / "results/panel").iterdir()} == {
        "page.html", "raw.bin", "means.png", "means.pdf", "pandas.parquet", "polars.parquet", "summary.json"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("firms", "slopes", "computed"),
    [
        (FIRMS, {"b": 5.0}, ["b"]),
        ({**FIRMS, "new": 4}, {"b": 5.0}, ["new"]),
        pytest.param({"c": 5, "a": 2}, {}, ["a"], marks=pytest.mark.slow),
        pytest.param({"c": 5, "d": 5}, {}, ["d"], marks=pytest.mark.slow),
        pytest.param({**FIRMS, "b": 9}, {}, ["b"], marks=pytest.mark.slow),
    ],
)
def test_only_units_that_read_something_else_are_computed(
    project: FunctionsProject, firms: dict[str, int], slopes: dict[str, float], computed: list[str]
) -> None:
    """The order of these cases matters: each takes over from those before."""
    if firms == FIRMS or not (project.folder / "results/panel").exists():  # the slow cases alone
        project.write_panel(FIRMS)
        project.go()
        project.computed()
    project.write_panel(firms, **slopes)
    said = project.go()
    assert project.computed() == computed
    assert f"{len(computed)} of {len(firms)} units computed" in said
    found = project.last_result("fit")
    if computed == ["b"]:  # the others take as long
        project.works("run", "panel", "--force", "fit")
        assert project.computed() == sorted(firms)
        anew = project.last_result("fit")
        assert anew.job != found.job
        for name in ("line.npy", "mean.npy", "n.npy", "firm.npy", "last.parquet", "units.rows"):
            assert (found.path / name).read_bytes() == (anew.path / name).read_bytes()
    shown = " ".join(project.shortloop("show", found.job).stdout.split())
    assert f"{len(firms) - len(computed)} of {len(firms)} read the same" in shown


def test_a_plan_takes_it_that_tables_stay_tables(project: FunctionsProject) -> None:
    """A job below one that may come out different is perhaps built: libraries that read tables stay in its
    key."""
    project.write_panel(FIRMS)
    project.go()
    project.write_panel(FIRMS, c=4.0)
    assert "0 jobs would be built, 2 perhaps" in project.shortloop("plan", "panel").stdout
    project.computed()
    project.go()
    assert project.computed() == ["c"]
