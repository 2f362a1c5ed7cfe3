"""Formats that MNE alone reads: samples, events and channels are those that were written."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import mne
import numpy as np
import pytest
from eeg_folders import CHANNELS, recording
from eeg_recordings import CLASSES, read
from handmade_recordings import (
    CODES,
    UNIT,
    WRITERS,
    write_bci2000,
    write_gdf,
    write_mff,
    write_nihon,
    write_persyst,
)

from shortloop.base.errors import InputError
from shortloop.eeg.formats.base import InputSettings, RecordedInput
from shortloop.eeg.formats.files.recognised import recognised

pytestmark = pytest.mark.filterwarnings("ignore:S1, ", "ignore:invalid value:RuntimeWarning:mne")
CODED = {"face": [CODES["face"]], "house": [CODES["house"]]}
NAMED = (".mff", ".ds", ".EEG", ".data", ".lay", ".dat", ".cdt")  # whose events have names


@pytest.fixture(params=WRITERS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / f"S1{request.param}"
    WRITERS[request.param](recording("S1", trials=12), made)
    return made


def test_epochs_are_those_that_were_written(file: Path) -> None:
    events = {} if file.suffix in NAMED else CODED
    raw = recording("S1", trials=12)
    epochs = read("mne", [file], events=events)
    shown = [each for each in raw.annotations if each["description"] != "response"]
    assert [CLASSES[label] for label in epochs.labels] == [each["description"] for each in shown]
    assert (epochs.sfreq, epochs.unit) == (128.0, "V")
    names = tuple(f"E{number}" for number in range(1, 10)) if file.suffix == ".mff" else CHANNELS
    if file.suffix == ".lay":  # MNE writes them so
        names = tuple(name.upper() for name in CHANNELS)
    assert epochs.channels[:9] == names
    for trial, each in zip(epochs.data, shown, strict=True):
        start = round(each["onset"] * 128)
        written = raw.get_data()[:, start - 32 : start + 65]
        np.testing.assert_allclose(trial[:9], written, rtol=0, atol=6e-8)
    assert epochs.accounts[0]["events_from"] == ("tsv" if file.suffix == ".data" else "annotations")


def test_a_recording_that_is_cut_short_is_refused(file: Path) -> None:
    samples = file if file.is_file() else max(file.iterdir(), key=lambda path: path.stat().st_size)
    content = samples.read_bytes()
    samples.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError):
        read("mne", [file], events={} if file.suffix in NAMED else CODED)


def test_bci2000_is_told_from_curry_and_read(tmp_path: Path) -> None:
    """Both end in .dat. MNE gives steps of the amplifier for V, which is told."""
    file, raw = tmp_path / "S1R01.dat", recording("S1", trials=12)
    write_bci2000(raw, file)
    kind = recognised(file)
    assert kind is not None
    assert (kind.name, kind.format) == ("BCI2000", "mne")
    epochs = read("mne", [file], events=CODED)
    shown = [each for each in raw.annotations if each["description"] != "response"]
    assert [CLASSES[label] for label in epochs.labels] == [each["description"] for each in shown]
    own = mne.io.read_raw(file, preload=True, verbose="ERROR")
    events = mne.find_events(own, "STI 014", verbose="ERROR")
    alone = mne.Epochs(own, events, [1, 2], -0.25, 0.5, baseline=None, picks="eeg", verbose="ERROR")
    np.testing.assert_array_equal(epochs.data, alone.get_data())
    first = round(shown[0]["onset"] * 128)
    np.testing.assert_allclose(
        epochs.data[0], raw.get_data()[:, first - 32 : first + 65] * 1e6 / UNIT, rtol=0, atol=0.5 + 1e-9
    )


def test_files_of_nihon_kohden_in_any_case(tmp_path: Path) -> None:
    """MNE looks for names in upper case, and passes over events in S1.log without a word."""
    write_nihon(recording("S1", trials=12), tmp_path / "S1.EEG")
    expected = read("mne", [tmp_path / "S1.EEG"])
    for path in sorted(tmp_path.iterdir()):
        path.rename(path.with_name(path.name.lower()))
    assert len(mne.io.read_raw(tmp_path / "s1.eeg", verbose="ERROR").annotations) == 0
    found = read("mne", [tmp_path / "s1.eeg"])
    np.testing.assert_array_equal(found.data, expected.data)


def test_a_format_of_one_file_has_no_others(tmp_path: Path) -> None:
    write_gdf(recording("S1", trials=4), tmp_path / "S1.gdf")
    (tmp_path / "S1.txt").write_text("notes")
    (tmp_path / "S1_events.tsv").write_text("onset\ttrial_type\n1.0\tface\n")
    settings = InputSettings.model_validate({"format": "mne", "files": {"run": ("x",)}})
    assert isinstance(settings, RecordedInput)
    named = [name for name, _ in settings.together(tmp_path / "S1.gdf")]
    assert named == ["S1.gdf", "S1_events.tsv"]


@pytest.mark.parametrize("without", ["BirthDate", "Hand", "TestDate"])
def test_what_mne_needs_of_persyst_is_said(tmp_path: Path, without: str) -> None:
    """Names and dates of patients are taken out before files are given away, and MNE fails then."""
    file = tmp_path / "S1.lay"
    write_persyst(recording("S1", trials=4), file)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith(without)))
    with pytest.raises(InputError, match="without all that it expects of the patient") as refused:
        read("mne", [file])
    assert f"{without}=" in str(refused.value.hint)


def test_a_file_of_ant_that_is_none_is_said(tmp_path: Path) -> None:
    """ANT's are in RIFF, as sounds are, with the ending that Neuroscan's have."""
    file = tmp_path / "S1.cnt"
    file.write_bytes(b"RIFF" + struct.pack("<I", 4) + b"CNT " + bytes(64))
    kind = recognised(file)
    assert kind is not None
    assert kind.name == "ANT CNT"
    with pytest.raises(InputError, match="cannot be read") as refused:
        read("mne", [file])
    assert refused.value.file == str(file)


def test_a_library_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "S1.mff"
    write_mff(recording("S1", trials=4), file)
    monkeypatch.setitem(sys.modules, "mffpy", None)
    with pytest.raises(InputError, match="a library is missing that reads this format: mffpy") as refused:
        read("mne", [file])
    assert refused.value.hint == "pip install 'shortloop[formats]'"
    assert refused.value.file == str(file)
