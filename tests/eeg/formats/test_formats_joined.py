"""Files of one phase are joined and phases of one file told apart; nothing goes across a gap."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import CLASSES, NAMES, direct, exported, make_raw, read, warned
from eeglab_files import write_eeglab
from in_process import InProcess
from no_warnings import no_warnings
from refusal import refusal

from shortloop.eeg.checks.consistency import check_alike
from shortloop.eeg.checks.summary import summarize
from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.read import read_epochs
from shortloop.eeg.formats.recording_format import InputSettings
from shortloop.eeg.pipeline import StudyRun, import_epochs
from shortloop.eeg.study.load import read_study

pytestmark = pytest.mark.filterwarnings("ignore:S1, ")
EEG = NAMES[:6]
MIXED = ["C4", "Fz", "Oz", "Pz", "Cz", "C3", "VEOG"]


def two(folder: Path, second: mne.io.BaseRaw) -> list[Path]:
    return [exported(make_raw(1), folder / "a_raw.fif"), exported(second, folder / "b_raw.fif")]


def by_mne(file: Path, names: tuple[str, ...] = EEG) -> np.ndarray:
    raw = mne.io.read_raw_fif(file, verbose="ERROR")
    events, ids = mne.events_from_annotations(raw, {"face": 1, "house": 2}, verbose="ERROR")
    cut = mne.Epochs(raw, events, ids, -0.25, 0.5, baseline=None, preload=True, verbose="ERROR")
    return np.stack([cut.get_data(picks=[name])[:, 0] for name in names], axis=1)


def test_channels_in_another_order_are_joined_by_their_names(tmp_path: Path) -> None:
    files = two(tmp_path, make_raw(2).reorder_channels(MIXED))
    epochs = read("fif", files)
    assert epochs.channels == EEG
    np.testing.assert_array_equal(epochs.data, np.concatenate([by_mne(file) for file in files]))


def test_bad_channels_of_one_run_are_bad_in_all_or_interpolated(tmp_path: Path) -> None:
    second = make_raw(2)
    second.info["bads"] = ["Pz"]
    files = two(tmp_path, second)
    remedies = ("input.preprocessing.bads.S1 = ['Pz']", "input.preprocessing.interpolate = true")
    with refusal("differ in channels", *remedies):
        read("fif", files)
    epochs = read("fif", files, preprocessing={"bads": {"S1": ["Pz"]}})
    left = ("Fz", "Cz", "Oz", "C3", "C4")
    assert epochs.channels == left
    np.testing.assert_array_equal(epochs.data, np.concatenate([by_mne(file, left) for file in files]))
    epochs = read("fif", files, preprocessing={"interpolate": True, "montage": "standard_1020"})
    assert epochs.channels == EEG
    np.testing.assert_allclose(epochs.data[: len(epochs.data) // 2], by_mne(files[0]), atol=1e-15)


def epochs_file(folder: Path, name: str, seed: int, samples: np.ndarray) -> Path:
    data = np.random.default_rng(seed).standard_normal((len(samples), 3, 97)) * 1e-5
    events = np.c_[samples, 0 * samples, np.arange(len(samples)) % 2 + 1]
    info = mne.create_info(3, 128.0, "eeg")
    epochs = mne.EpochsArray(data, info, events, -0.25, {"face": 1, "house": 2}, verbose="ERROR")
    epochs.save(folder / name, verbose="ERROR")
    return folder / name


@pytest.mark.parametrize(("even", "shift", "told"), [(False, 0, True), (False, 40, False), (True, 0, False)])
def test_files_cut_at_the_same_samples(tmp_path: Path, even: bool, shift: int, told: bool) -> None:
    """Samples in even steps are numbers of trials, which say nothing."""
    at = np.arange(20) * 200 + (0 if even else np.random.default_rng(0).integers(0, 90, 20))
    epochs, texts = warned("fif", [epochs_file(tmp_path, f"{n}-epo.fif", n, at + n * shift) for n in (0, 1)])
    assert len(epochs.data) == 40
    said = "20 of 20 trials begin when trials of the same class begin in 0-epo.fif"
    assert any(said in text for text in texts) == told


@pytest.mark.parametrize("reference", ["average", ["Pz", "Oz"]])
def test_the_channel_with_nan_is_named_and_not_those_it_spread_to(tmp_path: Path, reference: Any) -> None:
    """Outside of trials it is no matter; both remedies of the hint work."""
    raw = make_raw(1)
    raw._data[2, :40] = np.nan
    steps = {"reference": reference}
    assert len(read("fif", [exported(raw, tmp_path / "a_raw.fif")], preprocessing=steps).data)
    raw._data[2, 600:900] = np.nan
    file = exported(raw, tmp_path / "b_raw.fif")
    with refusal("the reference spreads them", "in Pz", "input.drop = ['Pz']", "input.preprocessing.bads.S1"):
        read("fif", [file], preprocessing=steps)
    if reference == "average":
        own = by_mne(file, ("Fz", "Cz", "Oz", "C3", "C4"))
        expected = own - own.mean(axis=1, keepdims=True)
        dropped = read("fif", [file], preprocessing=steps, drop=("Pz",))
        bad = read("fif", [file], preprocessing={**steps, "bads": {"S1": ["Pz"]}})
        for found in (dropped, bad):
            np.testing.assert_allclose(found.data, expected, atol=1e-18)


GAP = 7.0  # s; within the sixth trial


def paused(raw: mne.io.BaseRaw) -> mne.io.BaseRaw:
    raw.annotations.append([GAP] * 2, 0.0, ["BAD boundary", "EDGE boundary"])
    return raw


def files(folder: Path) -> dict[str, Path]:
    """A recording with a gap, as EEGLAB and BrainVision say it."""
    raw = make_raw()
    raw.annotations.append(GAP, 0.0, "boundary")
    eeglab = exported(raw, folder / "S1_raw.set")
    brainvision = exported(make_raw(), folder / "S1_raw.vhdr")
    with brainvision.with_suffix(".vmrk").open("a", encoding="utf-8") as markers:
        markers.write(f"Mk99=New Segment,,{round(GAP * 128) + 1},1,0,20200101120000000000\n")
    return {"eeglab": eeglab, "brainvision": brainvision}


@pytest.mark.parametrize("kind", ["eeglab", "brainvision"])
def test_nothing_goes_across_a_gap(tmp_path: Path, kind: str) -> None:
    file = files(tmp_path)[kind]
    with mne.utils.use_log_level("ERROR"):
        readers = {"eeglab": mne.io.read_raw_eeglab, "brainvision": mne.io.read_raw_brainvision}
        expected = direct(paused(readers[kind](file, preload=True).drop_channels(["VEOG"])).filter(2.0, None))
    epochs = read(kind, [file], drop=("VEOG",), preprocessing={"highpass": 2.0})
    np.testing.assert_array_equal(epochs.data, expected.get_data())
    (account,) = epochs.accounts
    assert {"class": "face", "reason": "across a gap in the recording", "trials": 1} in account["dropped"]


def with_codes(file: Path, raw: mne.io.BaseRaw, boundary: object) -> Path:
    """A dataset of EEGLAB whose types of events are numbers, and so is that of boundaries perhaps."""
    kinds = {"face": 1.0, "house": 2.0, "boundary": boundary}
    if isinstance(boundary, str):
        kinds |= {"face": "1", "house": "2"}
    names, onsets = raw.annotations.description, raw.annotations.onset
    events: dict[str, Any] = {
        "type": [kinds[name] for name in names],
        "latency": onsets * 128 + 1 - 0.5 * (names == "boundary"),
        "duration": np.zeros(len(names)),
    }
    return write_eeglab(file, raw.get_data() * 1e6, 128.0, NAMES, events)


@pytest.mark.parametrize("form", [-99.0, "-99", "boundary"])
def test_boundaries_of_eeglab_may_be_numbers(tmp_path: Path, form: object) -> None:
    """With its option of boundaries as -99, always in ERPLAB: no event, and no trial is across it."""
    raw = make_raw().set_annotations(None)
    onsets = 1.0 + 1.5 * np.arange(14)
    raw.set_annotations(mne.Annotations(onsets, 0.0, [*CLASSES * 7]))
    raw.annotations.append(onsets[::4] + 0.3, 0.0, "boundary")
    file = with_codes(tmp_path / "S1.set", raw, form)
    how: dict[str, Any] = {"events": {"face": [1], "house": [2]}, "drop": ("VEOG",)}
    epochs = read("eeglab", [file], preprocessing={"highpass": 2.0}, **how)
    whole = np.delete(np.arange(14), np.arange(0, 14, 4))
    np.testing.assert_allclose(epochs.trial_info["onset"], onsets[whole])
    (account,) = epochs.accounts
    assert account["dropped"] == [{"class": "face", "reason": "across a gap in the recording", "trials": 4}]
    seen = {name: count for name, count in account["events"].items() if not name.startswith(("BAD", "EDGE"))}
    assert seen == {"1": 7, "2": 7, "boundary": 4}
    pieces = raw.get_data(picks="eeg").astype(np.float32)
    info = mne.create_info(list(NAMES[:6]), 128.0, "eeg")
    starts = [0, *(np.ceil((onsets[::4] + 0.3) * 128 - 0.5).astype(int)), pieces.shape[1]]
    alone = [mne.io.RawArray(pieces[:, a:b], info, verbose="ERROR") for a, b in itertools.pairwise(starts)]
    each = np.concatenate([one.filter(2.0, None, verbose="ERROR").get_data() for one in alone], axis=1)
    at = np.round(onsets[whole] * 128).astype(int)
    expected = np.stack([each[:, sample - 32 : sample + 65] for sample in at])
    np.testing.assert_allclose(epochs.data, expected, atol=1e-11)


def test_gaps_are_there_that_only_a_table_says_and_codes_of_other_formats_are_none(tmp_path: Path) -> None:
    raw = make_raw()
    file = exported(raw.copy().set_annotations(None), tmp_path / "S1_raw.fif")
    rows = [f"{1.0 + 1.5 * number:.6f}\t0\t{CLASSES[number % 2]}\n" for number in range(14)]
    table = tmp_path / "S1_raw_events.tsv"
    table.write_text("onset\tduration\ttrial_type\n" + "".join(rows) + f"{GAP + 0.2}\t0\tboundary\n")
    assert len(read("fif", [file]).labels) == 13
    raw = make_raw()
    raw.set_annotations(mne.Annotations(1.0 + 1.5 * np.arange(14), 0.0, ["-99", "1"] * 7))
    file = exported(raw, tmp_path / "S2_raw.fif")
    assert len(read("fif", [file], events={"face": [-99], "house": [1]}).labels) == 14


def test_what_a_table_marks_as_bad_lasts(tmp_path: Path) -> None:
    raw = make_raw()
    onsets, names = raw.annotations.onset[1:15], [*["face", "house"] * 7]
    raw.set_annotations(None)
    file = exported(raw, tmp_path / "S1_raw.fif")
    rows = [f"{at}\tn/a\t{name}\n" for at, name in zip(onsets, names, strict=True)] + [
        "3.3\t4.0\tBAD_talks\n"
    ]
    (tmp_path / "S1_raw_events.tsv").write_text("onset\tduration\ttrial_type\n" + "".join(rows))
    epochs = read("fif", [file])
    spoilt = (onsets + 0.5 >= 3.3) & (onsets - 0.25 <= 7.3)
    assert spoilt.sum() > 1
    np.testing.assert_allclose(epochs.trial_info["onset"], onsets[~spoilt], atol=1 / 128)


def test_channels_of_several_rates_are_read_whole(tmp_path: Path) -> None:
    import edfio

    rng = np.random.default_rng(0)
    how: dict[str, Any] = {"physical_dimension": "uV", "physical_range": (-500, 500)}
    signals = [
        edfio.EdfSignal(100 + np.cumsum(rng.standard_normal(40 * rate)) / 4, rate, label=f"EEG {name}", **how)
        for name, rate in (("Cz", 256), ("Fz", 128))
    ]
    said = [edfio.EdfAnnotation(1 + 1.5 * i, None, ["face", "house"][i % 2]) for i in range(24)]
    edfio.Edf(signals, annotations=said).write(tmp_path / "S1.edf")
    expected = direct(mne.io.read_raw_edf(tmp_path / "S1.edf", preload=True, verbose="ERROR")).get_data()
    for kind in ("edf", "mne"):
        with no_warnings():
            found = read(kind, [tmp_path / "S1.edf"])
        np.testing.assert_array_equal(found.data, expected)


def test_projections_are_those_of_all_channels(tmp_path: Path) -> None:
    raw = make_raw()
    raw.set_eeg_reference("average", projection=True, verbose="ERROR")
    file = exported(raw, tmp_path / "S1_raw.fif")
    expected = direct(mne.io.read_raw_fif(file, verbose="ERROR")).get_data(picks=["Fz", "Cz"])
    np.testing.assert_array_equal(read("fif", [file], picks=("Fz", "Cz")).data, expected)


def with_hole(folder: Path, channel: str | None, value: float = np.nan) -> tuple[mne.io.BaseRaw, Path]:
    """A recording in which 100 samples from 8 s on are no numbers, in a channel or in all."""
    raw = make_raw()
    data = raw.get_data()
    data[slice(None) if channel is None else raw.ch_names.index(channel), 1024:1124] = value
    holed = mne.io.RawArray(data, raw.info, verbose="ERROR").set_annotations(raw.annotations)
    return holed, exported(holed, folder / "S1_raw.fif")


@pytest.mark.parametrize(
    ("step", "channel", "value"),
    [
        *(({"highpass": 1.0}, *hole) for hole in ((None, np.nan), ("Pz", np.nan), ("Pz", np.inf))),
        *(({"lowpass": 30.0}, "Pz", np.nan), ({"notch": 50}, None, np.nan)),
    ],
)
def test_no_nan_spreads(tmp_path: Path, step: dict[str, float], channel: str | None, value: float) -> None:
    """It is said before anything else; both remedies that the message names work."""
    raw, file = with_hole(tmp_path, channel, value)
    named = "Fz, Cz, Pz, Oz, C3, C4" if channel is None else channel
    with refusal("a filter would spread them", "100 samples", f"at 8 s, in {named}", "BAD_ACQ_SKIP"):
        read("fif", [file], drop=("VEOG",), preprocessing=step)
    raw.annotations.append(8.0, 100 / 128, "BAD_ACQ_SKIP")
    with mne.utils.use_log_level("ERROR"):
        copy, ends = raw.copy().pick("eeg"), (step.get("highpass"), step.get("lowpass"))
        expected = direct(copy.notch_filter(50) if "notch" in step else copy.filter(*ends))
    epochs = read("fif", [exported(raw, file)], drop=("VEOG",), preprocessing=step)
    assert 10 <= len(epochs.labels) < 13
    np.testing.assert_array_equal(epochs.data, expected.get_data())
    if channel is not None:
        _, file = with_hole(tmp_path, channel, value)
        assert len(read("fif", [file], drop=("VEOG", channel), preprocessing=step).labels) == 13


def test_trials_without_numbers_are_not_taken_for_copies(tmp_path: Path) -> None:
    _, file = with_hole(tmp_path, "Pz")
    whole = make_raw()
    whole._data[2] = np.nan
    for each in (file, exported(whole, tmp_path / "S2_raw.fif")):
        with refusal("values that are not finite numbers"):
            read("fif", [each], preprocessing={"reference": "average"})


PHASES = ("study", "test")


def recorded(folder: Path, *more: tuple[float, str]) -> Path:
    """Faces and houses in turn, from 1 s to 22 s, and other events."""
    raw = make_raw()
    raw.set_annotations(raw.annotations[np.isin(raw.annotations.description, CLASSES)])
    raw.annotations.append([at for at, _ in more], 0.0, [name for _, name in more])
    return exported(raw, folder / "S1_raw.fif")


def read_of_phases(file: Path, phase: str, **settings: Any) -> Epochs:
    values = {"format": "fif", "tmin": -0.25, "tmax": 0.5, "files": dict.fromkeys(PHASES, ("x",))}
    form = InputSettings.model_validate({**values, **settings})
    return read_epochs(form, [file], participant="S1", phase=phase, classes=CLASSES)


def onsets() -> np.ndarray:
    annotations = make_raw().annotations
    found: np.ndarray = annotations.onset[np.isin(annotations.description, CLASSES)]
    return found


def in_samples(epochs: Epochs) -> list[int]:
    return np.round(epochs.trial_info["onset"] * 128).astype(int).tolist()


def expected(start: float, stop: float) -> list[int]:
    return [round(at * 128) for at in onsets() if start <= round(at * 128) / 128 < stop]


ONSETS = np.round(onsets() * 128) / 128
BLOCKS = ((0.5, "study"), (6.0, "test"), (11.0, "study"), (16.0, "test"))
SECTIONS: dict[str, tuple[tuple[tuple[float, str], ...], dict[str, Any], tuple[list[int], list[int]]]] = {
    "times": ((), {"study": {"stop": 11.0}, "test": {"start": 11.0}}, (expected(0, 11), expected(11, 24))),
    "events that begin": (
        ((0.0, "go/study"), (11.0, "go/test")),
        {"study": {"start": "study"}, "test": {"start": "test"}},
        (expected(0, 11), expected(11, 24)),
    ),
    "events that are trials": (
        ((ONSETS[3], "begin"), (ONSETS[9], "end")),
        {"study": {"start": "begin", "stop": "end"}, "test": {"start": "end"}},
        (expected(ONSETS[3], ONSETS[9]), expected(ONSETS[9], 24)),
    ),
    "blocks that alternate": (
        BLOCKS,
        {"study": {"start": "study"}, "test": {"start": "test"}},
        (expected(0.5, 6) + expected(11, 16), expected(6, 11) + expected(16, 24)),
    ),
    "events that begin and end": (
        ((2.0, "on"), (6.0, "off"), (12.0, "on"), (15.0, "off"), (16.0, "late")),
        {"study": {"start": "on", "stop": "off"}, "test": {"start": "late", "stop": 20.0}},
        (expected(2, 6) + expected(12, 15), expected(16, 20)),
    ),
}


@pytest.mark.parametrize("case", SECTIONS)
def test_trials_are_those_of_the_section(tmp_path: Path, case: str) -> None:
    """The event that begins it is in it, and that of the next is not."""
    more, sections, where = SECTIONS[case]
    file = recorded(tmp_path, *more)
    for phase, samples in zip(PHASES, where, strict=True):
        epochs = read_of_phases(file, phase, sections=sections)
        assert in_samples(epochs) == samples != []
        (account,) = epochs.accounts
        assert sum(account["events"][name] for name in CLASSES) == len(samples)
        assert all(start < stop for start, stop in account["sections"])


def test_a_cropped_recording_counts_from_its_start_and_epochs_have_no_sections(tmp_path: Path) -> None:
    """MNE counts its samples from when the whole one began."""
    raw = mne.io.read_raw_fif(recorded(tmp_path), preload=True, verbose="ERROR").crop(5.0, None)
    file = exported(raw, tmp_path / "cropped_raw.fif")
    assert mne.io.read_raw_fif(file, verbose="ERROR").first_samp == 640
    epochs = read_of_phases(file, "study", sections={"study": {"stop": 8.0}, "test": {"start": 8.0}})
    assert in_samples(epochs) == [each - 640 for each in expected(5.2, 13)]
    direct(make_raw()).save(tmp_path / "S1-epo.fif", verbose="ERROR")
    with refusal("sections are of continuous recordings"):
        read_of_phases(tmp_path / "S1-epo.fif", "study", sections={"study": {}, "test": {}})


@pytest.mark.parametrize(
    ("sections", "problem", "field"),
    [
        ({"study": {"start": "begin"}, "test": {}}, "does not begin", "input.sections.study.start"),
        ({"study": {"stop": "end"}, "test": {}}, "does not end", "input.sections.study.stop"),
        ({"study": {"start": 9, "stop": 5}, "test": {}}, "does not end", "input.sections.study.stop"),
        ({"study": {"start": 500}, "test": {}}, "does not end", "input.sections.study.stop"),
        ({"study": {"stop": 0.5}, "test": {}}, "has no trials of face, house", "input.events"),
    ],
)
def test_sections_that_are_not_there(tmp_path: Path, sections: Any, problem: str, field: str) -> None:
    with refusal(problem, field=field):
        read_of_phases(recorded(tmp_path), "study", sections=sections)


def test_events_of_each_phase(tmp_path: Path) -> None:
    raw = make_raw()
    names = [f"{'late' if each['onset'] > 11 else 'early'} {each['description']}" for each in raw.annotations]
    raw.set_annotations(mne.Annotations(raw.annotations.onset, 0.0, names))
    file = exported(raw, tmp_path / "S1_raw.fif")
    early, late = ({name: [f"{when} {name}"] for name in CLASSES} for when in ("early", "late"))
    given = {"events": early, "phase_events": {"test": late}}
    assert in_samples(read_of_phases(file, "study", **given)) == expected(0, 11)
    assert in_samples(read_of_phases(file, "test", **given)) == expected(11, 24)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"phase_events": {"tset": {"face": ["a"], "house": ["b"]}}}, "tset is none of study, test"),
        ({"phase_events": {"test": {"face": ["a"]}}}, "nothing given for house"),
        ({"phase_events": {"test": {"face": ["a"], "house": ["b"], "cat": ["c"]}}}, "cat is none of"),
        ({"sections": {"study": {"stop": 5}}}, "nothing given for test"),
    ],
)
def test_what_a_study_cannot_say(given: Any, said: str) -> None:
    form = InputSettings.model_validate({"format": "fif", "files": dict.fromkeys(PHASES, ("x",)), **given})
    with pytest.raises(ValueError, match=said):
        form.check_phases(PHASES, CLASSES, ("amplitude",))


STUDY = """\
name = "one"
participants = ["S1"]
classes = ["face", "house"]
phases = {{train = "study", decode = "test"}}
features.amplitude = {{}}

[input]
format = "fif"
files.study = ["{{participant}}_raw.fif"]
files.test = ["{{participant}}_raw.fif"]
tmin = -0.25
tmax = {tmax}
{more}
"""


def imported(folder: Path, more: str, tmax: float = 0.5) -> Any:
    (folder / "study.toml").write_text(STUDY.format(more=more, tmax=tmax), encoding="utf-8")
    (folder / "jobs").mkdir(exist_ok=True)
    run = InProcess(folder / "jobs")
    jobs = import_epochs(StudyRun(run, read_study(folder / "study.toml"), folder / "study.toml"))
    return jobs["S1"].result()


def test_a_study_of_one_file(tmp_path: Path) -> None:
    recorded(tmp_path)
    facts = imported(tmp_path, "sections.study.stop = 11\nsections.test.start = 11").facts
    shutil.rmtree(tmp_path / "jobs")
    trials = [sum(each["trials"].values()) for each in facts["recordings"]]
    assert trials == [len(expected(0, 11)), len(expected(11, 24))]
    assert facts["notes"] == []
    with refusal("are those of the study phase", "input.sections"):
        imported(tmp_path, "")
    shutil.rmtree(tmp_path / "jobs")
    sections = "sections.study.stop = 11\nsections.test.start = 11"
    (note,) = (each for each in imported(tmp_path, sections, tmax=1.6).facts["notes"] if "share time" in each)
    assert note.startswith("S1, test: 1 ")


def test_picks_give_the_order_of_people_who_have_several(tmp_path: Path) -> None:
    """The hint that the message gives works; one by type comes where it is named."""
    files = two(tmp_path, make_raw(2).reorder_channels(MIXED))
    found = [
        summarize(read("fif", [file]), participant=who, phase="run", file="")
        for who, file in zip("ABA", [*files, files[0]])
    ]
    with refusal("differ from the others", f"input.picks = {[*EEG]}"):
        check_alike(found)
    for file in files:
        epochs = read("fif", [file], picks=EEG)
        assert epochs.channels == EEG
        np.testing.assert_array_equal(epochs.data, by_mne(file))
    assert read("fif", files[:1], picks=("eog", "Cz", "Fz")).channels == ("VEOG", "Cz", "Fz")


def test_gaps_are_there_with_events_of_a_table_too(tmp_path: Path) -> None:
    file = tmp_path / "S1_raw.fif"
    mne.concatenate_raws([make_raw(), make_raw(1)], verbose="ERROR").save(file, fmt="double", verbose="ERROR")
    raw = mne.io.read_raw_fif(file, preload=True, verbose="ERROR").pick("eeg")
    expected = direct(raw.filter(2.0, None, verbose="ERROR"))
    rows = [f"{at:.6f}\t0\t{name}\n" for at, name in zip(raw.annotations.onset, raw.annotations.description)]
    events = [row for row in rows if "boundary" not in row]
    (tmp_path / "S1_raw_events.tsv").write_text("onset\tduration\ttrial_type\n" + "".join(events))
    epochs = read("fif", [file], preprocessing={"highpass": 2.0})
    assert epochs.accounts[0]["events_from"] == "tsv"
    np.testing.assert_array_equal(epochs.data, expected.get_data())


def test_arrays_of_two_phases_in_one_file(tmp_path: Path) -> None:
    labels = np.repeat([1, 2, 11, 12], 4)
    data = np.random.default_rng(0).standard_normal((16, 2, 20))
    np.savez(tmp_path / "S1.npz", X=data, y=labels, t=np.arange(20) / 100, ch=np.array(["Cz", "Pz"]))
    given = {"format": "npz", "files": dict.fromkeys(PHASES, ("x",)), "events": {"face": [1], "house": [2]}}
    given["phase_events"] = {"test": {"face": [11], "house": [12]}}
    for phase, part in zip(PHASES, (slice(0, 8), slice(8, 16)), strict=True):
        form = InputSettings.model_validate(given)
        found = read_epochs(form, [tmp_path / "S1.npz"], participant="S1", phase=phase, classes=CLASSES)
        assert found.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
        np.testing.assert_allclose(found.data, data[part])
