"""Ready-made features in arrays of NumPy, of which no pickle is ever loaded, and in tables."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.eeg.data import Features
from shortloop.eeg.formats.arrays import ArraysInput
from shortloop.eeg.formats.read import read_features
from shortloop.eeg.formats.table import TableInput

CLASSES = ("face", "house")


def read(file: Path, labels: Path | None = None, classes: tuple[str, ...] = CLASSES) -> Features:
    settings = ArraysInput(format="arrays", unit="µV")
    return read_features(
        settings, file, labels, kind="power", participant="S1", phase="study", classes=classes
    )


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((12, 4, 3))


@pytest.fixture
def y() -> np.ndarray:
    return np.array(["house", "face", "other"] * 4)


def test_an_archive(tmp_path: Path, X: np.ndarray, y: np.ndarray) -> None:
    file = tmp_path / "S1.npz"
    np.savez_compressed(file, X=X.astype("f4"), y=y, t=[0.1, 0.2, 0.3], names=[*"abcd"])
    found = read(file)
    kept = y != "other"
    np.testing.assert_array_equal(found.data, X.astype("f4")[kept].transpose(2, 0, 1))
    assert [CLASSES[label] for label in found.labels] == y[kept].tolist()
    assert (found.times.tolist(), found.time_unit, found.unit) == ([0.1, 0.2, 0.3], "s", "µV")
    assert found.names == tuple("abcd")
    np.savez(file, X=X[..., 0], y=y)
    one = read(file)
    np.testing.assert_array_equal(one.data, X[kept, :, 0][np.newaxis])
    assert (one.times.tolist(), one.time_unit, one.names[-1]) == ([0.0], "bin", "feature 4")


def test_an_array_for_each(tmp_path: Path, X: np.ndarray, y: np.ndarray) -> None:
    file, labels = tmp_path / "S1_X.npy", tmp_path / "S1_y.npy"
    np.save(file, np.asfortranarray(X))
    numbers = (y == "face").astype(float)
    np.save(labels, numbers[:, np.newaxis])
    found = read(file, labels, ("0", "1"))
    np.testing.assert_array_equal(found.data, X.transpose(2, 0, 1))
    np.testing.assert_array_equal(found.labels, numbers)
    with refusal("the file has no array y", "input.labels"):
        read(file)


class Canary:
    """What it leaves when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_python_objects_are_refused_without_being_loaded(
    tmp_path: Path, X: np.ndarray, y: np.ndarray
) -> None:
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
            read(file, beside)
        assert not sang.exists(), file
    with refusal("labels are Python objects", hint="save it again with y.astype(str)"):
        read(tmp_path / "y.npz")
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
        ({"y": np.array(["Face", "house"] * 6)}, "no trials of face, but of Face"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, X: np.ndarray, y: np.ndarray, change: dict[str, Any], said: str
) -> None:
    file = tmp_path / "S1.npz"
    np.savez(file, **{"X": X, "y": y, **change})
    with refusal(said, file=file, participant="S1"):
        read(file)


@pytest.mark.parametrize("of", ["class", "count"])
def test_a_feature_that_is_the_class_or_its_place_is_refused(
    tmp_path: Path, X: np.ndarray, y: np.ndarray, of: str
) -> None:
    X[:, 2] = (np.unique(y, return_inverse=True)[1] if of == "class" else np.arange(12))[:, np.newaxis]
    file = tmp_path / "S1.npz"
    np.savez(file, X=X, y=y, names=[*"abcd"])
    said = "is the class in other words" if of == "class" else "counts the trials"
    with refusal(said, field="c"):
        read(file)


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, X: np.ndarray, y: np.ndarray) -> None:
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    whole = (tmp_path / "X.npy").read_bytes()
    (tmp_path / "X.npy").write_bytes(whole[:-9])
    with refusal("the file cannot be read", found=f"{X.nbytes - 9} bytes"):
        read(tmp_path / "X.npy", tmp_path / "y.npy")


@pytest.mark.parametrize("kind", ["u1", "i1", "u8"])
def test_differences_of_small_numbers_do_not_overflow(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(0, 120, 4), (4, 1)), axis=1).T.astype(kind)
    np.savez(tmp_path / "S1.npz", X=X, y=np.tile(CLASSES, 15))
    np.testing.assert_array_equal(read(tmp_path / "S1.npz").data[0], X)


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
    return read_features(
        TableInput.model_validate(settings),
        file,
        kind="power",
        participant=who,
        phase="test",
        classes=classes,
    )


@pytest.mark.parametrize(("separator", "decimal"), [(",", "."), (";", ","), ("\t", ".")])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_rows_of_a_participant_and_phase(
    tmp_path: Path, table: pd.DataFrame, separator: str, decimal: str, encoding: str
) -> None:
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
        ("label", "Face", "no trials of face, house, but of Face"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(
    tmp_path: Path, table: pd.DataFrame, column: str, values: Any, said: str
) -> None:
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
    for changed, field, said in (
        (
            table.assign(code=table.label.map({"face": 11, "house": 12, "other": 13})),
            "code",
            "is the class in",
        ),
        (many.assign(is_face=(many.label == "face").astype(int)), "is_face", "is the class in other words"),
        (
            many.sort_values("label").assign(onset=onsets),
            "onset",
            "grows or falls from each trial to the next",
        ),
    ):
        changed.to_csv(file, index=False)
        with refusal(said, field=field):
            read_table(file, classes=("face", "house", "other"))
    table.sort_values(["who", "part", "label"]).reset_index(drop=True).to_csv(file)
    with refusal("counts the trials", field="Unnamed: 0"):
        read_table(file)
    assert read_table(file, drop=["run", "Unnamed: 0"]).names == NAMES
    with pytest.raises(InputError, match="the table has no features"):
        read_table(file, drop=["run", "Unnamed: 0", *NAMES])


def test_values_without_a_name_move_no_column(tmp_path: Path, table: pd.DataFrame) -> None:
    file = tmp_path / "features.csv"
    table.to_csv(file, index=False)
    names, *rows = file.read_text(encoding="utf-8").splitlines()
    expected = read_table(file)
    file.write_text("\n".join([names, *(f"{row}," for row in rows)]), encoding="utf-8")
    np.testing.assert_array_equal(read_table(file).data, expected.data)
    file.write_text("\n".join([names, *(f"{row},5" for row in rows)]), encoding="utf-8")
    with pytest.raises(InputError, match="a row has more values than the line of names has names"):
        read_table(file)
    of_r = [
        f'"{number}",{row}' for number, row in enumerate(rows, start=1)
    ]  # names of rows, as R writes them
    file.write_text("\n".join([names, *of_r]), encoding="utf-8")
    np.testing.assert_array_equal(read_table(file).data, expected.data)
