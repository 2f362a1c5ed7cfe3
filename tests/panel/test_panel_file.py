"""`shortloop study` finds what a run would refuse of a panel file, before anything is fitted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shortloop.panel.panel_file import open_panel
from shortloop.panel.pipeline import DEFAULT_PANEL

MODELS = {"good": "y ~ x + C(k)", "lacks": "y ~ nosuch", "parts": "y ~ x | g", "texts": "y ~ I(k - 1)"}
SAID = {"lacks": "nosuch", "parts": "several parts", "texts": "cannot be computed", "large": "digits"}


def written(folder: Path, models: dict[str, str], kind: str = "csv", by: str = "g") -> Path:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"g": np.repeat([1, 2], 20), "x": rng.standard_normal(40), "k": list("ab") * 20})
    rows["y"], rows["large"] = rows["x"] + rng.standard_normal(40), 2**53 + 1 + np.arange(40)
    rows.to_csv(folder / "rows.csv", index=False)
    columns = 'numbers = ["x", "y", "large"]\ntexts = ["g", "k"]\n' if kind == "csvimport" else ""
    lines = [f'name = "p"\n[input]\nformat = "{kind}"\nfile = "rows.csv"\n{columns}[groups]\nby = ["{by}"]\n']
    lines += [f'[models.{name}]\nmodel = "ols"\nformula = "{each}"\n' for name, each in models.items()]
    file = folder / "panel.toml"
    file.write_text("".join(lines), encoding="utf-8")
    return file


@pytest.mark.parametrize("kind", ["csv", "csvimport"])
def test_every_formula_is_checked(tmp_path: Path, kind: str) -> None:
    models = MODELS | ({"large": "y ~ large"} if kind == "csv" else {})
    file = written(tmp_path, models, kind)
    opened = open_panel(file, lambda *_: None)
    wrong = [name for name in models if name in SAID and not (name == "texts" and kind == "csvimport")]
    assert [str(each.field) for each in opened.problems] == [f"models.{name}.formula" for name in wrong]
    for name, problem in zip(wrong, opened.problems, strict=True):
        assert SAID[name] in problem.message
        assert str(file) in problem.message
    assert ("40 rows in 2 groups" in opened.said) == (kind == "csv")


def test_rows_that_cannot_be_read_and_those_that_are_fine(tmp_path: Path) -> None:
    (problem,) = open_panel(written(tmp_path, MODELS, by="firm"), lambda *_: None).problems
    assert "firm" in problem.message
    file = written(tmp_path, {"good": MODELS["good"]})
    assert not open_panel(file, lambda *_: None).problems
    (tmp_path / "rows.csv").unlink()
    (problem,) = open_panel(file, lambda *_: None).problems
    assert "rows.csv" in problem.message
    assert "simulated" in open_panel(DEFAULT_PANEL, lambda *_: None).said
