"""A project with a small panel, and what its runs build."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
from live_project import LiveProject

PANEL = """\
name = "firms"
csv = true

[input]
format = "csv"
file = "firms.csv"

[groups]
by = ["firm"]
blocks = 2

[models.plain]
model = "ols"
formula = "~ value + capital"
outcomes = ["invest"]
covariance = "HC1"

[diagnostics]
groups = ["F05"]
worst = 3
"""
BLOCKS = 2
IMPORTED = PANEL.replace('"csv"', '"csvimport"\nnumbers = ["value", "capital", "invest"]\ntexts = ["firm"]')
READ = {"import_panel", "csvimport", "dataset_type", "import_dataset", "panel_rows", "panel_block"}
"""Stages that read a file and cut it into blocks."""


class PanelProject(LiveProject):
    analyses = ("panel",)
    sources: ClassVar = {"panel.toml": PANEL}
    settings_file = "panel.toml"
    run_name = "firms"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        firms().to_csv(folder / "firms.csv", index=False)

    def write_panel(self, text: str) -> None:
        self.write("panel.toml", text)

    def built(self) -> Counter[str]:
        """How many jobs of each stage a run has built."""
        return Counter(re.findall(r"\] built (\S+) ", self.ax("run", "build_panel").ok().stdout))

    def built_of(self, frame: pd.DataFrame, settings: str, but: frozenset[str] = frozenset()) -> Counter[str]:
        """The same of a frame in the file that settings name, without stages that read it and some others."""
        (name,) = re.findall(r'file ?= ?"([\w.]+)"', settings)
        if name.endswith(".parquet"):
            frame.to_parquet(self.folder / name)
        else:
            frame.to_csv(self.folder / name, index=False)
        self.write_panel(settings)
        return Counter({each: count for each, count in self.built().items() if each not in READ | but})

    def table(self, name: str, of: str = "plain-invest") -> pd.DataFrame:
        return pd.read_parquet(self.folder / "results/firms/tables" / of / f"{name}.parquet")


def firms() -> pd.DataFrame:
    """Twelve firms; F05 has a regressor twice, F07 lacks outcomes."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"firm": rng.permutation(np.repeat([f"F{n:02d}" for n in range(12)], 30))})
    frame["value"], frame["capital"] = rng.standard_normal((2, len(frame)))
    frame["invest"] = 1 + 2 * frame["value"] - frame["capital"] + rng.standard_normal(len(frame))
    frame["profit"] = frame["value"] + rng.standard_normal(len(frame))
    frame.loc[frame["firm"] == "F05", "capital"] = frame["value"]
    frame.loc[frame.index[frame["firm"] == "F07"][:4], "invest"] = np.nan
    return frame
