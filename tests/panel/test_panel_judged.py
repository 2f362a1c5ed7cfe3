"""Tables of a run, cell by cell, against statsmodels on each group of the same file: models drawn at random,
of rows with all that can go wrong. PANELS says how many, SEED which; ``make soak`` asks for many."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from in_process import InProcess
from panel_judge import Judge, corrected, random_rows, random_specification, read_rows

from build_scripts.build_panel import cut_into_blocks, fit, put_together
from shortloop.panel.pipeline import PanelRun, import_panel, read_panel

SEED, PANELS = int(os.environ.get("SEED", "7")), int(os.environ.get("PANELS", "0"))
QUICK = ["ols", "logit", "glm"]
BLOCKS = 3
NAMES = ("g", "status", "term", "path", "params", "said", "nobs")
"""Of the column that makes groups: those of our tables, too."""
ROUNDED = 1e4
"""How much more may differ where statsmodels comes to other numbers with regressors in another order."""
Tables = tuple[pd.DataFrame, pd.DataFrame]
"""Of coefficients and of fits."""


def run(
    folder: Path, models: dict[str, Any], level: float, correction: str, by: str = "g"
) -> dict[str, Tables]:
    """Tables of each specification of a panel file."""
    lines = ['name = "judged"', "csv = true", 'input = {format = "csv", file = "rows.csv"}']
    lines += [f'groups = {{by = ["{by}"], blocks = {BLOCKS}}}']
    lines += [f'inference = {{level = {level}, correction = "{correction}"}}']
    for name, asked in models.items():
        lines += [f"[models.{name}]", *(f"{field} = {json.dumps(value)}" for field, value in asked.items())]
    file = folder / "panel.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    (folder / "jobs").mkdir()
    panel = PanelRun(InProcess(folder / "jobs"), read_panel(file), file)
    rows = import_panel(panel)
    found = {}
    for name, model in panel.study.models.items():
        asked = {"specification": name, "outcome": None, "model": model, "modules": model.modules()}
        blocks = cut_into_blocks(panel, rows, model.formula, None, sorted(model.roles().values()))
        job = put_together(panel, name, None, fit(panel, asked, blocks))
        both = (job.path / f"{each}.csv" for each in ("coefficients", "fits"))
        named = {by if by == "g" else f"group_{by}": "g"}
        found[name] = tuple(
            pd.read_csv(each, float_precision="round_trip", dtype=dict.fromkeys(named, str)).rename(
                columns=named
            )
            for each in both
        )
    return found  # type: ignore[return-value]


def wrong(judge: Judge, coefficients: pd.DataFrame, fit: pd.Series) -> list[str]:
    """What of a group is not as it must be."""
    must, may = judge.reasons()
    if must == {"leverage of 1"} and fit["status"] == "leverage of 1":
        right, mine = judge.without_alone(), coefficients["bse"]
        off = (mine[right.index] / right - 1).abs().max() > 1e-6
        same = mine[right.index].isna().equals(right.isna())
        return [] if same and not off else [f"errors {mine.to_dict()} for {right.to_dict()}"]
    if fit["status"] != "fitted":
        may |= {"not converged"}  # which only those who iterate know
        return [] if fit["status"] in must | may else [f"{fit['status']}, for {must or 'no reason'}"]
    own = fit["path"] == "statsmodels"
    if must:  # whether its iterations fail may be a matter of the last bit
        return [] if own and must == {"failed"} else [f"fitted, for {must}"]
    found = judge.differences(coefficients, fit, slack=ROUNDED if own else 1.0)
    if found:  # how far does it agree with itself?
        other = replace(judge, backwards=True)
        if other.fails() or other.differences(judge.numbers()[0], pd.Series(judge.numbers()[1])):
            return [] if own else judge.differences(coefficients, fit, slack=ROUNDED)
    return found


def check(folder: Path, seed: int, groups: int, specifications: int, models: list[str] | None = None) -> int:
    """Compare all cells of a panel; how many fits compiled code has done."""
    rng = np.random.default_rng([SEED, seed])
    by = str(rng.choice(NAMES))
    random_rows(rng, groups).rename(columns={"g": by}).to_csv(folder / "rows.csv", index=False)
    drawn = {f"m{n}": random_specification(rng, models[n] if models else None) for n in range(specifications)}
    level, correction = float(rng.choice([0.9, 0.95, 0.99])), str(rng.choice(["none", "holm", "fdr_bh"]))
    tables = run(folder, {name: asked for name, (asked, _, _) in drawn.items()}, level, correction, by)
    rows = read_rows(folder / "rows.csv", (by, "k", "c")).rename(columns={by: "g"})
    found, batched = [], 0
    for name, (asked, formula, used) in drawn.items():
        coefficients, fits = tables[name][0], tables[name][1].set_index("g")
        for group, part in rows.groupby("g"):
            own = coefficients[coefficients["g"] == group].set_index("term")
            own.index = own.index.str.replace(" ", "")
            judge = Judge(asked, formula, used, level, part, tuple(own.index[own["params"].notna()]))
            row: Any = fits.loc[group]
            found += [f"{asked} {group}: {each}" for each in wrong(judge, own, row)]
            batched += int(row["path"] == "batched" and row["status"] == "fitted")
        if correction != "none":
            expected = corrected(coefficients, fits["status"] == "fitted", correction)
            np.testing.assert_allclose(coefficients["pvalues_corrected"], expected, rtol=1e-12)
    assert not found, "\n".join(found)
    return batched


def test_some_models_of_some_groups(tmp_path: Path) -> None:
    assert check(tmp_path, 0, groups=12, specifications=3, models=QUICK) >= 12


@pytest.mark.skipif(not PANELS, reason="takes minutes: `make soak` does it")
@pytest.mark.parametrize("number", range(1, PANELS + 1))
def test_many_models_of_many_groups(number: int, tmp_path: Path) -> None:
    assert check(tmp_path, number, groups=50, specifications=8) >= 50
