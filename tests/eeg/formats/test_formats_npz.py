"""Epochs and features that NumPy, MNE or tables hold: what was saved is read, and what is wrong is named."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import eeg_recordings
import mne
import numpy as np
import pandas as pd
import pytest
from eeg_recordings import refused
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.eeg.data import Features
from shortloop.eeg.formats.arrays import ArraysInput
from shortloop.eeg.formats.read import read_features
from shortloop.eeg.formats.table import TableInput

N170 = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "n170"
EVENTS = {"house": ("0",), "face": ("1",)}


def arrays(seed: int = 0, **other: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    y = np.array([0, 1, 1, 0, 2], dtype=np.int8)
    content = {
        "X": rng.standard_normal((5, 3, 8)).astype(np.float32),
        "y": y,
        "t": np.arange(-2, 6) / 128,
        "ch": np.array(["TP9", "AF7", "AF8"]),
    }
    return {name: value for name, value in {**content, **other}.items() if value is not None}


def save(folder: Path, content: dict[str, Any], name: str = "a.npz") -> Path:
    np.savez(folder / name, **content)
    return folder / name


read = partial(
    eeg_recordings.read, "npz", classes=("house", "face"), participant="s01", events=EVENTS, unit="µV"
)
expect = partial(refused, read)


def test_trials_of_no_class_are_left_out(tmp_path: Path) -> None:
    content = arrays()
    epochs = read([save(tmp_path, content)], drop=("AF7",))
    np.testing.assert_array_equal(epochs.data, content["X"][:4, [0, 2]])
    assert epochs.data.dtype == np.float64
    assert epochs.labels.tolist() == [0, 1, 1, 0]
    assert (epochs.channels, epochs.sfreq, epochs.unit) == (("TP9", "AF8"), 128.0, "µV")
    np.testing.assert_array_equal(epochs.times, content["t"])


@pytest.mark.parametrize(
    "y", [["0", "1", "1", "0", "2"], [0.0, 1.0, 1.0, 0.0, 2.5], [b"0", b"1", b"1", b"0", b"2"]]
)
def test_labels_of_any_type_are_compared_as_text(tmp_path: Path, y: list[Any]) -> None:
    assert read([save(tmp_path, arrays(y=np.array(y)))]).labels.tolist() == [0, 1, 1, 0]
    named = save(tmp_path, arrays(y=np.array(["face", "house", "house", "cue", "face"])))
    assert read([named], events={}).labels.tolist() == [1, 0, 0, 1]


def test_sessions_are_joined_and_must_agree(tmp_path: Path) -> None:
    files = [save(tmp_path, arrays(seed), f"{seed}.npz") for seed in (2, 1)]
    epochs = read(files)
    np.testing.assert_array_equal(epochs.data, np.concatenate([read([file]).data for file in files]))
    assert epochs.trial_info["file"].tolist() == [0] * 4 + [1] * 4
    later = save(tmp_path, arrays(3, t=np.arange(-1, 7) / 128), "l.npz")
    expect([files[0], later], "differ in times", "as in 2.npz")


def test_trials_that_are_in_two_files_are_used_once_and_not_under_two_classes(tmp_path: Path) -> None:
    first, second = arrays(0), arrays(1)
    second["X"][:2] = first["X"][[3, 1]]
    files = [save(tmp_path, first), save(tmp_path, second, "b.npz")]
    with pytest.warns(UserWarning, match="s01, b.npz: 2 of 4 trials are there twice, .* of a.npz"):
        epochs = read(files)
    np.testing.assert_array_equal(epochs.data, np.concatenate([first["X"][:4], second["X"][2:4]]))
    assert epochs.labels.tolist() == [0, 1, 1, 0, 1, 0]
    assert epochs.trial_info["file"].tolist() == [0] * 4 + [1] * 2
    turned = arrays(0, y=np.array([1, 0, 0, 1, 2]))
    files = [save(tmp_path, arrays(0)), save(tmp_path, turned, "b.npz")]
    expect(files, "under different classes", "4 trials", "trial 1 of a.npz")
    np.save(tmp_path / "a.npy", np.zeros(3))
    expect([tmp_path / "a.npy"], "not of the format that the study says", "numpy.savez")


INFINITE = arrays()["X"]
INFINITE[3, 1, 2:5] = np.inf
UNEVEN = [np.zeros(8), -np.arange(8) / 128, np.r_[0, np.arange(2, 9)] / 128, np.full(8, np.nan)]
WRONG: list[tuple[dict[str, Any], str, tuple[str, ...]]] = [
    *(({key: None}, f"no array {key}\n", ("X, y, t, ch",)) for key in ("X", "y", "t", "ch")),
    *(({"y": np.zeros(shape, int)}, "do not fit together", ()) for shape in (4, (5, 1))),
    ({"t": np.arange(9) / 128}, "do not fit together", ()),
    ({"ch": np.array(["a", "b"])}, "do not fit together", ()),
    ({"X": np.zeros((5, 24))}, "do not fit together", ("(trials, channels, samples)",)),
    *(({"t": each}, "times do not", ()) for each in UNEVEN),
    ({"X": np.zeros((5, 3, 8), complex)}, "real numbers", ()),
    ({"t": np.array(list("abcdefgh"))}, "real numbers", ()),
    ({"ch": np.array(["a", "b", 3], dtype=object)}, "are Python objects", ("ch.astype(str)",)),
    ({"ch": np.array(["a", "b", "a"])}, "two channels have the same name", ("a",)),
    ({"X": INFINITE}, "not finite", ("3 of 96", "trial 4, channel AF7")),
    ({"y": np.zeros(5, int)}, "no trials of face", ("5 × 0",)),
]


@pytest.mark.parametrize(("other", "problem", "parts"), WRONG)
def test_wrong_arrays(tmp_path: Path, other: dict[str, Any], problem: str, parts: tuple[str, ...]) -> None:
    expect([save(tmp_path, arrays(**other))], problem, *parts)


@pytest.mark.skipif(not N170.is_dir(), reason="needs ../shared/data/n170")
def test_real_sessions_are_what_numpy_reads() -> None:
    file = N170 / "group_N170_s02_ses1.npz"
    epochs = read([file])
    with np.load(file) as content:
        np.testing.assert_array_equal(epochs.data, content["X"])
        np.testing.assert_array_equal(epochs.labels, content["y"])
    assert epochs.sfreq == 128.0
    # The N170: the average of faces is more negative than that of houses over the temporal channels.
    epochs = read([N170 / "group_N170_s01_ses1.npz"])
    temporal = epochs.data[:, [0, 3]][:, :, (epochs.times > 0.14) & (epochs.times < 0.22)]
    house, face = (temporal[epochs.labels == label].mean(axis=0).min(axis=1) for label in (0, 1))
    assert (face < house - 1).all()


@pytest.mark.skipif(not N170.is_dir(), reason="needs ../shared/data/n170")
def test_real_sessions_that_share_trials() -> None:
    files = [N170 / f"group_N170_s03_ses{number}.npz" for number in (1, 2, 3)]
    with pytest.warns(UserWarning, match="s03_ses2.npz: 180 of 340 trials are there twice, .*_ses1.npz"):
        epochs = read(files)
    assert len({trial.tobytes() for trial in epochs.data}) == len(epochs.data) == 643


N400 = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "n400" / "subject04-epo.fif"
CLASSES = ("face", "house")
EVENT_ID = {"face/big": 1, "face/small": 2, "house/big": 3, "cue": 4}
CODES = [1, 3, 2, 4, 3, 1]


def make(seed: int = 0, sfreq: float = 50.0, names: Sequence[str] = ("Fz", "Cz", "EOG")) -> mne.EpochsArray:
    rng = np.random.default_rng(seed)
    info = mne.create_info(list(names), sfreq, ["eog" if name == "EOG" else "eeg" for name in names])
    events = np.c_[np.arange(6) * 100, np.zeros(6), CODES].astype(int)
    metadata = pd.DataFrame({"rt": rng.random(6), "word": list("abcdef"), "n": np.arange(6)})
    data = rng.standard_normal((6, len(names), 30)) * 1e-5
    return mne.EpochsArray(data, info, events, -0.2, EVENT_ID, metadata=metadata, verbose="ERROR")


def save_of_fif(folder: Path, epochs: mne.EpochsArray, name: str = "a-epo.fif") -> Path:
    epochs.save(folder / name, fmt="double", overwrite=True, verbose="ERROR")
    return folder / name


read_of_fif = partial(eeg_recordings.read, "fif", tmin=None, tmax=None)


def test_round_trip_by_hierarchical_names(tmp_path: Path) -> None:
    saved = make()
    epochs = read_of_fif([save_of_fif(tmp_path, saved)])
    keep = [0, 1, 2, 4, 5]
    np.testing.assert_array_equal(epochs.data, saved.get_data()[keep][:, :2])
    assert epochs.labels.tolist() == [0, 1, 0, 1, 0]
    assert (epochs.channels, epochs.sfreq) == (("Fz", "Cz"), 50.0)
    np.testing.assert_allclose(epochs.times, np.arange(-10, 20) / 50)
    names = {code: name for name, code in EVENT_ID.items()}
    assert epochs.trial_info["event"].tolist() == [names[CODES[number]] for number in keep]
    np.testing.assert_allclose(epochs.trial_info["rt"], saved.metadata["rt"].to_numpy()[keep], rtol=1e-8)
    assert epochs.trial_info["word"].tolist() == ["a", "b", "c", "e", "f"]
    assert all(values.dtype != object for values in epochs.trial_info.values())


def test_events_name_the_classes_of_files_that_are_joined_and_must_agree(tmp_path: Path) -> None:
    """No event is of two, and none is of no event."""
    file, two = save_of_fif(tmp_path, make()), {"face": ("face",), "house": ("big",)}
    refused(read_of_fif, [file], "two classes", "face/big in face and house", events=two)
    refused(read_of_fif, [file], "run phase has no trials of dog", "2 × house/big", classes=("face", "dog"))
    events = {"big": ("face/big", "house"), "cue": ("cue",)}
    assert read_of_fif([file], classes=("big", "cue"), events=events).labels.tolist() == [0, 0, 1, 0, 0]
    first, second = save_of_fif(tmp_path, make(0)), save_of_fif(tmp_path, make(1), "b-epo.fif")
    assert len(read_of_fif([first, second]).trial_info["rt"]) == 10
    other = save_of_fif(tmp_path, make(2, sfreq=100.0), "c-epo.fif")
    refused(read_of_fif, [first, other], "differ in sampling rate", "100 Hz")
    named = save_of_fif(tmp_path, make(3, names=("Fz", "Pz", "EOG")), "d-epo.fif")
    refused(read_of_fif, [first, named], "differ in channels", "Pz")
    shorter = save_of_fif(tmp_path, make(4).crop(tmax=0.2), "e-epo.fif")
    refused(read_of_fif, [first, shorter], "differ in times", "21 samples", "30 samples")


@pytest.mark.skipif(not N400.is_file(), reason="needs ../shared/data/n400")
def test_real_epochs_are_what_mne_reads() -> None:
    epochs = read_of_fif([N400], classes=("related", "unrelated"))
    direct = mne.read_epochs(N400, verbose="ERROR")
    np.testing.assert_array_equal(epochs.data, direct.get_data())
    np.testing.assert_array_equal(epochs.labels, direct.events[:, 2] - 6)
    assert epochs.channels == tuple(direct.ch_names)
    np.testing.assert_array_equal(epochs.times, direct.times)
    # The other order of classes turns the labels, not the trials.
    turned = read_of_fif([N400], classes=("unrelated", "related"))
    np.testing.assert_array_equal(turned.labels, 1 - epochs.labels)
    np.testing.assert_array_equal(turned.data, epochs.data)


def read_of_features(file: Path, labels: Path | None = None, classes: tuple[str, ...] = CLASSES) -> Features:
    how: dict[str, Any] = {"kind": "power", "participant": "S1", "phase": "study", "classes": classes}
    return read_features(ArraysInput(format="arrays", unit="µV"), file, labels, **how)


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((12, 4, 3))


@pytest.fixture
def y() -> np.ndarray:
    return np.array(["house", "face", "other"] * 4)


def test_an_archive(tmp_path: Path, X: np.ndarray, y: np.ndarray) -> None:
    file = tmp_path / "S1.npz"
    np.savez_compressed(file, X=X.astype("f4"), y=y, t=[0.1, 0.2, 0.3], names=[*"abcd"])
    found = read_of_features(file)
    kept = y != "other"
    np.testing.assert_array_equal(found.data, X.astype("f4")[kept].transpose(2, 0, 1))
    assert [CLASSES[label] for label in found.labels] == y[kept].tolist()
    assert (found.times.tolist(), found.time_unit, found.unit) == ([0.1, 0.2, 0.3], "s", "µV")
    assert found.names == tuple("abcd")
    np.savez(file, X=X[..., 0], y=y)
    one = read_of_features(file)
    np.testing.assert_array_equal(one.data, X[kept, :, 0][np.newaxis])
    assert (one.times.tolist(), one.time_unit, one.names[-1]) == ([0.0], "bin", "feature 4")


def test_an_array_for_each(tmp_path: Path, X: np.ndarray, y: np.ndarray) -> None:
    file, labels = tmp_path / "S1_X.npy", tmp_path / "S1_y.npy"
    np.save(file, np.asfortranarray(X))
    numbers = (y == "face").astype(float)
    np.save(labels, numbers[:, np.newaxis])
    found = read_of_features(file, labels, ("0", "1"))
    np.testing.assert_array_equal(found.data, X.transpose(2, 0, 1))
    np.testing.assert_array_equal(found.labels, numbers)
    with refusal("the file has no array y", "input.labels"):
        read_of_features(file)


class Canary:
    """What it leaves when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_python_objects_are_refused_and_not_loaded(tmp_path: Path, X: np.ndarray, y: np.ndarray) -> None:
    sang = tmp_path / "sang"
    bird = np.array([Canary(sang)] * 12, dtype=object)
    whole, labels = tmp_path / "S1.npy", tmp_path / "y.npy"
    np.save(whole, X)
    np.save(labels, bird, allow_pickle=True)
    files: list[tuple[Path, Path | None]] = [(whole, labels)]
    for key in ("X", "y", "t", "names"):
        file = tmp_path / f"{key}.npz"
        np.savez(file, **{"X": X, "y": y, key: bird})  # type: ignore[arg-type]
        files.append((file, None))
    alone, pickled = tmp_path / "alone.npy", tmp_path / "pickled.npy"
    np.save(alone, bird, allow_pickle=True)
    pickled.write_bytes(pickle.dumps(bird))
    for file, beside in [*files, (alone, labels), (pickled, labels)]:
        with pytest.raises(InputError):
            read_of_features(file, beside)
        assert not sang.exists(), file
    with refusal("labels are Python objects", hint="save it again with y.astype(str)"):
        read_of_features(tmp_path / "y.npz")
    np.load(labels, allow_pickle=True)
    assert sang.exists()  # it would have sung


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"y": np.array(["face", "house"] * 5)}, "do not fit together"),
        ({"X": np.zeros(12)}, "do not fit together"),
        ({"names": np.array(["a", "b"])}, "do not fit together"),
        ({"t": np.arange(5.0)}, "do not fit together"),
        ({"t": np.array([0.0, 0.0, 1.0])}, "do not increase"),
        ({"t": np.array([-200.0, 0.0, 200.0])}, "cannot be meant in seconds"),
        ({"X": np.full((12, 4, 3), 1j)}, "real numbers"),
        ({"X": np.full((12, 4, 3), np.nan)}, "not finite"),
        ({"y": np.array(["Face", "house"] * 6)}, "no trials of face"),
    ],
)
def test_wrong_files(tmp_path: Path, X: np.ndarray, y: np.ndarray, change: dict[str, Any], said: str) -> None:
    file = tmp_path / "S1.npz"
    np.savez(file, **{"X": X, "y": y, **change})
    with refusal(said, file=file, participant="S1"):
        read_of_features(file)


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, X: np.ndarray, y: np.ndarray) -> None:
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    whole = (tmp_path / "X.npy").read_bytes()
    (tmp_path / "X.npy").write_bytes(whole[:-9])
    with refusal("the file cannot be read", "mmap length"):
        read_of_features(tmp_path / "X.npy", tmp_path / "y.npy")


@pytest.mark.parametrize("kind", ["u1", "i1", "u8"])
def test_differences_of_small_numbers_do_not_overflow(tmp_path: Path, kind: str) -> None:
    X = np.random.default_rng(0).permuted(np.tile(np.arange(0, 120, 4), (4, 1)), axis=1).T.astype(kind)
    np.savez(tmp_path / "S1.npz", X=X, y=np.tile(CLASSES, 15))
    np.testing.assert_array_equal(read_of_features(tmp_path / "S1.npz").data[0], X)


NAMES = ("alpha Cz", "beta Cz")


@pytest.fixture
def table() -> pd.DataFrame:
    """Two participants with two phases and two runs each, in no order."""
    rng = np.random.default_rng(2)
    rows = [
        {"who": who, "part": part, "run": run, "label": label, **dict(zip(NAMES, rng.standard_normal(2)))}
        for who in ("1", "Zoë")
        for part in ("study", "test")
        for run in (1, 2)
        for label in ("face", "house", "other")
        for _ in range(3)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=0)


def read_table(
    file: Path, who: str = "Zoë", classes: tuple[str, ...] = ("face", "house"), **more: Any
) -> Features:
    settings = {"format": "table", "participant": "who", "phase": "part", "drop": ["run"], **more}
    how: dict[str, Any] = {"kind": "power", "participant": who, "phase": "test", "classes": classes}
    return read_features(TableInput.model_validate(settings), file, **how)


@pytest.mark.parametrize(("separator", "decimal"), [(",", "."), (";", ","), ("\t", ".")])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_phase_rows(tmp_path: Path, table: pd.DataFrame, separator: str, decimal: str, encoding: str) -> None:
    file = tmp_path / "features.csv"
    table.to_csv(file, sep=separator, decimal=decimal, encoding=encoding, index=False)
    for who in ("1", "Zoë"):
        found = read_table(file, who, separator=separator, decimal=decimal)
        own = table[(table.who == who) & (table.part == "test") & (table.label != "other")]
        np.testing.assert_array_equal(found.data, own[[*NAMES]].to_numpy()[np.newaxis])
        assert [("face", "house")[each] for each in found.labels] == own.label.tolist()
        assert (found.names, found.time_unit, found.unit) == (NAMES, "bin", "a.u.")


def test_a_file_for_each_with_classes_that_are_numbers(tmp_path: Path, table: pd.DataFrame) -> None:
    own = table[(table.who == "1") & (table.part == "test")].drop(columns=["who", "part"])
    own["label"] = own["label"].map({"face": 1.0, "house": 2.0, "other": 3.0})
    own.to_csv(tmp_path / "1.csv", index=False)
    found = read_table(tmp_path / "1.csv", "1", ("1", "2", "3"), participant=None, phase=None)
    np.testing.assert_array_equal(found.labels + 1, own["label"])


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("who", "x", "has no row of Zoë"),
        ("part", "study", "has no row of the phase test"),
        ("label", "", "rows have no class"),
        ("run", None, "there is no column 'run'"),
        ("label", None, "there is no column 'label'"),
        ("comment", "good", "values that are not numbers"),
        ("alpha Cz", np.nan, "not finite"),
        ("label", "Face", "no trials of face, house"),
    ],
)
def test_wrong_tables(tmp_path: Path, table: pd.DataFrame, column: str, values: Any, said: str) -> None:
    file = tmp_path / "features.csv"
    without = table.drop(columns=column, errors="ignore")
    changed = without if values is None else without.assign(**{column: np.full(len(table), values)})
    changed.to_csv(file, index=False)
    with refusal(said, file=file, participant="Zoë"):
        read_table(file)


def test_columns_that_tell_the_class_are_refused(tmp_path: Path, table: pd.DataFrame) -> None:
    """All classes, one alone, or the place of a trial among those of its class."""
    file = tmp_path / "features.csv"
    many = pd.concat([table] * 4).reset_index(drop=True)
    for name in NAMES:
        many[name] = np.random.default_rng(3).standard_normal(len(many))
    onsets = np.cumsum(np.random.default_rng(0).uniform(1, 2, len(many)))
    codes = table.label.map({"face": 11, "house": 12, "other": 13})
    for changed, field, said in (
        (table.assign(code=codes), "code", "is the class in"),
        (many.assign(is_face=(many.label == "face").astype(int)), "is_face", "is the class in"),
        (many.sort_values("label").assign(onset=onsets), "onset", "grows or falls"),
    ):
        changed.to_csv(file, index=False)
        with refusal(said, field=field):
            read_table(file, classes=("face", "house", "other"))
    table.sort_values(["who", "part", "label"]).reset_index(drop=True).to_csv(file)
    with refusal("counts the trials", field="Unnamed: 0"):
        read_table(file)
    assert read_table(file, drop=["run", "Unnamed: 0"]).names == NAMES
    with refusal("the table has no features"):
        read_table(file, drop=["run", "Unnamed: 0", *NAMES])


def test_values_without_a_name_move_no_column(tmp_path: Path, table: pd.DataFrame) -> None:
    file = tmp_path / "features.csv"
    table.to_csv(file, index=False)
    names, *rows = file.read_text(encoding="utf-8").splitlines()
    expected = read_table(file)
    file.write_text("\n".join([names, *(f"{row}," for row in rows)]), encoding="utf-8")
    np.testing.assert_array_equal(read_table(file).data, expected.data)
    file.write_text("\n".join([names, *(f"{row},5" for row in rows)]), encoding="utf-8")
    with refusal("a row has more values than the line of names has names"):
        read_table(file)
    of_r = [f'"{number}",{row}' for number, row in enumerate(rows, start=1)]  # rows have names, as in R
    file.write_text("\n".join([names, *of_r]), encoding="utf-8")
    np.testing.assert_array_equal(read_table(file).data, expected.data)


@pytest.mark.parametrize("of", ["class", "count"])
def test_features_that_are_the_class_or_place(tmp_path: Path, X: np.ndarray, y: np.ndarray, of: str) -> None:
    X[:, 2] = (np.unique(y, return_inverse=True)[1] if of == "class" else np.arange(12))[:, np.newaxis]
    file = tmp_path / "S1.npz"
    np.savez(file, X=X, y=y, names=[*"abcd"])
    with refusal("is the class in other words" if of == "class" else "counts the trials", field="c"):
        read_of_features(file)
