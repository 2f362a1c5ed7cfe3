"""Study files that are no study at all are one message each; folders are relative to the file."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from without_root import shortloop

from shortloop.base.errors import InputError
from shortloop.eeg.study.load import DEFAULT_STUDY, data_folder, read_study

TEXT = DEFAULT_STUDY.read_text(encoding="utf-8")
SEED = "seed = 2021"
MANY = 5000


def nested(start: str, end: str) -> str:
    return f"{start * MANY}{end * MANY}"


@pytest.mark.parametrize(
    "new",
    [
        f"seed = {'9' * MANY}",
        f"seed = -{'9' * MANY}",
        f"seed = 0x{'f' * MANY}",
        f"seed = 0b{'1' * MANY * 4}",
        f"seed = [{'9' * MANY}]",
        f"{'9' * MANY} = 1",
        f"seed = {'9' * MANY}.0",
        f"seed = 1e{'9' * 10}",
        f"seed = {nested('[', ']')}",
        f"seed = {nested('{a = ', '}')}",
        f"seed = {'[' * MANY}",
        f"seed.{'a.' * MANY}a = 1",
        "seed = {a = {a = {a = 1}}}",
        f"[{'a.' * MANY}a]",
        f"[[{'a.' * MANY}a]]",
    ],
    ids=lambda text: text[:12],
)
def test_numbers_and_tables_beyond_measure(tmp_path: Path, new: str) -> None:
    assert SEED in TEXT
    file = tmp_path / "study.toml"
    file.write_text(TEXT.replace(SEED, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_study(file)
    assert caught.value.file == str(file)
    assert caught.value.hint


def special(file: Path, what: str) -> None:
    if what == "folder":
        file.mkdir()
    elif what == "pipe":
        os.mkfifo(file)
    elif what == "device":
        file.symlink_to("/dev/zero")
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(file))
    elif what == "dangling":
        file.symlink_to("nowhere")
    elif what == "circle":
        file.symlink_to(file.name)
    elif what == "Latin-1":
        file.write_bytes(TEXT.replace(SEED, "# größer").encode("latin-1"))
    elif what == "UTF-16":
        file.write_bytes(TEXT.encode("utf-16"))


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("folder", "cannot be read (Is a directory)"),
        ("pipe", "is not a regular file"),
        ("device", "is not a regular file"),
        ("socket", "is not a regular file"),
        ("dangling", "cannot be read (No such file or directory)"),
        ("circle", "cannot be read (Too many levels of symbolic links)"),
        ("Latin-1", "save it as UTF-8"),
        ("UTF-16", "save it as UTF-8"),
    ],
)
def test_what_is_no_study_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    special(Path("x.toml"), what)
    with pytest.raises(InputError) as caught:
        read_study("x.toml")
    assert words in caught.value.message
    assert caught.value.file == "x.toml"
    assert caught.value.hint


def test_one_that_may_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(TEXT, encoding="utf-8")
    file.chmod(0)
    done = shortloop(tmp_path, "study", "x.toml")
    assert done.returncode == 1
    assert "cannot be read (Permission denied)" in done.stderr
    assert "Traceback" not in done.stderr


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder("~/eeg", "/studies/s.toml") == tmp_path / "eeg"


def test_folder_is_relative_to_the_study_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert data_folder(".", "/studies/s.toml") == Path("/studies")
    assert data_folder("../eeg", "/studies/s.toml") == Path("/eeg")
    assert data_folder("eeg", "s.toml") == tmp_path / "eeg"
    assert data_folder("/eeg", "/studies/s.toml") == Path("/eeg")


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
