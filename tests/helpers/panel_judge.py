"""Panels drawn at random, and what statsmodels says of each group of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from exact_quantiles import results_at
from patsy import EvalEnvironment, dmatrices
from scipy.optimize import linprog
from statsmodels.stats.multitest import multipletests

GROUPS = 50
LARGE = 2**53 + 1
"""A number that floats cannot tell from the next."""


def random_rows(rng: np.random.Generator, groups: int = GROUPS) -> pd.DataFrame:
    """Rows of all groups, each with one defect or none, in any order."""
    parts = []
    for number in range(groups):
        part = _plain(rng, int(rng.integers(25, 90)))
        for _ in range(rng.choice([0, 1, 1, 2])):
            part = _DEFECTS[rng.integers(len(_DEFECTS))](rng, part)
        parts.append(part.assign(g=f"G{number:02d}"))
    rows = pd.concat(parts).sample(frac=1, random_state=int(rng.integers(2**31))).reset_index(drop=True)
    if rng.integers(2) and rows["c"].notna().all():  # else pandas has floats, which are refused
        rows["c"] = rows["c"].map(lambda name: str(LARGE + int(name[1:])))
    return rows


def _plain(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    part = pd.DataFrame(
        {
            "x": rng.standard_normal(rows),
            "z": rng.uniform(0.5, 4, rows),
            "w": rng.uniform(0.5, 2, rows),
            "k": rng.choice(["a", "b", "c"], rows),
            "c": rng.choice([f"c{n}" for n in range(12)], rows),
            "q": rng.integers(0, 4, rows),
        }
    )
    eta = 0.4 * part["x"] + 0.3 * part["z"] + 0.3 * (part["k"] == "b")
    part["y"] = 1 + eta + rng.choice([0.1, 1.0]) * rng.standard_normal(rows)
    part["b"] = (rng.uniform(size=rows) < 1 / (1 + np.exp(0.7 - eta))).astype(int)
    part["n"] = rng.poisson(np.exp(0.5 * eta))
    part["p"] = rng.gamma(3, np.exp(0.3 * eta))
    trials = rng.integers(1, 9, rows)
    part["s"] = rng.binomial(trials, 1 / (1 + np.exp(0.7 - eta)))
    part["f"] = trials - part["s"]
    return part


def _near(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    noise = rng.choice([0.0, 10.0 ** rng.uniform(-9, -1)])
    return part.assign(z=2 * part["x"] + 5 + noise * rng.standard_normal(len(part)))


def _constant(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    return part.assign(**{rng.choice(["x", "z", "y", "b", "n", "p"]): 1})


def _few(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    return part.iloc[: rng.integers(1, 12)]


def _separable(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    told = part["x"] > 0.3
    half = rng.choice(["wholly", "one text", "all but one"])
    if half == "one text":
        return part.assign(b=np.where(part["k"] == "a", 1, part["b"]))
    part = part.assign(b=told.astype(int))
    if half == "all but one":
        part.loc[part.index[0], "b"] = 1 - part["b"].iloc[0]
    return part


def _scaled(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    name = rng.choice(["x", "z", "y", "p", "w"])
    return part.assign(**{name: part[name] * 10 ** rng.uniform(-8, 8)})


def _far(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    name = rng.choice(["x", "z", "y"])
    return part.assign(**{name: part[name] + 10 ** rng.uniform(1, 8)})


def _twice(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([part] * int(rng.integers(2, 4)), ignore_index=True)


def _lacking(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    part = part.astype(dict.fromkeys(("b", "n", "s", "f"), float))
    for name in rng.choice(list(part.columns), 3, replace=False):
        gone = rng.uniform(size=len(part)) < rng.choice([0.05, 0.5, 1.0], p=[0.7, 0.2, 0.1])
        part.loc[gone, name] = None if name in "kc" else np.nan
    return part


def _endless(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    name = rng.choice(["x", "z", "y", "p"])
    part = part.astype({name: float})
    part.loc[part.index[0], name] = rng.choice([np.inf, -np.inf])
    return part


def _outlier(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    name = rng.choice(["x", "z", "y", "p", "w"])
    part = part.astype({name: float})
    part.loc[part.index[0], name] *= 10 ** rng.uniform(1, 8)
    return part


def _whole(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    return part.assign(x=part["x"].round(), y=part["y"].round(), p=part["p"].round() + 1)


def _gaps(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    """Codes, some of which are missing, and one of which may be there once."""
    codes = part["q"].astype(float).where(rng.uniform(size=len(part)) > rng.choice([0.02, 0.3]))
    if rng.integers(2):
        codes.iloc[0] = 7
    return part.assign(q=codes, x=part["x"].where(rng.uniform(size=len(part)) > 0.1))


def _texts(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    kept = part["k"] == "b" if rng.integers(2) else part["k"] != rng.choice(["a", "c"])
    part = part[kept]
    if rng.integers(2):
        part = part.assign(k=np.where(np.arange(len(part)) == 0, "only here", part["k"]))
    return part


def _clusters(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    return part.assign(c=rng.choice([f"c{n}" for n in range(rng.integers(1, 5))], len(part)))


def _zeros(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    part = part.copy()
    name = rng.choice(["w", "y", "n", "s"])
    part.loc[part.index[:: int(rng.integers(2, 5))], name] = 0
    return part


def _impossible(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    part = part.copy()
    part.loc[part.index[0], rng.choice(["n", "p", "b", "f"])] = -1
    return part


def _exact(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
    noise = rng.choice([0.0, 1e-12, 1e-8, 1e-5])
    return part.assign(y=1 + 2 * part["x"] - part["z"] + noise * rng.standard_normal(len(part)))


_DEFECTS = (
    _near, _constant, _few, _separable, _scaled, _far, _twice, _lacking, _endless, _outlier, _whole, _texts,
    _clusters, _zeros, _impossible, _exact, _gaps, _gaps,
)  # fmt: skip

# As formulaic has it, as patsy has it (with names of the judge), and which columns are read.
RIGHT = (
    ("x + z", "x + z", ("x", "z")),
    ("x", "x", ("x",)),
    ("x * z", "x * z", ("x", "z")),
    ("x + z - 1", "x + z - 1", ("x", "z")),
    ("0 + x + k", "0 + x + k", ("x", "k")),
    ("x + k", "x + k", ("x", "k")),
    ("x * C(k)", "x * C(k)", ("x", "k")),
    ("k:x + z", "k:x + z", ("x", "z", "k")),
    ("np.log(z) + x", "np.log(z) + x", ("x", "z")),
    ("I(x**2) + x + z", "I(x**2) + x + z", ("x", "z")),
    ("(x + z + k)**2", "(x + z + k)**2", ("x", "z", "k")),
    ("center(x) + np.exp(-z)", "centred + np.exp(-z)", ("x", "z")),
    ("np.sqrt(z) + C(k):z", "np.sqrt(z) + C(k):z", ("z", "k")),
    ("x + C(n > 1)", "x + seen(n > 1)", ("x", "n")),
    ("x + C(q)", "x + C(q)", ("x", "q")),
    ("x * C(q)", "x * C(q)", ("x", "q")),
    ("C(c) + z", "C(c) + z", ("z", "c")),
    ("lag(x) + C(q)", "lagged + C(q)", ("x", "q")),
    ("x.fillna(0) + z", "x.fillna(0) + z", ("z",)),
    ("I(x > 0) + z", "positive + z", ("z",)),
    ("1", "1", ()),
)
LINKS_DRAWN = {
    "binomial": (None, "logit", "probit", "cloglog", "log"),
    "poisson": (None, "log", "identity", "sqrt"),
    "gamma": (None, "inverse_power", "log", "identity"),
    "gaussian": (None, "identity", "log", "inverse_power"),
}
OUTCOMES = {"binomial": "b", "poisson": "n", "gamma": "p", "gaussian": "y", "logit": "b"}
MODELS = ("ols", "ols", "ols", "wls", "wls", "logit", "logit", "glm", "glm", "glm", "glm", "rlm", "quantreg")


def random_specification(
    rng: np.random.Generator, model: str | None = None
) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    """A table of ``models``, its formula as patsy has it, and the columns of that."""
    model = model or str(rng.choice(MODELS))
    asked: dict[str, Any] = {"model": model}
    if model == "glm":
        asked["family"] = str(rng.choice(list(LINKS_DRAWN)))
        link = LINKS_DRAWN[asked["family"]][rng.integers(len(LINKS_DRAWN[asked["family"]]))]
        asked |= {} if link is None else {"link": link}
    if model == "wls":
        asked["weights"] = "w"
    if model in ("ols", "wls", "logit", "glm"):
        asked["covariance"] = str(
            rng.choice(["nonrobust", "nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"])
        )
        asked |= {"clusters": "c"} if asked["covariance"] == "cluster" else {}
    if model == "rlm":
        asked |= {} if rng.integers(2) else {"t": float(rng.choice([1.0, 2.0]))}
    if model == "quantreg":
        asked["quantile"] = float(rng.choice([0.5, 0.25, 0.9]))
    strict = not rng.integers(5)
    outcome = OUTCOMES.get(asked.get("family", model), str(rng.choice(["y", "np.log(p)", "I(y * 2)", "p"])))
    columns: tuple[str, ...] = ("p",) if "p" in outcome else (outcome.strip("I(y *2)") or "y",)
    if outcome == "I(y * 2)":
        columns = ("y",)
    theirs = outcome
    if outcome == "b" and model == "glm" and not rng.integers(3):
        outcome, theirs, columns = "s + f", "s + f", ("s", "f")
    mine, as_patsy, used = RIGHT[rng.integers(len(RIGHT))]
    if strict and "lag" not in mine:  # the first row has nothing before it
        asked["missing"] = "raise"
    asked["formula"] = f"{outcome} ~ {mine}"
    return asked, f"{theirs} ~ {as_patsy}", (*columns, *used)


MISSING = ["", "NA", "NaN", "nan", "NULL", "."]
LINKS = {
    "logit": "Logit",
    "probit": "Probit",
    "cloglog": "CLogLog",
    "log": "Log",
    "identity": "Identity",
    "inverse_power": "InversePower",
    "sqrt": "Sqrt",
}
SAME = 1e-9
WHOLE = {  # relative difference, and absolute one for each row
    "rsquared": (SAME, SAME),
    "rsquared_adj": (SAME, SAME),
    "fvalue": (1e-7, SAME),
    "f_pvalue": (1e-6, 1e-12),
    "llf": (SAME, SAME),
    "deviance": (SAME, 0.0),
    "aic": (SAME, 1e-8),
    "bic": (SAME, 1e-8),
    "scale": (SAME, 0.0),
    "nobs": (0.0, 0.0),
    "df_model": (0.0, 0.0),
    "df_resid": (0.0, 0.0),
    "condition_number": (1e-8, 0.0),
    "iterations": (0.0, 0.0),
}
CLEAR, SINGULAR = 1e8, 1e12
"""Condition of regressors of unit length below which they are not singular, and above which they are."""


def read_rows(file: Path, texts: tuple[str, ...]) -> pd.DataFrame:
    """A text file as pandas reads it."""
    kinds: Any = dict.fromkeys(texts, str)
    return pd.read_csv(
        file, dtype=kinds, keep_default_na=False, na_values=MISSING, float_precision="round_trip"
    )


def seen(values: pd.Series) -> pd.Series:
    """Truth values as texts: of patsy, both have a column in each group, also one that is not there."""
    return values.map(str)


@dataclass
class Judge:
    """One specification as the panel file has it, and one group's rows.

    `formula` is the one that patsy takes, `used` are the columns that it reads.
    """

    settings: dict[str, Any]
    formula: str
    used: tuple[str, ...]
    level: float
    rows: pd.DataFrame
    order: tuple[str, ...] = ()
    """Of the regressors: in another one, statsmodels comes to slightly other numbers."""
    backwards: bool = field(default=False)
    """Whether it is the other way round, to see how far statsmodels agrees with itself."""
    fitted: pd.Series | None = None
    """Coefficients that are an optimum, where the iterations of statsmodels only come near one."""

    @cached_property
    def made(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Rows that lack nothing, also after transformations; their outcome and regressors."""
        roles = [self.settings[name] for name in ("weights", "clusters") if name in self.settings]
        # A mean is that of all values, as with formulas of statsmodels, and not of rows that lack nothing.
        x = self.rows["x"]
        rows = self.rows.assign(centred=x - x.mean(), lagged=x.shift(1), positive=(x > 0) * 1)
        rows = rows.dropna(subset=roles)
        if "f" in self.used:
            rows = rows[(rows["s"] != 0) | (rows["f"] != 0)]  # nothing was tried
        rows = rows.reset_index(drop=True)
        while True:
            if rows[list(self.used)].isna().any(axis=1).all():  # patsy has no categories then
                return rows.iloc[:0], pd.DataFrame(), pd.DataFrame()
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                y, x = dmatrices(self.formula, rows, EvalEnvironment.capture(), return_type="dataframe")
            if len(x) == len(rows):
                x.columns = x.columns.str.replace(" ", "").str.replace("seen(", "C(")
                x = x.rename(columns={"centred": "center(x)", "lagged": "lag(x)", "positive": "I(x>0)"})
                if set(self.order) == set(x.columns):
                    x = x[list(self.order)]
                x = x.iloc[:, ::-1] if self.backwards else x
                return rows, y, x
            rows = rows.loc[x.index].reset_index(drop=True)

    def results(self) -> Any:
        """As statsmodels' users ask for them."""
        rows, outcome, regressors = self.made
        asked, y, x = self.settings, outcome.to_numpy().squeeze(), np.ascontiguousarray(regressors)
        how: dict[str, Any] = {}
        if "covariance" in asked:
            how["cov_type"] = asked["covariance"]
            if asked["covariance"] == "cluster":
                how["cov_kwds"] = {"groups": pd.factorize(rows[asked["clusters"]])[0]}
        match asked["model"]:
            case "ols":
                return sm.OLS(y, x).fit(**how)
            case "wls":
                return sm.WLS(y, x, weights=rows[asked["weights"]]).fit(**how)
            case "logit":
                return sm.Logit(y, x).fit(disp=0, **how)
            case "glm":
                return sm.GLM(y, x, family=self._family()).fit(**how)
            case "rlm":
                return sm.RLM(y, x, M=sm.robust.norms.HuberT(asked.get("t", 1.345))).fit()
            case "quantreg":
                if self.fitted is None:
                    return sm.QuantReg(y, x).fit(q=asked["quantile"])
                return results_at(x, y, self.fitted[regressors.columns].to_numpy(), asked["quantile"])
        raise AssertionError(asked)

    def _family(self) -> Any:
        link = self.settings.get("link")
        family = getattr(sm.families, self.settings["family"].title())
        return family() if link is None else family(getattr(sm.families.links, LINKS[link])())

    def numbers(self) -> tuple[pd.DataFrame, dict[str, float]]:
        """What statsmodels says of each coefficient, and of the fit."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = self.results()
            interval = np.asarray(results.conf_int(alpha=1 - self.level))
            each = pd.DataFrame(
                {name: getattr(results, name) for name in ("params", "bse", "tvalues", "pvalues")}
            )
            each["lower"], each["upper"] = interval.T
            each.index = self.made[2].columns
            whole = {name: _asked(results, name) for name in WHOLE}
        if self.settings["model"] == "glm":
            whole["bic"] = float(results.bic_llf)
        known = getattr(results, "mle_retvals", None) or getattr(results, "fit_history", None)
        if known:
            whole["iterations"] = known["iterations" if "iterations" in known else "iteration"]
        return each, whole

    def reasons(self) -> tuple[set[str], set[str]]:  # noqa: C901  one reason after the other
        """What is wrong with a fit beyond doubt, and what else may be said of it as it is next to that."""
        rows, outcome, x = self.made
        must, may = set(), set()
        if np.isinf(self.rows[list(self.used)].select_dtypes("number")).any(axis=None):
            may.add("values not finite")  # so are means over all rows, of which some were left out
        if len(rows) < len(self.rows) and self.settings.get("missing") == "raise":
            return {"missing values"}, may
        if len(rows) == 0:
            return {"too few rows"}, set()
        y = outcome.to_numpy()
        if not (np.isfinite(y).all() and np.isfinite(x.to_numpy()).all()):
            return {"values not finite"}, {"too few rows"}
        if len(rows) <= x.shape[1]:
            must.add("too few rows")
        share = y[:, 0] / y.sum(1) if y.shape[1] == 2 else y[:, 0]
        if np.ptp(share[np.isfinite(share)]) == 0:
            must.add("constant outcome")
        lengths = np.linalg.norm(x, axis=0)
        if not lengths.all() or np.linalg.cond(x / lengths) > SINGULAR:
            must.add("singular")
        elif np.linalg.cond(x / lengths) > CLEAR:
            may.add("singular")
        kind = self.settings.get("family", self.settings["model"])
        if kind in ("poisson", "binomial", "logit") and (y < 0).any():
            must.add("failed")
        if kind == "gamma" and (y <= 0).any():
            must.add("failed")
        if kind in ("binomial", "logit") and not must and _separated(share, x.to_numpy()):
            must.add("separated")
        if kind == "poisson" and self.settings.get("link", "log") == "log" and not must:
            must |= {"separated"} if _separated_counts(share, x.to_numpy()) else set()
        if kind == "gaussian" and self.settings.get("link") == "log":
            may.add("separated")
        if kind in ("poisson", "binomial") and self.settings.get("link") in ("identity", "log"):
            may.add("not converged")
        if kind in ("ols", "wls") and self.settings["covariance"] in ("HC2", "HC3") and not must:
            must |= {"leverage of 1"} if (self.free() < 1e-13).any() else set()
            may |= {"leverage of 1"} if (self.free() < 1e-9).any() else set()
        if self.settings.get("link") in ("log", "identity", "sqrt", "inverse_power"):
            may.add(
                "failed"
            )  # the last bit may decide whether iterations reach means that the family cannot have
        fails = [each.fails() for each in (self, replace(self, backwards=not self.backwards))]
        return must or ({"failed"} if all(fails) else set()), may | ({"failed"} if any(fails) else set())

    def free(self) -> Any:
        """One minus the leverage of each row: 0, where a coefficient could not be estimated without it."""
        x = self.made[2].to_numpy()
        basis = np.linalg.svd(x / np.linalg.norm(x, axis=0), full_matrices=False)[0]
        return 1.0 - np.square(basis).sum(axis=1)

    def without_alone(self) -> pd.Series:
        """Standard errors of coefficients that can be estimated without such rows; NaN of the others."""
        alone = self.free() < 1e-13
        x, y = self.made[2], self.made[1].to_numpy().squeeze()
        weights = np.asarray(self.made[0]["w"] if self.settings["model"] == "wls" else np.ones(len(x)))
        rest = x[~alone] / np.linalg.norm(x, axis=0)
        null = np.linalg.svd(rest)[2][np.linalg.matrix_rank(rest, tol=1e-9) :]
        here = np.abs(null).max(axis=0, initial=0.0) < 1e-9
        some = sm.WLS(y[~alone], x[~alone], weights=weights[~alone])
        return some.fit(cov_type=self.settings["covariance"]).bse.where(here)

    def fails(self) -> bool:
        """Whether statsmodels comes to no numbers."""
        try:
            each, _ = self.numbers()
        except Exception:  # of whatever kind it raises
            return True
        return not np.isfinite(each[["params", "bse"]]).all(axis=None)

    def differences(self, coefficients: pd.DataFrame, fit: pd.Series, slack: float = 1.0) -> list[str]:
        """Cells of a group that was fitted which are not statsmodels'; `coefficients` by their names.

        `slack` is how many times as large differences may be as of a fit that is vouched for.
        """
        if self.settings["model"] == "quantreg" and fit["path"] == "batched" and self.fitted is None:
            return replace(self, fitted=coefficients["params"]).differences(coefficients, fit, slack)
        each, whole = self.numbers()
        mine = coefficients[coefficients["params"].notna()]
        if set(mine.index) != set(each.index):
            return [f"coefficients {sorted(mine.index)} for {sorted(each.index)}"]
        mine, scale = mine.loc[each.index], np.maximum(each["params"].abs(), each["bse"])
        found = []
        for name, unit, most in (
            ("params", scale, SAME),
            ("bse", each["bse"], SAME),
            ("tvalues", np.maximum(1, each["tvalues"].abs()), 2 * SAME),
            ("pvalues", each["pvalues"] + 1e-6, 1e-6),
            ("lower", scale, 5 * SAME),
            ("upper", scale, 5 * SAME),
        ):
            off = ((mine[name] - each[name]).abs() / unit).where(mine[name] != each[name], 0.0)
            off = off.mask(mine[name].isna() & each[name].isna(), 0.0)
            found += [f"{name} {off.max():.1e}"] if not off.max() <= slack * most else []
        for name, value in whole.items():
            relative, absolute = WHOLE[name]
            near = slack * (relative * abs(value) + absolute * len(self.rows))
            if not (np.isnan(value) or fit[name] == value or abs(fit[name] - value) <= near):
                found.append(f"{name} {fit[name]:.17g} for {value:.17g}")
        return found


def _asked(results: Any, name: str) -> float:
    try:
        return float(getattr(results, name, np.nan))
    except (ValueError, NotImplementedError):  # as of F where no coefficient can be tested
        return np.nan


def corrected(coefficients: pd.DataFrame, fitted: pd.Series, method: str) -> pd.Series:
    """p over groups that were fitted, of each coefficient on its own."""
    found = pd.Series(np.nan, coefficients.index)
    counts = coefficients["g"].map(fitted) & coefficients["pvalues"].notna()
    for _, some in coefficients[counts].groupby("term"):
        found[some.index] = multipletests(some["pvalues"], method=method)[1]
    return found


def _separated_counts(outcome: np.ndarray, x: np.ndarray) -> bool:
    """Whether some sum of regressors is 0 wherever something was counted, and at most 0 elsewhere."""
    basis = np.linalg.svd(x / np.linalg.norm(x, axis=0), full_matrices=False)[0]
    none, some = basis[outcome == 0], basis[outcome > 0]
    if not len(none) or np.linalg.matrix_rank(some, tol=1e-9) == x.shape[1]:
        return False
    found = linprog(
        none.sum(0), none, np.zeros(len(none)), some, np.zeros(len(some)), bounds=(-1, 1), method="highs-ds"
    )
    return bool(found.status == 0 and -found.fun > 0.1)


def _separated(outcome: np.ndarray, x: np.ndarray) -> bool:
    """Whether some sum of regressors is at least 0 for all successes and at most 0 for all failures."""
    basis = np.linalg.svd(x / np.linalg.norm(x, axis=0), full_matrices=False)[0]
    signed = np.concatenate([basis[outcome > 0], -basis[outcome < 1]])
    exact = {"primal_feasibility_tolerance": 1e-10}
    none = np.zeros(len(signed))
    found = linprog(-signed.sum(0), A_ub=-signed, b_ub=none, bounds=(-1, 1), method="highs-ds", options=exact)
    return bool(found.status == 0 and (signed @ found.x).min() > -1e-9 and -found.fun > 0.1)
