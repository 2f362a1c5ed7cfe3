"""Names of scores."""

from __future__ import annotations

from typing import Literal

Score = Literal["balanced-accuracy", "accuracy", "auc"]
