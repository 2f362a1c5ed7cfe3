"""What is wrong with the settings of `fit_frame` is said in words of the model, and can be mended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from shortloop.base.errors import InputError
from shortloop.panel.frame import fit_frame

FRAME = pd.DataFrame({"g": 1, "x": np.arange(9.0), "y": np.arange(9.0) ** 2})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": "ols", "covariance": "HC9"}, "covariance.*'HC9'.*'HC3' or 'cluster'"),
        ({"model": "nosuch"}, "no such model.*'nosuch'.*one of glm, logit, ols"),
        ({}, "no such model.*one of glm"),
        ({"model": 3}, "no such model.*3.*one of glm"),
        ({"model": "ols", "weights": "x"}, "ols has no such setting.*weights.*one of .*covariance"),
        ({"model": "wls"}, "missing setting.*weights.*weights=…"),
        ({"model": "statsmodels"}, "missing setting.*path=…"),
        ({"model": "ols", "covariance": "cluster"}, "the column is needed for covariance 'cluster'"),
        ({"model": "ols", "formula": ""}, "formula.*at least 1 character"),
        ({"model": "ols", "level": 95}, "level.*95.*between 0 and 1"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        fit_frame(FRAME, ["g"], **{"formula": "y ~ x", **settings})
    assert pd.Series([" ".join(str(caught.value).split())]).str.contains(said).all(), caught.value
    assert "pydantic" not in str(caught.value)


def test_one_column_may_make_groups() -> None:
    found = fit_frame(FRAME, "g", model="ols", formula="y ~ x")
    assert found.fits()["status"].tolist() == ["fitted"]
