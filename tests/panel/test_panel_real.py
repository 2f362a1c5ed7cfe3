"""Tables of textbooks, group by group: formulaic makes the regressors, and statsmodels fits them."""

from __future__ import annotations

import warnings
from typing import Any

import formulaic
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from panel_real import real_table

from shortloop.panel.frame import fit_frame
from shortloop.panel.statistics import STATUSES

GRUNFELD, FAIR, RANDHIE, CHOICE = (
    f"statsmodels.datasets.{name}" for name in ("grunfeld", "fair", "randhie", "modechoice")
)
WAGE_PANEL, TRAINING, MUNNELL, WAGE, MEPS = (
    f"linearmodels.datasets.{name}" for name in ("wage_panel", "jobtraining", "munnell", "wage", "meps")
)
OLS: dict[str, Any] = {"model": "ols"}
HC1: dict[str, Any] = {"model": "ols", "covariance": "HC1"}
HC3: dict[str, Any] = {"model": "ols", "covariance": "HC3"}
LOGIT: dict[str, Any] = {"model": "logit"}
POISSON: dict[str, Any] = {"model": "glm", "family": "poisson"}
SPECIFICATIONS = [
    (GRUNFELD, "firm", OLS, "invest ~ value + capital"),
    (GRUNFELD, "firm", HC3, "np.log(invest) ~ lag(value) + capital"),
    (GRUNFELD, "firm", {**OLS, "covariance": "HC0"}, "invest ~ value + capital"),
    (GRUNFELD, "firm", {**OLS, "covariance": "HC2"}, "invest ~ value + capital"),
    (FAIR, "occupation", LOGIT, "I((affairs > 0) * 1) ~ age + C(religious) + rate_marriage"),
    (FAIR, "religious", OLS, "np.log(affairs + 1) ~ C(educ) + yrs_married"),
    (RANDHIE, "fmde", POISSON, "mdvis ~ lncoins + physlm + hlthg"),
    (CHOICE, "mode", LOGIT, "choice ~ ttme + invc + hinc"),
    (WAGE_PANEL, "year", HC1, "lwage ~ C(occupation) + educ + union + married"),
    (WAGE_PANEL, "occupation", OLS, "lwage ~ C(year) * union + educ"),
    (WAGE_PANEL, "nr", OLS, "lwage ~ exper + expersq"),
    (WAGE_PANEL, "black", {**OLS, "covariance": "cluster", "clusters": "nr"}, "lwage ~ educ + C(year)"),
    (TRAINING, "year", OLS, "hrsemp ~ C(grant) + employ + sales"),
    (TRAINING, "year", HC1, "lscrap ~ C(union) + employ.fillna(0)"),
    (TRAINING, "union", OLS, "scrap ~ I(employ > 50) + C(year)"),
    (TRAINING, "year", OLS, "totrain ~ lag(employ) + C(d89)"),
    (WAGE_PANEL, "nr", HC1, "lwage ~ year"),
    (GRUNFELD, "firm", OLS, "invest ~ value + capital + year"),
    (MUNNELL, "STATE", OLS, "P_CAP ~ PC + EMP + UNEMP + YR"),
    (MUNNELL, "STATE", HC3, "np.log(GSP) ~ np.log(P_CAP) + np.log(PC) + UNEMP"),
    (WAGE, "urban", OLS, "np.log(wage) ~ educ + C(brthord) + feduc"),
    (WAGE, "black", HC3, "np.log(wage) ~ educ + C(brthord) + C(sibs)"),
    (MEPS, "age", LOGIT, "hi_empunion ~ totchr + linc + female"),
]


def table(source: str, by: str) -> pd.DataFrame:
    frame = real_table(source)
    if source == WAGE_PANEL and by == "nr":  # one person in ten: each is compared
        frame = frame[frame["nr"].rank(method="dense") % 10 == 0].reset_index(drop=True)
    if source == WAGE_PANEL:  # as of a survey: codes and truth values are not known of all
        rng = np.random.default_rng(1)
        for name in ("occupation", "union"):
            frame[name] = frame[name].astype(float).where(rng.uniform(size=len(frame)) > 0.1)
    return frame


def theirs(part: pd.DataFrame, asked: dict[str, Any], formula: str) -> Any:
    y, x = formulaic.model_matrix(formula, part, na_action="drop")
    how: dict[str, Any] = {"cov_type": asked.get("covariance", "nonrobust")}
    if "clusters" in asked:
        how["cov_kwds"] = {"groups": part.loc[x.index, asked["clusters"]].to_numpy()}
    y, x = y.iloc[:, 0].astype(float), x.astype(float)
    if asked["model"] == "logit":
        return sm.Logit(y, x).fit(disp=0, **how)
    if asked["model"] == "glm":
        return sm.GLM(y, x, family=sm.families.Poisson()).fit(**how)
    return sm.OLS(y, x).fit(**how)


def by_rows_alone(asked: dict[str, Any], formula: str) -> bool:
    """True for least squares of which no part of the formula depends on other rows."""
    return asked["model"] == "ols" and asked.get("covariance") not in ("HC2", "HC3") and "lag" not in formula


def has_one_alone(results: Any) -> bool:
    x = np.asarray(results.model.exog)
    return bool((np.diag(x @ np.linalg.pinv(x)) > 1 - 1e-9).any())


@pytest.mark.parametrize(("source", "by", "asked", "formula"), SPECIFICATIONS)
def test_all_groups_as_of_statsmodels(source: str, by: str, asked: dict[str, Any], formula: str) -> None:
    frame = table(source, by)
    found = fit_frame(frame, [by], formula=formula, **asked)
    parts = {str(key).removesuffix(".0"): part for key, part in frame.groupby(by)}
    assert {key for (key,) in found.keys} == set(parts)
    fits = found.fits()
    compared = 0
    for g, (key,) in enumerate(found.keys):
        became = STATUSES[found.arrays["status"][g]]
        if became in ("too few rows", "singular", "constant outcome", "separated"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right = theirs(parts[key], asked, formula)
        alone = asked.get("covariance") == "HC3" and has_one_alone(right)
        assert became == ("leverage of 1" if alone else "fitted"), fits["said"][g]
        assert not by_rows_alone(asked, formula) or fits["path"][g] == "batched", fits["said"][g]
        mine = found.coefficients().iloc[g * len(found.names) : (g + 1) * len(found.names)]
        mine = mine[mine["params"].notna()].set_index("term")
        assert sorted(mine.index) == sorted(right.params.index)
        mine = mine.loc[right.params.index]
        assert fits["nobs"][g] == right.nobs
        np.testing.assert_allclose(mine["params"], right.params, rtol=1e-7, atol=1e-9)
        here = mine["bse"].notna()
        assert here.all() != alone
        np.testing.assert_allclose(mine["bse"][here], right.bse[here], rtol=1e-6)
        np.testing.assert_allclose(mine["pvalues"][here], right.pvalues[here], rtol=1e-5, atol=1e-9)
        compared += 1
    assert compared
