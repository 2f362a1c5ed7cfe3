"""Tables for papers and plots of coefficients: numbers of `summary_col`, and texts that break no format."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from figure_texts import check_texts, texts
from markdown_it import MarkdownIt
from panel_real import real_table
from panel_shops import OLS, built, shops
from refusal import refusal
from statsmodels.iolib.summary2 import summary_col

from shortloop.panel.frame import fit_frame
from shortloop.panel.paper.formats import PaperTable
from shortloop.panel.paper.plot import coefficient_figure
from shortloop.panel.paper.table import paper_table
from shortloop.panel.results import Results
from shortloop.stages.results import open_result

FIRMS = ["IBM", "US Steel", "Chrysler"]


@pytest.fixture(scope="module")
def grunfeld() -> pd.DataFrame:
    return real_table("statsmodels.datasets.grunfeld")


@pytest.fixture(scope="module")
def fits(grunfeld: pd.DataFrame) -> dict[str, Results]:
    formulas = {"small": "invest ~ value", "large": "invest ~ value + capital"}
    return {
        name: fit_frame(grunfeld, ["firm"], model="ols", formula=formula, covariance="HC1")
        for name, formula in formulas.items()
    }


def test_numbers_and_stars_are_those_of_summary_col(grunfeld: pd.DataFrame, fits: dict[str, Results]) -> None:
    table: Any = paper_table(fits, FIRMS, rows=["rsquared", "rsquared_adj", "nobs"]).to_frame()
    for firm in FIRMS:
        part = grunfeld[grunfeld["firm"] == firm]
        judges = [
            smf.ols(f, part).fit(cov_type="HC1") for f in ("invest ~ value", "invest ~ value + capital")
        ]
        found = summary_col(judges, stars=True, float_format="%.3f", model_names=["small", "large"])
        theirs: Any = found.tables[0]
        for spec in ("small", "large"):
            mine = table[firm, spec]
            for cell, judged in zip(mine.iloc[:8], theirs[spec].iloc[:8], strict=True):
                assert re.sub(r"[\d.]", "", cell) == re.sub(r"[\d.]", "", judged)  # signs, brackets, stars
                if cell:
                    one, other = (float(text.strip("()*")) for text in (cell, judged))
                    assert abs(one - other) <= 0.00051
            assert mine.iloc[8] == "20"
    assert [*table.index[:6]] == ["Intercept", "", "value", "", "capital", ""]


def check_latex(text: str, columns: int) -> list[list[str]]:
    """See that each row has its cells and braces are closed; return the cells."""
    assert text.startswith(rf"\begin{{tabular}}{{l{'c' * columns}}}")
    assert text.endswith("\\end{tabular}\n")
    bare = re.sub(r"\\[\\{}&%$#_]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[#_%~^](?![{])", re.sub(r"\$[^$]*\$", "", bare))
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    cells = [re.split(r"(?<!\\)&", line) for line in rows]
    for row in cells:
        spans = [int(each) for each in re.findall(r"\\multicolumn\{(\d+)\}", "".join(row))]
        assert len(row) + sum(spans) - len(spans) == columns + 1
    assert not [
        line for line in rows if line.startswith(("[", "*"))
    ]  # arguments of the end of the row before
    return cells


def test_texts_break_no_format(tmp_path: Path) -> None:
    labels = {"x": r"100 % & $\beta_1$ #{~^}", "C(k)[T.b]": "[b] | *c* <d>", "Intercept": "*"}
    fits = fit_frame(shops(), ["town", "shop"], model="ols", formula="y ~ x + C(k)")
    table = paper_table({"a_b": fits, "a&b": fits}, [("Łódź", 1), ("東京", 1)], labels=labels)
    cells = check_latex(table.to_latex(), 4)
    assert len(cells) == 2 + len(table.rows) + len(table.notes)
    html = MarkdownIt("commonmark").enable("table").render(table.to_markdown())
    read: Any = pd.read_html(StringIO(html), keep_default_na=False)[0]
    assert [*read.iloc[:, 0]] == [label for label, _ in table.rows]
    assert [*read.columns[1:]] == ["Łódź 1 / a_b", "Łódź 1 / a&b", "東京 1 / a_b", "東京 1 / a&b"]
    assert "<li>" not in html
    assert "<em>" not in html
    assert table.notes[1:] == ["東京 1 a_b: singular.", "東京 1 a&b: singular."]
    assert {cell for _, row in table.rows for cell in row[2:]} == {""}
    table.to_excel(tmp_path / "table.xlsx")
    sheet: Any = pd.read_excel(tmp_path / "table.xlsx", header=None, keep_default_na=False, dtype=str)
    assert [*sheet.iloc[2:-3, 0]] == [label for label, _ in table.rows]
    assert [*sheet.iloc[3, 1:3]] == [*table.rows[1][1][:2]]


def test_small_numbers_keep_digits_and_models_without_errors_have_no_rows_for_them() -> None:
    frame = shops().assign(x=lambda each: each["x"] * 1e6)
    shown: Any = paper_table(
        fit_frame(frame, ["town"], model="ols", formula="y ~ x"), ["Łódź"], stars=()
    ).to_frame()
    judge = smf.ols("y ~ x", frame[frame["town"] == "Łódź"]).fit()
    assert float(shown.iloc[2, 0]) == pytest.approx(judge.params["x"], rel=0.05)
    assert float(shown.iloc[3, 0].strip("()")) == pytest.approx(judge.bse["x"], rel=0.05)
    assert "*" not in "".join(shown.iloc[:, 0])
    ridge = paper_table(fit_frame(frame, ["town"], model="ridge", formula="y ~ x"), ["Łódź"])
    assert [label for label, _ in ridge.rows] == ["Intercept", "x", "N"]
    assert ridge.notes == []
    logit = paper_table(fit_frame(frame, ["town"], model="logit", formula="paid ~ x"), ["Łódź"])
    assert [label for label, _ in logit.rows] == ["Intercept", "", "x", "", "Pseudo R²", "N"]
    empty = PaperTable([["a"]], [("N", ["5"])], 0, [])
    assert empty.to_latex().count("rule") == 3


@pytest.mark.parametrize(
    ("more", "problem", "parts"),
    [
        ({"groups": ["IMB"]}, "no such group", ("e.g. IBM",)),
        ({"groups": []}, "no group is chosen", ()),
        ({"terms": ["valeu"]}, "no such name", ("one of Intercept, value",)),
        ({"rows": ["r2"]}, "no such name", ("rsquared",)),
    ],
)
def test_unknown_names_are_refused(fits: dict[str, Results], more: Any, problem: str, parts: Any) -> None:
    with refusal(problem, *parts):
        paper_table(fits, **{"groups": ["IBM"], **more})


def test_every_group_has_its_name_and_interval(fits: dict[str, Results]) -> None:
    figure = coefficient_figure(fits, "value", labels={"value": "Market value", "IBM": "I. B. M."})
    (axes,) = figure.axes
    shown = [each.get_text() for each in axes.get_yticklabels()]
    params = fits["small"].arrays["params"][:, 1]
    order = np.argsort(-params)
    names = [" ".join(fits["small"].keys[g]).replace("IBM", "I. B. M.") for g in order]
    assert shown == names
    dots = [line.get_xdata() for line in axes.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(dots[0], params[order])
    lines = [[path.vertices[:, 0] for path in each.get_paths()] for each in axes.collections]  # type: ignore[index]
    ends = np.stack([fits["large"].arrays[end][order, 1] for end in ("lower", "upper")], axis=1)
    np.testing.assert_allclose(np.array(lines[1]), ends)
    drawn = texts(figure)
    check_texts(figure, drawn)
    some = coefficient_figure(fits["large"], "capital", ["US Steel", "IBM"])
    assert [each.get_text() for each in some.axes[0].get_yticklabels()] == ["US Steel", "IBM"]


def test_one_huge_interval_does_not_flatten_the_others() -> None:
    frame = shops()
    frame.loc[frame["shop"] == 2, "y"] *= 1000
    found = fit_frame(frame, ["town", "shop"], model="ols", formula="y ~ x")
    figure = coefficient_figure(
        found, "x", [("Łódź", 2), ("Łódź", 1), ("東京", 0), ("Zürich", 3), ("東京", 1)]
    )
    low, high = figure.axes[0].get_xlim()
    assert high - low < 10
    assert any("1 interval beyond the frame" in each.get_text() for each in figure.texts)
    assert "東京 1 (none)" in [each.get_text() for each in figure.axes[0].get_yticklabels()]
    with refusal("no such name"):
        coefficient_figure(found, "z")
    without = coefficient_figure(fit_frame(frame, ["town"], model="ridge", formula="y ~ x"), "x")
    assert without.get_suptitle() == "x by town"
    number = np.repeat(np.arange(102), 5)  # the x of one is constant
    many = shops(102, 5).assign(number=number, y=lambda each: each["x"] + number % 7)
    with refusal("too many groups", found=101):
        coefficient_figure(fit_frame(many, ["number"], model="ols", formula="y ~ 1"), "Intercept")
    exact = fit_frame(shops().groupby("town").head(2), ["town"], model="ols", formula="y ~ x")
    with refusal("no group has this coefficient"):
        coefficient_figure(exact, "x")


def test_a_run_writes_them(tmp_path: Path) -> None:
    asked = 'groups = [["Łódź", 1], ["Zürich", 2]], labels = {x = "X"}, plots = ["x"]'
    more = f'{OLS}}}\npaper = {{{asked}, formats = ["latex", "markdown", "excel"]'
    run, _ = built(tmp_path / "a", "worst = 0, groups = [['Łódź', 1]]", more=more)
    (job,) = [open_result(job.path) for job in run.jobs if job.stage == "panel_paper"]
    fits = fit_frame(shops(), ["town", "shop"], model="ols", formula="y ~ x + C(k)")
    table = paper_table({"plain": fits}, [("Łódź", 1), ("Zürich", 2)], labels={"x": "X"})
    assert job.files["table.tex"].read_text() == table.to_latex()
    assert job.files["table.md"].read_text() == table.to_markdown()
    assert "table.xlsx" in job.files
    assert [*job.figures] == ["x"]
    with refusal("no such group", "e.g. Łódź 1", field="paper.groups"):
        built(tmp_path / "b", "worst = 0", more=more.replace('["Łódź", 1]', '["Łódź", 11]'))
