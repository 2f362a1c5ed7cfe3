"""Where the recordings of a study are, and what is said when they or the file cannot be had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shortloop.base.errors import InputError
from shortloop.eeg.study.load import data_folder, read_study


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder("~/eeg", "/studies/s.toml") == tmp_path / "eeg"


def test_folder_is_relative_to_the_study_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert data_folder(".", "/studies/s.toml") == Path("/studies")
    assert data_folder("../eeg", "/studies/s.toml") == Path("/eeg")
    assert data_folder("eeg", "s.toml") == tmp_path / "eeg"
    assert data_folder("/eeg", "/studies/s.toml") == Path("/eeg")


def test_variables_in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    file = "/studies/s.toml"
    monkeypatch.delenv("EEG_DATA", raising=False)
    assert data_folder("${EEG_DATA=../eeg}", file) == Path("/eeg")
    assert data_folder("${EEG_DATA=}/x", file) == Path("/x")
    assert data_folder("${EEG_DATA=a b}/${EEG_MORE=c}", file) == Path("/studies/a b/c")
    monkeypatch.setenv("EEG_DATA", "/server/eeg")
    assert data_folder("${EEG_DATA}", file) == Path("/server/eeg")
    assert data_folder("${EEG_DATA=../eeg}/sub", file) == Path("/server/eeg/sub")
    monkeypatch.setenv("EEG_DATA", "")  # set to nothing is not set
    assert data_folder("${EEG_DATA=../eeg}", file) == Path("/eeg")


@pytest.mark.parametrize("value", [None, ""])
def test_variable_without_value_or_default(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EEG_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("EEG_DATA", value)
    with pytest.raises(InputError, match="EEG_DATA is not set") as caught:
        data_folder("${EEG_DATA}/x", "/studies/s.toml")
    assert caught.value.field == "input.folder"
    assert caught.value.file == "/studies/s.toml"
    assert caught.value.found == "${EEG_DATA}/x"
    assert caught.value.hint


def test_missing_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(InputError, match="cannot be read") as caught:
            read_study(path)
        assert caught.value.file == str(path)
        assert "STUDY=" in (caught.value.hint or "")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_forbidden_file(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("")
    file.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        read_study(file)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'name = "s\n', "line 1"),
        (b'name = "s"\nseed = \n', "line 2"),
        (b'name = "s"\nname = "t"\n', "line 2"),
        (b"name = s\n", "line 1"),
        (b'name = "caf\xe9"\n', "utf-8"),
        (b"\xff\xfen\x00", "utf-8"),
        (b"PK\x03\x04\x00\x00", "line 1"),
    ],
)
def test_not_toml(content: bytes, found: str, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_bytes(content)
    with pytest.raises(InputError, match="not valid TOML") as caught:
        read_study(file)
    assert caught.value.file == str(file)
    assert found in str(caught.value.found)
    assert caught.value.hint
