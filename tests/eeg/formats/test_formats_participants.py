"""Participants are found by their names, however a system writes accents, and each by one name."""

from __future__ import annotations

import tomllib
import unicodedata
import warnings
from pathlib import Path
from typing import Literal

import pytest
from eeg_folders import recording
from pydantic import TypeAdapter, ValidationError

from shortloop.base.errors import InputError
from shortloop.eeg.checks.participants import Participant, alike, as_written, key_of
from shortloop.eeg.formats.base import InputSettings
from shortloop.eeg.formats.files.find import find_files

Form = Literal["NFC", "NFD"]
NAMES = ["Jörg", "Anna Müller", "Zoë-2", "Łukasz", "José Ångström", "张伟", "P 01", "O'Brien", "S1.b"]
FORMS: list[Form] = ["NFC", "NFD"]
CHECK = TypeAdapter(Participant)


def touched(folder: Path, name: str, form: Form) -> Path:
    path = folder / unicodedata.normalize(form, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_one_name(name: str, form: Form) -> None:
    assert CHECK.validate_python(unicodedata.normalize(form, name)) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize(
    "name", ["", " a", "a ", "a/b", "..", ".a", "-a", "a\nb", "a\x1bb", "a*", "a\u202eb"]
)
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ValidationError, match="letters and digits, with spaces"):
        CHECK.validate_python(name)


PATTERNS = [
    "{participant}.edf",
    "Gedächtnis/{participant}/a.edf",
    "{participant}_*.edf",
    "**/{participant}_ä?.edf",
]


@pytest.mark.parametrize("written", FORMS)
@pytest.mark.parametrize("asked", FORMS)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", NAMES)
def test_files_are_found_as_they_are_written(
    tmp_path: Path, name: str, pattern: str, asked: Form, written: Form
) -> None:
    file = (
        pattern.replace("{participant}", name)
        .replace("**", "above/below")
        .replace("*", "ö1")
        .replace("?", "3")
    )
    path = touched(tmp_path, file, written)
    touched(tmp_path, file.replace(name, f"{name}x"), written)
    touched(tmp_path, file.replace(name, "Jorg"), written)
    found = find_files(
        tmp_path,
        [unicodedata.normalize(asked, pattern)],
        participant=unicodedata.normalize("NFC", name),
    )
    assert found == [path]


def test_a_name_with_another_letter_is_another_name(tmp_path: Path) -> None:
    touched(tmp_path, "Jürg_1.edf", "NFC")
    with pytest.raises(InputError, match="no file matches") as refused:
        find_files(tmp_path, ["{participant}_*.edf"], participant="Jörg")
    assert refused.value.found == "nothing"


def test_a_folder_and_a_file_of_two_systems(tmp_path: Path) -> None:
    path = touched(tmp_path / "Gedächtnis", "Jo\u0308rg.edf", "NFD")
    assert as_written(tmp_path, "Gedächtnis/Jörg.edf") == path
    assert as_written(tmp_path, "Gedächtnis/Jürg.edf").name == "Jürg.edf"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_as_a_key(name: str) -> None:
    assert tomllib.loads(f"bads.{key_of(name)} = 1") == {"bads": {name: 1}}


def test_names_that_differ_by_case() -> None:
    assert alike(["P1", "p1", "P2", "Jörg", "JO\u0308RG", "P1"]) == [("P1", "p1"), ("Jörg", "JO\u0308RG")]
    assert alike(["P1", "P2", "p10"]) == []


@pytest.mark.parametrize("form", FORMS)
def test_bids(tmp_path: Path, form: Form) -> None:
    """As MNE-BIDS writes them, and as they are copied from a system that takes accents apart."""
    import mne_bids

    raw = recording("x", trials=4)
    raw.info["line_freq"] = 50
    path = mne_bids.BIDSPath(
        subject=unicodedata.normalize(form, "Jörg"), task="run", root=tmp_path, datatype="eeg"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mne_bids.write_raw_bids(raw, path, allow_preload=True, format="BrainVision", verbose="ERROR")
        settings = InputSettings.model_validate({"format": "bids"})
        (file,) = settings.find(tmp_path, "Jörg", "run")  # type: ignore[attr-defined]
        assert file == path.fpath
        from shortloop.eeg.formats.read import read_epochs

        epochs = read_epochs(settings, [file], participant="Jörg", phase="run", classes=("face", "house"))
    assert len(epochs.labels) == 4
