"""A panel from a file to tables and a report, and what runs again after a change."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from cases import first_cases
from live_project import fixture_of
from panel_project import BLOCKS, IMPORTED, PANEL, PanelProject, firms

BEFORE = {"panel_groups": 1, "panel_rows": 1, "panel_block": BLOCKS}
"""What comes before fits."""
FITTED = {"panel_fit": BLOCKS, "panel_residuals": BLOCKS}
AFTER = {"panel_results": 1, "panel_diagnostics": 1, "panel_report": 1}
"""What follows on fits."""
project = fixture_of(PanelProject)


def test_tables_are_what_statsmodels_says(project: PanelProject) -> None:
    smf = pytest.importorskip("statsmodels.formula.api", reason="statsmodels is not installed")
    assert project.built() == {"import_panel": 1, **BEFORE, **FITTED, **AFTER}
    coefficients, fits = project.table("coefficients"), project.table("fits").set_index("firm")
    assert fits["status"].to_dict() == {f"F{n:02d}": "singular" if n == 5 else "fitted" for n in range(12)}
    assert fits["path"].to_dict() == {f"F{n:02d}": "statsmodels" if n == 5 else "batched" for n in range(12)}
    assert "a regressor is a sum of others" in str(fits.loc["F05", "said"])
    assert fits.loc["F07", "nobs"] == 26
    for firm, part in firms().groupby("firm"):
        theirs = smf.ols("invest ~ value + capital", part).fit(cov_type="HC1")
        mine = coefficients[coefficients["firm"] == firm].set_index("term")
        np.testing.assert_allclose(mine["params"], theirs.params, rtol=1e-9)
        np.testing.assert_allclose(mine["bse"], theirs.bse, rtol=1e-9)
        np.testing.assert_allclose(mine["pvalues"], theirs.pvalues, rtol=1e-6, atol=1e-12)
    assert coefficients["firm"].is_monotonic_increasing
    text = pd.read_csv(project.folder / "results/firms/tables/plain-invest/coefficients.csv")
    pd.testing.assert_frame_equal(text, coefficients, check_dtype=False)
    page = (project.folder / "results/firms/report.html").read_text(encoding="utf-8")
    assert "11 of 12 groups fitted" in page
    assert 'href="tables/plain-invest/coefficients.csv"' in page
    assert "1 singular" in page


@pytest.mark.slow
def test_what_a_change_touches_is_fitted_again(project: PanelProject) -> None:
    project.built()
    assert project.built() == {}
    more = '\n[models.robust]\nmodel = "rlm"\nformula = "invest ~ value"\n'
    project.write_panel(PANEL.replace('["invest"]', '["invest", "profit"]') + more)
    of_each = {"panel_block": BLOCKS, **FITTED, **AFTER, "panel_report": 0}
    assert project.built() == {**{stage: 2 * count for stage, count in of_each.items()}, "panel_report": 1}
    project.write_panel(PANEL)
    assert project.built() == {}
    before = project.table("coefficients")
    frame = firms()
    frame.loc[frame.index[frame["firm"] == "F03"][0], "invest"] += 1.0
    frame.to_csv(project.folder / "firms.csv", index=False)
    fitted_again = {"panel_fit": 1, "panel_residuals": 1, **AFTER}
    done = project.ax("run", "build_panel")
    built = Counter(re.findall(r"\] built (\S+) ", done.stdout))
    assert built == {"import_panel": 1, **BEFORE, **fitted_again}
    assert re.search(r"built panel_fit +00\d .* s  plain invest: ", done.stdout)
    assert re.search(r"built panel_diagnostics .* [1-3] of [34] units computed; ", done.stdout)
    after = project.table("coefficients")
    assert set(before["firm"][(before["params"] != after["params"]).to_numpy()]) == {"F03"}
    with_another = pd.concat([frame, frame[frame["firm"] == "F01"].assign(firm="F99")])
    with_another.to_csv(project.folder / "firms.csv", index=False)
    assert project.built() == {"import_panel": 1, **BEFORE, **fitted_again}
    assert {*project.table("coefficients")["firm"]} - {*after["firm"]} == {"F99"}
    file = project.folder / "results/firms/diagnostics/plain-invest.pdf"
    assert "diagnostics/plain-invest.pdf" in project.summary()["files"]
    project.write_panel(PANEL.replace("worst = 3", "worst = 0"))
    assert project.built() == {"panel_diagnostics": 1, "panel_report": 1}
    assert len(re.findall(rb"/Type /Page\b", file.read_bytes())) == 1
    project.write_panel(PANEL[: PANEL.index("[diagnostics]")] + "[diagnostics]\nworst = 0\n")
    assert project.built() == {"panel_report": 1}
    assert not file.exists()
    project.write_panel(PANEL)


NUMBERS = '"capital", "invest"]\ntexts = ["firm"]\nfile = "firms.csv"'


@first_cases(
    1,
    ("old", "new", "words"),
    [
        (NUMBERS, NUMBERS.replace('t"]', 't", "kind"]', 1), ('Failed to convert "much"', "column kind")),
        ('file = "firms.csv"', 'file = "no_such.csv"', ("no_such.csv",)),
        ('by = ["firm"]', 'by = ["company"]', ("groups.by", "company", "firm, value, capital")),
        ("~ value + capital", "~ value + capita", ("models.plain.formula", "capita", "no such column")),
        ('["F05"]', '["F5"]', ("diagnostics.groups", "no such group", "F5", "F05")),
    ],
)
def test_what_is_wrong_is_named(project: PanelProject, old: str, new: str, words: tuple[str, ...]) -> None:
    project.write_panel((IMPORTED if old == NUMBERS else PANEL).replace(old, new))
    firms().assign(kind="much").to_csv(project.folder / "firms.csv", index=False)
    said = project.ax("run", "build_panel").fails()
    firms().to_csv(project.folder / "firms.csv", index=False)
    project.write_panel(PANEL)
    assert "Traceback" not in said or old == NUMBERS  # of exax's own method
    assert all(word in said for word in words), said
    assert "F5" not in words or "built panel_fit" not in said


def test_the_summary_says_where_each_number_is_from(project: PanelProject) -> None:
    project.built()
    summary = project.summary()
    assert {job["stage"] for job in summary["jobs"]} == {"import_panel", *BEFORE, *FITTED, *AFTER}
    assert summary["findings"][0]["says"][0].startswith("invest ~ value + capital (ols)")
    fit = next(job["job"] for job in summary["jobs"] if job["stage"] == "panel_fit")
    versions = project.record(fit)["versions"]  # some by modules that settings name
    assert {"formulaic", "numba", "statsmodels"} <= {*versions}
    project.works("show", summary["jobs"][-1]["job"])
