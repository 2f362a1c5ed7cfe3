"""Libraries of data frames, measured through a server: right numbers of all of them, and what runs again."""

from __future__ import annotations

import re
from collections import Counter
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from cases import first_cases
from live_project import LiveProject, fixture_of

FRAMES = """\
name = "tiny"
seed = 3
libraries = ["modin", "exax"]
transformations = ["apply", "column"]

[table]
rows = 3000
columns = 5
groups = 20
chunk = 1000

[timing]
repeats = 2
limit = 60.0
"""


class FramesProject(LiveProject):
    analyses = ("frames",)
    sources: ClassVar = {"frames.toml": FRAMES}
    settings_file = "frames.toml"
    run_name = "tiny"

    def built(self) -> Counter[str]:
        """How many jobs of each stage a run has built."""
        return Counter(re.findall(r"\] built (\S+) ", self.ax("run", "build_frames").ok().stdout))

    def table(self) -> pd.DataFrame:
        found = pd.read_parquet(self.folder / "results/tiny/measured.parquet")
        return found.set_index(["library", "transformation"])


project = fixture_of(FramesProject)


def test_all_come_to_the_right_numbers_but_the_trap(project: FramesProject) -> None:
    assert project.built() == {
        "frames_table": 1,
        "frames_truth": 1,
        "frames_rows": 1,
        "frames_run": 3,
        "frames_report": 1,
    }
    table = project.table()
    status = table["status"].groupby("library").unique().map(list).to_dict()
    assert status == {"exax": ["right"], "modin": ["left out"], "fork-trap": ["wrong"]}
    timed = table[table["status"] == "right"]
    assert (timed["repeats"] >= 2).all()
    assert (timed["least_s"] > 0).all()
    assert (timed["least_s"] <= timed["median_s"]).all()
    assert (timed["peak_bytes"] > 1e6).all()
    assert (timed["workers"] == 2).all()
    assert table.loc[("fork-trap", "column"), "version"] == f"pandas {pd.__version__}"
    assert (timed["version"] != "").all()
    assert "workers drew the same" in str(table.loc[("fork-trap", "column"), "why"])
    folder = project.folder / "results/tiny"
    text = pd.read_csv(folder / "measured.csv")
    assert text["library"].tolist() == table.index.get_level_values(0).tolist()
    np.testing.assert_allclose(text["median_s"], table["median_s"])
    page = (folder / "report.html").read_text(encoding="utf-8")
    for word in ("exax dataset", "np.random in forks", "modin-environment", "a mistake on purpose"):
        assert word in page
    summary = project.summary()
    assert {"report.html", "measured.csv", "measured.parquet"} <= {*summary["files"]}
    assert any("exax dataset is the fastest" in each for each in summary["findings"]["fastest"])


@pytest.mark.slow
def test_nothing_is_measured_twice_but_what_changed(project: FramesProject) -> None:
    project.built()
    assert project.built() == {}
    project.write("frames.toml", FRAMES.replace('["apply", "column"]', '["groups", "column"]'))
    assert project.built() == {"frames_run": 1, "frames_report": 1}
    assert set(project.table()["status"]) == {"right", "wrong", "left out"}
    project.write("frames.toml", FRAMES)
    assert project.built() == {}


@first_cases(
    1,
    ("old", "new", "words"),
    [
        ('"exax"]', '"excel"]', ("libraries", "excel")),
        ("rows = 3000", "rows = 1_000_000_000", ("table.chunk", "100000 files")),
        ('"exax"]', '"exax"]\nmodin.environment = "nowhere"', ("modin.environment", "nowhere", "pyvenv.cfg")),
    ],
)
def test_what_is_wrong_is_named(project: FramesProject, old: str, new: str, words: tuple[str, ...]) -> None:
    project.write("frames.toml", FRAMES.replace(old, new))
    said = project.ax("run", "build_frames").fails()
    project.write("frames.toml", FRAMES)
    assert "Traceback" not in said
    for word in words:
        assert word in said, said
