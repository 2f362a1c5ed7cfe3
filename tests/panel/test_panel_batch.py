"""Groups that are fitted a block at a time, from the columns themselves: the same bits, no large memory."""

from __future__ import annotations

import os
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cases import first_cases
from panel_fits import fit_groups
from python_process import finished

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.frame import fit_frame
from shortloop.panel.kernels import batch
from shortloop.panel.statistics import Reason

SIZES = (30, 2, 45, 3, 60, 25, 31)


def rows() -> tuple[FloatArray, FloatArray, IntArray]:
    rng = np.random.default_rng(2)
    starts = np.concatenate([[0], np.cumsum(SIZES)])
    x = rng.standard_normal((3, starts[-1]))
    x[0] = 1.0
    return x, (rng.uniform(size=starts[-1]) < 0.5).astype(float), starts


def fits() -> dict[str, Callable[..., SimpleNamespace]]:
    rng = np.random.default_rng(3)
    weights, clusters = rng.uniform(0.5, 2.0, sum(SIZES)), np.concatenate([np.arange(n) % 7 for n in SIZES])
    return {
        "ols": partial(fit_groups, "ols"),
        "wls": partial(fit_groups, "ols", weights=weights),
        "clusters": partial(fit_groups, "ols", weights=weights, covariance="cluster", clusters=clusters),
        "logit": partial(fit_groups, "logit", covariance="cluster", clusters=clusters),
        "glm": partial(fit_groups, "glm", family="binomial", link="probit"),
        "huber": partial(fit_groups, "rlm"),
        "quantile": partial(fit_groups, "quantreg"),
    }


def assert_alike(found: SimpleNamespace, other: SimpleNamespace) -> None:
    assert (found.reasons == Reason.VOUCHED).sum() == 5
    for name in vars(found):
        np.testing.assert_array_equal(getattr(found, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("name", fits())
@first_cases(2, "values", [1, 100, 225])
def test_bits_do_not_depend_on_blocks(name: str, values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, starts = rows()
    whole = fits()[name](x, y, starts)
    monkeypatch.setattr(batch, "BLOCK", values)
    assert_alike(fits()[name](x, y, starts), whole)


FITTED = """\
import hashlib, sys
sys.path.insert(0, HELPERS)
import numpy as np
from panel_fits import fit_groups
rng = np.random.default_rng(5)
starts = np.arange(0, 4001, 80)
x = np.stack([np.ones(4000), 2000.0 + rng.standard_normal(4000), rng.standard_normal(4000)])
y, chance = x[2] + rng.standard_t(3, 4000), (rng.uniform(size=4000) < 0.5).astype(float)
asked = [("ols", y, {}), ("ols", y, {"covariance": "HC3"}), ("rlm", y, {}), ("quantreg", y, {})]
asked += [("ols", y, {"weights": rng.uniform(0.5, 2.0, 4000), "covariance": "HC1"})]
asked += [("logit", chance, {}), *(("glm", chance, {"family": f}) for f in ("binomial", "poisson"))]
for columns in (x, np.stack([x[0], rng.standard_normal(4000), x[2]])):
    for model, outcome, more in asked:
        found = vars(fit_groups(model, columns, outcome, starts, **more))
        for name in sorted(found):
            print(model, name, hashlib.sha256(np.asarray(found[name], float).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_bits_do_not_depend_on_where_compiled_code_comes_from(tmp_path: Path) -> None:
    """Compiled here, or read from the cache: what is not inlined may be taken from another module then."""
    code = FITTED.replace("HELPERS", repr(str(Path(__file__).parents[1] / "helpers")))
    own = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = [finished([sys.executable, "-c", code], None, own, 600) for _ in range(2)]
    said = [each.stdout.splitlines() for each in done]
    assert len(said[0]) > 100, done[0].stderr
    assert said[0] == said[1]


@pytest.mark.parametrize("name", ["ols", "logit"])
def test_columns_may_be_anywhere(name: str, tmp_path: Path) -> None:
    x, y, starts = rows()
    whole = fits()[name](x, y, starts)
    np.save(tmp_path / "x.npy", x[1])
    of_file = np.load(tmp_path / "x.npy", mmap_mode="r")
    outcome = np.repeat(y, 2)[::2]
    outcome.flags.writeable = False
    apart = [np.broadcast_to(1.0, len(y)), of_file, np.asfortranarray(x.T)[:, 2]]
    assert_alike(fits()[name](apart, outcome, starts), whole)


def test_no_group_at_all() -> None:
    assert fit_groups("ols", np.empty((2, 0)), np.empty(0), np.array([0])).params.shape == (0, 2)


def test_memory_does_not_grow_with_the_rows() -> None:
    rng = np.random.default_rng(0)
    groups, number = 40, 20_000
    names = list("abcde")
    frame = pd.DataFrame({name: rng.standard_normal(groups * number) for name in [*names, "y"]})
    frame.insert(0, "g", np.repeat(np.arange(groups), number))

    def fit() -> None:
        fit_frame(frame, ["g"], model="ols", formula=f"y ~ {' + '.join(names)}")

    fit()  # code and libraries are loaded
    tracemalloc.start()
    fit()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 0.2 * frame.memory_usage().sum()
