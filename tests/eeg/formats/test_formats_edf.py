"""EDF+ recordings: epochs are the samples around the annotations; headers that mislead are told of."""

from __future__ import annotations

import itertools
import re
import struct
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from cases import first_cases
from edf_files import ANNOTATIONS, signal, write_edf
from eeg_folders import recording, silent
from eeg_recordings import CLASSES, exported, make_raw, read, refused, warned
from handmade_recordings import CODES, write_cnt, write_gdf
from no_warnings import no_warnings
from pydantic import ValidationError
from refusal import refusal

from shortloop.eeg.checks.recording import refuse_other_units
from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.recording_format import InputSettings
from shortloop.eeg.headers.brainvision import pointed_to
from shortloop.eeg.headers.units import VOLTS, _text, _units_of_gdf, unit_named, voltage
from shortloop.eeg.inspect.choose import scan_recordings
from shortloop.eeg.inspect.folder import find_recordings

pytestmark = pytest.mark.filterwarnings("ignore:S1, ", "ignore:S2, ")
EEGBCI = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "eegbci"
EVENTS = {"face": ["T1"], "house": ["T2"]}
read_edf = partial(read, "edf", participant="S001", events=EVENTS)
expect = partial(refused, read_edf)


def test_epochs_are_the_samples_around_the_annotations(tmp_path: Path) -> None:
    digital = signal()
    epochs = read_edf([write_edf(tmp_path / "a.edf", digital)])
    starts = [int((t - 0.25) * 64) for t, name in ANNOTATIONS if name != "T0"]
    expected = np.stack([digital[:2, start : start + 49] for start in starts]) * 0.1e-6
    np.testing.assert_allclose(epochs.data, expected, rtol=0, atol=1e-12)
    assert epochs.labels.tolist() == [0, 1, 0, 1]
    assert epochs.channels == ("Fz", "Cz")
    assert (epochs.sfreq, epochs.unit) == (64.0, "V")
    np.testing.assert_allclose(epochs.times, np.arange(-16, 33) / 64)
    assert epochs.trial_info["event"].tolist() == ["T1", "T2", "T1", "T2"]
    np.testing.assert_allclose(epochs.trial_info["onset"], [1.0, 2.0, 3.25, 4.5])


def test_drop_leaves_channels_out_and_a_file_without_events_adds_nothing(tmp_path: Path) -> None:
    file = write_edf(tmp_path / "a.edf", signal())
    none = write_edf(tmp_path / "b.edf", signal(2), annotations=[(0.0, "T0")])
    for files in ([file, none], [none, file]):
        np.testing.assert_array_equal(read_edf(files).data, read_edf([file]).data)
    assert read_edf([file], drop=("Fz", "left")).channels == ("Cz",)
    expect([file], "channel to drop is not in the file", "Pz", "Fz, Cz", drop=("Pz",))
    expect([file], "no channels are left", drop=("Fz", "Cz"))


def test_a_truncated_or_longer_file_is_refused_and_an_unknown_length_is_not(tmp_path: Path) -> None:
    file = write_edf(tmp_path / "a.edf", signal())
    whole = file.read_bytes()
    for cut in (1, 2, 100, 64 * 2 * 3 + 128, 3000):
        file.write_bytes(whole[:-cut])
        expect([file], "truncated", f"{len(whole)} bytes: 8 records")
    file.write_bytes(whole[:236] + b"-1      " + whole[244:])
    assert len(read_edf([file]).labels) == 4
    file.write_bytes(whole[:236] + b"-1      " + whole[244:-10])
    expect([file], "truncated")
    file.write_bytes(whole + whole[-512:])
    expect([file], "longer than its header")
    text = tmp_path / "t.edf"
    text.write_text("onset,label\n" * 100)
    expect([text], "not EDF", "onset")
    expect([tmp_path / "none.edf"], "cannot be read", "FileNotFoundError")
    with refusal("end before they begin", field="input.tmax"):
        read_edf([write_edf(tmp_path / "a.edf", signal())], tmin=0.5, tmax=0.5)


@pytest.mark.skipif(not EEGBCI.is_dir(), reason="needs ../shared/data/eegbci")
def test_real_recordings_are_what_mne_reads() -> None:
    files = [EEGBCI / f"S001R{run:02d}.edf" for run in (3, 7, 11)]
    epochs = read_edf(files, tmin=-0.5, tmax=1.5)
    assert epochs.data.shape == (45, 64, 321)
    assert np.bincount(epochs.labels).tolist() == [23, 22]
    assert {"FC5", "Cz", "Fpz", "AFz", "Iz"} <= set(epochs.channels)
    trial = 0
    for file in files:
        raw = mne.io.read_raw_edf(file, preload=True, verbose="ERROR")
        for onset, name in zip(raw.annotations.onset, raw.annotations.description):
            if name != "T0":
                start = round(onset * 160) - 80
                np.testing.assert_array_equal(epochs.data[trial], raw[:, start : start + 321][0])
                assert epochs.labels[trial] == ["T1", "T2"].index(name)
                trial += 1
    assert trial == 45


NAMES = ("Fz", "Cz", "Pz")
SAMPLES = signal(seconds=20)
CLOCK = [*range(8), *range(18, 24), *range(54, 60)]  # pauses of 10 and 30 s
PAUSED = [(1.5, "T1"), (3.25, "T2"), (7.9, "T1"), (20.5, "T2"), (22.0, "T1"), (56.25, "T2"), (58.5, "T1")]
KEPT = [0, 1, 3, 4, 5, 6]  # the third is cut off by a pause
AT = [1.5, 3.25, 10.5, 12.0, 16.25, 18.5]  # s of samples


def told(file: Path, **settings: Any) -> tuple[Epochs, list[str]]:
    return warned("edf", [file], participant="S001", events=EVENTS, **settings)


def at(onsets: Sequence[float], volts: np.ndarray = SAMPLES * 1e-7) -> np.ndarray:
    return np.stack([volts[:, round(64 * t) - 16 : round(64 * t) + 33] for t in onsets])


@pytest.mark.parametrize("kind", ["EDF+C", "EDF+D"])
def test_events_are_at_their_samples(tmp_path: Path, kind: str) -> None:
    """Whether the header says that there are pauses or not."""
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=PAUSED, kind=kind, clock=CLOCK)
    epochs, texts = told(file)
    np.testing.assert_allclose(epochs.data, at(AT), atol=1e-12)
    assert epochs.labels.tolist() == [("T1", "T2").index(PAUSED[number][1]) for number in KEPT]
    np.testing.assert_allclose(epochs.trial_info["onset"], AT)
    assert any("pauses: 2, the first of 10 s at 8 s" in text for text in texts)
    assert any("1 of 7 trials were left out (1 × across a gap in the recording)" in text for text in texts)
    assert not any("Omitted" in text for text in texts)


def test_filters_end_at_a_pause(tmp_path: Path) -> None:
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=PAUSED, kind="EDF+D", clock=CLOCK)
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
    events = [(start + time, name) for time, name in PAUSED if time < 8]
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=events, kind=kind, clock=clock)
    epochs, texts = told(file)
    np.testing.assert_allclose(epochs.data, at([1.5, 3.25, 7.9]), atol=1e-12)
    assert not texts


def test_clocks_that_drift_or_stand_still_are_followed(tmp_path: Path) -> None:
    """Records of 1.01 s of the clock: an event at its 19 s is not at 19 s of samples."""
    clock = [1.01 * second for second in range(20)]
    events = [(1.01 * time, name) for time, name in ((2.0, "T1"), (10.5, "T2"), (18.5, "T1"))]
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=events, clock=clock)
    epochs, texts = told(file)
    np.testing.assert_allclose(epochs.data, at([2.0, 10.5, 18.5]), atol=1e-12)
    assert any("up to 0.19 s off" in text for text in texts)
    # As of exporters that do not count on.
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=[(1.5, "T1"), (3.25, "T2")])
    content = file.read_bytes()
    for time in set(re.findall(rb"\+\d+\x14\x14\0", content)):
        content = content.replace(time, b"+0\x14\x14\0".ljust(len(time), b"\0"))
    file.write_bytes(content)
    epochs, texts = told(file)
    np.testing.assert_allclose(epochs.data, at([1.5, 3.25]), atol=1e-12)
    assert not texts


def test_events_within_a_pause_are_left_out(tmp_path: Path) -> None:
    """There are no samples of them, as in a recording that went on elsewhere."""
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=PAUSED, clock=CLOCK)
    content = file.read_bytes()
    assert b"+3.25\x14T2" in content
    file.write_bytes(content.replace(b"+3.25\x14T2", b"+12.0\x14T2"))
    epochs, texts = told(file, tmin=0.1, tmax=0.5)
    np.testing.assert_allclose(epochs.trial_info["onset"], [1.5, *AT[2:]])
    assert any("1 of 6 trials were left out" in text for text in texts), "a pause is before its epoch"
    assert any("and 1 in pauses or after the end were left out" in text for text in texts)


def test_a_table_of_events_beside_pauses_is_refused(tmp_path: Path) -> None:
    """Its onsets may be those of the clock or of the samples; the hint works."""
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=PAUSED, clock=CLOCK)
    (tmp_path / "S1_events.tsv").write_text("onset\tduration\ttrial_type\n1.5\t0\tT1\n3.25\t0\tT2\n")
    with refusal("has pauses, and a table of events", "event_source = 'annotations'"):
        told(file)
    epochs, _ = told(file, event_source="annotations")
    np.testing.assert_allclose(epochs.data, at(AT), atol=1e-12)


def test_records_whose_times_say_nothing(tmp_path: Path) -> None:
    clock = [*range(10), *range(5, 15)]
    file = write_edf(tmp_path / "S1.edf", SAMPLES, names=NAMES, annotations=PAUSED, clock=clock)
    with refusal("times of records go back", "record 11 at 5 s"):
        told(file)
    file.write_bytes(file.read_bytes().replace(b"EDF+C", b"EDF+D").replace(b"+7\x14\x14", b"\0\0\0\0"))
    with refusal("discontinuous .* records have no times"):
        told(file)


@pytest.mark.parametrize("kind", ["int16", "int32"])
def test_neuroscan_whose_header_does_not_say_the_format_of_samples(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "S1.cnt"
    raw = recording("S1", trials=12)
    write_cnt(raw, file)
    events = {name: [CODES[name]] for name in CLASSES}
    usual = read("mne", [file], events=events)
    content = bytearray(file.read_bytes())
    count, start = len(raw.ch_names), 900 + 75 * len(raw.ch_names)
    if kind == "int32":
        end = start + 2 * count * raw.n_times
        wide = np.frombuffer(content[start:end], "<i2").astype("<i4").tobytes()
        content[start:end] = wide
        end = start + len(wide)
        struct.pack_into("<i", content, 886, end)
        for at in range(end + 9, len(content), 8):  # events count bytes
            struct.pack_into("<l", content, at + 4, 2 * struct.unpack_from("<l", content, at + 4)[0] - start)
    struct.pack_into("<i", content, 864, 0)
    file.write_bytes(content)
    with refusal("whether samples have 2 or 4 bytes", f'"{kind}"'):
        read("mne", [file], events=events)
    found = read("mne", [file], events=events, data_format=kind)
    np.testing.assert_array_equal(found.labels, usual.labels)
    np.testing.assert_allclose(found.data, usual.data, rtol=1e-9)


def test_annotations_in_latin_1_are_read(tmp_path: Path) -> None:
    names = {"T1": "Tür", "T2": "Füße", "T0": "Ruhe"}
    notes = [(time, names[name]) for time, name in ANNOTATIONS]
    file = write_edf(tmp_path / "S1.edf", signal(channels=3), annotations=notes)
    wanted = {"face": ["Tür"], "house": ["Füße"]}
    usual = read("edf", [file], events=wanted)
    content = file.read_bytes()
    for name in names.values():
        own, other = (b"\x14" + name.encode(encoding) + b"\x14\0" for encoding in ("utf-8", "latin-1"))
        content = content.replace(own, other.ljust(len(own), b"\0"))
    file.write_bytes(content)
    found = read("edf", [file], events=wanted)
    np.testing.assert_array_equal(found.data, usual.data)
    np.testing.assert_array_equal(found.labels, usual.labels)


def test_a_file_of_annotations_alone_is_called_so(tmp_path: Path) -> None:
    file = write_edf(tmp_path / "S1-Hypnogram.edf", signal(channels=3)[:0], names=[])
    with refusal("annotations alone, and no signal", "_events.tsv"):
        read("edf", [file])


@pytest.mark.parametrize("name", ["/", ".", "//"])
def test_a_header_that_names_a_folder_names_no_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / "S1.vhdr"
    file.write_text(f"[Common Infos]\nDataFile={name}\nMarkerFile=S1.vmrk\n", encoding="utf-8")
    assert pointed_to(file) == {"MarkerFile": tmp_path / "S1.vmrk"}


NAMES_UNITS = ("Fz", "Cz", "Pz", "Oz", "C3")
SAMPLES_UNITS = signal(channels=5)
STEPS = (signal(channels=4) * 10).astype("<i2")
EVENTS_UNITS = [(round(64 * time), {"T1": 1, "T2": 2}[name]) for time, name in ANNOTATIONS if name != "T0"]
MICRO = [b"uV"] * 4


def epochs_of(folder: Path, units: list[bytes], data: np.ndarray = SAMPLES_UNITS, **settings: Any) -> Epochs:
    file = write_edf(folder / "S1.edf", data, names=NAMES_UNITS, units=units)
    return read("edf", [file], events={"face": ["T1"], "house": ["T2"]}, **settings)


def by_hand(factors: list[float], data: np.ndarray = SAMPLES_UNITS) -> np.ndarray:
    """Samples of 0.1 of a unit around each event, in V."""
    volts = data * 0.1 * np.array(factors)[:, np.newaxis]
    return np.stack([volts[:, at - 16 : at + 33] for at, _ in EVENTS_UNITS])


@first_cases(
    8,
    ("unit", "factor"),
    [
        *((b"mv", 1e-3), (b"nV", 1e-9), (b"V", 1.0), (b"uV\0\0", 1e-6), ("µV".encode("cp437"), 1e-6)),
        *(("\u03bcV".encode(encoding), 1e-6) for encoding in ("utf-8", "iso8859-7", "shift-jis")),  # Greek
        *(("µV".encode(encoding), 1e-6) for encoding in ("utf-8", "latin-1")),  # the micro sign
        (b"\xc3\x82\xc2\xb5V", 1e-6),  # encoded twice
        *((unit, 1e-6) for unit in (b"uv", b"microV", b"uVolt")),
        (b"volts", 1.0),
    ],
)
def test_a_voltage_is_understood_however_it_is_written(tmp_path: Path, unit: bytes, factor: float) -> None:
    data = SAMPLES_UNITS.copy()
    if factor == 1.0:  # in V a signal has few steps
        data[0] = np.clip(data[0] // 1000, -5, 5)
    others = ([unit] * 4, [factor] * 4) if not 1e-3 <= 1e-6 / factor <= 100 else (MICRO, [1e-6] * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = epochs_of(tmp_path, [unit, *others[0]], data)
    np.testing.assert_allclose(one.data, by_hand([factor, *others[1]], data), rtol=1e-9, atol=1e-12)


@first_cases(3, "unit", [b"%", b"DegC", b"\xb0C", b"bpm", b"", b"counts", b"mmHg"])
def test_a_channel_that_is_no_voltage_is_left_out_by_its_name(tmp_path: Path, unit: bytes) -> None:
    """It is in no average reference either."""
    with pytest.warns(UserWarning, match=r"whose unit is not a voltage were left out: C3 \(") as caught:
        epochs = epochs_of(tmp_path, [*MICRO, unit], preprocessing={"reference": "average"})
    assert len([each for each in caught if "left out: C3" in str(each.message)]) == 1
    assert epochs.channels == NAMES_UNITS[:4]
    expected = by_hand([1e-6] * 5)[:, :4]
    np.testing.assert_allclose(epochs.data, expected - expected.mean(axis=1, keepdims=True), atol=1e-12)


def test_channels_of_impossible_size_are_refused_and_of_large_size_told_of(tmp_path: Path) -> None:
    """Here the header says V of a channel in microvolts; the hint works."""
    with refusal(r"channels differ 1.*e\+06-fold in size", "C3 is 1.1e+06 times", "input.drop = ['C3']"):
        epochs_of(tmp_path, [*MICRO, b"V"], preprocessing={"reference": "average"})
    epochs = epochs_of(tmp_path, [*MICRO, b"V"], drop=("C3",))
    np.testing.assert_allclose(epochs.data, by_hand([1e-6] * 5)[:, :4], atol=1e-12)
    data = SAMPLES_UNITS.copy()
    data[:4] //= 3000
    with pytest.warns(UserWarning, match=r"channel C3 is \d.* times as large as the others"):
        epochs_of(tmp_path, [*MICRO, b"uV"], data)
    with pytest.warns(UserWarning, match="samples that are given in V vary by"):
        epochs = epochs_of(tmp_path, [b""] * 5)
    np.testing.assert_allclose(epochs.data, by_hand([1.0] * 5))


def test_channels_that_are_nearly_zero_make_no_other_one_large() -> None:
    """What an interpolation leaves of rounding is no measure; types are compared with their like."""
    sizes, kinds = np.array([1e-5, 1e-22, 1e-21, 1e-22, 1e-12]), ["eeg"] * 4 + ["mag"]
    data = np.random.default_rng(0).standard_normal((20, 5, 50)) * sizes[:, np.newaxis]
    with no_warnings():
        refuse_other_units(data, NAMES_UNITS, kinds)
        data[0, 0, 0] = np.inf
        refuse_other_units(data, NAMES_UNITS, kinds)


MICROVOLT, MU = "\u00b5V", "\u03bcV"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *((text, MICROVOLT) for text in ("uv", "UV", MICROVOLT, MU, f" {MU} ", "\u039cV", "micro volt")),
        *((text, MICROVOLT) for text in ("microvolts", "micro-Volts", "Micro Volt", "µ volt", "u V")),
        *((text, "mV") for text in ("mV", "mv", "milli volts", "Millivolt")),
        *((text, "V") for text in ("V", "v", "volts", "Volt")),
        *((text, "nV") for text in ("nV", "nanovolt")),
        *((text, "fT/cm") for text in ("fT/cm", "ft / cm")),
        *((text, "µV/m²") for text in ("µV/m²", "uV/m^2", "uV/m2")),
        *((text, "a.u.") for text in ("a.u.", "AU", "arbitrary units")),
        *((text, "z") for text in ("z", "z-score", "z scores")),
        ("µM", "µM"),
        ("\u03bcM", "µM"),
        ("%", "%"),
    ],
)
def test_what_is_clear_is_taken(written: str, meant: str) -> None:
    assert unit_named(written) == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, "mega, a million") for text in ("MV", "Mv", "M V", "Mvolt")),
        *((text, "unknown unit") for text in ("micovolt", "", "meV", "megavolt", "uV2", "ADC", "µ")),
    ],
)
def test_what_is_not_clear_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        unit_named(text)
    with pytest.raises(ValidationError, match="unit"):
        InputSettings.model_validate({"format": "npz", "files": {"run": ("x",)}, "unit": text})


def test_every_voltage_is_one() -> None:
    """And a study may say it in any of these ways."""
    for name in ("npz", "csv", "fieldtrip"):
        for unit in ("uv", MU, "micro volt"):
            form = InputSettings.model_validate({"format": name, "files": {"run": ("x",)}, "unit": unit})
            assert form.how_to_read("S1")["unit"] == MICROVOLT
    with pytest.raises(ValidationError, match="'fT' is not a unit of voltage"):
        InputSettings.model_validate({"format": "csv", "files": {"run": ("x",)}, "unit": "fT"})
    assert {unit_named(text) for text in VOLTS} == set(VOLTS)
    assert [*map(voltage, ["uV", MU, "unknown", "T"])] == [MICROVOLT, MICROVOLT, "", ""]


CHANNELS = ("Fz", "Cz", "Pz", "GSR")


def brainvision(folder: Path, units: list[str], encoding: str = "utf-8") -> Epochs:
    head = ["Brain Vision Data Exchange Header File Version 1.0", "[Common Infos]"]
    head += ["Codepage=UTF-8"] * (encoding == "utf-8")
    head += ["DataFile=S1.eeg", "MarkerFile=S1.vmrk", "DataFormat=BINARY", "DataOrientation=MULTIPLEXED"]
    head += ["NumberOfChannels=4", f"SamplingInterval={1e6 / 64}", "[Binary Infos]", "BinaryFormat=INT_16"]
    head += ["[Channel Infos]", *(f"Ch{n + 1}={CHANNELS[n]},,0.1,{unit}" for n, unit in enumerate(units))]
    (folder / "S1.vhdr").write_bytes("\n".join([*head, ""]).encode(encoding))
    marks = ["Brain Vision Data Exchange Marker File, Version 1.0", "[Common Infos]", "DataFile=S1.eeg"]
    marks += ["[Marker Infos]", "Mk1=New Segment,,1,1,0"]
    marks += [f"Mk{n}=Stimulus,S  {code},{at + 1},1,0" for n, (at, code) in enumerate(EVENTS_UNITS, start=2)]
    (folder / "S1.vmrk").write_text("\n".join([*marks, ""]))
    (folder / "S1.eeg").write_bytes(STEPS.T.tobytes())
    return read("brainvision", [folder / "S1.vhdr"], events={"face": ["S  1"], "house": ["S  2"]})


@pytest.mark.parametrize(
    ("unit", "encoding"),
    [("µv", "latin-1"), *((unit, "utf-8") for unit in ("µV", "\u03bcV", "uv", "microV", " µV ", ""))],
)
def test_microvolts_of_brainvision_are_understood(tmp_path: Path, unit: str, encoding: str) -> None:
    """In all channels, and in one: neither is it left out, nor taken for volts."""
    for units in ([unit] * 4, ["µV"] * 3 + [unit]):
        epochs = brainvision(tmp_path, units, encoding)
        assert epochs.channels == CHANNELS
        np.testing.assert_allclose(epochs.data, by_hand([1e-6] * 4, STEPS), rtol=1e-9, atol=1e-15)


def test_other_units_of_brainvision_and_names_padded_by_nul(tmp_path: Path) -> None:
    epochs = brainvision(tmp_path, ["mv", "µV", "nv", "µV"])
    np.testing.assert_allclose(epochs.data, by_hand([1e-3, 1e-6, 1e-9, 1e-6], STEPS), rtol=1e-9, atol=1e-18)
    with pytest.warns(UserWarning, match=r"whose unit is not a voltage were left out: GSR \(µS\)"):
        epochs = brainvision(tmp_path, ["µV", "µV", "µV", "µS"])
    assert epochs.channels == CHANNELS[:3]
    file = write_edf(tmp_path / "S1.edf", signal(channels=3), names=["Fz", "Cz", "Pz"])
    content = bytearray(file.read_bytes())
    content[256 + 16 : 256 + 32] = b"Cz\0\0".ljust(16)
    plain = read("edf", [file], events={"face": ["T1"], "house": ["T2"]})
    file.write_bytes(content)
    epochs = read("edf", [file], events={"face": ["T1"], "house": ["T2"]})
    assert epochs.channels == ("Fz", "Cz", "Pz")
    np.testing.assert_array_equal(epochs.data, plain.data)


@pytest.mark.parametrize(
    ("unit", "factor"), [(b"uV", 1), (b"\xb5V", 1), (b"mV", 1e3), (b"nV", 1e-3), (b"uv", 1)]
)
def test_voltages_of_gdf_1_are_understood(tmp_path: Path, unit: bytes, factor: float) -> None:
    """The same steps in another unit."""
    raw, file = recording("S1", trials=6), tmp_path / "S1.gdf"
    write_gdf(raw, file)
    events = {name: [CODES[name]] for name in CLASSES}
    usual = read("mne", [file], events=events)
    content = bytearray(file.read_bytes())
    count = len(raw.ch_names)
    content[256 + 96 * count : 256 + 104 * count] = unit.ljust(8) * count
    file.write_bytes(content)
    found = read("mne", [file], events=events)
    np.testing.assert_allclose(found.data, usual.data * factor, rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize(("code", "factor"), [(4256, 1.0), (4274, 1e-3), (4275, 1e-6), (4276, 1e-9)])
def test_codes_of_gdf_2_are_read_as_written(tmp_path: Path, code: int, factor: float) -> None:
    head = b"GDF 2.20".ljust(252) + struct.pack("<HH", 2, 0)
    (tmp_path / "S1.gdf").write_bytes(head + bytes(2 * 102) + struct.pack("<HH", code, 4275) + bytes(400))
    text, other = _units_of_gdf(tmp_path / "S1.gdf")
    assert (VOLTS[voltage(_text(text))], other) == (factor, b"uV")


def test_renamed_files_of_brainvision_are_said_with_both_names(tmp_path: Path) -> None:
    """The hint works."""
    exported(make_raw(), tmp_path / "rec1.vhdr")
    usual = read("brainvision", [tmp_path / "rec1.vhdr"])
    for ending in (".vhdr", ".vmrk", ".eeg"):
        (tmp_path / f"rec1{ending}").rename(tmp_path / f"S1{ending}")
    with refusal("a file of the recording is missing", "write S1.eeg in place of rec1.eeg"):
        read("brainvision", [tmp_path / "S1.vhdr"])
    header = tmp_path / "S1.vhdr"
    header.write_text(header.read_text(encoding="utf-8").replace("rec1.eeg", "S1.eeg"), encoding="utf-8")
    np.testing.assert_array_equal(read("brainvision", [header]).data, usual.data)


def test_files_that_cannot_be_read_do_not_hide_another_format(tmp_path: Path) -> None:
    """More of them than of the others."""
    for number in (1, 2):
        exported(make_raw(number, seconds=60), tmp_path / f"S{number}_raw.fif")
        for part in ("a", "b"):
            broken = write_edf(tmp_path / f"S{number}{part}.edf", signal(channels=3))
            broken.write_bytes(broken.read_bytes()[:-700])
    looked = scan_recordings(find_recordings(tmp_path, silent), silent)
    assert (looked.format, looked.other_formats) == ("fif", {"edf": 4})
    assert {path.name for path in looked.folder.problems} == {"S1a.edf", "S1b.edf", "S2a.edf", "S2b.edf"}
