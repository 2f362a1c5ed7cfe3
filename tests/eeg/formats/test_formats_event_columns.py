"""Classes by columns of events, and events chosen by a query: what pandas and MNE make of the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mne
import numpy as np
import pandas as pd
import pytest
from cases import first_cases
from eeg_recordings import exported, make_raw, read
from scipy.io import savemat

from shortloop.base.errors import InputError
from shortloop.eeg.data import Epochs

pytestmark = pytest.mark.filterwarnings("ignore:S1, ")
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
    return pd.DataFrame(
        {
            "condition": rng.permutation(np.resize(["face", "house"], count)),
            "code": rng.permutation(np.resize([1.0, 2.0, 7.0], count)),
            "correct": rng.integers(0, 2, count),
            "side": rng.choice(["left", "right"], count),
            "rt": rt,
            "reaction time": np.arange(count) * 40,
            "word": rng.choice(["apple", "berry", "nut"], count),
            "old": rng.integers(0, 2, count).astype(bool),
        }
    )


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


def eeglab_fields(table: pd.DataFrame, **more: Any) -> np.ndarray:
    values = {**more, **{str(name).replace(" ", "_"): table[name] for name in table}}
    events = np.zeros(len(table), dtype=[(name, object) for name in values])
    for name, column in values.items():
        for at, value in enumerate(column):
            missing = isinstance(value, float) and np.isnan(value)
            events[name][at] = (
                np.empty((0, 0)) if missing else float(value) if not isinstance(value, str) else value
            )
    return events


def head(channels: int, points: int, trials: int) -> dict[str, Any]:
    places = np.zeros(channels, dtype=[("labels", object)])
    places["labels"] = EEG
    none = ("icawinv", "icasphere", "icaweights", "icachansind", "icaact", "epoch")
    sizes = {"nbchan": float(channels), "pnts": float(points), "trials": float(trials), "srate": 128.0}
    ends = {"xmin": -0.25 if trials > 1 else 0.0, "xmax": 0.5 if trials > 1 else points / 128}
    return {"setname": "x", "ref": "common", "chanlocs": places, **sizes, **ends, **{key: [] for key in none}}


def in_eeglab(folder: Path) -> tuple[str, Path, pd.DataFrame, np.ndarray]:
    raw, table = make_raw(), columns(14)
    onsets = onsets_of(raw)
    data = raw.get_data(picks=list(EEG)).astype(np.float32)
    fields = eeglab_fields(table, type=["picture"] * 14, latency=onsets * 128 + 1, duration=np.zeros(14))
    whole = {**head(6, data.shape[1], 1), "data": data * np.float32(1e6), "event": fields}
    savemat(folder / "S1.set", {"EEG": whole}, appendmat=False)
    return "eeglab", folder / "S1.set", table, by_hand(raw, onsets)


def in_epochs_of_eeglab(folder: Path) -> tuple[str, Path, pd.DataFrame, np.ndarray]:
    """With a button behind each picture, whose fields say something else."""
    raw, table = make_raw(), columns(14)
    data = by_hand(raw, onsets_of(raw))
    other = columns(14, seed=9)
    both = pd.concat([table, other]).iloc[np.arange(28).reshape(2, 14).T.ravel()]
    kinds = ["picture", "button"] * 14
    at = np.repeat(np.arange(14), 2) * 97 + 33 + np.tile([0, 40], 14)
    fields = eeglab_fields(
        both, type=kinds, latency=at.astype(float), epoch=np.repeat(np.arange(14) + 1.0, 2)
    )
    names = [name for name in fields.dtype.names or () if name not in ("latency", "epoch")]
    epochs = np.zeros(
        14, dtype=[(f"event{name}", object) for name in [*names, "latency"]] + [("event", object)]
    )
    for number in range(14):
        own = fields[2 * number : 2 * number + 2]
        epochs["event"][number] = np.array([[2.0 * number + 1, 2.0 * number + 2]])
        epochs["eventlatency"][number] = np.array([0.0, 40 / 0.128], dtype=object)[None]
        for name in names:
            cell = np.empty((1, 2), dtype=object)
            cell[0, 0], cell[0, 1] = own[name]
            epochs[f"event{name}"][number] = cell
    cube = np.moveaxis(data, 0, 2).astype(np.float32) * np.float32(1e6)
    whole = {**head(6, 97, 14), "data": cube, "event": fields, "epoch": epochs}
    savemat(folder / "S1.set", {"EEG": whole}, appendmat=False)
    return "eeglab", folder / "S1.set", table, data


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
    whole: dict[str, Any] = (
        {"tmin": None, "tmax": None} if source in (in_metadata, in_epochs_of_eeglab) else {}
    )
    passing = table if query is None else table.query(query)
    settings: dict[str, Any] = {"event_column": "condition", "event_query": asked, "picks": EEG, **whole}
    found = read(kind, [file], ("face", "house"), **settings)
    check(found, passing, data, "condition", ("face", "house"))


@pytest.mark.parametrize("source", SOURCES)
def test_numbers_are_classes_too(tmp_path: Path, source: Any) -> None:
    kind, file, table, data = source(tmp_path)
    whole: dict[str, Any] = (
        {"tmin": None, "tmax": None} if source in (in_metadata, in_epochs_of_eeglab) else {}
    )
    events = {"a": [1], "b": [2]}
    found = read(kind, [file], ("a", "b"), event_column="code", events=events, picks=EEG, **whole)
    chosen = table[table["code"] < 3].replace({"code": {1.0: "a", 2.0: "b"}})
    check(found, chosen, data, "code", ("a", "b"))


@pytest.mark.parametrize("source", SOURCES)
def test_what_cannot_be_answered_is_said(tmp_path: Path, source: Any) -> None:
    kind, file, _, _ = source(tmp_path)

    def expect(problem: str, **settings: Any) -> InputError:
        with pytest.raises(InputError, match=problem) as caught:
            read(kind, [file], ("face", "house"), **{"event_column": "condition", **settings})
        assert str(file) in str(caught.value.file)
        return caught.value

    for wrong in ("corect == 1", "correct ==", "1 +", "rt", "@os.getcwd() == 1", "correct"):
        assert wrong in str(
            expect("query of events cannot be answered|no event passes", event_query=wrong).found
        )
    nobody = expect("no event passes the query", event_query="correct == '1'")
    assert "correct == '1': true for none of 14 rows" in str(nobody.found)
    assert "condition" in str(expect("no such event column|cannot be read", event_column="cond").message)


def test_stretches_of_a_table_pass_any_query(tmp_path: Path) -> None:
    _, file, table, _ = in_table(tmp_path)
    rows = pd.read_csv(tmp_path / "S1_events.tsv", sep="\t")
    mark = {"onset": rows["onset"][3] - 0.1, "duration": 0.3, "condition": "BAD_move"}
    pd.concat([rows, pd.DataFrame([mark])]).to_csv(
        tmp_path / "S1_events.tsv", sep="\t", index=False, na_rep="n/a"
    )
    found = read("fif", [file], ("face", "house"), event_column="condition", event_query="code > 0")
    assert len(found.labels) == 13
    assert found.accounts[0]["dropped"][0]["reason"] == "annotated as BAD_move"
    assert len(table) == 14


@pytest.mark.parametrize("asked", [{"event_column": "x"}, {"event_query": "x == 1"}])
def test_recordings_without_columns_are_refused(tmp_path: Path, asked: dict[str, str]) -> None:
    file = exported(make_raw(), tmp_path / "S1_raw.fif")
    with pytest.raises(InputError, match="events have no columns") as caught:
        read("fif", [file], **asked)
    assert caught.value.field == f"input.{next(iter(asked))}"
    rows = ["onset\ttrial_type\tx", *(f"{2 + at}\t{('face', 'house')[at % 2]}\t1" for at in range(6))]
    (tmp_path / "S1_raw_events.tsv").write_text("\n".join(rows))
    if "event_query" in asked:
        assert len(read("fif", [file], **asked).labels) > 3
