"""Ready-made features in text with a row for each trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shortloop.base.errors import InputError
from shortloop.eeg.data import Features
from shortloop.eeg.formats.read import read_features
from shortloop.eeg.formats.table import TableInput

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


def read(file: Path, who: str = "Zoë", classes: tuple[str, ...] = ("face", "house"), **more: Any) -> Features:
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
        found = read(file, who, separator=separator, decimal=decimal)
        own = table[(table.who == who) & (table.part == "test") & (table.label != "other")]
        np.testing.assert_array_equal(found.data, own[[*NAMES]].to_numpy()[np.newaxis])
        assert [("face", "house")[each] for each in found.labels] == own.label.tolist()
        assert (found.names, found.time_unit, found.unit) == (NAMES, "bin", "a.u.")


def test_a_file_for_each_with_classes_that_are_numbers(tmp_path: Path, table: pd.DataFrame) -> None:
    own = table[(table.who == "1") & (table.part == "test")].drop(columns=["who", "part"])
    own["label"] = own["label"].map({"face": 1.0, "house": 2.0, "other": 3.0})
    own.to_csv(tmp_path / "1.csv", index=False)
    found = read(tmp_path / "1.csv", "1", ("1", "2", "3"), participant=None, phase=None)
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
def test_what_is_wrong_is_said(
    tmp_path: Path, table: pd.DataFrame, column: str, values: Any, said: str
) -> None:
    file = tmp_path / "features.csv"
    changed = (
        table.drop(columns=column)
        if values is None
        else table.assign(**{column: np.full(len(table), values)})
    )
    changed.to_csv(file, index=False)
    with pytest.raises(InputError, match=said) as refused:
        read(file)
    assert refused.value.file == str(file)
    assert refused.value.where["participant"] == "Zoë"


def test_columns_that_tell_the_class_are_refused(tmp_path: Path, table: pd.DataFrame) -> None:
    file = tmp_path / "features.csv"
    table.assign(code=table.label.map({"face": 11, "house": 12, "other": 13})).to_csv(file, index=False)
    with pytest.raises(InputError, match="is the class in other words") as refused:
        read(file)
    assert refused.value.field == "code"
    table.sort_values(["who", "part", "label"]).reset_index(drop=True).to_csv(file)
    with pytest.raises(InputError, match="counts the trials") as refused:
        read(file)
    assert refused.value.field == "Unnamed: 0"
    assert read(file, drop=["run", "Unnamed: 0"]).names == NAMES


def test_no_feature_is_left(tmp_path: Path, table: pd.DataFrame) -> None:
    table.to_csv(tmp_path / "features.csv", index=False)
    with pytest.raises(InputError, match="the table has no features"):
        read(tmp_path / "features.csv", drop=["run", *NAMES])


def test_columns_of_a_table_that_tell_a_class_alone_are_refused(tmp_path: Path, table: pd.DataFrame) -> None:
    file = tmp_path / "features.csv"
    many = pd.concat([table] * 4).reset_index(drop=True)
    for name in NAMES:
        many[name] = np.random.default_rng(3).standard_normal(len(many))
    many.assign(is_face=(many.label == "face").astype(int)).to_csv(file, index=False)
    with pytest.raises(InputError, match="is the class in other words") as refused:
        read(file, classes=("face", "house", "other"))
    assert refused.value.field == "is_face"
    onsets = np.cumsum(np.random.default_rng(0).uniform(1, 2, len(many)))
    many.sort_values("label").assign(onset=onsets).to_csv(file, index=False)
    with pytest.raises(InputError, match="grows or falls from each trial to the next") as refused:
        read(file)
    assert refused.value.field == "onset"


def test_values_without_a_name_move_no_column(tmp_path: Path, table: pd.DataFrame) -> None:
    file = tmp_path / "features.csv"
    table.to_csv(file, index=False)
    names, *rows = file.read_text(encoding="utf-8").splitlines()
    expected = read(file)
    file.write_text("\n".join([names, *(f"{row}," for row in rows)]), encoding="utf-8")
    np.testing.assert_array_equal(read(file).data, expected.data)
    file.write_text("\n".join([names, *(f"{row},5" for row in rows)]), encoding="utf-8")
    with pytest.raises(InputError, match="a row has more values than the line of names has names"):
        read(file)
    of_r = [
        f'"{number}",{row}' for number, row in enumerate(rows, start=1)
    ]  # names of rows, as R writes them
    file.write_text("\n".join([names, *of_r]), encoding="utf-8")
    np.testing.assert_array_equal(read(file).data, expected.data)
