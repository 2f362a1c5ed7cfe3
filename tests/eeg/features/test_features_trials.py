"""Features of a trial are of that trial alone, so that work may be split over trials in any way."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eeg_epochs import make_epochs

from shortloop.base.errors import InputError
from shortloop.eeg.data import Epochs
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.features.power import power_features
from shortloop.eeg.features.settings import AmplitudeSettings, PowerSettings

KINDS: dict[str, Any] = {
    "amplitude": (amplitude_features, AmplitudeSettings(start=-0.0215)),
    "power": (power_features, PowerSettings(fmax=20, every=3, bins=9, bin_points=3)),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
@pytest.mark.parametrize("cuts", [[0, 1, 6], [0, 3, 3, 6], [0, 1, 2, 3, 4, 5, 6]])
def test_any_split_over_trials_gives_the_same_bits(kind: str, cuts: list[int], tmp_path: Path) -> None:
    compute, asked = KINDS[kind]
    epochs = make_epochs()
    np.save(tmp_path / "data.npy", epochs.data.astype(np.float32))
    mapped = Epochs(**{**vars(epochs), "data": np.load(tmp_path / "data.npy", mmap_mode="r")})
    whole = compute(mapped, asked)
    out = np.full_like(whole.data, np.nan)
    for begin, end in itertools.pairwise(cuts):
        part = compute(mapped, asked, trials=slice(begin, end), out=out[:, begin:end])
        assert np.array_equal(part.labels, epochs.labels[begin:end])
        assert np.shares_memory(part.data, out) or begin == end
    assert out.tobytes() == whole.data.tobytes()


@each_kind
def test_neither_where_the_signal_lies_in_memory_nor_its_order_changes_a_bit(kind: str) -> None:
    compute, asked = KINDS[kind]
    epochs = make_epochs()
    whole = compute(epochs, asked).data
    shifted = np.empty(epochs.data.size + 3)[3:].reshape(epochs.data.shape)
    shifted[:] = epochs.data
    for copy in (shifted, np.asfortranarray(epochs.data)):
        again = compute(Epochs(**{**vars(epochs), "data": copy}), asked).data
        assert again.tobytes() == whole.tobytes()


@each_kind
def test_an_empty_slice_describes_the_whole(kind: str) -> None:
    compute, asked = KINDS[kind]
    epochs = make_epochs()
    whole, plan = compute(epochs, asked), compute(epochs, asked, trials=slice(0, 0))
    assert plan.data.shape == (len(whole.data), 0, whole.data.shape[2])
    assert plan.names == whole.names
    assert np.array_equal(plan.times, whole.times)


@each_kind
def test_a_bad_trial_does_not_touch_the_others(kind: str) -> None:
    compute, asked = KINDS[kind]
    epochs = make_epochs()
    good, data = compute(epochs, asked).data, epochs.data.copy()
    data[2] = np.nan
    bad = compute(Epochs(**{**vars(epochs), "data": data}), asked).data
    assert np.isnan(bad[:, 2]).all()
    assert np.array_equal(np.delete(bad, 2, axis=1), np.delete(good, 2, axis=1))


@each_kind
def test_what_cannot_be_is_refused(kind: str) -> None:
    compute, asked = KINDS[kind]
    with pytest.raises(InputError) as caught:
        compute(make_epochs(samples=800), asked, participant="s02")  # ends at 0.06 s
    assert (caught.value.where["participant"], caught.value.field) == ("s02", f"features.{kind}.bins")
    with pytest.raises(ValueError, match=r"out has shape .* the features need \(.*, 6, "):
        compute(make_epochs(), asked, out=np.empty((5, 5, 33), dtype=np.float32))
