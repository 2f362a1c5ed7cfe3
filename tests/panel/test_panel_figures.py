"""Figures of a panel can be read: nothing is cut off, and nothing stands on other words."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from figure_texts import check_texts, texts

from shortloop.panel.report.content import Shown
from shortloop.panel.report.figures import coefficients_figure, pvalues_figure
from shortloop.panel.status import FITTED


@pytest.mark.parametrize("groups", [1, 11, 5000])
def test_all_words_are_there(groups: int) -> None:
    rng = np.random.default_rng(groups)
    pvalues = rng.random((groups, 3)) ** 4
    pvalues[:10, 0] = 0.01  # a bar of a height that asks for wide labels
    params = rng.standard_normal((groups, 3)) * [1, 1e4, 1e-3]
    shown = Shown(
        name="plain",
        formula="y ~ x + k",
        model="ols",
        names=("Intercept", "x", "C(k)[T.b]"),
        arrays={
            "status": np.full(groups, FITTED),
            "params": params,
            "lower": params - 0.5,
            "upper": params + 0.5,
            "pvalues": pvalues,
        },
        corrected=None,
        counts=Counter(fitted=groups),
        batched=groups,
        seconds=1.0,
        sources=(),
        pages=None,
    )
    for figure in (coefficients_figure(shown), pvalues_figure(shown)):
        drawn = texts(figure)
        assert len(drawn) > 3 * 5
        check_texts(figure, drawn)
