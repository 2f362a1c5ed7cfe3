"""Marginal effects in every group are those of statsmodels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from shortloop.panel.frame import fit_frame
from shortloop.panel.models.glm import COMPILED, NAMES

KINDS = [(family, link) for family, links in COMPILED.items() for link in links]
OUTCOMES = {"binomial": "b", "poisson": "n", "gamma": "p", "gaussian": "p"}


def rows(seed: int, groups: int = 2, most: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = groups * most
    frame = pd.DataFrame({"g": rng.integers(0, groups, n), "x": rng.uniform(0, 1, n)})
    frame["d"], frame["o"] = (rng.uniform(size=n) < 0.4) * 1.0, rng.uniform(0, 0.5, n)
    frame["q"] = rng.integers(1, 4, n)
    frame["b"] = (rng.uniform(size=n) < 0.3 + 0.3 * frame["x"]) * 1.0
    mean = 1.5 + frame["x"] + frame["d"]
    frame["n"], frame["p"] = rng.poisson(mean), mean * rng.gamma(9, 1 / 9, n)
    return frame


@pytest.mark.parametrize("kind", [("logit", "logit"), *KINDS], ids="-".join)
@given(
    seed=st.integers(0, 2**32 - 1),
    at=st.sampled_from(["overall", "mean"]),
    covariance=st.sampled_from(["nonrobust", "HC0"]),
)
@settings(max_examples=4, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_numbers_of_statsmodels(kind: tuple[str, str], seed: int, at: str, covariance: str) -> None:
    family, link = kind
    outcome, frame = OUTCOMES.get(family, "b"), rows(seed)
    model: dict[str, Any] = (
        {"model": "logit"} if family == "logit" else {"model": "glm", "family": family, "link": link}
    )
    found = fit_frame(frame, "g", formula=f"{outcome} ~ x + d", margins=at, covariance=covariance, **model)
    for g, (_, part) in enumerate(frame.groupby("g")):
        x = sm.add_constant(part[["x", "d"]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if family == "logit":
                theirs = sm.Logit(part[outcome], x).fit(disp=0, cov_type=covariance)
            else:
                of = getattr(sm.families.links, NAMES.get(link, link.capitalize()))()
                made = sm.GLM(part[outcome], x, family=getattr(sm.families, family.capitalize())(of))
                theirs = made.fit(cov_type=covariance)
            expected = theirs.get_margeff(at=at)
        if found.arrays["status"][g] == 0:
            for name, values in (("params", expected.margeff), ("bse", expected.margeff_se)):
                mine = found.arrays[f"margin_{name}"][g, 1:]
                np.testing.assert_allclose(mine, values, rtol=1e-5, err_msg=name)
            assert np.isnan(found.arrays["margin_params"][g, 0])


@pytest.mark.parametrize("at", ["overall", "mean"])
@pytest.mark.parametrize("column", ["offset", "exposure", "freq_weights"])
def test_columns_beside_the_formula_count(at: str, column: str) -> None:
    """statsmodels refuses offsets here and leaves weights out: derivatives are taken numerically."""
    frame = rows(0, groups=1).assign(o=lambda d: d["q"] if column != "offset" else d["o"])
    asked: dict[str, Any] = {"model": "glm", "family": "poisson", "formula": "n ~ x + d", column: "o"}
    found = fit_frame(frame, "g", margins=at, **asked)
    design = sm.add_constant(frame[["x", "d"]]).to_numpy()
    made = {column: frame["o"].to_numpy(float)}
    theirs = sm.GLM(frame["n"].to_numpy(), design, family=sm.families.Poisson(), **made).fit()
    offset = {"offset": frame["o"], "exposure": np.log(frame["o"])}.get(column, 0.0 * frame["o"]).to_numpy()
    shares = frame["o"].to_numpy(float) if column == "freq_weights" else np.ones(len(frame))

    def mean(params: np.ndarray, shift: np.ndarray) -> float:
        moved = design + shift
        if at == "mean":
            averages = np.average(moved, axis=0, weights=shares)
            return float(np.exp(averages @ params + np.average(offset, weights=shares)))
        return float(np.average(np.exp(moved @ params + offset), weights=shares))

    def effects(params: np.ndarray) -> np.ndarray:
        return np.array([(mean(params, s) - mean(params, -s)) / 2e-5 for s in np.eye(3)[1:] * 1e-5])

    np.testing.assert_allclose(found.arrays["margin_params"][0, 1:], effects(theirs.params), rtol=1e-6)
    jacobian = approx_fprime(theirs.params, effects, 1e-5)
    errors = np.sqrt(np.diag(jacobian @ theirs.cov_params() @ jacobian.T))
    np.testing.assert_allclose(found.arrays["margin_bse"][0, 1:], errors, rtol=1e-3)


def test_the_constant_has_no_effect() -> None:
    found = fit_frame(rows(1, groups=3), "g", model="logit", formula="b ~ x + d", margins="overall")
    table = found.margins("holm")
    assert table["term"].tolist() == ["x", "d"] * 3
    assert table["pvalues_corrected"].notna().all()
