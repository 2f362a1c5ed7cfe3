"""A small panel of shops with all that can go wrong in one, and its run in this process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from in_process import InProcess

from build_scripts.build_panel import pipeline
from shortloop.panel.pipeline import PanelRun, read_panel
from shortloop.plan.pipeline import Built

PANEL = """\
name = "shops"
input = {{format = "csv", file = "shops.csv"}}
groups = {{by = ["town", "shop"], blocks = 3}}
diagnostics = {{{asked}}}
models.plain = {{model = "{model}", {more}}}
"""
OLS = 'formula = "y ~ x + C(k)"'


def shops(groups: int = 12, rows: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    number = np.repeat(np.arange(groups), rows)
    frame = pd.DataFrame(
        {
            "town": np.array(["Łódź", "東京", "Zürich"])[number % 3],
            "shop": number // 3,
            "x": rng.standard_normal(len(number)),
            "k": np.array(["a", "b"])[rng.integers(0, 2, len(number))],
        }
    )
    frame["y"] = 1 + frame["x"] + rng.standard_normal(len(number))
    frame["paid"] = (frame["x"] + rng.standard_normal(len(number)) > 0).astype(int)
    frame.loc[number == 4, "x"] = 1.0
    frame.loc[number == 5, "k"] = "a"
    frame.loc[frame.index[number == 6][:3], "y"] = [60.0, -40.0, np.nan]
    return frame


def built(
    folder: Path, asked: str, model: str = "ols", more: str = OLS, frame: pd.DataFrame | None = None
) -> tuple[InProcess, Built]:
    """A run, and its job that draws."""
    folder.mkdir(exist_ok=True)
    (shops() if frame is None else frame).to_csv(folder / "shops.csv", index=False)
    file = folder / "panel.toml"
    file.write_text(PANEL.format(asked=asked, model=model, more=more), encoding="utf-8")
    (folder / "jobs").mkdir()
    run = InProcess(folder / "jobs")
    pipeline(PanelRun(run, read_panel(file), file))
    (job,) = [job for job in run.jobs if job.stage == "panel_diagnostics"]
    return run, job
