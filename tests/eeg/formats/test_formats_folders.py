"""Recordings that are folders: what is read of them is in the key of a job, and nothing else is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from eeg_folders import recording
from eeg_recordings import read
from handmade_recordings import write_ctf, write_mff

from shortloop.base.errors import InputError
from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.base import InputSettings, RecordedInput
from shortloop.eeg.formats.files.find import ENDINGS, find_files, is_recording, recording_of
from shortloop.keys.hashing import hash_files

pytestmark = pytest.mark.filterwarnings("ignore:S1, ")
WRITERS = {".mff": write_mff, ".ds": write_ctf}
MORE = {
    ".mff": {"subject.xml": "<x/>", "movie1.mov": "x", "Contents.txt": "x", "._Events_ECI.xml": "x"},
    ".ds": {
        "S1.infods": "x",
        "S1.acq": "x",
        "hz.ds": "x",
        "processing.cfg": "x",
        ".S1.pos": "x",
        "S1.bak": "",
    },
}
"""Files that programs write into such folders, and that MNE does not read."""


@pytest.fixture(params=WRITERS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / f"S1{request.param}"
    WRITERS[request.param](recording("S1", trials=10), made)
    return made


def form() -> RecordedInput:
    found = InputSettings.model_validate({"format": "mne", "files": {"run": ("x",)}})
    assert isinstance(found, RecordedInput)
    return found


def in_the_key(recording: Path) -> list[tuple[str, str]]:
    """Names and content of the files of a recording, as the options of its job have them."""
    named = form().together(recording)
    contents = dict(hash_files({path: path.stat().st_size for _, path in named}))
    return [(name, contents[path]) for name, path in named]


def test_all_folders_are_tried() -> None:
    assert WRITERS.keys() == ENDINGS


def test_epochs_are_those_that_were_written(folder: Path) -> None:
    raw = recording("S1", trials=10)
    epochs = read("mne", [folder])
    starts = [round(each["onset"] * 128) for each in raw.annotations if each["description"] != "response"]
    assert len(epochs.labels) == 10
    assert np.bincount(epochs.labels).tolist() == [5, 5]
    for number, start in enumerate(starts):
        written = raw.get_data()[:9, start - 32 : start + 65]
        np.testing.assert_allclose(epochs.data[number, :9], written, rtol=0, atol=3e-8)
    (account,) = epochs.accounts
    assert (account["file"], account["events_from"]) == (folder.name, "annotations")


def test_each_byte_of_each_file_counts(folder: Path) -> None:
    before = in_the_key(folder)
    assert {Path(name).name for name, _ in before} == {path.name for path in folder.iterdir()}
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        changed = in_the_key(folder)
        assert [one != other for one, other in zip(before, changed, strict=True)].count(True) == 1, path.name
        path.write_bytes(content)
    assert in_the_key(folder) == before


def test_nothing_else_counts(folder: Path) -> None:
    before = in_the_key(folder)
    for name, text in MORE[folder.suffix].items():
        (folder / name).write_text(text)
    (folder / "sub").mkdir()
    (folder / "sub/info.xml").write_text("x")
    for path in folder.iterdir():
        path.touch()
    assert in_the_key(folder) == before
    renamed = folder.rename(folder.with_name(f"other{folder.suffix}"))
    assert in_the_key(renamed) == before
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    assert in_the_key(Path(shutil.move(renamed, elsewhere))) == before


def test_what_does_not_count_is_not_read(folder: Path) -> None:
    before = read("mne", [folder])
    for name in MORE[folder.suffix]:
        (folder / name).write_text("nothing that could be read")
    same(read("mne", [folder]), before)
    same(read("mne", [folder.rename(folder.with_name(f"other name{folder.suffix.upper()}"))]), before)


def same(found: Epochs, expected: Epochs) -> None:
    np.testing.assert_array_equal(found.data, expected.data)
    np.testing.assert_array_equal(found.labels, expected.labels)


def test_files_that_are_not_always_there(tmp_path: Path) -> None:
    """What MNE looks for is read where it is there, and is in the key."""
    folder = tmp_path / "S1.ds"
    write_ctf(recording("S1", trials=10), folder)
    (folder / "bad.segments").write_text("MUSCLE 4.0 6.0\n")
    (folder / "BadChannels").write_text("Fz\n")
    epochs = read("mne", [folder])
    assert "Fz" not in epochs.channels
    (account,) = epochs.accounts
    assert {each["reason"] for each in account["dropped"]} == {"annotated as bad_MUSCLE"}
    more = {"S1.eeg", "S1.pos", "S1.hc", "S1.1_meg4"}
    for name in more:
        (folder / name).write_text("1\tFz\t1.0\t2.0\t3.0\n")
    assert {"bad.segments", "BadChannels", *more} < {Path(name).name for name, _ in in_the_key(folder)}


def test_events_beside_a_folder(folder: Path) -> None:
    """A table beside it goes first, and is in the key."""
    table = folder.with_name("S1_events.tsv")
    table.write_text("onset\ttrial_type\n3.0\tface\n5.0\thouse\n")
    assert len(read("mne", [folder]).labels) == 2
    names = [name for name, _ in in_the_key(folder)]
    assert names[-1].endswith("_events.tsv")


@pytest.mark.parametrize(
    "pattern", ["{participant}.mff", "{participant}*", "*/{participant}.mff", "**/S1.mff"]
)
def test_patterns_find_folders(tmp_path: Path, pattern: str) -> None:
    at = tmp_path / "below" if "/" in pattern else tmp_path
    write_mff(recording("S1", trials=2), at / "S1.mff")
    write_mff(recording("S1", trials=2), at / "S10.mff")
    (at / "S1 notes").mkdir()
    found = find_files(tmp_path, [pattern], participant="S1", folders=ENDINGS)
    assert found == [at / "S1.mff"]


def test_a_folder_that_is_none(folder: Path) -> None:
    header = next(path for path in folder.iterdir() if recording_of(path) == folder)
    header.unlink()
    assert not is_recording(folder)
    with pytest.raises(InputError, match="a file is missing") as refused:
        find_files(folder.parent, [folder.name], participant="S1", folders=ENDINGS)
    assert refused.value.found == "a folder without the header of a recording"
    with pytest.raises(InputError) as refused:
        find_files(folder.parent, [folder.name], participant="S1")
    assert refused.value.hint == 'write format = "mne"'


def test_a_folder_that_is_damaged_is_named(folder: Path) -> None:
    samples = max(folder.iterdir(), key=lambda path: path.stat().st_size)
    samples.write_bytes(samples.read_bytes()[:100])
    with pytest.raises(InputError) as refused:
        read("mne", [folder])
    assert refused.value.file == str(folder)
    assert "shortloop-" not in refused.value.message


def test_a_file_in_a_folder_of_that_name_is_a_file(tmp_path: Path) -> None:
    assert recording_of(tmp_path / "S1.ds/S1.edf") == tmp_path / "S1.ds/S1.edf"
    (tmp_path / "S2.mff").mkdir()
    assert not is_recording(tmp_path / "S2.mff")


@pytest.mark.parametrize("name", ["signal1.bin", "Events_ECI.xml", "epochs.xml", "sensorLayout.xml"])
def test_what_is_missing_is_no_silence(tmp_path: Path, name: str) -> None:
    write_mff(recording("S1", trials=4), tmp_path / "S1.mff")
    (tmp_path / "S1.mff" / name).unlink()
    read_it: Callable[[], Epochs] = lambda: read("mne", [tmp_path / "S1.mff"])  # noqa: E731
    with pytest.raises(InputError):
        read_it()
