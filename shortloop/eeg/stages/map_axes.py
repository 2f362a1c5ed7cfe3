"""Axes of maps of scores, curves and planes, and what stands along them; the same in all jobs."""

from __future__ import annotations

from collections.abc import Container

__all__ = ["CENTRES", "MAP_AXES", "map_coordinates"]

MAP_AXES = {"curve": "training bins", "plane": "test bins × training bins"}
TIMES = {"training bins": "train_times", "test bins": "test_times"}
CENTRES = {
    "train_times": "centre of each training bin, 0 at the event",
    "test_times": "centre of each test bin, 0 at the event",
}
"""Arrays of times, and what they are."""


def map_coordinates(arrays: Container[str]) -> dict[str, str]:
    """What stands along the axes of maps."""
    return {axis: name for axis, name in TIMES.items() if name in arrays}
