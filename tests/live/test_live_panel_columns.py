"""Columns of a panel's file, of numbers and of texts: a change fits again what reads it, and nothing else.

Panels that exax imports as datasets, and results that are datasets again.
"""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from live_project import fixture_of
from panel_project import IMPORTED, PANEL, PanelProject, firms

pytestmark = pytest.mark.slow
BLOCKS = 2
MODELS = f"""\
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
REPORT = {"panel_report": 1}
ONE = {"panel_fit": 1, "panel_results": 1, **REPORT}
project = fixture_of(PanelProject)


def positive() -> pd.DataFrame:
    return firms().fillna({"invest": 1.0}).assign(value=lambda frame: frame["value"].abs())


def built(project: PanelProject, frame: pd.DataFrame, form: str = "csv", panel: str = MODELS) -> Counter[str]:
    """What a run builds of a frame, but for what reads it and cuts it into blocks."""
    numbers = str([name for name in frame.columns if name != "firm"])
    return project.built_of(frame, INPUTS[form].replace("COLUMNS", numbers) + panel)


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
    named = MODELS.replace("+ capital", "+ capital + size")
    assert built(project, more, form, named) == {**ONE, "panel_fit": BLOCKS}
    assert {*project.table("coefficients", "plain")["term"]} == {"Intercept", "value", "capital", "size"}


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


TEXTS = PANEL.replace("blocks = 2", "blocks = 4").replace("+ capital", "+ kind").replace("F05", "F01")
COLUMNS = 'numbers = ["value", "invest"]\ntexts = ["firm", "kind"]'
FORMATS = {
    "csv": TEXTS,
    "parquet": TEXTS.replace('"csv"', '"parquet"').replace("firms.csv", "firms.parquet"),
    "csvimport": TEXTS.replace('"csv"', f'"csvimport"\n{COLUMNS}'),
}
AFTER = {"panel_results": 1, "panel_diagnostics": 1, "panel_report": 1}
fresh = fixture_of(PanelProject, "function")


def kinds() -> pd.DataFrame:
    """Firms of three kinds; F04 has two of them, and F06 rows of no kind."""
    frame = firms().drop(columns=["capital", "profit"])
    frame["kind"] = np.array(["b", "c", "d"])[np.random.default_rng(1).integers(0, 3, len(frame))]
    frame.loc[(frame["firm"] == "F04") & (frame["kind"] == "b"), "kind"] = "d"
    frame.loc[frame.index[frame["firm"] == "F06"][:3], "kind"] = None
    return frame


def built_of_texts(fresh: PanelProject, frame: pd.DataFrame, form: str = "csv") -> Counter[str]:
    if form == "parquet":
        kind = pd.CategoricalDtype(["d", "b", "c", *sorted({*frame["kind"].dropna()} - {*"bcd"})])
        frame = frame.astype({"kind": kind})
    return fresh.built_of(frame, FORMATS[form], frozenset({"panel_groups"}))


def fitted(blocks: int) -> Counter[str]:
    return Counter({"panel_fit": blocks, "panel_residuals": blocks, **AFTER})


def changed(before: pd.DataFrame, after: pd.DataFrame) -> set[str]:
    """Firms of which something is another, but for coefficients that they do not have."""
    found = [table.dropna(subset="params").drop(columns="pvalues_corrected") for table in (before, after)]
    both = pd.concat(found)
    return {*both[~both.duplicated(keep=False)]["firm"]}


@pytest.mark.parametrize("form", FORMATS)
def test_a_text_that_is_new_in_a_group_fits_its_block_again(fresh: PanelProject, form: str) -> None:
    sm = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    frame = kinds()
    assert built_of_texts(fresh, frame, form) == fitted(4)
    before = fresh.table("coefficients")
    for name in ("a first", "e last"):
        frame.loc[frame.index[frame["firm"] == "F03"][:9], "kind"] = name
        assert built_of_texts(fresh, frame, form) == fitted(1)
    after = fresh.table("coefficients")
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
    assert "there are no kind[T.e last]" in fresh.table("fits").set_index("firm")["said"]["F00"]


def test_what_runs_again_where_texts_change(fresh: PanelProject) -> None:
    frame = kinds()
    assert built_of_texts(fresh, frame) == fitted(4)
    before = fresh.table("coefficients")
    more = pd.concat([frame, frame[frame["firm"] == "F00"].assign(firm="F98", kind="of its own")])
    assert built_of_texts(fresh, more) == fitted(1)
    assert changed(before, fresh.table("coefficients")) == {"F98"}
    assert built_of_texts(fresh, frame) == {}
    groupwise = frame.sort_values("firm", kind="stable", ascending=False)
    again = {
        "panel_diagnostics": 1,
        "panel_report": 1,
    }  # each group has its rows as they were, with other numbers
    assert built_of_texts(fresh, groupwise) == again
    assert built_of_texts(fresh, frame.iloc[::-1])["panel_fit"] == 4
    np.testing.assert_allclose(fresh.table("coefficients")["params"], before["params"], rtol=1e-9)
    renamed = frame.replace({"kind": {"b": "B"}})
    assert built_of_texts(fresh, renamed)["panel_fit"] == 4
    pd.testing.assert_frame_equal(fresh.table("coefficients"), before, check_exact=True)
    renamed = frame.replace({"kind": {"d": "a"}})  # it is what the others are compared with now
    assert built_of_texts(fresh, renamed)["panel_fit"] == 4
    assert {*fresh.table("coefficients")["term"]} == {"Intercept", "value", "kind[T.b]", "kind[T.c]"}


OWN = """\
from build_scripts.build_panel import fit_all
from shortloop.panel.pipeline import import_dataset, run_panel


def main(urd):
    return run_panel(urd, pipeline)


def pipeline(run):
    return fit_all(run, import_dataset(run, run.build("written")))
"""
WRITTEN = """\
import csv

from shortloop.keys.code import code_of

depend_extra = code_of(__file__)


def synthesis(job):
    with open(FILE) as stream:
        rows = list(csv.DictReader(stream))[::-1]
    types = {"firm": "unicode", "value": "float64", "capital": "float64", "invest": ("float64", True)}
    types |= {"big": "int64", "none": "json"}
    first = None
    for name, part in (("old", rows[:100]), ("default", rows[100:])):
        writer = job.datasetwriter(name=name, columns=types, previous=first)
        write = writer.get_split_write_dict()
        for row in part:
            numbers = {each: float(row[each] or "nan") for each in ("value", "capital")}
            invest = float(row["invest"]) if row["invest"] else None
            write({"firm": row["firm"], **numbers, "invest": invest, "big": 2**60, "none": {}})
        first = writer
"""


def test_a_dataset_gives_what_the_file_gives(project: PanelProject) -> None:
    project.write_panel(PANEL)
    project.built()
    of_file = project.table("coefficients")
    project.write_panel(IMPORTED)
    assert project.built() == {
        "csvimport": 1,
        "dataset_type": 1,
        "import_dataset": 1,
        "panel_groups": 1,
        "panel_rows": 1,
        "panel_block": BLOCKS,
        "panel_report": 1,
    }  # and no fits: blocks came out the same
    pd.testing.assert_frame_equal(project.table("coefficients"), of_file, check_exact=True)
    assert project.built() == {}
    project.stop_server()
    project.start_server(SHORTLOOP_SLICES="1")
    assert {"csvimport", "dataset_type", "import_dataset"} <= {*project.built()}
    pd.testing.assert_frame_equal(project.table("coefficients"), of_file, check_exact=True)
    project.stop_server()
    project.start_server()


def test_a_dataset_of_ones_own(project: PanelProject) -> None:
    project.write("dev/a_written.py", WRITTEN.replace("FILE", repr(str(project.folder / "firms.csv")), 1))
    project.write("dev/build_own.py", OWN)
    project.write_panel(PANEL)
    project.built()
    of_file = project.table("coefficients")
    done = project.ax("run", "own").ok()
    found = next(line.split()[3] for line in done.stdout.splitlines() if "] built panel_results" in line)
    frame = f"import shortloop; print(shortloop.load('{found}').to_frame().to_json(double_precision=15))"
    mine = pd.DataFrame(json.loads(project.python(frame))).reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, of_file, check_dtype=False, rtol=1e-12)


def test_results_are_datasets_if_that_is_asked_for(project: PanelProject) -> None:
    project.write_panel("datasets = true\n" + PANEL)
    assert project.built()["panel_dataset"] == 1
    summary = project.summary()
    (job,) = (each["job"] for each in summary["jobs"] if each["stage"] == "panel_dataset")
    shown = project.ax("grep", "--format", "json", "F01", f"{job}/coefficients").stdout
    found = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
    expected = project.table("coefficients")
    expected = expected[expected["firm"] == "F01"].reset_index(drop=True)
    mine = pd.DataFrame(found).sort_values("term", ignore_index=True)
    pd.testing.assert_frame_equal(
        mine[list(expected.columns)], expected.sort_values("term", ignore_index=True), check_dtype=False
    )
