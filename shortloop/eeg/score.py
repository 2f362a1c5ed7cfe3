"""What can say how well a bin is decoded, by name."""

from __future__ import annotations

from typing import Literal

__all__ = ["Score"]

Score = Literal["balanced-accuracy", "accuracy", "auc"]
