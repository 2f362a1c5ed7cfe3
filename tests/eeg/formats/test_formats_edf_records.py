"""Records of EDF+ that do not follow each other: events are at their samples, no trial is across a pause."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from edf_files import signal, write_edf
from eeg_recordings import read

from shortloop.base.errors import InputError
from shortloop.eeg.data import Epochs

NAMES = ("Fz", "Cz", "Pz")
SAMPLES = signal(seconds=20)
CLOCK = [*range(8), *range(18, 24), *range(54, 60)]  # pauses of 10 and 30 s
EVENTS = [(1.5, "T1"), (3.25, "T2"), (7.9, "T1"), (20.5, "T2"), (22.0, "T1"), (56.25, "T2"), (58.5, "T1")]
KEPT = [0, 1, 3, 4, 5, 6]  # the third is cut off by a pause
AT = [1.5, 3.25, 10.5, 12.0, 16.25, 18.5]  # s of samples


def told(file: Path, **settings: Any) -> tuple[Epochs, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        epochs = read("edf", [file], events={"face": ["T1"], "house": ["T2"]}, **settings)
    return epochs, [str(each.message) for each in caught]


def at(onsets: Sequence[float], volts: np.ndarray = SAMPLES * 1e-7) -> np.ndarray:
    return np.stack([volts[:, round(64 * t) - 16 : round(64 * t) + 33] for t in onsets])


@pytest.mark.parametrize("kind", ["EDF+C", "EDF+D"])
def test_events_are_at_their_samples(tmp_path: Path, kind: str) -> None:
    """Whether the header says that there are pauses or not."""
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=EVENTS, kind=kind, clock=CLOCK)
    epochs, texts = told(file)
    np.testing.assert_allclose(epochs.data, at(AT), atol=1e-12)
    assert epochs.labels.tolist() == [("T1", "T2").index(EVENTS[number][1]) for number in KEPT]
    np.testing.assert_allclose(epochs.trial_info["onset"], AT)
    assert any(
        "(pauses: 2, the first of 10 s at 8 s): events were moved to their samples" in text for text in texts
    )
    assert any("1 of 7 trials were left out (1 × across a gap in the recording)" in text for text in texts)
    assert not any("Omitted" in text for text in texts)


def test_filters_end_at_a_pause(tmp_path: Path) -> None:
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=EVENTS, kind="EDF+D", clock=CLOCK)
    epochs, _ = told(file, preprocessing={"highpass": 5.0})
    info = mne.create_info(list(NAMES), 64.0, "eeg")
    whole = SAMPLES * 1e-7
    pieces = [whole[:, 64 * a : 64 * b] for a, b in itertools.pairwise([0, 8, 14, 20])]
    with mne.utils.use_log_level("ERROR"):
        alone = [mne.io.RawArray(piece, info).filter(5.0, None).get_data() for piece in pieces]
    np.testing.assert_allclose(epochs.data, at(AT, np.concatenate(alone, axis=1)), atol=1e-12)


@pytest.mark.parametrize("start", [0.0, 0.5])
def test_records_that_follow_each_other_are_read_as_they_are(tmp_path: Path, start: float) -> None:
    """Exporters of clinics write EDF+D always; some recordings begin within a second."""
    clock, kind = [start + second for second in range(20)], "EDF+D"
    events = [(start + time, name) for time, name in EVENTS if time < 8]
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=events, kind=kind, clock=clock)
    epochs, texts = told(file)
    np.testing.assert_allclose(epochs.data, at([1.5, 3.25, 7.9]), atol=1e-12)
    assert not texts


def test_records_of_one_time_are_taken_to_follow_each_other(tmp_path: Path) -> None:
    """As of exporters that do not count on."""
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=[(1.5, "T1"), (3.25, "T2")])
    same = re.sub(
        rb"\+(\d+)\x14\x14\0", lambda said: b"+0\x14\x14\0".ljust(len(said[0]), b"\0"), file.read_bytes()
    )
    file.write_bytes(same)
    epochs, texts = told(file)
    np.testing.assert_allclose(epochs.data, at([1.5, 3.25]), atol=1e-12)
    assert not texts


def test_a_clock_that_drifts_is_followed(tmp_path: Path) -> None:
    """Records of 1.01 s of the clock: an event at its 19 s is not at 19 s of samples."""
    clock = [1.01 * second for second in range(20)]
    events = [(1.01 * time, name) for time, name in ((2.0, "T1"), (10.5, "T2"), (18.5, "T1"))]
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=events, clock=clock)
    epochs, texts = told(file)
    np.testing.assert_allclose(epochs.data, at([2.0, 10.5, 18.5]), atol=1e-12)
    assert any("up to 0.19 s off" in text for text in texts)


def test_events_within_a_pause_are_left_out(tmp_path: Path) -> None:
    """There are no samples of them, as in a recording that went on elsewhere."""
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=EVENTS, clock=CLOCK)
    content = file.read_bytes()
    assert b"+3.25\x14T2" in content
    file.write_bytes(content.replace(b"+3.25\x14T2", b"+12.0\x14T2"))
    epochs, texts = told(file, tmin=0.1, tmax=0.5)
    np.testing.assert_allclose(epochs.trial_info["onset"], [1.5, *AT[2:]])
    assert any("1 of 6 trials were left out" in text for text in texts), "a pause is before its epoch"
    assert any("and 1 in pauses or after the end were left out" in text for text in texts)


def test_a_table_of_events_beside_pauses_is_refused(tmp_path: Path) -> None:
    """Its onsets may be those of the clock or of the samples; the hint works."""
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=EVENTS, clock=CLOCK)
    (tmp_path / "S1_events.tsv").write_text("onset\tduration\ttrial_type\n1.5\t0\tT1\n3.25\t0\tT2\n")
    with pytest.raises(InputError, match="has pauses, and a table of events") as caught:
        told(file)
    assert "event_source = 'annotations'" in str(caught.value.hint)
    epochs, _ = told(file, event_source="annotations")
    np.testing.assert_allclose(epochs.data, at(AT), atol=1e-12)


def test_records_whose_times_say_nothing(tmp_path: Path) -> None:
    file = write_edf(
        tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=EVENTS, clock=[*range(10), *range(5, 15)]
    )
    with pytest.raises(InputError, match="times of records go back") as caught:
        told(file)
    assert caught.value.found == "record 11 at 5 s, after one at 9 s"
    file.write_bytes(file.read_bytes().replace(b"EDF+C", b"EDF+D").replace(b"+7\x14\x14", b"\0\0\0\0"))
    with pytest.raises(
        InputError, match=r"discontinuous \(EDF\+D or BDF\+D\), and its records have no times"
    ):
        told(file)
