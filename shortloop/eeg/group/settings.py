"""How a group is tested: statistics over participants."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shortloop.settings.base import Settings

__all__ = ["GroupSettings"]


class GroupSettings(Settings):
    """Statistics over participants."""

    smooth: float = Field(
        1.0, ge=0, description="sigma of the Gaussian that smooths each map, bins; default 1; 0: none"
    )
    truncate: float = Field(2.0, gt=0, description="radius of that Gaussian, in sigmas; default 2")
    alpha: float = Field(0.05, gt=0, lt=1, description="family-wise error rate; default 0.05")
    cluster_alpha: float = Field(
        0.05, gt=0, lt=1, description="two-sided p of one cell that puts it into a cluster; default 0.05"
    )
    null: Literal["permutations", "sign-flips"] = Field(
        "permutations",
        description="null distribution of the group: the participants' permuted maps, or their observed maps "
        "with signs flipped about chance; default 'permutations'",
    )
