"""Times are said and drawn in one unit."""

from __future__ import annotations

import numpy as np
import pytest
from report_synthetic import kind_result

from shortloop.eeg.report.times import TimeScale, bin_edges, time_scale


@pytest.mark.parametrize(
    ("unit", "bins", "expected"), [("s", 12, "ms"), ("s", 60, "s"), ("bin", 12, "bin"), ("bin", 60, "bin")]
)
def test_the_unit_suits_the_epochs(unit: str, bins: int, expected: str) -> None:
    assert time_scale(kind_result(unit=unit, bins=bins)).unit == expected


def test_words() -> None:
    ms, s, bins = TimeScale("ms", 1000.0), TimeScale("s", 1.0), TimeScale("bin", 1.0)
    assert ms.point(0.1204) == "120 ms"
    assert ms.span(-0.021, 0.41) == "−21 to 410 ms"
    assert ms.span(0.1, 0.1) == "100 ms"
    assert ms.point(-0.0001) == "0 ms"
    assert s.span(1.0, 2.25) == "1.00 to 2.25 s"
    assert bins.point(4.0) == "bin 4"
    assert bins.span(4.0, 12.0) == "bins 4 to 12"
    assert ms.label("Training", "study") == "Training time, study (ms)"
    assert bins.label("Training", "study") == "Training bin, study"
    assert (s.label(), bins.label()) == ("Time (s)", "Bin")


def test_edges_lie_halfway() -> None:
    np.testing.assert_allclose(bin_edges(np.array([0.0, 1.0, 3.0])), [-0.5, 0.5, 2.0, 4.0])
    np.testing.assert_allclose(bin_edges(np.array([5.0]), 0.2), [4.9, 5.1])


def test_each_edge_is_between_its_centres() -> None:
    centres = np.cumsum(np.random.default_rng(0).uniform(0.01, 1, 30))
    edges = bin_edges(centres)
    assert (edges[:-1] < centres).all()
    assert (centres < edges[1:]).all()
