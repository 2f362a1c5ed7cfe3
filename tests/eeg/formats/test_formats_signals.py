"""Continuous recordings of every format: epochs and labels are those that MNE's own code gives."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import CLASSES, NAMES, direct, exported, make_raw, read
from mne._fiff.constants import FIFF
from refusal import refusal

from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.epochs.cut import HEAD, positions_of

pytestmark = pytest.mark.filterwarnings("ignore:S1, ")
EEG = NAMES[:6]
WRITERS = {
    "brainvision": (".vhdr", "pybv"),
    "edf": (".edf", "edfio"),
    "eeglab": (".set", "eeglabio"),
    "fif": (".fif", "mne"),
}
READERS: dict[str, Callable[..., Any]] = {
    ".vhdr": mne.io.read_raw_brainvision,
    ".edf": mne.io.read_raw_edf,
    ".bdf": mne.io.read_raw_bdf,
    ".set": mne.io.read_raw_eeglab,
    ".fif": mne.io.read_raw_fif,
}
# Each format alone, and what reads any of them.
CASES = [(name, *made) for name, made in WRITERS.items()]
CASES += [("mne", *made) for made in WRITERS.values()] + [("edf", ".bdf", "edfio")]


def saved(folder: Path, ending: str, writer: str, raw: mne.io.BaseRaw | None = None) -> Path:
    if importlib.util.find_spec(writer) is None:
        pytest.skip(f"{writer} is not installed")
    return exported(raw or make_raw(), folder / f"S1_raw{ending}")


def as_mne_reads(file: Path) -> mne.io.BaseRaw:
    return READERS[file.suffix](file, preload=True, verbose="ERROR")


def same(epochs: Epochs, expected: mne.Epochs, channels: tuple[str, ...] = EEG) -> None:
    names = {number: name for name, number in expected.event_id.items()}
    shown = [({*names[number].split("/")} & {*CLASSES}).pop() for number in expected.events[:, 2]]
    assert epochs.labels.tolist() == [CLASSES.index(each) for each in shown]
    assert epochs.channels == channels
    np.testing.assert_array_equal(epochs.data, expected.get_data(picks=list(channels)))
    np.testing.assert_array_equal(epochs.times, expected.times)
    assert epochs.sfreq == expected.info["sfreq"]


@pytest.mark.parametrize(("kind", "ending", "writer"), CASES)
def test_epochs_are_what_mne_cuts(tmp_path: Path, kind: str, ending: str, writer: str) -> None:
    file = saved(tmp_path, ending, writer)
    epochs = read(kind, [file], drop=("VEOG",))
    same(epochs, direct(as_mne_reads(file)))
    (account,) = epochs.accounts
    assert (account["file"], account["rate"], account["trials"]) == (file.name, 128.0, 14)
    named = ending != ".vhdr"  # there it is Comment/BAD_blink, which MNE passes over
    blink = [{"class": "house", "reason": "annotated as BAD_blink", "trials": 1}]
    assert account["dropped"] == (blink if named else [])
    np.testing.assert_allclose(epochs.trial_info["onset"][0], make_raw().annotations.onset[1], atol=1 / 128)


STEPS: dict[str, tuple[dict[str, Any], Callable[[mne.io.BaseRaw], mne.Epochs]]] = {
    "band": ({"highpass": 1.0, "lowpass": 30.0}, lambda raw: direct(raw.filter(1.0, 30.0))),
    "notch": ({"notch": [25, 50]}, lambda raw: direct(raw.notch_filter([25, 50]))),
    "average": (
        {"reference": "average"},
        lambda raw: direct(raw.set_eeg_reference("average", projection=False)),
    ),
    "channel": ({"reference": ["Pz"]}, lambda raw: direct(raw.set_eeg_reference(["Pz"]))),
    "baseline": ({"baseline": [-0.2, 0.0]}, lambda raw: direct(raw, baseline=(-0.2, 0.0))),
    "resample": ({"resample": 64.0}, lambda raw: direct(raw).resample(64.0)),
    "reject": ({"reject": {"eeg": 50e-6}}, lambda raw: direct(raw, reject={"eeg": 50e-6})),
    "eyes": ({"reject": {"eog": 30e-6}}, lambda raw: direct(raw, reject={"eog": 30e-6})),
    "flat": ({"flat": {"eeg": 20e-6}}, lambda raw: direct(raw, flat={"eeg": 20e-6})),
    "all": (
        {
            "highpass": 0.5,
            "lowpass": 40.0,
            "notch": 50.0,
            "reference": "average",
            "baseline": [-0.2, 0.0],
            "montage": "easycap-M1",
            "bads": {"S1": ["C3"], "S2": ["Cz"]},
            "interpolate": True,
            "reject": {"eeg": 60e-6},
            "flat": {"eeg": 1e-6},
            "resample": 100.0,
        },
        lambda raw: direct(
            marked(raw)
            .filter(0.5, 40.0)
            .notch_filter([50.0])
            .interpolate_bads()
            .set_eeg_reference("average", projection=False),
            baseline=(-0.2, 0.0),
            reject={"eeg": 60e-6},
            flat={"eeg": 1e-6},
        ).resample(100.0),
    ),
}


def marked(raw: mne.io.BaseRaw) -> mne.io.BaseRaw:
    raw.set_montage("easycap-M1", on_missing="ignore")
    raw.info["bads"] = ["C3"]
    return raw


@pytest.mark.parametrize("step", STEPS)
def test_steps_are_those_of_mne(tmp_path: Path, step: str) -> None:
    settings, by_hand = STEPS[step]
    file = saved(tmp_path, ".fif", "mne")
    epochs = read("fif", [file], preprocessing=settings)
    with mne.utils.use_log_level("ERROR"):
        expected = by_hand(as_mne_reads(file))
    same(epochs, expected)
    (account,) = epochs.accounts
    assert account["trials"] == 14 == len(epochs.labels) + sum(each["trials"] for each in account["dropped"])
    if step in ("reject", "eyes", "flat"):
        assert 2 < len(epochs.labels) < 12, "the threshold tells nothing"
    assert (account["highpass"], account["lowpass"]) == (expected.info["highpass"], expected.info["lowpass"])


def test_what_was_dropped_is_counted_with_its_reason(tmp_path: Path) -> None:
    raw = make_raw()
    raw.annotations.append([23.8, 0.1], [0, 0], ["face", "house"])
    file = saved(tmp_path, ".fif", "mne", raw)
    steps = {"reject": {"eeg": 50e-6, "eog": 30e-6}, "flat": {"eeg": 20e-6}}
    epochs = read("fif", [file], preprocessing=steps)
    with mne.utils.use_log_level("ERROR"):
        expected = direct(as_mne_reads(file), **steps)
    same(epochs, expected)
    (account,) = epochs.accounts
    found = {(each["class"], each["reason"]): each["trials"] for each in account["dropped"]}
    assert found["face", "beyond the recording"] == found["house", "beyond the recording"] == 1
    assert found["house", "annotated as BAD_blink"] == 1
    assert sum(found.values()) == 16 - len(epochs.labels) == sum(bool(log) for log in expected.drop_log) - 1
    # What is rejected by both is counted once, by amplitude.
    log = [names for names in expected.drop_log if {*names} & {*NAMES}]
    assert sum(count for (_, reason), count in found.items() if reason in ("amplitude", "flat")) == len(log)
    loud = direct(as_mne_reads(file), reject=steps["reject"])
    flat = sum(count for (_, reason), count in found.items() if reason == "flat")
    assert flat == len(loud) - len(epochs.labels)
    assert {*account["rejected_by"]} <= {*NAMES}
    assert sum(account["rejected_by"].values()) >= len(log)


def test_channels_are_picked_by_name_and_type(tmp_path: Path) -> None:
    file = saved(tmp_path, ".fif", "mne")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read("fif", [file]).channels == EEG
        assert read("fif", [file], picks=("Pz", "eog")).channels == ("Pz", "VEOG")
        assert read("fif", [file], picks=("eeg",), drop=("Cz",)).channels == ("Fz", "Pz", "Oz", "C3", "C4")
        # The reference is the mean of all channels, though one is decoded.
        one = read("fif", [file], picks=("Pz",), preprocessing={"reference": "average"})
        all_ = read("fif", [file], preprocessing={"reference": "average"})
        np.testing.assert_array_equal(one.data[:, 0], all_.data[:, 2])
        # A channel that is the reference is dropped after it.
        off = read("fif", [file], drop=("Pz",), preprocessing={"reference": ["Pz"]})
        on = read("fif", [file], preprocessing={"reference": ["Pz"]})
        np.testing.assert_array_equal(off.data, np.delete(on.data, 2, axis=1))
        bad = read("fif", [file], preprocessing={"bads": {"S1": ["Oz"]}})
        assert bad.channels == ("Fz", "Cz", "Pz", "C3", "C4")
        assert bad.accounts[0]["bads"] == ["Oz"]


def test_events_are_in_a_table_beside_it(tmp_path: Path) -> None:
    raw = make_raw()
    onsets = [each["onset"] for each in raw.annotations if each["description"] in CLASSES]
    raw.set_annotations(mne.Annotations([3.0, 9.0], 0.0, ["BAD_jump", "cue"]))
    file = saved(tmp_path, ".fif", "mne", raw)
    lines = ["onset\tduration\ttrial_type\tcode"]
    lines += [f"{t:.9f}\t0\t{CLASSES[n % 2]}\t{n % 2 + 1}.0" for n, t in enumerate(onsets)]
    (tmp_path / "S1_raw_events.tsv").write_text("\n".join([*lines, "20.5\tn/a\tn/a\tn/a", ""]))
    epochs = read("fif", [file])
    assert epochs.accounts[0]["events_from"] == "tsv"
    raw.set_annotations(mne.Annotations([*onsets, 3.0], 0.0, [*CLASSES * 7, "BAD_jump"]))
    same(epochs, direct(raw))
    by_code = read("fif", [file], event_column="code", events={"face": [1], "house": [2]})
    np.testing.assert_array_equal(by_code.data, epochs.data)
    with refusal("table of events cannot be read", file=file):
        read("fif", [file], event_column="word")
    with refusal("no trials of face", "1 × cue"):
        read("fif", [file], event_source="annotations")


def test_events_are_codes_in_a_channel(tmp_path: Path) -> None:
    raw = make_raw()
    onsets = [each["onset"] for each in raw.annotations if each["description"] in CLASSES]
    samples = np.round(np.array(onsets) * 128).astype(int)
    codes = np.zeros((1, raw.n_times))
    for number, sample in enumerate(samples):
        codes[0, sample : sample + 3] = number % 2 + 1
    stim = mne.io.RawArray(codes, mne.create_info(["Trigger"], 128.0, "stim"), verbose="ERROR")
    raw.add_channels([stim], force_update_info=True)
    raw.set_annotations(mne.Annotations([9.0], 0.0, ["cue"]))
    file = saved(tmp_path, ".fif", "mne", raw)
    epochs = read("fif", [file], events={"face": [1], "house": ["2"]})
    expected = mne.Epochs(raw, mne.find_events(raw, verbose="ERROR"), tmin=-0.25, tmax=0.5, baseline=None)
    np.testing.assert_array_equal(epochs.data, expected.get_data(picks=list(EEG), verbose="ERROR"))
    assert epochs.labels.tolist() == [0, 1] * 7
    assert epochs.accounts[0]["events_from"] == "stim"
    with refusal("channel of codes is not in the file"):
        read("fif", [file], stim_channel="STI", event_source="stim")


def test_codes_that_are_held_and_trials_that_are_there_twice_are_told_of(tmp_path: Path) -> None:
    raw = make_raw()
    raw.set_annotations(None)
    codes = np.repeat([0, *[1, 2] * 7, 0], 192)[np.newaxis]
    stim = mne.io.RawArray(codes.astype(float), mne.create_info(["STI"], 128.0, "stim"), verbose="ERROR")
    raw.add_channels([stim], force_update_info=True)
    with pytest.warns(UserWarning, match="6 changes of STI to a smaller code, .* beside 8 that are"):
        read("fif", [saved(tmp_path, ".fif", "mne", raw)], events={"face": [1], "house": [2]})
    raw = make_raw()
    raw.annotations.append(raw.annotations.onset[1:8] + 0.02, 0.0, raw.annotations.description[1:8])
    file = saved(tmp_path, ".fif", "mne", raw)
    with pytest.warns(UserWarning, match="trials begin less than 50 ms after another of their class"):
        read("fif", [file])


@pytest.mark.parametrize("name", ["STI101", "STI 014", "Other"])
def test_no_variable_says_where_codes_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    raw = make_raw()
    raw.set_annotations(None)
    codes = np.zeros((2, raw.n_times))
    codes[0, 200:3000:200] = [1, 2] * 7
    codes[1, 300:3000:400] = [2] * 7
    info = mne.create_info([name, "Response"], 128.0, "stim")
    raw.add_channels([mne.io.RawArray(codes, info, verbose="ERROR")], force_update_info=True)
    file = saved(tmp_path, ".fif", "mne", raw)
    events = {"face": ("1",), "house": ("2",)}
    seen = mne.find_events(raw, verbose="ERROR")[:, 0] / 128.0
    assert len(seen) == (21 if name == "Other" else 14)
    monkeypatch.setenv("MNE_STIM_CHANNEL", "Response")
    np.testing.assert_array_equal(read("fif", [file], events=events).trial_info["onset"], seen)


def test_names_with_dots_have_tables_of_their_own(tmp_path: Path) -> None:
    for number, name in enumerate(("S1.1", "S1.2")):
        exported(make_raw().set_annotations(None), tmp_path / f"{name}_raw.fif")
        lines = [f"{2 + number + 2 * row}\t{CLASSES[row % 2]}" for row in range(6)]
        table = tmp_path / f"{name}_raw_events.tsv"
        table.write_text("\n".join(["onset\ttrial_type", *lines]), encoding="utf-8")
    (tmp_path / "S1_events.tsv").write_text("onset\ttrial_type\n1\tface\n3\thouse", encoding="utf-8")
    for number, name in enumerate(("S1.1", "S1.2")):
        onsets = read("fif", [tmp_path / f"{name}_raw.fif"]).trial_info["onset"]
        np.testing.assert_array_equal(onsets, 2.0 + number + 2 * np.arange(6))


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    file = saved(tmp_path, ".fif", "mne")

    def expect(problem: str, *parts: str, **settings: Any) -> None:
        with refusal(problem, *parts):
            read("fif", [file], **settings)

    expect("bad channel is not in the file", "Qz", preprocessing={"bads": {"S1": ["Qz"]}})
    lost = {"bads": {"S1": ["Cz"]}, "interpolate": True}
    expect("without a position", "Cz", preprocessing=lost)
    expect("unknown montage", preprocessing={"montage": "easycap-M0"})
    expect("channel of the reference", preprocessing={"reference": ["M1"]})
    expect("no reference is named", preprocessing={"reference": []})
    expect("no channels of a type", preprocessing={"reject": {"mag": 1e-12}})
    expect("above half the sampling rate", preprocessing={"lowpass": 64})
    expect("baseline is not in the epochs", preprocessing={"baseline": [-0.5, 0]})
    expect("channel to decode is not in the file", picks=("Qz",))
    expect("channel to drop is not in the file", drop=("Qz",))
    expect("no NAME_events.tsv", event_source="tsv")
    why = "7 of 7 face (5 × beyond the recording; 2 × annotated as BAD_blink)"
    expect("all trials of face, house", why, tmin=30, tmax=31, preprocessing={"lowpass": 40})


def test_averages_and_two_events_at_one_sample_are_refused(tmp_path: Path) -> None:
    raw = make_raw()
    raw.annotations.append(raw.annotations.onset[1], 0, "house")
    file = saved(tmp_path, ".fif", "mne", raw)
    with refusal("events of different classes are at one sample", "face and house"):
        read("fif", [file])
    file = tmp_path / "S1-ave.fif"
    direct(make_raw())["face"].average().save(file, verbose="ERROR")
    with refusal("averages cannot be decoded", "epochs"):
        read("fif", [file])


OF_EPOCHS: dict[str, tuple[dict[str, Any], Callable[[mne.Epochs], mne.Epochs]]] = {
    "band": ({"highpass": 8.0, "lowpass": 30.0}, lambda epochs: epochs.filter(8.0, 30.0)),
    "notch": (
        {"notch": 25.0},
        lambda epochs: epochs.apply_function(
            mne.filter.notch_filter, picks="eeg", channel_wise=False, Fs=128.0, freqs=[25.0]
        ),
    ),
    "average": ({"reference": "average"}, lambda epochs: epochs.set_eeg_reference("average")),
    "baseline": ({"baseline": [-0.2, 0.0]}, lambda epochs: epochs.apply_baseline((-0.2, 0.0))),
    "reject": (
        {"reject": {"eeg": 50e-6}, "flat": {"eeg": 15e-6}},
        lambda epochs: epochs.drop_bad(reject={"eeg": 50e-6}, flat={"eeg": 15e-6}),
    ),
    "resample": ({"resample": 64.0}, lambda epochs: epochs.resample(64.0)),
}


@pytest.mark.parametrize("step", OF_EPOCHS)
def test_steps_of_epochs_are_those_of_mne(tmp_path: Path, step: str) -> None:
    settings, by_hand = OF_EPOCHS[step]
    file = tmp_path / "S1-epo.fif"
    direct(make_raw()).save(file, fmt="double", verbose="ERROR")
    epochs = read("fif", [file], tmin=None, tmax=None, preprocessing=settings)
    with mne.utils.use_log_level("ERROR"):
        expected = by_hand(mne.read_epochs(file))
    same(epochs, expected)
    (account,) = epochs.accounts
    assert account["trials"] == 13 == len(epochs.labels) + sum(each["trials"] for each in account["dropped"])
    assert (len(epochs.labels) < 13) == (step == "reject")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"preprocessing": {"reject": {"eeg": 150}}}, "for 150 µV, write 150e-6"),
        ({"preprocessing": {"flat": {"eeg": 0}}}, "not above 0"),
        ({"preprocessing": {"highpass": 30, "lowpass": 10}}, "not below the lowpass"),
        ({"preprocessing": {"baseline": [0, -0.2]}}, "ends before it begins"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read("fif", [], **wrong)


def placed(seed: int = 0, montage: str = "easycap-M1") -> mne.io.BaseRaw:
    return make_raw(seed).set_montage(montage, on_missing="ignore", verbose="ERROR")


def expected(montage: str) -> np.ndarray:
    by_name = placed(montage=montage).get_montage().get_positions()["ch_pos"]
    return np.array([by_name[name] for name in EEG])


def places_of(kind: str, file: Path, **settings: Any) -> tuple[np.ndarray, Any]:
    """Positions, and where they are said to be from."""
    epochs = read(kind, [file], **settings)
    assert epochs.positions is not None
    return epochs.positions, epochs.accounts[0]["positions"]


@pytest.mark.parametrize(("kind", "name"), [("fif", "x_raw.fif"), ("eeglab", "x.set"), ("fif", "x-epo.fif")])
def test_positions_are_those_in_the_file(tmp_path: Path, kind: str, name: str) -> None:
    file = tmp_path / name
    if "epo" in name:
        direct(placed()).save(file, verbose="ERROR")
    else:
        exported(placed(), file)
    found, said = places_of(kind, file, picks=EEG)
    np.testing.assert_allclose(found, expected("easycap-M1"), atol=1e-6)
    assert said == "file"
    # Of channels that are decoded, and of a montage that the study names.
    some, _ = places_of(kind, file, picks=("Oz", "C3"))
    np.testing.assert_allclose(some, expected("easycap-M1")[[3, 4]], atol=1e-6)
    found, said = places_of(kind, file, picks=EEG, preprocessing={"montage": "standard_1020"})
    np.testing.assert_allclose(found, expected("standard_1020"), atol=1e-6)
    assert said == "standard_1020"


def test_none_and_some_positions(tmp_path: Path) -> None:
    epochs = read("fif", [exported(make_raw(), tmp_path / "x_raw.fif")])
    assert epochs.positions is None
    assert epochs.accounts[0]["positions"] == ""
    some = placed()
    some.info["chs"][1]["loc"][:3] = 0
    some.info["chs"][2]["loc"][:3] = np.nan
    found, _ = places_of("fif", exported(some, tmp_path / "some_raw.fif"))
    assert np.isnan(found).all(axis=1).tolist() == [False, True, True, False, False, False]
    assert FIFF.FIFFV_COORD_HEAD == HEAD
    for each in some.info["chs"]:
        each["coord_frame"] = FIFF.FIFFV_COORD_MRI
    assert positions_of(some, EEG) is None
    assert positions_of(placed(), EEG) is not None


def test_positions_of_several_files_are_means(tmp_path: Path) -> None:
    raws = (placed(0), placed(1, "standard_1020"), make_raw(2))
    files = [exported(raw, tmp_path / f"{number}_raw.fif") for number, raw in enumerate(raws)]
    found: Any = read("fif", files).positions
    np.testing.assert_allclose(found, (expected("easycap-M1") + expected("standard_1020")) / 2, atol=1e-7)


def meg(kinds: list[str]) -> mne.io.BaseRaw:
    raw = make_raw(3)
    info = mne.create_info(list(raw.ch_names), raw.info["sfreq"], kinds)
    made = mne.io.RawArray(raw.get_data() * 1e-6, info, verbose="ERROR").set_annotations(raw.annotations)
    for number, channel in enumerate(made.info["chs"]):
        channel["loc"][:3] = [0.01 * number, 0.05, 0.1]
    return made


@pytest.mark.parametrize(
    ("sensors", "unit"), [(["mag"], "T"), (["grad"], "T/m"), (["mag", "grad", "eeg"], "a.u.")]
)
def test_sensors_of_meg_have_places_in_the_helmet(tmp_path: Path, sensors: list[str], unit: str) -> None:
    """Those of EEG are on a head."""
    names = make_raw(3).ch_names
    raw = meg((sensors * len(names))[: len(names)])
    raw.save(tmp_path / "x_meg.fif", verbose="ERROR")
    epochs = read("fif", [tmp_path / "x_meg.fif"], picks=EEG)
    assert epochs.unit == unit
    kinds = np.array([raw.get_channel_types([name])[0] for name in EEG])
    if len(sensors) > 1:
        assert [account["types"] for account in epochs.accounts] == [kinds.tolist()]
    wanted = np.array([[0.01 * names.index(name), 0.05, 0.1] for name in EEG])
    places = np.asarray(epochs.positions)
    np.testing.assert_allclose(places[kinds != "eeg"], wanted[kinds != "eeg"], atol=1e-6)
