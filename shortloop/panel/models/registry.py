"""The models there are: the one place that lists them.

What fits imports the one model that it needs by its name, and not this table, so that a new model makes no
job run again.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shortloop.panel.models.glm import Glm
from shortloop.panel.models.logit import Logit
from shortloop.panel.models.ols import Ols
from shortloop.panel.models.quantreg import Quantreg
from shortloop.panel.models.rlm import Rlm
from shortloop.panel.models.statsmodels import OfStatsmodels
from shortloop.panel.models.wls import Wls

__all__ = ["AnyModel"]

AnyModel = Annotated[Ols | Wls | Logit | Glm | Rlm | Quantreg | OfStatsmodels, Field(discriminator="model")]
