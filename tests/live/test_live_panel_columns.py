"""Columns of a panel's file: a change of one fits again what reads it, and nothing else."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest
from live_project import fixture_of
from panel_project import PanelProject, firms

pytestmark = pytest.mark.slow

BLOCKS = 2
PANEL = f"""\
name = "firms"
groups = {{ by = ["firm"], blocks = {BLOCKS} }}
diagnostics = {{ worst = 0 }}

[models.plain]
model = "ols"
formula = "invest ~ value + capital"

[models.other]
model = "wls"
weights = "value"
formula = "profit ~ 1"
"""
INPUTS = {
    "csv": 'input = { format = "csv", file = "firms.csv" }\n',
    "parquet": 'input = { format = "parquet", file = "firms.parquet" }\n',
    "csvimport": 'input = { format = "csvimport", file="firms.csv", texts = ["firm"], numbers = COLUMNS }\n',
}
READ = {"import_panel", "csvimport", "dataset_type", "import_dataset", "panel_block"}
REPORT = {"panel_report": 1}
BOTH = {"panel_fit": 2, "panel_results": 2, **REPORT}  # a block of each model
ONE = {"panel_fit": 1, "panel_results": 1, **REPORT}
project = fixture_of(PanelProject)


def positive() -> pd.DataFrame:
    return firms().fillna({"invest": 1.0}).assign(value=lambda frame: frame["value"].abs())


def built(project: PanelProject, frame: pd.DataFrame, form: str = "csv", panel: str = PANEL) -> Counter[str]:
    """What a run builds of a frame, but for what reads it and cuts it into blocks."""
    if form == "parquet":
        frame.to_parquet(project.folder / "firms.parquet")
    else:
        frame.to_csv(project.folder / "firms.csv", index=False)
    numbers = str([name for name in frame.columns if name != "firm"])
    project.write_panel(INPUTS[form].replace("COLUMNS", numbers) + panel)
    return Counter({stage: count for stage, count in project.built().items() if stage not in READ})


@pytest.mark.parametrize("form", INPUTS)
def test_what_reads_a_column_is_fitted_again(project: PanelProject, form: str) -> None:
    frame = positive()
    frame["capital"] *= 1 + list(INPUTS).index(form)  # what was fitted of one format is there for the others
    frame["profit"] *= 1 + list(INPUTS).index(form)
    built(project, frame, form)
    before = project.table("coefficients", "plain")
    more = frame.assign(size=1.5 * frame["value"] ** 2, aside=0.0)[
        ["size", "profit", "invest", "firm", "aside", "value", "capital"]
    ]
    assert built(project, more, form) == REPORT
    pd.testing.assert_frame_equal(project.table("coefficients", "plain"), before, check_exact=True)

    more.loc[more.index[more["firm"] == "F03"][:5], "profit"] += 1.0
    assert built(project, more, form) == ONE
    named = PANEL.replace("+ capital", "+ capital + size")
    assert built(project, more, form, named) == {**ONE, "panel_fit": BLOCKS}
    expected = {"Intercept", "value", "capital", "size"}
    assert {*project.table("coefficients", "plain")["term"]} == expected


def test_rows_and_groups_that_are_added_fit_their_blocks_again(project: PanelProject) -> None:
    frame = positive()
    built(project, frame)
    longer = pd.concat([frame, frame[frame["firm"] == "F04"].iloc[:1]])
    assert built(project, longer) == BOTH
    for name in ("A", "Z"):  # the first and the last of all
        assert built(project, pd.concat([frame, frame[:20].assign(firm=name)])) == BOTH
    assert built(project, frame) == {}


def test_a_column_of_another_type_is_read_anew(project: PanelProject) -> None:
    frame = positive().assign(aside=[*range(359), 5])
    built(project, frame)
    for aside in (0.5, "some", None, True):
        assert (
            built(project, frame.assign(aside=frame["aside"].astype(object).where(frame.index > 3, aside)))
            == REPORT
        )
    texts = frame.assign(capital=(frame["capital"] > 0).map({True: "much", False: "little"}))
    assert built(project, texts) == {**ONE, "panel_fit": BLOCKS}
    assert "capital[T.much]" in {*project.table("coefficients", "plain")["term"]}
    assert built(project, frame) == {}
