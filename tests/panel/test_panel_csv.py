"""Text files as they come from elsewhere: they are read as they are meant, or refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusal import refusal

from shortloop.panel.formats.csv import CsvInput
from shortloop.panel.preview import marks_of, read_table


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    file = folder / "rows.csv"
    file.write_bytes(text.encode(encoding))
    return file


def read(file: Path, **settings: object) -> pd.DataFrame:
    return CsvInput.model_validate({"format": "csv", "file": "rows.csv", **settings}).read(file)


@pytest.mark.parametrize("columns", [(), ("firm", "y")])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("firm,x,y\nA,1,2,3\nB,4,5,6\n", "rows have more values"),
        ("firm,x,y\nA,1,2\nB,1,234,5\n", "cannot be read"),
        ("firm,y,y\nA,1,2\n", "several columns have the same name"),
        ("# made by hand\nfirm,x,y\nA,1,2\n", "rows have more values"),
        ("", "cannot be read"),
    ],
)
def test_values_without_a_name_fail(tmp_path: Path, text: str, words: str, columns: tuple[str, ...]) -> None:
    with refusal(words, file=tmp_path / "rows.csv"):
        read(written(tmp_path, text), columns=columns)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(
    ("sep", "decimal", "thousands"),
    [(",", ".", ""), (";", ",", ""), (";", ",", "."), ("\t", ",", " "), (",", ".", ","), ("|", ",", ".")],
)
def test_how_a_file_is_written(tmp_path: Path, encoding: str, sep: str, decimal: str, thousands: str) -> None:
    numbers = np.array([1234567.5, -0.25, 12.0, 999.125])
    swapped = str.maketrans({",": thousands, ".": decimal})
    frame = pd.DataFrame({"Größe": ["Ä", "b", "c", "d"], "n": [f"{n:,}".translate(swapped) for n in numbers]})
    settings, table = read_table(written(tmp_path, frame.to_csv(index=False, sep=sep), encoding))
    assert isinstance(settings, CsvInput)
    assert settings.encoding == {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    assert (settings.separator, settings.decimal, settings.thousands) == (sep, decimal, thousands)
    np.testing.assert_array_equal(table["n"], numbers)
    assert table["Größe"][0] == "Ä"


@pytest.mark.parametrize(
    ("texts", "marks"),
    [
        (["1,234", "12,345"], None),  # may be either
        (["1,234", "1,2"], (",", "")),
        (["1,234", "1.5"], (".", ",")),
        (["1,234,567", "12"], (".", ",")),
        (["1.234,5"], (",", ".")),
        (["1,5", "much"], None),
        (["a", "b"], None),
        ([], None),
        (["2020-01-01"], None),
        (["1.2.3.4", "1.2.3.5"], None),
    ],
)
def test_marks_are_taken_for_what_they_can_only_be(texts: list[str], marks: tuple[str, str] | None) -> None:
    assert marks_of([texts]) == marks


def test_letters_that_cannot_be_read_and_columns_that_are_not(tmp_path: Path) -> None:
    file = written(tmp_path, "firm,y\nMüller,1\n", "cp1252")
    with refusal("does not have this encoding", field="input.encoding"):
        read(file)
    assert read(file, encoding="cp1252")["firm"][0] == "Müller"
    with refusal("nosuch"):
        read(file, encoding="nosuch")
    file = written(tmp_path, "y,n,firm,n,\n1,2,A,3,\n")
    assert list(read(file, columns=("firm", "y")).columns) == ["y", "firm"]
    with refusal("no such column", found="z"):
        read(file, columns=("firm", "z"))


def test_packed_files(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(gzip.compress("a;ü\n1,5;2\n".encode("cp1252")))
    settings, _ = read_table(file)
    assert isinstance(settings, CsvInput)
    assert (settings.encoding, settings.separator) == ("cp1252", ";")
    file.write_bytes(file.read_bytes()[:-9])
    with refusal("cannot be read"):
        read_table(file)


@pytest.mark.parametrize(
    ("numbers", "fine"),
    [("01 02 10", True), ("1 2 10", True), ("01 1", False), ("001 01", False), ("0", True), ("1 1.0", True)],
)
def test_groups_that_zeros_in_front_tell_apart(tmp_path: Path, numbers: str, fine: bool) -> None:
    file = written(tmp_path, "g,y\n" + "".join(f"{each},1\n" for each in numbers.split()))
    asked = CsvInput.model_validate({"format": "csv"})
    if fine:
        asked.check_groups(file, asked.read(file), ["g"])
        return
    with refusal("leading zeros"):
        asked.check_groups(file, asked.read(file), ["g"])
