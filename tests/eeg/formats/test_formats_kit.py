"""KIT: found by its structure, read by MNE, with the codes of its triggers as events."""

from __future__ import annotations

from pathlib import Path

import mne
import numpy as np
import pytest
from eeg_folders import proposed, silent
from eeg_recordings import read
from kit_files import write_kit

from shortloop.eeg.formats.files.recognised import recognised
from shortloop.eeg.inspect.check_study import open_all
from shortloop.eeg.study.load import read_study

RATE, SAMPLES = 500.0, 30_000
AT = 600 + 700 * np.arange(40)


def steps(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-2000, 2000, (4, SAMPLES))


def recording(file: Path, seed: int = 0) -> Path:
    return write_kit(file, steps(seed), RATE, {int(at): number % 2 for number, at in enumerate(AT)})


@pytest.mark.parametrize("ending", [".con", ".sqd"])
def test_samples_and_triggers(tmp_path: Path, ending: str) -> None:
    file = recording(tmp_path / f"S1{ending}")
    kind = recognised(file)
    assert kind is not None
    assert (kind.name, kind.format) == ("KIT", "mne")
    epochs = read("mne", [file], events={"face": [1], "house": [2]})
    raw = mne.io.read_raw_kit(file, verbose="ERROR")
    data = raw.get_data(picks="meg")
    factor = data[0, 0] / steps(0)[0, 0]
    np.testing.assert_allclose(data, steps(0) * factor, rtol=1e-9)
    expected = np.stack([data[:, at - 125 : at + 251] for at in AT])
    np.testing.assert_allclose(epochs.data, expected, rtol=1e-12)
    assert epochs.labels.tolist() == [0, 1] * 20
    assert epochs.sfreq == RATE


def test_from_a_folder_to_a_study(tmp_path: Path) -> None:
    for who in range(3):
        recording(tmp_path / f"data/P{who}.con", who)
    (tmp_path / "data/settings.con").write_text("[window]\nsize = 5\n" * 20)  # others have this ending, too
    found = proposed(tmp_path / "data", tmp_path / "study")
    assert "3 participants: P0, P1, P2" in found.lines
    assert any("settings.con" in line for line in found.lines)
    file = tmp_path / "study/study.toml"
    file.parent.mkdir()
    file.write_text(found.settings, encoding="utf-8")
    assert read_study(file).classes == ("1", "2")
    assert open_all(file, silent).problems == ()
