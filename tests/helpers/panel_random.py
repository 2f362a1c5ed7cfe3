"""Panels with all that can go wrong in some groups, and specifications of every sort, drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

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


def _separated(rng: np.random.Generator, part: pd.DataFrame) -> pd.DataFrame:
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
    _near, _constant, _few, _separated, _scaled, _far, _twice, _lacking, _endless, _outlier, _whole, _texts,
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
LINKS = {
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
        asked["family"] = str(rng.choice(list(LINKS)))
        link = LINKS[asked["family"]][rng.integers(len(LINKS[asked["family"]]))]
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
