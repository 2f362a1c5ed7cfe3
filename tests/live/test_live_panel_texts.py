"""Columns of texts: which blocks of groups run again after texts have changed."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from live_project import fixture_of
from panel_project import PANEL, PanelProject, firms

pytestmark = pytest.mark.slow

BLOCKS = 4
TEXTS = PANEL.replace("blocks = 2", f"blocks = {BLOCKS}").replace("+ capital", "+ kind").replace("F05", "F01")
COLUMNS = 'numbers = ["value", "invest"]\ntexts = ["firm", "kind"]'
FORMATS = {
    "csv": TEXTS,
    "parquet": TEXTS.replace('"csv"', '"parquet"').replace("firms.csv", "firms.parquet"),
    "csvimport": TEXTS.replace('"csv"', f'"csvimport"\n{COLUMNS}'),
}
AFTER = {"panel_results": 1, "panel_diagnostics": 1, "panel_report": 1}
project = fixture_of(PanelProject, "function")


def kinds() -> pd.DataFrame:
    """Firms of three kinds; F04 has two of them, and F06 rows of no kind."""
    frame = firms().drop(columns=["capital", "profit"])
    frame["kind"] = np.array(["b", "c", "d"])[np.random.default_rng(1).integers(0, 3, len(frame))]
    frame.loc[(frame["firm"] == "F04") & (frame["kind"] == "b"), "kind"] = "d"
    frame.loc[frame.index[frame["firm"] == "F06"][:3], "kind"] = None
    return frame


def built(project: PanelProject, frame: pd.DataFrame, form: str = "csv") -> Counter[str]:
    """What a run builds of a frame, but for what reads it and cuts it into blocks."""
    if form == "parquet":
        kind = pd.CategoricalDtype(["d", "b", "c", *sorted({*frame["kind"].dropna()} - {*"bcd"})])
        frame.astype({"kind": kind}).to_parquet(project.folder / "firms.parquet")
    else:
        frame.to_csv(project.folder / "firms.csv", index=False)
    project.write_panel(FORMATS[form])
    found = project.built()
    read = {"import_panel", "csvimport", "dataset_type", "import_dataset", "panel_block", "panel_groups"}
    return Counter({stage: count for stage, count in found.items() if stage not in read})


def fitted(blocks: int) -> Counter[str]:
    return Counter({"panel_fit": blocks, "panel_residuals": blocks, **AFTER})


def changed(before: pd.DataFrame, after: pd.DataFrame) -> set[str]:
    """Firms of which something is another, but for coefficients that they do not have."""
    found = [table.dropna(subset="params").drop(columns="pvalues_corrected") for table in (before, after)]
    both = pd.concat(found)
    return {*both[~both.duplicated(keep=False)]["firm"]}


@pytest.mark.parametrize("form", FORMATS)
def test_a_text_that_is_new_in_a_group_fits_its_block_again(project: PanelProject, form: str) -> None:
    sm = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    frame = kinds()
    assert built(project, frame, form) == fitted(BLOCKS)
    before = project.table("coefficients")
    for name in ("a first", "e last"):
        frame.loc[frame.index[frame["firm"] == "F03"][:9], "kind"] = name
        assert built(project, frame, form) == fitted(1)
    after = project.table("coefficients")
    assert changed(before, after) == {"F03"}
    first = "d" if form == "parquet" else "b"  # categories of the file have an order of their own
    assert first not in {name[-2] for name in after["term"] if name.startswith("kind")}
    for firm, part in frame.groupby("firm"):
        levels = sorted({*part["kind"].dropna()}, key=lambda kind: (kind != first, kind))
        columns = [(part["kind"] == level).astype(float) for level in levels[1:]]
        design = np.column_stack([np.ones(len(part)), *columns, part["value"]])
        whole = part["kind"].notna() & part["invest"].notna()
        theirs = sm.OLS(part["invest"][whole], design[whole]).fit(cov_type="HC1").params
        mine = after[after["firm"] == firm].set_index("term")["params"].dropna()
        assert list(mine.index) == ["Intercept", "value", *(f"kind[T.{level}]" for level in levels[1:])]
        np.testing.assert_allclose(mine, [theirs.iloc[0], theirs.iloc[-1], *theirs.iloc[1:-1]], rtol=1e-9)
    said = project.table("fits").set_index("firm")["said"]
    assert "there are no kind[T.e last]" in said["F00"]


def test_what_runs_again_where_texts_change(project: PanelProject) -> None:
    frame = kinds()
    assert built(project, frame) == fitted(BLOCKS)
    before = project.table("coefficients")
    more = pd.concat([frame, frame[frame["firm"] == "F00"].assign(firm="F98", kind="of its own")])
    assert built(project, more) == fitted(1)
    assert changed(before, project.table("coefficients")) == {"F98"}
    assert built(project, frame) == {}

    groupwise = frame.sort_values("firm", kind="stable", ascending=False)
    assert built(project, groupwise) == {"panel_report": 1}  # each group has its rows as they were
    backwards = frame.iloc[::-1]
    assert built(project, backwards)["panel_fit"] == BLOCKS
    np.testing.assert_allclose(project.table("coefficients")["params"], before["params"], rtol=1e-9)

    renamed = frame.replace({"kind": {"b": "B"}})
    assert built(project, renamed)["panel_fit"] == BLOCKS
    pd.testing.assert_frame_equal(project.table("coefficients"), before, check_exact=True)
    renamed = frame.replace({"kind": {"d": "a"}})  # it is what the others are compared with now
    assert built(project, renamed)["panel_fit"] == BLOCKS
    assert {*project.table("coefficients")["term"]} == {"Intercept", "value", "kind[T.b]", "kind[T.c]"}


def test_the_report_says_what_is_true_of_the_rows_now(project: PanelProject) -> None:
    frame = kinds()
    built(project, frame)
    page = project.folder / "results/firms/report.html"
    for rows in (3, 1):
        less = pd.concat([frame, frame.iloc[:rows].assign(firm=None)])
        assert built(project, less) == {"panel_report": 1}
        assert re.findall(r"(\d+) rows belong to no group", page.read_text(encoding="utf-8")) == [str(rows)]
    built(project, frame)
    assert "belong to no group" not in page.read_text(encoding="utf-8")
