"""Study files that are no study at all: each is one message."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from without_root import shortloop

from shortloop.base.errors import InputError
from shortloop.eeg.study.load import DEFAULT_STUDY, read_study

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


@pytest.mark.parametrize("digits", [30, 310, 1000])
@pytest.mark.parametrize("field", ["lowpass", "folds", "C"])
def test_large_numbers_of_every_type(tmp_path: Path, field: str, digits: int) -> None:
    values = {"lowpass": f"[features.amplitude]\nlowpass = {'9' * digits}"}
    values["folds"] = f"[decoding]\nfolds = {'9' * digits}"
    values["C"] = f'[estimator]\nkind = "matlab-svm"\nC = {"9" * digits}'
    head = 'name = "s"\nparticipants = ["P1"]\nclasses = ["a", "b"]\n[input]\nformat = "simulated"\n'
    rest = "" if field == "lowpass" else "[features.amplitude]\n"
    file = tmp_path / "study.toml"
    file.write_text(f"{head}{rest}{values[field]}\n", encoding="utf-8")
    if digits == 30 and field != "folds":  # which is a number of its type
        read_study(file)
    else:
        with pytest.raises(InputError) as caught:
            read_study(file)
        assert caught.value.file == str(file)


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
@pytest.mark.parametrize("way", ["study", "variable"])
def test_what_is_no_study_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, words: str, way: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    special(Path("x.toml"), what)
    arguments = ["study", "x.toml"] if way == "study" else ["plan"]
    done = subprocess.run(
        [sys.executable, "-m", "shortloop", *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "STUDY": "x.toml"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert words in done.stderr
    assert "x.toml" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_that_may_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(TEXT, encoding="utf-8")
    file.chmod(0)
    done = shortloop(tmp_path, "study", "x.toml")
    assert done.returncode == 1
    assert "cannot be read (Permission denied)" in done.stderr
    assert "Traceback" not in done.stderr
