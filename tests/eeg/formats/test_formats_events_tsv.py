"""Events in tables: what is wrong in which row is said, and columns and queries choose them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pandas as pd
import pytest
from cases import first_cases
from eeg_folders import proposed
from eeg_proposed import proposed_study, runnable
from eeg_recordings import direct, exported, make_raw, read, refused
from eeglab_files import write_eeglab
from refusal import refusal

from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.bids import BidsInput
from shortloop.eeg.formats.read import read_epochs

pytestmark = pytest.mark.filterwarnings("ignore:S1, ")
RATE, SECONDS = 128.0, 60
ONSETS = 1.5 + 1.375 * np.arange(40)  # whole samples
NAMES = ["face", "house"] * 20
AT = np.round(ONSETS * RATE).astype(int)


def raw(seed: int = 3) -> mne.io.BaseRaw:
    return make_raw(seed, RATE, SECONDS).set_annotations(None)


def rows(onsets: Any, header: str = "onset\tduration\ttrial_type", separator: str = "\t") -> str:
    lines = [header] + [f"{at}\t0\t{name}" for at, name in zip(onsets, NAMES, strict=True)]
    return "\n".join(lines).replace("\t", separator) + "\n"


def recorded(folder: Path, table: str | bytes) -> Path:
    """A recording with a table of events beside it."""
    file = exported(raw(), folder / "S1_raw.fif")
    (folder / "S1_raw_events.tsv").write_bytes(table.encode() if isinstance(table, str) else table)
    return file


def in_bids(folder: Path, table: str, *, inherited: bool = False, who: str = "01") -> Path:
    file = folder / f"sub-{who}/eeg/sub-{who}_task-look_eeg.edf"
    file.parent.mkdir(parents=True)
    exported(raw(int(who)).drop_channels(["VEOG"]), file)
    (folder / "dataset_description.json").write_text(json.dumps({"Name": "x", "BIDSVersion": "1.8.0"}))
    beside = folder if inherited else file.parent
    name = "task-look_events.tsv" if inherited else f"sub-{who}_task-look_events.tsv"
    (beside / name).write_text(table, encoding="utf-8")
    return file


def epochs_of(file: Path, **settings: Any) -> Any:
    if file.suffix == ".fif":
        return read("fif", [file], **settings)
    given = BidsInput.model_validate({"format": "bids", "tmin": -0.25, "tmax": 0.5, **settings})
    return read_epochs(given, [file], participant="01", phase="look", classes=["face", "house"])


def assert_samples(epochs: Any, kept: slice | list[int] = slice(None)) -> None:
    """Epochs are where the events are, to the sample."""
    np.testing.assert_array_equal(np.round(epochs.trial_info["onset"].astype(float) * RATE), AT[kept])
    assert epochs.labels.tolist() == np.array([0, 1] * 20)[kept].tolist()


@pytest.mark.parametrize(
    ("unit", "onsets"), [("ms", (ONSETS * 1000).round(3)), ("samples", AT), ("samples", AT.astype(float))]
)
@pytest.mark.parametrize("bids", [False, True])
def test_onsets_in_another_unit_and_the_hint(tmp_path: Path, unit: str, onsets: Any, bids: bool) -> None:
    """All 40 trials were lost with a note of what MNE omits."""
    file = (in_bids if bids else recorded)(tmp_path, rows(onsets))
    with refusal(f"onsets seem to be in {unit}", "40 of 40 events", f'write event_unit = "{unit}"'):
        epochs_of(file)
    assert_samples(epochs_of(file, event_unit=unit))


def test_tables_of_a_longer_recording_or_with_a_row_too_long_are_refused(tmp_path: Path) -> None:
    file = recorded(tmp_path, rows(ONSETS + 90))
    with refusal("after the end of the recording"):
        epochs_of(file)
    late = recorded(tmp_path, rows(np.r_[ONSETS[:30], ONSETS[30:] + 40]))  # a few are MNE's to leave out
    assert len(epochs_of(late).labels) == 30
    with refusal(r"after the end of the recording\n", "look whether the table is of this recording"):
        epochs_of(recorded(tmp_path, rows(ONSETS + 1e7)))
    # Not the link under which the recording is read, in a folder that is gone by then.
    file = recorded(tmp_path, rows(ONSETS).replace("house\n", "house\t1\n", 1))
    with refusal("a row has more values", "line 3, 3 names in line 1 of S1_raw_events.tsv", file=file):
        epochs_of(file)


@pytest.mark.parametrize(("bids", "nothing"), [(True, "n/a"), (False, "n/a"), (False, ""), (False, "NaN")])
def test_events_without_an_onset_are_left_out_and_told_of(tmp_path: Path, bids: bool, nothing: str) -> None:
    texts = [nothing if at in (7, 9) else str(onset) for at, onset in enumerate(ONSETS)]
    file = (in_bids if bids else recorded)(tmp_path, rows(texts))
    with pytest.warns(UserWarning, match=r"without an onset .*events.tsv, line 9 \('house'\), line 11"):
        epochs = epochs_of(file)
    assert_samples(epochs, [at for at in range(40) if at not in (7, 9)])
    if not bids:  # rows without an event need no onset
        assert_samples(epochs_of(recorded(tmp_path, rows(ONSETS) + "n/a\t0\tn/a\nlater\t0\t\n")))


@pytest.mark.parametrize("bids", [False, True])
def test_an_onset_that_is_no_number_is_named_with_its_line(tmp_path: Path, bids: bool) -> None:
    texts = ["0:01:30" if at == 4 else str(onset) for at, onset in enumerate(ONSETS)]
    with refusal("", "events.tsv: ", "line 6", "0:01:30"):
        epochs_of((in_bids if bids else recorded)(tmp_path, rows(texts)))


@pytest.mark.parametrize("text", ["", "\n", "onset\tduration\ttrial_type\n", "onset\ttrial_type\n1\tn/a\n"])
def test_a_table_without_events_is_named(tmp_path: Path, text: str) -> None:
    file = recorded(tmp_path, text)
    with refusal("the recording has no events", "no row with an onset and an event in S1_raw_events.tsv"):
        epochs_of(file)
    annotated = make_raw(3, RATE, SECONDS)
    annotated.set_annotations(mne.Annotations(ONSETS, 0.0, NAMES))
    exported(annotated, file)
    assert_samples(epochs_of(file))  # those of the recording are taken


@pytest.mark.parametrize(
    ("separator", "point", "encoding"),
    [("\t", ".", "utf-16"), (",", ".", "utf-8-sig"), (";", ",", "cp1252"), ("\t", ",", "utf-8")],
)
def test_tables_of_programs(tmp_path: Path, separator: str, point: str, encoding: str) -> None:
    texts = [str(onset).replace(".", point) for onset in ONSETS]
    file = recorded(tmp_path, rows(texts, separator=separator).replace("house", "Häuser").encode(encoding))
    assert_samples(epochs_of(file, events={"face": ["face"], "house": ["Häuser"]}))


def test_a_table_that_all_inherit_is_checked_as_well(tmp_path: Path) -> None:
    file = in_bids(tmp_path, rows(AT), inherited=True)
    with refusal("onsets seem to be in samples"):
        epochs_of(file)
    assert_samples(epochs_of(file, event_unit="samples"))
    (tmp_path / "task-look_events.tsv").write_text(rows(ONSETS), encoding="utf-8")
    assert_samples(epochs_of(file))


def test_tables_in_latin_1(tmp_path: Path) -> None:
    file = in_bids(tmp_path, rows(ONSETS))
    table = rows(ONSETS).replace("house", "Häuser").encode("latin-1")
    file.with_name("sub-01_task-look_events.tsv").write_bytes(table)
    lines = ["name\ttype\tunits", *(f"{name}\tEEG\tµV" for name in ("Fz", "Cz", "Pz", "Oz", "C3", "C4"))]
    file.with_name("sub-01_task-look_channels.tsv").write_bytes("\n".join(lines).encode("latin-1"))
    (tmp_path / "participants.tsv").write_bytes("participant_id\tname\nsub-01\tJürgen\n".encode("latin-1"))
    assert_samples(epochs_of(file, events={"face": ["face"], "house": ["Häuser"]}))
    found = proposed(tmp_path, tmp_path / "study")
    assert "40 × Häuser" not in found.lines
    assert "Häuser" in found.settings


@pytest.mark.parametrize("unit", ["ms", "samples"])
def test_init_asks_for_the_unit(tmp_path: Path, unit: str) -> None:
    for who in ("01", "02"):
        in_bids(tmp_path / "data", rows(ONSETS * 1000 if unit == "ms" else AT), who=who)
    found, file = proposed_study(tmp_path / "data", event_unit=f'"{unit}"')
    (question, *_) = found.questions
    assert f"Found: {unit}" in question
    at = int(question.split("Line ")[1].split()[0]) - 1
    assert found.settings.splitlines()[at].startswith(f'# event_unit = "{unit}"')
    runnable(file, classes=("face", "house"))


EEG = ("Fz", "Cz", "Pz", "Oz", "C3", "C4")
QUERIES = [
    "correct == 1",
    "correct != 1 or rt < 0.6",
    "side == 'left' or rt > 0.9",
    "side in ['left', 'n'] and not correct == 0",
    "word.str.startswith('a')",
    "`reaction time` < 500",
    "rt.notna()",
    "old",
]


def columns(count: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rt = np.round(rng.uniform(0.2, 1.2, count), 3)
    rt[[2, 5]] = np.nan
    found = pd.DataFrame({"condition": rng.permutation(np.resize(["face", "house"], count))})
    found["code"] = rng.permutation(np.resize([1.0, 2.0, 7.0], count))
    found["correct"] = rng.integers(0, 2, count)
    found["side"], found["rt"] = rng.choice(["left", "right"], count), rt
    found["reaction time"] = np.arange(count) * 40
    found["word"] = rng.choice(["apple", "berry", "nut"], count)
    found["old"] = rng.integers(0, 2, count).astype(bool)
    return found


def by_hand(raw: mne.io.BaseRaw, onsets: np.ndarray, tmin: float = -0.25, tmax: float = 0.5) -> np.ndarray:
    data, rate = raw.get_data(picks=list(EEG)), raw.info["sfreq"]
    at = [round(each * rate) for each in onsets]
    return np.stack([data[:, each + round(tmin * rate) : each + round(tmax * rate) + 1] for each in at])


def onsets_of(raw: mne.io.BaseRaw) -> np.ndarray:
    return np.round((1 + 1.5 * np.arange(14)) * raw.info["sfreq"]) / raw.info["sfreq"]


def in_table(folder: Path) -> tuple[str, Path, pd.DataFrame, np.ndarray]:
    raw = make_raw()
    raw.set_annotations(None)
    table = columns(14)
    onsets = onsets_of(raw)
    rows = table.assign(onset=onsets, duration=0.0, trial_type="picture")
    rows.to_csv(folder / "S1_events.tsv", sep="\t", index=False, na_rep="n/a")
    return "fif", exported(raw, folder / "S1_raw.fif").rename(folder / "S1.fif"), table, by_hand(raw, onsets)


def in_metadata(folder: Path) -> tuple[str, Path, pd.DataFrame, np.ndarray]:
    raw, table = make_raw(), columns(14)
    data = by_hand(raw, onsets_of(raw))
    events = np.c_[np.arange(14) * 300, np.zeros(14, int), np.ones(14, int)]
    info = mne.create_info(list(EEG), 128.0, "eeg")
    epochs = mne.EpochsArray(data, info, events, -0.25, {"picture": 1}, metadata=table, verbose="ERROR")
    epochs.save(folder / "S1-epo.fif", fmt="double", verbose="ERROR")
    return "fif", folder / "S1-epo.fif", table, data


def fields(table: pd.DataFrame, **more: Any) -> dict[str, Any]:
    return {**more, **{str(name).replace(" ", "_"): table[name] for name in table}}


def in_eeglab(folder: Path) -> tuple[str, Path, pd.DataFrame, np.ndarray]:
    raw, table = make_raw(), columns(14)
    onsets = onsets_of(raw)
    events = fields(table, type=["picture"] * 14, latency=onsets * 128 + 1, duration=np.zeros(14))
    file = write_eeglab(folder / "S1.set", raw.get_data(picks=list(EEG)) * 1e6, 128.0, EEG, events)
    return "eeglab", file, table, by_hand(raw, onsets)


def in_epochs_of_eeglab(folder: Path) -> tuple[str, Path, pd.DataFrame, np.ndarray]:
    """With a button behind each picture, whose fields say something else."""
    raw, table = make_raw(), columns(14)
    data = by_hand(raw, onsets_of(raw))
    both = pd.concat([table, columns(14, seed=9)]).iloc[np.arange(28).reshape(2, 14).T.ravel()]
    at = np.repeat(np.arange(14), 2) * 97 + 33 + np.tile([0, 40], 14)
    events = fields(both, type=["picture", "button"] * 14, latency=at, epoch=np.repeat(np.arange(14) + 1, 2))
    file = write_eeglab(folder / "S1.set", np.moveaxis(data, 0, 2) * 1e6, 128.0, EEG, events, start=-0.25)
    return "eeglab", file, table, data


CUT = (in_metadata, in_epochs_of_eeglab)  # epochs in the file


def read_source(kind: str, file: Path, source: Any, classes: tuple[str, ...], **settings: Any) -> Epochs:
    window: dict[str, Any] = {"tmin": None, "tmax": None} if source in CUT else {}
    return read(kind, [file], classes, picks=EEG, **window, **settings)


SOURCES = [in_table, in_metadata, in_eeglab, in_epochs_of_eeglab]


def check(
    found: Epochs, table: pd.DataFrame, data: np.ndarray, column: str, classes: tuple[str, ...]
) -> None:
    rows = table.index.to_numpy()
    expected = [classes.index(f"{each:g}" if isinstance(each, float) else each) for each in table[column]]
    np.testing.assert_array_equal(found.labels, expected)
    np.testing.assert_allclose(found.data, data[rows], rtol=1e-5, atol=1e-10)


@first_cases(2, "source", SOURCES)
@pytest.mark.parametrize("query", [None, *QUERIES])
def test_events_are_those_of_pandas(tmp_path: Path, source: Any, query: str | None) -> None:
    kind, file, table, data = source(tmp_path)
    asked = query
    if kind == "eeglab" and query is not None:
        asked = query.replace("reaction time", "reaction_time").replace("old", "old == 1")
    passing = table if query is None else table.query(query)
    classes = ("face", "house")
    found = read_source(kind, file, source, classes, event_column="condition", event_query=asked)
    check(found, passing, data, "condition", classes)


@pytest.mark.parametrize("source", SOURCES)
def test_numbers_are_classes_too_and_what_cannot_be_answered_is_said(tmp_path: Path, source: Any) -> None:
    kind, file, table, data = source(tmp_path)
    found = read_source(kind, file, source, ("a", "b"), event_column="code", events={"a": [1], "b": [2]})
    check(found, table[table["code"] < 3].replace({"code": {1.0: "a", 2.0: "b"}}), data, "code", ("a", "b"))
    asked = partial(refused, partial(read, kind), [file], event_column="condition")
    if source in (in_metadata, in_eeglab):  # as the others
        return
    for wrong in ("corect == 1", "correct ==", "1 +", "rt", "@os.getcwd() == 1", "correct"):
        asked("query of events cannot be answered|no event passes", wrong, event_query=wrong)
    asked("no event passes", "true for none of 14 rows", event_query="correct == '1'")
    missing = "no such event column|cannot be read"
    refused(partial(read, kind), [file], missing, "condition", event_column="cond")


def test_stretches_of_a_table_pass_any_query(tmp_path: Path) -> None:
    _, file, table, _ = in_table(tmp_path)
    rows = pd.read_csv(tmp_path / "S1_events.tsv", sep="\t")
    mark = {"onset": rows["onset"][3] - 0.1, "duration": 0.3, "condition": "BAD_move"}
    marked = pd.concat([rows, pd.DataFrame([mark])])
    marked.to_csv(tmp_path / "S1_events.tsv", sep="\t", index=False, na_rep="n/a")
    found = read("fif", [file], ("face", "house"), event_column="condition", event_query="code > 0")
    assert len(found.labels) == 13
    assert found.accounts[0]["dropped"][0]["reason"] == "annotated as BAD_move"
    assert len(table) == 14


@pytest.mark.parametrize("asked", [{"event_column": "x"}, {"event_query": "x == 1"}])
def test_recordings_without_columns_are_refused(tmp_path: Path, asked: dict[str, str]) -> None:
    file = exported(make_raw(), tmp_path / "S1_raw.fif")
    with refusal("events have no columns", field=f"input.{next(iter(asked))}"):
        read("fif", [file], **asked)
    rows = ["onset\ttrial_type\tx", *(f"{2 + at}\t{('face', 'house')[at % 2]}\t1" for at in range(6))]
    (tmp_path / "S1_raw_events.tsv").write_text("\n".join(rows))
    if "event_query" in asked:
        assert len(read("fif", [file], **asked).labels) > 3


def in_pieces(seconds: float, pieces: int = 14) -> mne.io.BaseRaw:
    """A trial in each of some pieces, 0.25 s behind its beginning; MNE joins them."""
    raws = []
    for number in range(pieces):
        raw = make_raw(number).crop(0, seconds, include_tmax=False)
        raw.set_annotations(mne.Annotations(0.25, 0, ["face", "house"][number % 2]))
        raws.append(raw)
    return mne.concatenate_raws(raws, verbose="ERROR")


@pytest.mark.parametrize("more", [{}, {"resample": 64.0}])
def test_all_trials_beyond_an_amplitude_are_counted(tmp_path: Path, more: dict[str, Any]) -> None:
    """As MNE's drop log has them."""
    raw = make_raw()
    file = exported(raw, tmp_path / "S1_raw.fif")
    steps = {"reject": {"eeg": 2e-6}, **more}
    log = direct(raw, reject={"eeg": 2e-6}).drop_log
    by = {name: sum(name in each for each in log) for name in raw.ch_names}
    most = max(by, key=lambda name: by[name])
    with (
        pytest.warns(UserWarning, match="15 × amplitude|14 of 14"),
        refusal("all trials of face, house", f"{most} {by[most]}", field="input.preprocessing.reject"),
    ):
        read("fif", [file], preprocessing=steps)
    assert len(read("fif", [file], preprocessing={**steps, "reject": {"eeg": 1e-3}}).labels) == 13


@pytest.mark.parametrize("pieces", [1, 14])
def test_epochs_that_end_a_sample_too_late_are_told_where_to_end(tmp_path: Path, pieces: int) -> None:
    """Pieces of one second, cut to their last sample and one more; the hint is followed."""
    raw = in_pieces(1.0)
    if pieces == 1:  # the end of the recording alone
        raw = make_raw().crop(0, 20.0, include_tmax=False)
        raw.set_annotations(mne.Annotations([1, 3, 5, 19.25], 0, ["face", "house", "face", "house"]))
    file = exported(raw, tmp_path / "S1_raw.fif")
    expected = 96 - 1  # samples behind the event
    hint = f"input.tmax = {expected / 128:.7g}"
    if pieces > 1:
        with pytest.warns(UserWarning, match=hint), refusal("", "7 of 7 face (7 × across a gap", hint):
            read("fif", [file], tmax=0.75)
        with pytest.warns(UserWarning, match="were left out"), refusal("", "input.tmin, input.tmax"):
            read("fif", [file], tmax=1.5)  # far too long
    else:
        with pytest.warns(UserWarning, match=hint):
            read("fif", [file], tmax=0.75)
    found = read("fif", [file], tmax=float(hint.split(" = ")[1]))
    whole = raw.get_data(picks=[*raw.ch_names[:6]])
    events = np.isin(raw.annotations.description, ["face", "house"])
    at = np.sort(raw.time_as_index(raw.annotations.onset[events]))
    assert len(found.labels) == len(at)
    np.testing.assert_array_equal(found.data[-1], whole[:, at[-1] - 32 : at[-1] + expected + 1])


def same(one: Epochs, other: Epochs) -> None:
    np.testing.assert_array_equal(one.data, other.data)
    np.testing.assert_array_equal(one.labels, other.labels)


def test_an_event_that_is_marked_twice_counts_once(tmp_path: Path) -> None:
    raw = make_raw()
    once = read("fif", [exported(raw, tmp_path / "once_raw.fif")])
    onsets, names = make_raw().annotations.onset, make_raw().annotations.description
    for name, number in (("face", 0), ("house", 1), ("house", 1), ("face", 6)):
        raw.annotations.append(onsets[names == name][number], 0, name)
    with pytest.warns(UserWarning, match="4 of 18 events are at the sample of another one of their class"):
        twice = read("fif", [exported(raw, tmp_path / "twice_raw.fif")])
    same(once, twice)
    raw = make_raw()  # under two names
    raw.annotations.append(raw.annotations.onset[raw.annotations.description == "face"], 0, "face/famous")
    with pytest.warns(UserWarning, match="7 of 21 events"):
        same(once, read("fif", [exported(raw, tmp_path / "other_raw.fif")]))


def test_one_loose_channel_can_be_dropped(tmp_path: Path) -> None:
    raw = make_raw()
    raw._data[2] *= 100
    file = exported(raw, tmp_path / "S1_raw.fif")
    with pytest.warns(UserWarning, match="were left out"), refusal("", "input.drop = ['Pz']"):
        read("fif", [file], preprocessing={"reject": {"eeg": 3e-4}})
    assert len(read("fif", [file], preprocessing={"reject": {"eeg": 3e-4}}, drop=("Pz",)).labels) == 13
