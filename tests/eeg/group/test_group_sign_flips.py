"""Sign flips: all of them when they are few, fair random ones otherwise."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from shortloop.eeg.group.maps import sign_flips


@pytest.mark.parametrize(("participants", "count"), [(1, 1), (3, 7), (5, 1000), (10, 1023)])
def test_all_patterns_once_observed_first(participants: int, count: int) -> None:
    signs, exact = sign_flips(participants, count)
    assert exact
    assert signs.shape == (2**participants, participants)
    assert (signs[0] == 1).all()
    assert {tuple(row) for row in signs} == set(product([-1.0, 1.0], repeat=participants))


@pytest.mark.parametrize(("participants", "count"), [(3, 6), (10, 1022), (62, 50), (200, 50)])
def test_random_patterns_where_all_are_too_many(participants: int, count: int) -> None:
    signs, exact = sign_flips(participants, count, np.random.SeedSequence(4))
    assert not exact
    assert signs.shape == (count, participants)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    again, _ = sign_flips(participants, count, np.random.SeedSequence(4))
    other, _ = sign_flips(participants, count, np.random.SeedSequence(5))
    np.testing.assert_array_equal(signs, again)
    assert (signs != other).any()


def test_random_signs_are_fair_and_independent() -> None:
    signs, _ = sign_flips(20, 5000, np.random.SeedSequence(6))
    ups = int((signs == 1).sum())
    assert stats.binomtest(ups, signs.size).pvalue > 1e-3
    between = np.asarray(np.corrcoef(signs.T))[np.triu_indices(20, 1)]
    assert np.abs(between).max() < 5 / np.sqrt(5000)


def test_random_patterns_need_a_seed() -> None:
    with pytest.raises(ValueError, match="seed"):
        sign_flips(18, 1000)
