"""Records that do not fit together are refused where they are made."""

from __future__ import annotations

import numpy as np
import pytest
from report_synthetic import kind_result, statistics


def test_scores_of_other_participants_are_refused() -> None:
    with pytest.raises(ValueError, match="curve: scores of shape"):
        kind_result(curve=statistics(np.zeros(12, dtype=bool), participants=5))


def test_a_map_turned_round_is_refused() -> None:
    with pytest.raises(ValueError, match="generalization: scores of shape"):
        kind_result(generalization=statistics(np.zeros((12, 10), dtype=bool)))


def test_times_that_do_not_increase_are_refused() -> None:
    with pytest.raises(ValueError, match="train_times: expected increasing"):
        kind_result(train_times=np.zeros(12))


def test_a_map_without_test_times_is_refused() -> None:
    with pytest.raises(ValueError, match="without test_times"):
        kind_result(test_times=None)
