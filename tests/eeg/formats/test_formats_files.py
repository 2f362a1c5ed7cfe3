"""Which files a pattern of the study file stands for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shortloop.base.errors import InputError
from shortloop.eeg.formats.edf import EdfInput
from shortloop.eeg.formats.files.find import find_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ["S1_a.edf", "S1_b.edf", "S10_a.edf", "S11_a.edf", "S1.txt", "sub/S1/x.edf", "sub/S1/y.edf"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def names(folder: Path, *patterns: str, participant: str = "S1") -> list[str]:
    found = find_files(folder, patterns, participant=participant)
    return [path.relative_to(folder).as_posix() for path in found]


def test_wildcards_sort_and_literals_keep_their_order(folder: Path) -> None:
    assert names(folder, "{participant}_?.edf") == ["S1_a.edf", "S1_b.edf"]
    assert names(folder, "{participant}_b.edf", "{participant}_a.edf") == ["S1_b.edf", "S1_a.edf"]
    assert names(folder, "sub/{participant}/*.edf") == ["sub/S1/x.edf", "sub/S1/y.edf"]
    assert names(folder, "**/y.edf") == ["sub/S1/y.edf"]
    assert names(folder, "./{participant}_?.edf") == ["S1_a.edf", "S1_b.edf"]


def test_runs_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for run in range(1, 12):
        for path in (f"S1_run{run}.edf", f"S2/run {run:02}/x.edf", f"S3/block{run}/part10.edf"):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).touch()
    assert names(tmp_path, "{participant}_run*.edf") == [f"S1_run{run}.edf" for run in range(1, 12)]
    assert names(tmp_path, "{participant}/*/x.edf", participant="S2") == [
        f"S2/run {run:02}/x.edf" for run in range(1, 12)
    ]
    assert names(tmp_path, "{participant}/**/*.edf", participant="S3") == [
        f"S3/block{run}/part10.edf" for run in range(1, 12)
    ]


def test_no_file_twice(folder: Path) -> None:
    assert names(folder, "{participant}_b.edf", "{participant}_*.edf") == ["S1_b.edf", "S1_a.edf"]


def test_the_number_of_a_participant_does_not_go_on(folder: Path) -> None:
    assert names(folder, "{participant}*.edf") == ["S1_a.edf", "S1_b.edf"]
    assert names(folder, "{participant}*.edf", participant="S10") == ["S10_a.edf"]
    # A letter may follow.
    assert names(folder, "{participant}*.edf", participant="S1_") == ["S1_a.edf", "S1_b.edf"]


def test_the_number_of_a_participant_does_not_begin_before(tmp_path: Path) -> None:
    for name in ["sub1.edf", "sub21.edf"]:
        (tmp_path / name).touch()
    assert names(tmp_path, "*{participant}.edf", participant="1") == ["sub1.edf"]


def test_only_files_whose_number_goes_on_is_an_error_that_says_so(folder: Path) -> None:
    (folder / "S12_a.edf").touch()
    with pytest.raises(InputError, match="no file matches") as caught:
        names(folder, "{participant}?_a.edf")
    assert "S10_a.edf" in str(caught.value)


def test_a_bracket_is_a_bracket(tmp_path: Path) -> None:
    folder = tmp_path / "run[1]"
    folder.mkdir()
    for name in ["S1[x]_1.edf", "S1x_1.edf"]:
        (folder / name).touch()
    assert names(folder, "{participant}[x]_*.edf") == ["S1[x]_1.edf"]


@pytest.mark.parametrize("pattern", ["{participant}_c.edf", "{participant}_c*.edf", "sub"])
def test_a_missing_file_is_named(folder: Path, pattern: str) -> None:
    with pytest.raises(InputError) as caught:
        find_files(folder, [pattern], participant="S1")
    error = caught.value
    assert error.where["participant"] == "S1"
    assert error.field == "input.files"
    assert error.file == str(folder / pattern.replace("{participant}", "S1"))
    assert error.hint
    with pytest.raises(InputError) as caught:
        find_files(folder, [pattern], participant="S1", field="input.power.study")
    assert caught.value.field == "input.power.study"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder") as caught:
        find_files(tmp_path / "none", ["*"], participant="S1")
    assert caught.value.file == str(tmp_path / "none")
    assert caught.value.where["participant"] == "S1"


def test_no_patterns_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1 item"):
        EdfInput(format="edf", files={"study": ()})


@pytest.mark.parametrize("module", ["formats.files", "checks.summary", "checks.consistency"])
def test_light_rooms_load_no_numerical_library(module: str) -> None:
    heavy = "sorted({'numpy', 'mne', 'scipy'} & set(sys.modules))"
    code = f"import sys, shortloop.eeg.{module}; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
