"""What is wrong with one recording is found and placed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortloop.base.errors import InputError
from shortloop.eeg.checks.recording import check_epochs, check_features
from shortloop.eeg.data import Epochs, Features
from shortloop.eeg.formats.files.process import located


def epochs(**other: Any) -> Epochs:
    good = Epochs(
        data=np.random.default_rng(0).standard_normal((6, 2, 5)),
        labels=np.array([0, 1, 0, 1, 1, 0]),
        classes=("face", "house"),
        times=np.arange(-1, 4) / 100,
        sfreq=100.0,
        channels=("Fz", "Cz"),
    )
    return replace(good, **other)


def features(**other: Any) -> Features:
    good = Features(
        data=np.random.default_rng(0).standard_normal((4, 6, 3)),
        labels=np.array([0, 1, 0, 1, 1, 0]),
        classes=("face", "house"),
        times=np.arange(4.0),
        names=("a", "b", "c"),
        kind="power",
    )
    return replace(good, **other)


def test_good_recordings_pass() -> None:
    check_epochs(epochs(), participant="S1", phase="study")
    check_features(features(), "study")
    # Times that were rounded to milliseconds.
    times = np.round(np.arange(-100, 400) / 256, 3)
    data = np.random.default_rng(0).standard_normal((6, 2, 500)) * 1e-5
    check_epochs(epochs(data=data, times=times, sfreq=256.0), participant="S1", phase="study")


@pytest.mark.parametrize(
    ("other", "problem", "found"),
    [
        ({"data": np.zeros((6, 3, 5))}, "do not fit together", "(6, 3, 5)"),
        ({"data": np.zeros((6, 10))}, "do not fit together", "(6, 10)"),
        ({"labels": np.zeros(5, int)}, "do not fit together", "(6, 2, 5)"),
        ({"labels": np.zeros(0, int), "data": np.zeros((0, 2, 5))}, "no trials in the study phase", "None"),
        ({"labels": np.zeros(6, int)}, "no trials of house", "6 face, 0 house"),
        ({"classes": ("face", "house", "dog")}, "no trials of dog", "3 face, 3 house, 0 dog"),
        ({"labels": np.array([0, 1, 0, 1, 2, 0])}, "not indices of classes", "0 to 2"),
        ({"labels": np.array([0, 1, 0, 1, -1, 0])}, "not indices of classes", "-1 to 1"),
        ({"labels": np.array([0.0, 1, 0, 1, 1, 0])}, "not indices of classes", "float64"),
        ({"channels": ("Fz", "Fz")}, "two channels have the same name", "Fz"),
        ({"channels": (), "data": np.zeros((6, 0, 5))}, "no channels", "none"),
        ({"times": np.array([0, 1, 1, 2, 3]) / 100}, "times do not increase", "5 times from 0 to 0.03"),
        ({"times": np.arange(5)[::-1] / 100}, "times do not increase", "0.04 to 0"),
        ({"times": np.array([0, 1, 2, 3, np.nan])}, "times do not increase", "nan"),
        ({"times": np.zeros(1), "data": np.zeros((6, 2, 1))}, "times do not increase", "1 times"),
        ({"sfreq": 120.0}, "do not match the sampling rate", "samples off"),
        ({"times": np.array([0, 1, 2, 3, 5]) / 100}, "do not match the sampling rate", "1 samples off"),
        ({"sfreq": 0.0}, "sampling rate is not a positive number", "0.0"),
        ({"sfreq": np.nan}, "sampling rate is not a positive number", "nan"),
    ],
)
def test_what_is_wrong_with_epochs_is_named(other: dict[str, Any], problem: str, found: str) -> None:
    with pytest.raises(InputError, match=problem) as caught, located("S1", "a.fif, b.fif"):
        check_epochs(epochs(**other), participant="S1", phase="study")
    assert (caught.value.where["participant"], caught.value.file) == ("S1", "a.fif, b.fif")
    assert found in str(caught.value.found)


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"data": np.zeros((4, 6, 2))}, "do not fit together"),
        ({"data": np.zeros((6, 3))}, "do not fit together"),
        ({"times": np.arange(3.0)}, "do not fit together"),
        ({"names": (), "data": np.zeros((4, 6, 0))}, "do not fit together"),
        ({"labels": np.zeros(6, int)}, "no trials of house"),
        ({"classes": ("face", "house", "dog")}, "no trials of dog"),
        ({"times": np.zeros(4)}, "times of the bins do not increase"),
    ],
)
def test_what_is_wrong_with_features_is_named(other: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught, located("S1", "a.mat"):
        check_features(features(**other), "study")
    assert (caught.value.where["participant"], caught.value.file) == ("S1", "a.mat")


@settings(max_examples=30, deadline=None)
@given(
    places=st.sets(
        st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=9
    ),
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
)
def test_samples_that_are_no_numbers_are_counted_and_placed(
    places: set[tuple[int, int, int]], bad: float
) -> None:
    wrong = epochs()
    for place in places:
        wrong.data[place] = bad
    with pytest.raises(InputError, match="not finite") as caught:
        check_epochs(wrong, participant="S1", phase="test")
    trial, channel, _ = min(places)
    assert f"{len(places)} of 60 values" in str(caught.value.found)
    assert f"trial {trial + 1}, channel {('Fz', 'Cz')[channel]}" in str(caught.value.found)
