"""Names of scores."""

from __future__ import annotations

from typing import Literal

__all__ = ["Score"]

Score = Literal["balanced-accuracy", "accuracy", "auc"]
