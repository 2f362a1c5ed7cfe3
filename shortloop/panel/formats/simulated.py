"""Simulated panels, whose coefficients are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shortloop.panel.formats.panel_format import PanelInput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

BETA = (1.0, 0.5, -0.25, 0.1, 0.0, 0.0)
"""Mean over groups of the constant and of the coefficients of x1 … x5; each group has its own, which vary by
`SPREAD` but for the last two, which are zero in all."""
SPREAD = 0.2


class SimulatedInput(PanelInput):
    """Groups with outcomes of several kinds: ``y``, ``bought`` (0 or 1) and ``visits`` (counts)."""

    format: Literal["simulated"] = Field(description="a simulated panel")
    groups: int = Field(2000, ge=1, description="number of groups; default 2000")
    rows: int = Field(500, ge=1, description="rows of each group; default 500")
    noise: float = Field(1.0, gt=0, description="standard deviation of the errors of y; default 1")

    def load(self, file: Path | None, by: Sequence[str], seed: int) -> pd.DataFrame:
        """Regressors x1 … x5 are normal, and correlated with their neighbour; rows are not in order."""
        import numpy as np
        import pandas as pd

        from shortloop.base.seeds import seed_for

        rng = np.random.default_rng(seed_for(seed, "panel"))
        rows = self.groups * self.rows
        group = rng.permutation(np.repeat(np.arange(self.groups), self.rows))
        x = rng.standard_normal((len(BETA) - 1, rows))
        x[1:] += 0.5 * x[:-1]
        beta = np.array(BETA)[:, np.newaxis] + np.zeros((1, self.groups))
        beta[:4] += SPREAD * rng.standard_normal((4, self.groups))
        mean = beta[0, group] + sum(beta[j + 1, group] * x[j] for j in range(len(x)))
        frame = {"group": group, **{f"x{j + 1}": x[j] for j in range(len(x))}}
        frame["weight"] = rng.uniform(0.5, 2.0, rows)
        frame["y"] = mean + self.noise * rng.standard_normal(rows) / np.sqrt(frame["weight"])
        frame["bought"] = (rng.uniform(size=rows) < 1.0 / (1.0 + np.exp(-mean))).astype(np.int8)
        frame["visits"] = rng.poisson(np.exp(np.minimum(0.5 * mean, 5.0)))
        return pd.DataFrame(frame)
