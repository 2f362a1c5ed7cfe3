"""Rows and coefficients are those of formulaic, group by group, whatever a formula computes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import statsmodels.api as sm
from formulaic import Formula, model_matrix
from hypothesis import given
from hypothesis import strategies as st
from refusal import refusal

from shortloop.panel.data import from_frame
from shortloop.panel.formats.panel_format import FileInput
from shortloop.panel.formulas.expressions import is_elementwise
from shortloop.panel.formulas.terms import CONSTANT, sides_of_sums, terms_of
from shortloop.panel.frame import fit_frame
from shortloop.panel.results import Results
from shortloop.panel.statistics import merge_terms

GAPS = 0.15


def same_as_formulaic(frame: pd.DataFrame, by: str, formula: str, fitted: int | None = None) -> Results:
    """See that each fitted group has the rows, names and numbers of formulaic and statsmodels."""
    found = fit_frame(frame, [by], model="ols", formula=formula)
    compared = 0
    for g, (_, part) in enumerate(frame.groupby(by)):
        if found.arrays["status"][g] != 0:
            continue
        design = model_matrix(formula, part, context={"pd": pd}, na_action="drop")
        theirs = sm.OLS(np.asarray(design.lhs, float)[:, 0], np.asarray(design.rhs, float)).fit()
        for name, ours, other in (("params", "params", theirs.params), ("bse", "bse", theirs.bse)):
            own = dict(zip(found.names, found.arrays[ours][g], strict=True))
            own = {each: own[each] for each in own if not np.isnan(own[each])}
            known = dict(zip(map(str, design.rhs.columns), other, strict=True))
            assert own == pytest.approx(known, rel=1e-6, abs=1e-9), (formula, g, name)
        assert found.arrays["nobs"][g] == len(design.rhs)
        compared += 1
    assert compared >= (frame[by].nunique() if fitted is None else fitted), found.fits().to_string()
    return found


def nasty(seed: int) -> pd.DataFrame:
    """Columns of every type that formulas read, with and without missing values, in three groups."""
    rng = np.random.default_rng(seed)
    n = 240
    whole = rng.integers(-3, 4, n)
    frame = pd.DataFrame({"g": np.repeat(["u", "v", "w"], n // 3), "k": whole, "z": rng.standard_normal(n)})
    frame["x"] = rng.standard_normal(n)
    frame["q"] = rng.integers(0, 3, n).astype(float)
    frame["i"] = pd.array(rng.integers(1978, 1982, n), "Int64")
    frame["b"] = pd.array(rng.random(n) < 0.5, "boolean")
    frame["f"] = pd.array(rng.standard_normal(n), "Float64")
    frame["t"] = pd.array(rng.choice(["aa", "b", "cc"], n), "str")
    frame["cat"] = pd.Categorical(rng.choice([2, 5, 10], n))
    frame["size"] = pd.Categorical(rng.choice(["s", "m", "l"], n), ["s", "m", "l"], ordered=True)
    frame["a"] = rng.random(n) < 0.5
    for name in ("x", "q", "i", "b", "f", "t", "cat", "size"):
        frame.loc[rng.random(n) < GAPS, name] = None
    frame["y"] = frame["z"] + whole + frame["q"].fillna(0) + rng.standard_normal(n)
    frame.loc[rng.random(n) < 0.05, "y"] = np.nan
    return frame


FACTORS = [
    *("C(q)", "C(k)", "C(i)", "C(a)", "C(b)", "C(t)", "C(cat)", "cat", "t", "a", "b", "i", "f", "size"),
    *("lag(x)", "lag(x, -2)", "x.shift(1)", "x.fillna(0)", "I(x > 0)", "x.isna()", "np.isnan(x)"),
    *("I(f > 0)", "I(i > 1979)", "I(i - 1978)", "C(i - 1978)", "I(i // 2)", "I(t == 'b')", "I(t < 'b')"),
    *("I((a > 0).astype(int))", "pd.cut(k, [-4, 0, 3])", "C(pd.cut(z, 3))", "k.astype(str)", "I(~a)"),
    *("I(a & b)", "I(a & (z > 0))", "I(a | (x > 0))", "I(k & 1)", "C(k // 2)", "I(k % 2 == 0)"),
    *("C(t.str[0])", "t.str.len()", "C(t + 'z')", "t.isin(['aa', 'b'])", "k.isin([1, 2])", "C(size > 's')"),
    *("C(q, contr.sum)", "C(q, Treatment(1))", "C(x > 0)", "C(cat == 5)", "abs(z)", "z.rank()", "C(a):z"),
    *("C(q):x", "C(q)*t", "C(i)*C(b)", "np.where(a, x, 0)", "hashed(z, levels=3)", "bs(z, df=4)", "I(k**3)"),
]


@pytest.mark.parametrize("factor", FACTORS)
def test_factors_with_missing_values(factor: str) -> None:
    needed = 0 if "hashed" in factor or factor == "C(pd.cut(z, 3))" else 3
    same_as_formulaic(
        nasty(1),
        "g",
        f"y ~ z + {factor}" if "(z" not in factor and "z." not in factor else f"y ~ {factor}",
        needed,
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", ["int64", "Int64", "decimal", "str"])
def test_large_whole_numbers_are_told_apart(kind: str, missing: bool) -> None:
    from decimal import Decimal

    rng = np.random.default_rng(2)
    n = 160
    small = np.repeat(np.arange(40), 4)
    frame = pd.DataFrame({"g": "a", "small": small, "x": rng.standard_normal(n)})
    frame["y"] = frame["x"] + rng.standard_normal(40)[small] + rng.standard_normal(n) / 3
    frame["large"] = 2**53 + 1 + small
    if kind == "decimal":
        frame["large"] = pd.Series([Decimal(int(each)) for each in frame["large"]], dtype=object)
    else:
        frame["large"] = frame["large"].astype(kind)  # type: ignore[call-overload]
    if missing and kind != "int64":
        frame.loc[5, ["small", "large"]] = None
    how: dict[str, Any] = {"model": "ols", "formula": "y ~ x", "covariance": "cluster"}
    ours, other = (fit_frame(frame, ["g"], **how, clusters=each) for each in ("large", "small"))
    np.testing.assert_array_equal(ours.arrays["bse"], other.arrays["bse"])
    ours, other = (
        fit_frame(frame, ["g"], model="ols", formula=f"y ~ x + C({each})") for each in ("large", "small")
    )
    np.testing.assert_array_equal(ours.arrays["params"], other.arrays["params"])
    assert f"C(large)[T.{2**53 + 2}]" in ours.names


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_whose_large_whole_numbers_have_gaps(tmp_path: Path, kind: str) -> None:
    large = [2**53 + 1, None, 2**53 + 3, 1_300_000_000_000_000_001]
    frame = pd.DataFrame(
        {"id": pd.array(large, "Int64"), "far": [1e300, np.inf, None, 1.0], "few": [1, 2, None, 4]}
    )
    file = tmp_path / f"rows.{kind}"
    if kind == "csv":
        frame.to_csv(file, index=False)
    else:  # as others write it, without pandas' own types
        pq.write_table(pa.Table.from_pandas(frame).replace_schema_metadata(None), file)
    found = FileInput.model_validate({"format": kind, "file": file.name}).read(file)
    assert [None if pd.isna(each) else int(each) for each in found["id"]] == large
    assert found["far"].dtype == found["few"].dtype == np.float64
    assert sorted(from_frame(found, ["id"]).keys) == sorted((str(each),) for each in large if each)


def test_large_whole_numbers_in_formulas() -> None:
    rng = np.random.default_rng(2)
    start = 1_700_000_000_000_000_000
    frame = pd.DataFrame({"g": np.repeat([1, 2], 40), "t": start + np.tile(np.arange(40), 2) * 7})
    frame["id"] = 1_300_000_000_000_000_001 + np.arange(80)
    frame["y"] = (frame["t"] - start) / 10 + frame["id"] % 2 + rng.standard_normal(80)
    for formula in (f"y ~ I(t - {start})", "y ~ I(id % 2)", "y ~ C(id % 2)", f"y ~ I(t > {start + 70})"):
        same_as_formulaic(frame, "g", formula)
    for formula in ("y ~ t", "y ~ I(t * 2)", "y ~ np.log(t)", "y ~ t:id", "y ~ I(t - 5)", "y ~ I(t / 2)"):
        with refusal("integers would lose digits") as caught:
            fit_frame(frame, ["g"], model="ols", formula=formula)
    (hint,) = re.findall(r"less a number, (I\(.*\))", str(caught.value))
    same_as_formulaic(frame, "g", f"y ~ {hint}")


def test_arithmetic_of_large_numbers_and_floats_that_have_lost_digits() -> None:
    frame = nasty(3).assign(k=lambda d: d["k"] + 100_000)
    found = fit_frame(frame, ["g"], model="ols", formula="y ~ I(k**4)")
    other = fit_frame(frame.astype({"k": float}), ["g"], model="ols", formula="y ~ I(k**4)")
    np.testing.assert_array_equal(found.arrays["params"], other.arrays["params"])
    frame = nasty(4).assign(id=lambda d: 2.0**53 + 2 * np.arange(len(d)))
    cluster = {"formula": "y ~ z", "covariance": "cluster", "clusters": "id"}
    settings: list[dict[str, Any]] = [{"formula": "y ~ C(id)"}, cluster]
    for how in settings:
        with refusal("too large to be distinguished"):
            fit_frame(frame, ["g"], model="ols", **how)


def test_values_that_are_no_level_of_a_formula_are_refused() -> None:
    frame = nasty(5)
    with refusal("none of the levels", "cc"):
        fit_frame(frame, ["g"], model="ols", formula="y ~ C(t, levels=['aa', 'b'])")
    same_as_formulaic(frame, "g", "y ~ C(t, levels=['cc', 'b', 'aa'])")


def test_groups_that_make_categories_of_their_own_and_odd_names() -> None:
    assert len(same_as_formulaic(nasty(6), "g", "y ~ C(pd.cut(z, 3))").names) > 3
    same_as_formulaic(nasty(8).rename(columns={"x": "x~y"}), "g", "y ~ `x~y` + I(~a)")
    same_as_formulaic(nasty(9), "g", "y ~ I(x > 0) + I(x.shift(1).fillna(0))")


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


def test_a_value_that_cannot_be_computed_is_missing_in_any_group() -> None:
    frame = panel()
    frame["x"] -= 2
    found = fit_frame(frame, ["g"], model="ols", formula="y ~ np.log(x) + I(x - np.mean(x))")
    alike = fit_frame(frame, ["g"], model="ols", formula="y ~ np.log(x) + x")
    np.testing.assert_array_equal(found.arrays["nobs"], alike.arrays["nobs"])
    np.testing.assert_allclose(found.arrays["bse"][:, 1:], alike.arrays["bse"][:, 1:], rtol=1e-8)


def test_values_that_the_panel_lacks_are_missing() -> None:
    frame = panel()
    frame.loc[30, "x"] = np.nan
    found = fit_frame(frame, ["g"], model="ols", formula="y ~ lag(x)", missing="raise")
    assert found.fits()["status"].tolist() == ["fitted", "missing values", "fitted", "fitted"]
    assert found.arrays["nobs"][[0, 2, 3]].tolist() == [24, 24, 24]
    frame = panel()
    frame.loc[[3, 30], "x"] = np.nan
    found = fit_frame(frame, ["g"], model="ols", formula="y ~ scale(x)")
    whole = fit_frame(frame.dropna(), ["g"], model="ols", formula="y ~ scale(x)")
    np.testing.assert_allclose(found.arrays["params"], whole.arrays["params"], rtol=1e-12)


@given(
    st.sets(st.text("ab ]9", max_size=3), min_size=1, max_size=6),
    st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=4),
    st.integers(0, 3),
)
def test_the_order_is_that_of_all_texts(texts: set[str], parts: list[set[int]], other: int) -> None:
    whole = [("Intercept", 0), *((f"k[T.{level}]", 1) for level in sorted(texts)), ("x", 2), ("a", 3)]
    cut = [
        [each for place, each in enumerate(whole) if each[1] != 1 or place - 1 in part]
        for part in (*parts, {*range(6)})
    ]
    cut[0] = [each for each in cut[0] if each[1] != other]
    expected = tuple(zip(*whole, strict=True))
    for order in (cut, cut[::-1]):
        assert (
            merge_terms([(tuple(n for n, _ in part), tuple(t for _, t in part)) for part in order])
            == expected
        )


WORDS = st.sampled_from(["a", "b", "x1", "_", "I", "Q", "C", "np", "True", "class", "lambda", "e1", "in"])
SUMS = st.lists(st.tuples(WORDS, st.sampled_from(["+", " +", "+ ", " + ", "\n + "])), min_size=1, max_size=6)


@given(SUMS, SUMS)
def test_sums_of_columns_have_the_terms_of_formulaic(
    left: list[tuple[str, str]], right: list[tuple[str, str]]
) -> None:
    formula = "~".join(
        "".join(each for pair in side for each in pair[::-1]).lstrip("+ \n") for side in (left, right)
    )
    parsed = Formula(formula)
    assert sides_of_sums(formula) == (terms_of(parsed.lhs), terms_of(parsed.rhs))


@pytest.mark.parametrize(
    "formula", ["x", "y ~ 1", "y ~ x + 1", "y ~ x - z", "y ~ x:z", "y ~ `x`", "y ~ log(x)", "~ x"]
)
def test_other_formulas_are_left_to_formulaic(formula: str) -> None:
    assert sides_of_sums(formula) is None


def test_sums_have_a_constant() -> None:
    sides = sides_of_sums("y ~ x")
    assert sides is not None
    assert sides[1][0] == CONSTANT


def test_a_column_called_1_is_not_taken_for_the_constant() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": "a", "1": rng.standard_normal(20), "y": rng.standard_normal(20)})
    with refusal("formula", "Q('1')"):
        fit_frame(frame, ["g"], model="ols", formula="y ~ `1`")
    found = fit_frame(frame, ["g"], model="ols", formula="y ~ Q('1')")
    np.testing.assert_allclose(found.arrays["params"][0], np.polyfit(frame["1"], frame["y"], 1)[::-1])
