"""Formats that MNE alone reads: samples and events are those that were written; folders are keyed as read."""

from __future__ import annotations

import shutil
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_folders import CHANNELS, recording
from eeg_proposed import proposed_study, runnable
from eeg_recordings import CLASSES, read
from handmade_recordings import (
    CODES,
    UNIT,
    WRITERS,
    write_bci2000,
    write_ctf,
    write_gdf,
    write_mff,
    write_nihon,
    write_persyst,
)
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.files.find import ENDINGS, find_files, is_recording, recording_of
from shortloop.eeg.formats.files.recognised import recognised
from shortloop.eeg.formats.recording_format import InputSettings, RecordedInput
from shortloop.keys.hashing import hash_files

PARTS = 30
SYSTEM, SENSORS, CALIBRATION, AMPLIFIER, CONDITIONS, DATA = 1, 4, 5, 7, 8, 9
GRADIOMETER, TRIGGER = 2, -1
TRIGGERS, WIDTH, HIGH = 8, 256, 16000


def write_kit(file: Path, data: np.ndarray, rate: float, events: Mapping[int, int], held: int = 5) -> Path:
    """Steps of the converter, shape (gradiometers, samples), and the number of the trigger at samples."""
    channels = len(data) + TRIGGERS
    triggers = np.full((TRIGGERS, data.shape[1]), HIGH)
    for at, number in events.items():
        triggers[number, at : at + held] = 0
    system = struct.pack("<3i", 2, 4, 1000) + b"".join(
        text.ljust(width, b"\0") for text, width in ((b"lab", 128), (b"160", 128))
    )
    system += struct.pack("<i", channels) + bytes(256) + struct.pack("<2i", 1_700_000_000, 1_700_000_000)
    system += bytes(12) + struct.pack("<i", 0) + bytes(12) + struct.pack("<i", 100) + bytes(12)
    system += struct.pack("<i", 0) + bytes(12) + struct.pack("<i", 0) + bytes(4 * 29)
    system += struct.pack("<d3i", 10.0, 0, 16, 16)
    listed = [
        struct.pack("<i5d", GRADIOMETER, 0.1 * number, 0.05, 0.1, 30.0, 40.0)
        + bytes(16)
        + b"AG%03d\0" % number
        for number in range(len(data))
    ]
    listed += [struct.pack("<iii", TRIGGER, number, 0) + bytes(32) for number in range(TRIGGERS)]
    gains = [(0.0, 1e-9)] * len(data) + [(0.0, 1.0)] * TRIGGERS
    parts = {
        SYSTEM: system,
        SENSORS: b"".join(each.ljust(WIDTH, b"\0") for each in listed),
        CALIBRATION: b"".join(struct.pack("<2d", *each) for each in gains),
        AMPLIFIER: struct.pack("<i", 0),
        CONDITIONS: struct.pack("<idii", 1, rate, 0, data.shape[1]),
        DATA: np.vstack([data, triggers]).T.astype("<i2").tobytes(),
    }
    at, entries = 16 * PARTS, [struct.pack("<4i", 0, 16, PARTS, PARTS)]
    for number in range(1, PARTS):
        content = parts.get(number, b"")
        size = WIDTH if number == SENSORS else len(content)
        count = channels if number == SENSORS else int(bool(content))
        entries.append(struct.pack("<4i", at, size, count, count))
        at += len(content)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join([*entries, *(parts.get(number, b"") for number in range(1, PARTS))]))
    return file


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
    for size in (len(content) // 2, 100):
        samples.write_bytes(content[:size])
        with refusal("", file=file) as refused:
            read("mne", [file], events={} if file.suffix in NAMED else CODED)
        assert "shortloop-" not in refused.value.message


def test_bci2000_is_told_from_curry_and_read(tmp_path: Path) -> None:
    """Both end in .dat. MNE gives steps of the amplifier for V, which is told."""
    file, raw = tmp_path / "S1R01.dat", recording("S1", trials=12)
    write_bci2000(raw, file)
    kind: Any = recognised(file)
    assert (kind.name, kind.format) == ("BCI2000", "mne")
    epochs = read("mne", [file], events=CODED)
    shown = [each for each in raw.annotations if each["description"] != "response"]
    assert [CLASSES[label] for label in epochs.labels] == [each["description"] for each in shown]
    own = mne.io.read_raw(file, preload=True, verbose="ERROR")
    events = mne.find_events(own, "STI 014", verbose="ERROR")
    alone = mne.Epochs(own, events, [1, 2], -0.25, 0.5, baseline=None, picks="eeg", verbose="ERROR")
    np.testing.assert_array_equal(epochs.data, alone.get_data())
    first = round(shown[0]["onset"] * 128)
    steps = raw.get_data()[:, first - 32 : first + 65] * 1e6 / UNIT
    np.testing.assert_allclose(epochs.data[0], steps, rtol=0, atol=0.5 + 1e-9)


def test_files_of_nihon_kohden_in_any_case(tmp_path: Path) -> None:
    """MNE looks for names in upper case, and passes over events in S1.log without a word."""
    write_nihon(recording("S1", trials=12), tmp_path / "S1.EEG")
    expected = read("mne", [tmp_path / "S1.EEG"])
    for path in sorted(tmp_path.iterdir()):
        path.rename(path.with_name(path.name.lower()))
    assert len(mne.io.read_raw(tmp_path / "s1.eeg", verbose="ERROR").annotations) == 0
    np.testing.assert_array_equal(read("mne", [tmp_path / "s1.eeg"]).data, expected.data)


def test_a_format_of_one_file_has_no_others(tmp_path: Path) -> None:
    write_gdf(recording("S1", trials=4), tmp_path / "S1.gdf")
    (tmp_path / "S1.txt").write_text("notes")
    (tmp_path / "S1_events.tsv").write_text("onset\ttrial_type\n1.0\tface\n")
    settings = InputSettings.model_validate({"format": "mne", "files": {"run": ("x",)}})
    assert isinstance(settings, RecordedInput)
    assert [name for name, _ in settings.together(tmp_path / "S1.gdf")] == ["S1.gdf", "S1_events.tsv"]


@pytest.mark.parametrize("without", ["BirthDate", "Hand", "TestDate"])
def test_what_mne_needs_of_persyst_is_said(tmp_path: Path, without: str) -> None:
    """Names and dates of patients are taken out before files are given away, and MNE fails then."""
    file = tmp_path / "S1.lay"
    write_persyst(recording("S1", trials=4), file)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith(without)))
    with refusal("without all that it expects of the patient", f"{without}="):
        read("mne", [file])


def test_files_of_ant_and_missing_libraries_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ANT's are in RIFF, as sounds are, with the ending that Neuroscan's have."""
    file = tmp_path / "S1.cnt"
    file.write_bytes(b"RIFF" + struct.pack("<I", 4) + b"CNT " + bytes(64))
    kind: Any = recognised(file)
    assert kind.name == "ANT CNT"
    with refusal("cannot be read", file=file):
        read("mne", [file])
    file = tmp_path / "S1.mff"
    write_mff(recording("S1", trials=4), file)
    monkeypatch.setitem(sys.modules, "mffpy", None)
    with refusal("mffpy", hint="pip install 'shortloop[formats]'", file=file):
        read("mne", [file])


MORE = {
    ".mff": {"subject.xml": "<x/>", "movie1.mov": "x", "Contents.txt": "x", "._Events_ECI.xml": "x"},
    ".ds": dict.fromkeys(("S1.infods", "S1.acq", "hz.ds", "processing.cfg", ".S1.pos", "S1.bak"), "x"),
}
"""Files that programs write into such folders, and that MNE does not read."""


@pytest.fixture(params=sorted(ENDINGS))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / f"S1{request.param}"
    WRITERS[request.param](recording("S1", trials=10), made)
    return made


def form() -> RecordedInput:
    found = InputSettings.model_validate({"format": "mne", "files": {"run": ("x",)}})
    assert isinstance(found, RecordedInput)
    return found


def in_the_key(recording: Path) -> list[tuple[str, str]]:
    """Names and content of the files of a recording, as the options of its job have them."""
    named = form().together(recording)
    contents = dict(hash_files({path: path.stat().st_size for _, path in named}))
    return [(name, contents[path]) for name, path in named]


def test_each_byte_of_each_file_counts(folder: Path) -> None:
    before = in_the_key(folder)
    assert {Path(name).name for name, _ in before} == {path.name for path in folder.iterdir()}
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        changed = in_the_key(folder)
        assert [one != other for one, other in zip(before, changed, strict=True)].count(True) == 1, path.name
        path.write_bytes(content)
    assert in_the_key(folder) == before


def test_nothing_else_counts_or_is_read(folder: Path) -> None:
    key, epochs = in_the_key(folder), read("mne", [folder])
    for name, text in MORE[folder.suffix].items():
        (folder / name).write_text(text)
    (folder / "sub").mkdir()
    (folder / "sub/info.xml").write_text("x")
    for path in folder.iterdir():
        path.touch()
    assert in_the_key(folder) == key
    same(read("mne", [folder]), epochs)
    renamed = folder.rename(folder.with_name(f"other name{folder.suffix}"))
    assert in_the_key(renamed) == key
    same(read("mne", [renamed]), epochs)
    same(read("mne", [renamed.rename(renamed.with_suffix(folder.suffix.upper()))]), epochs)
    renamed.with_suffix(folder.suffix.upper()).rename(renamed)
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    assert in_the_key(Path(shutil.move(renamed, elsewhere))) == key


def same(found: Epochs, expected: Epochs) -> None:
    np.testing.assert_array_equal(found.data, expected.data)
    np.testing.assert_array_equal(found.labels, expected.labels)


def test_files_that_are_not_always_there(tmp_path: Path) -> None:
    """What MNE looks for is read where it is there, and is in the key."""
    folder = tmp_path / "S1.ds"
    write_ctf(recording("S1", trials=10), folder)
    (folder / "bad.segments").write_text("MUSCLE 4.0 6.0\n")
    (folder / "BadChannels").write_text("Fz\n")
    epochs = read("mne", [folder])
    assert "Fz" not in epochs.channels
    (account,) = epochs.accounts
    assert {each["reason"] for each in account["dropped"]} == {"annotated as bad_MUSCLE"}
    more = {"S1.eeg", "S1.pos", "S1.hc", "S1.1_meg4"}
    for name in more:
        (folder / name).write_text("1\tFz\t1.0\t2.0\t3.0\n")
    assert {"bad.segments", "BadChannels", *more} < {Path(name).name for name, _ in in_the_key(folder)}


def test_events_beside_a_folder(folder: Path) -> None:
    """A table beside it goes first, and is in the key."""
    folder.with_name("S1_events.tsv").write_text("onset\ttrial_type\n3.0\tface\n5.0\thouse\n")
    assert len(read("mne", [folder]).labels) == 2
    assert [name for name, _ in in_the_key(folder)][-1].endswith("_events.tsv")


@pytest.mark.parametrize(
    "pattern", ["{participant}.mff", "{participant}*", "*/{participant}.mff", "**/S1.mff"]
)
def test_patterns_find_folders(tmp_path: Path, pattern: str) -> None:
    at = tmp_path / "below" if "/" in pattern else tmp_path
    write_mff(recording("S1", trials=2), at / "S1.mff")
    write_mff(recording("S1", trials=2), at / "S10.mff")
    (at / "S1 notes").mkdir()
    assert find_files(tmp_path, [pattern], participant="S1", folders=ENDINGS) == [at / "S1.mff"]


def test_a_folder_that_is_none(folder: Path, tmp_path: Path) -> None:
    next(path for path in folder.iterdir() if recording_of(path) == folder).unlink()
    assert not is_recording(folder)
    with refusal("a file is missing", found="a folder without the header of a recording"):
        find_files(folder.parent, [folder.name], participant="S1", folders=ENDINGS)
    with refusal("", hint='write format = "mne"'):
        find_files(folder.parent, [folder.name], participant="S1")
    assert recording_of(tmp_path / "S1.ds/S1.edf") == tmp_path / "S1.ds/S1.edf"
    (tmp_path / "S2.mff").mkdir()
    assert not is_recording(tmp_path / "S2.mff")


RATE, SAMPLES = 500.0, 30_000
AT = 600 + 700 * np.arange(40)


def steps(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-2000, 2000, (4, SAMPLES))


def recording_of_kit(file: Path, seed: int = 0) -> Path:
    return write_kit(file, steps(seed), RATE, {int(at): number % 2 for number, at in enumerate(AT)})


@pytest.mark.parametrize("ending", [".con", ".sqd"])
def test_samples_and_triggers(tmp_path: Path, ending: str) -> None:
    file = recording_of_kit(tmp_path / f"S1{ending}")
    kind: Any = recognised(file)
    assert (kind.name, kind.format) == ("KIT", "mne")
    epochs = read("mne", [file], events={"face": [1], "house": [2]})
    data = mne.io.read_raw_kit(file, verbose="ERROR").get_data(picks="meg")
    factor = data[0, 0] / steps(0)[0, 0]
    np.testing.assert_allclose(data, steps(0) * factor, rtol=1e-9)
    np.testing.assert_allclose(epochs.data, np.stack([data[:, at - 125 : at + 251] for at in AT]), rtol=1e-12)
    assert epochs.labels.tolist() == [0, 1] * 20
    assert epochs.sfreq == RATE


def test_from_a_folder_to_a_study(tmp_path: Path) -> None:
    for who in range(3):
        recording_of_kit(tmp_path / f"data/P{who}.con", who)
    (tmp_path / "data/settings.con").write_text("[window]\nsize = 5\n" * 20)  # others have this ending, too
    found, file = proposed_study(tmp_path / "data")
    assert "3 participants: P0, P1, P2" in found.lines
    assert any("settings.con" in line for line in found.lines)
    runnable(file, classes=("1", "2"))


@pytest.mark.parametrize("name", ["signal1.bin", "Events_ECI.xml", "epochs.xml", "sensorLayout.xml"])
def test_what_is_missing_is_no_silence(tmp_path: Path, name: str) -> None:
    write_mff(recording("S1", trials=4), tmp_path / "S1.mff")
    (tmp_path / "S1.mff" / name).unlink()
    with pytest.raises(InputError):
        read("mne", [tmp_path / "S1.mff"])
