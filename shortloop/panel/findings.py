"""What a run of a panel found, as numbers, for a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shortloop.base.plain import Plain
from shortloop.sweep.findings import Finding

__all__ = ["panel_findings"]

QUARTILES = "quartiles over groups"


def panel_findings(summary: Mapping[str, Plain]) -> dict[str, Finding] | None:
    """Of each specification how many groups were fitted, and of each of its coefficients over these groups
    the median, the median standard error, and how many have a small p.
    """
    listed = summary.get("findings")
    if "panel" not in summary or not isinstance(listed, Sequence):
        return None
    return dict(pair for each in listed if isinstance(each, Mapping) for pair in _of_specification(each))


def _of_specification(found: Mapping[str, Any]) -> Iterator[tuple[str, Finding]]:
    name = found["name"]
    yield f"{name}: groups fitted", Finding(found["fitted"])
    for each in found["coefficients"]:
        what = f"{name}, {each['term']}"
        yield f"{what}: median", Finding(each["median"], "", each["lower"], each["upper"], QUARTILES)
        yield f"{what}: median standard error", Finding(each["error"])
        yield f"{what}: groups with p < {found['alpha']}", _share(each["small"], each["tested"])
        if each["tested_corrected"] is not None:
            share = _share(each["small_corrected"], each["tested_corrected"])
            yield f"{what}: groups with corrected p < {found['alpha']}", share


def _share(number: int, of: int) -> Finding:
    return Finding(100 * number / of if of else None, "%")
