"""A group is fitted as if there were no other, whatever a formula computes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shortloop.panel.expressions import is_elementwise
from shortloop.panel.frame import fit_frame

COLUMNS = {"x", "y", "k"}
BY_ROW = (
    *("I(x**2)", "np.log(x)", "np.where(x > 0, x, 0)", "np.maximum(x, 0)", "np.logaddexp(x, y)", "C(k)"),
    *("C(k, contr.sum)", "C(x > 2)", "Q('a b')", "k == 'a'", "~(x > 1) & (y < 2)", "log(x) - -x"),
)
BY_GROUP = (
    *("I(x - np.mean(x))", "I(x - x.mean())", "lag(x)", "scale(x)", "np.cumsum(x)", "np.add.accumulate(x)"),
    *("np.sort(x)", "x @ y", "np.matmul(x, y)", "np.log(x, y)", "np.log(x, where=y)", "np.modf(x)"),
    *("np.clip(x, 0, np.max(x))", "x[::-1]", "C(k[::-1])", "C(x > np.median(x))", "(lambda: x)()", "C()"),
    *("x if 1 else y", "x in y", "x is y", "1 +"),
)


def test_what_depends_on_the_row_alone() -> None:
    assert [each for each in BY_ROW if not is_elementwise(each, COLUMNS)] == []
    assert [each for each in BY_GROUP if is_elementwise(each, COLUMNS)] == []
    assert not is_elementwise("np.log(x)", {*COLUMNS, "np"})  # columns may have the names of functions
    assert not is_elementwise("log(x)", {*COLUMNS, "log"})


def panel() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    g = np.repeat(np.arange(4), 25)
    x = rng.standard_normal(100) + 3 * g
    return pd.DataFrame({"g": g, "x": x, "y": x + rng.standard_normal(100), "k": np.tile(list("abcde"), 20)})


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ I(x - np.mean(x))",
        "y ~ I(x - x.mean())",
        "y ~ x + lag(x)",
        "y ~ x + I(np.cumsum(x))",
        "y ~ x + np.sort(x)",
        "np.cumsum(y) ~ x",
        "y ~ center(x)",
        "y ~ poly(x, 2)",
        "y ~ bs(x, df=4)",
        "y ~ x + C(x > np.median(x))",
        "y ~ x + k",
        "y ~ np.where(x > 2, x, 0) + I(x**2)",
    ],
)
def test_other_groups_do_not_show(formula: str) -> None:
    frame = panel()
    among = fit_frame(frame, ["g"], model="ols", formula=formula)
    for g in range(4):
        alone = fit_frame(frame[frame["g"] == g], ["g"], model="ols", formula=formula)
        assert alone.names == among.names
        for name in ("params", "bse", "llf", "nobs"):
            np.testing.assert_array_equal(among.arrays[name][g], alone.arrays[name][0])


def test_what_is_scaled_is_scaled_without_the_rows_that_lack_a_value() -> None:
    frame = panel()
    frame.loc[[3, 30], "x"] = np.nan
    found = fit_frame(frame, ["g"], model="ols", formula="y ~ scale(x)")
    whole = fit_frame(frame.dropna(), ["g"], model="ols", formula="y ~ scale(x)")
    np.testing.assert_array_equal(found.arrays["params"], whole.arrays["params"])


def test_a_value_that_cannot_be_computed_is_missing_in_any_group() -> None:
    frame = panel()
    frame["x"] -= 2
    found = fit_frame(frame, ["g"], model="ols", formula="y ~ np.log(x) + I(x - np.mean(x))")
    alike = fit_frame(frame, ["g"], model="ols", formula="y ~ np.log(x) + x")
    np.testing.assert_array_equal(found.arrays["nobs"], alike.arrays["nobs"])
    np.testing.assert_allclose(found.arrays["bse"][:, 1:], alike.arrays["bse"][:, 1:], rtol=1e-8)


def test_only_a_value_that_the_panel_lacks_is_missing() -> None:
    frame = panel()
    frame.loc[30, "x"] = np.nan
    found = fit_frame(frame, ["g"], model="ols", formula="y ~ lag(x)", missing="raise")
    assert found.fits()["status"].tolist() == ["fitted", "missing values", "fitted", "fitted"]
    assert found.arrays["nobs"][[0, 2, 3]].tolist() == [24, 24, 24]
