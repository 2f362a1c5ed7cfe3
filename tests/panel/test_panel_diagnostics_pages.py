"""Pages of groups to look at: which there are, what is on them, and that nothing else decides their bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import first_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import InProcess, do_job
from panel_shops import OLS, built, shops
from pdf_reader import PdfFile
from refusal import refusal

from shortloop.base.types import FloatArray
from shortloop.panel.diagnostics.group_page import DRAWN, Head, axis_of, page_of
from shortloop.panel.diagnostics.residuals import Rows
from shortloop.plan.pipeline import Built, Call
from shortloop.report.pdf import document
from shortloop.stages.records import ROWS
from shortloop.stages.stage import CollectingStage
from shortloop.stages.task import open_stage

HEAD = Head("firm = F07", "plain: y ~ x (ols)", "chosen by name", "page 1 of 1")


@pytest.fixture(autouse=True, scope="module")
def without_report() -> Iterator[None]:
    """End runs at the pages: the report takes longer than they do."""
    ask = InProcess.ask

    def asked(run: InProcess, stage: str, partition: str | None, call: Call) -> Built:
        return Built("", stage, None) if stage == "panel_report" else ask(run, stage, partition, call)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcess, "ask", asked)
        yield


def drawn(folder: Path, asked: str, model: str = "ols", more: str = OLS) -> PdfFile:
    """The file that a run leaves."""
    _, job = built(folder, asked, model, more)
    return PdfFile((job.path / "diagnostics.pdf").read_bytes())


def test_chosen_groups_come_first_and_the_worst_after_them(tmp_path: Path) -> None:
    file = drawn(tmp_path, 'groups = [["東京", 1], ["Zürich", 1], ["Łódź", 2], ["Zürich", 1]], worst = 3')
    titles = [title for title, _ in file.bookmarks]
    assert titles[:3] == ["town = 東京, shop = 1", "town = Zürich, shop = 1", "town = Łódź, shop = 2"]
    assert len(titles) == len(set(titles)) == len(file.pages)
    assert len(titles) in (5, 6)  # the worst of all is named
    assert "□" not in "".join(titles)
    texts = file.texts(0)
    assert "Not fitted: singular." in texts
    assert "a regressor is a sum of others" in " ".join(texts)
    assert "Normal QQ plot" not in texts
    assert "30 rows, 2 coefficients" in file.texts(1)[3]  # this group lacks one of the texts of k
    texts = file.texts(2)
    assert texts[:2] == ["town = Łódź, shop = 2", f"page 3 of {len(titles)}"]
    assert texts[2] == "plain: y ~ x + C(k) (ols) · chosen by name"
    assert texts[3].startswith("29 rows, 3 coefficients · 3.45 % of standardised residuals beyond 3 · ")
    assert {"Normal QQ plot", "leverage", "observed", "fitted value", "residual", "1", "2"} <= {*texts}
    assert "worst 2 of 12 by outliers: " in file.texts(3)[2]


@pytest.mark.parametrize("formula", ["y ~ x + C(k)", "y ~ bs(x, df=4)"])
def test_outlying_points_have_the_numbers_of_their_rows_in_the_file(tmp_path: Path, formula: str) -> None:
    frame = shops()
    far = frame.index[frame["y"].isin([60.0, -40.0])]
    frame.loc[far[0] - 1, "town"] = None  # the row before belongs to no group
    frame = frame.sample(frac=1.0, random_state=2)
    numbers = {str(number) for number, row in enumerate(frame.index, 1) if row in far}
    _, job = built(tmp_path, 'groups = [["Łódź", 2]], worst = 0', more=f'formula = "{formula}"', frame=frame)
    file = PdfFile((job.path / "diagnostics.pdf").read_bytes())
    assert numbers & {*file.texts(0)}
    assert {text for text in file.texts(0) if text.isdigit() and int(text) > 60} <= numbers
    assert "with the number of the row in the file" in " ".join(file.texts(0))


SLOW = pytest.mark.slow


@first_cases(1, "by", ["outliers", "leverage", "normality", "influence", "fit"])
def test_only_fitted_groups_are_worst(tmp_path: Path, by: str) -> None:
    titles = [title for title, _ in drawn(tmp_path, f'worst = 50, worst_by = "{by}"').bookmarks]
    assert len(titles) == 11
    assert "town = 東京, shop = 1" not in titles
    if by not in ("leverage", "influence"):
        assert titles[0] == "town = Łódź, shop = 2"


@pytest.mark.parametrize(
    ("model", "more"),
    [
        ("logit", 'formula = "paid ~ x"'),
        pytest.param("glm", 'formula = "paid ~ x", family = "binomial", link = "probit"', marks=SLOW),
        pytest.param("rlm", 'formula = "y ~ x"', marks=SLOW),
        pytest.param("quantreg", 'formula = "y ~ x", quantile = 0.25', marks=SLOW),
        ("statsmodels", 'formula = "paid ~ x", path = "statsmodels.discrete.discrete_model.Probit"'),
        pytest.param("ols", 'formula = "y ~ scale(x)"', marks=SLOW),
        ("ols", 'formula = "~ np.log(x)", outcomes = ["y"]'),
        pytest.param("ols", 'formula = "y ~ 1"', marks=SLOW),
    ],
)
def test_every_model_has_pages(tmp_path: Path, model: str, more: str) -> None:
    file = drawn(tmp_path, "worst = 4", model, more)
    assert len(file.pages) == 4
    for page in range(4):
        assert sum(text in ("Normal QQ plot", "Residuals against leverage") for text in file.texts(page)) == 2
        assert len(re.findall(r" l S\n", file.pages[page])) > 30


def test_where_no_group_was_fitted_a_page_says_so(tmp_path: Path) -> None:
    file = drawn(tmp_path, "worst = 4", "ols", 'formula = "y ~ x + I(2 * x)"')
    assert len(file.pages) == 1
    assert "No group was fitted." in file.texts(0)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ('["Łódź", 9]', r"no such group(.|\n)*diagnostics\.groups(.|\n)*town, shop, e\.g\. Łódź"),
        ('"Łódź"', r"no such group(.|\n)*diagnostics\.groups(.|\n)*town, shop, e\.g\. Łódź"),
        (
            '["Łódź", 1], ["Zurich", 1], ["東京", 7], ["Zurich", 1]',
            r'no such groups(.|\n)*\["Zurich", "1"\], \["東京", "7"\](.|\n)*e\.g\. Zürich 1',
        ),
    ],
)
def test_groups_that_are_not_there_are_named(tmp_path: Path, asked: str, said: str) -> None:
    with refusal(said):
        drawn(tmp_path, f"groups = [{asked}]")
    assert not [*tmp_path.rglob("params.npy")]  # nothing was fitted before


OTHERS = ["town = 東京, shop = 0", "town = 東京, shop = 1"]
GROUPS = 'groups = [["Zürich", 2], ["東京", 0], ["東京", 1]], '


def changed(**where: Any) -> pd.DataFrame:
    """One number is another."""
    frame = shops()
    here = (frame[list(where)] == pd.Series(where)).all(axis=1)
    frame.loc[frame.index[here][0], "y"] += 0.5
    return frame


def with_other_rows() -> pd.DataFrame:
    """What no page is drawn from: a further column, a further group, other rows behind."""
    frame = shops().assign(other=1.0)
    more = frame[frame["shop"] == 3].assign(town="Aachen")
    return pd.concat([frame, more])


def with_a_row_before() -> pd.DataFrame:
    """The same groups, whose rows have other numbers."""
    frame = shops()
    return pd.concat([frame.head(1).assign(town=None), frame])


ROWS_OF: dict[str, Callable[[], pd.DataFrame]] = {
    "one row on": with_a_row_before,
    "as before": shops,
    "Zürich 2": partial(changed, town="Zürich", shop=2),
    "東京 1": partial(changed, town="東京", shop=1),
    "東京 3": partial(changed, town="東京", shop=3),
    "others": with_other_rows,
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[InProcess, Built]]:
    """Runs of some rows, each once for all tests."""

    @cache
    def run(asked: str, rows: str) -> tuple[InProcess, Built]:
        return built(tmp_path_factory.mktemp("run"), asked, frame=ROWS_OF[rows]())

    return run


@pytest.mark.parametrize(
    ("asked", "rows", "again"),
    [
        (f"{GROUPS}worst = 0", "Zürich 2", ["town = Zürich, shop = 2"]),
        pytest.param(f"{GROUPS}worst = 0", "東京 3", [], marks=SLOW),
        (f"{GROUPS}worst = 0", "others", []),
        # with other numbers of pages
        pytest.param('groups = [["東京", 0], ["東京", 1]], worst = 0', "as before", OTHERS, marks=SLOW),
    ],
)
def test_pages_of_groups_that_are_as_they_were_are_taken_over(
    tmp_path: Path, runs: Any, asked: str, rows: str, again: list[str]
) -> None:
    _, before = runs(f"{GROUPS}worst = 0", "as before")
    run, fresh = runs(asked, rows)
    found = do_job(run.tasks[fresh.job], tmp_path / "taken", earlier=[before.path])
    assert sum(found.record.get("taken", {}).values()) == len(found.facts["units"]) - len(again)
    for name in ("diagnostics.pdf", ROWS):
        assert (found.path / name).read_bytes() == (fresh.path / name).read_bytes()
    assert found.facts == fresh.result().facts


def rows_with(**given: FloatArray) -> Rows:
    rng = np.random.default_rng(1)
    size = len(next(iter(given.values())))
    leverage = given.pop("leverage", rng.uniform(0, 0.5, size))
    observed, fitted, predictor, residuals, standardized, normal = (
        given.get(name, rng.standard_normal(size))
        for name in ("observed", "fitted", "predictor", "residuals", "standardized", "normal")
    )
    names = ("a", "b", "c", "d", "e")
    return Rows(observed, fitted, predictor, residuals, standardized, normal, leverage, 2, names)


odd = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, 1e-310, np.nan, np.inf]),
)


@first_cases(1, "examples", [20, 60])
def test_any_numbers_make_a_page(examples: int) -> None:
    @given(st.lists(st.tuples(odd, odd), min_size=1, max_size=30))
    @settings(deadline=None, max_examples=examples)
    def check(pairs: list[tuple[float, float]]) -> None:
        values, more = np.array(pairs).T
        given = {"observed": values, "fitted": more, "predictor": more, "residuals": values}
        with np.errstate(all="ignore"):
            rows = rows_with(**given, standardized=more, normal=values)
            content = PdfFile(document([page_of(HEAD, rows)], "x")).pages[0]
        for number in re.findall(r"[-\d.a-z]*(?:nan|inf|e[-+])[-\d.a-z]*", re.sub(r"<\w*>", "", content)):
            raise AssertionError(number)

    check()


def test_of_many_rows_the_furthest_are_drawn(tmp_path: Path) -> None:
    standardized = np.random.default_rng(2).standard_normal(50_000)
    standardized[[17, 40_000]] = 30.0, -40.0
    sheet = page_of(HEAD, rows_with(standardized=standardized, residuals=standardized, normal=standardized))
    file = PdfFile(document([sheet], "x"))
    assert 3.4 * DRAWN < len(re.findall(r" l S\n", file.pages[0])) <= 4 * DRAWN
    assert {"18", "40001"} <= {*file.texts(0)}
    assert any(
        text.endswith("of 50,000 rows are drawn, the most extreme ones among them.") for text in file.texts(0)
    )
    assert len(sheet.content) < 150_000


@given(
    st.floats(-1e9, 1e9),
    st.floats(1e-7, 1e9),
    st.floats(100, 400),  # points: plots are wider
    st.booleans(),
)
@settings(deadline=None)
def test_ticks_are_within_and_labels_say_them(low: float, span: float, length: float, upward: bool) -> None:
    axis = axis_of([np.array([low, low + span])], length, upward)
    assert axis.low <= low
    assert low + span <= axis.high
    assert len(axis.ticks) >= 1 or span < 1e-9 * abs(low)
    assert ((axis.low <= axis.ticks) & (axis.ticks <= axis.high)).all()
    assert len(set(axis.labels)) == len(axis.ticks)
    over = axis.times.removeprefix(" (× 10").removesuffix(")")
    power = int(over.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")) or 0)
    said = np.array([float(label.replace("−", "-")) for label in axis.labels]) * 10.0**power
    np.testing.assert_allclose(said, axis.ticks, atol=1e-6 * (axis.high - axis.low), rtol=1e-9)


@first_cases(1, "asked", [f"{GROUPS}worst = 0", f"{GROUPS}worst = 5", "worst = 5"])
def test_what_is_on_a_page_decides_whether_it_is_taken_over(runs: Any, asked: str) -> None:
    """Pages of the same key are the same."""
    seen: dict[bytes, bytes] = {}
    pages = 0
    frames = ("as before", "Zürich 2", "東京 1", "others")
    for rows in frames:
        run, job = runs(asked, rows)
        stage = open_stage(run.tasks[job.job])
        assert isinstance(stage, CollectingStage)
        for unit in range(int(stage.units())):  # type: ignore[arg-type]
            page = bytes(stage.compute(unit)["page"])  # type: ignore[arg-type]
            pages += 1
            assert seen.setdefault(stage.unit_key(unit), page) == page
    assert len(frames) < len(seen) < pages


def test_other_numbers_of_rows_make_other_pages(runs: Any) -> None:
    keys, pages = set[bytes](), set[bytes]()
    for rows in ("as before", "one row on"):
        run, job = runs("worst = 1", rows)
        stage = open_stage(run.tasks[job.job])
        assert isinstance(stage, CollectingStage)
        keys.add(stage.unit_key(0))
        pages.add(bytes(stage.compute(0)["page"]))  # type: ignore[arg-type]
    assert len(keys) == len(pages) == 2
