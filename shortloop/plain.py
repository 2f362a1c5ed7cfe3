"""Plain data: what JSON can hold, and so what options, facts and records of jobs are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

__all__ = ["Plain"]

Plain: TypeAlias = bool | int | float | str | Sequence["Plain"] | Mapping[str, "Plain"] | None
"""Read only, so that a list of names is one, too."""
