"""Files of a pattern are found, however a system writes accents; participants have one name each."""

from __future__ import annotations

import tomllib
import unicodedata
import warnings
from pathlib import Path
from typing import Literal

import pytest
from eeg_folders import recording
from jobs_project import ROOT, fresh_python
from pydantic import TypeAdapter, ValidationError
from refusal import refusal

from shortloop.eeg.checks.participants import Participant, alike, as_written, key_of
from shortloop.eeg.formats.files.find import find_files
from shortloop.eeg.formats.recording_format import InputSettings


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
    assert names(folder, "{participant}_b.edf", "{participant}_*.edf") == [
        "S1_b.edf",
        "S1_a.edf",
    ]  # none twice
    (folder / "run[1]").mkdir()
    for name in ["S1[x]_1.edf", "S1x_1.edf"]:
        (folder / "run[1]" / name).touch()
    assert names(folder / "run[1]", "{participant}[x]_*.edf") == ["S1[x]_1.edf"]


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


def test_the_number_of_a_participant_is_whole(folder: Path) -> None:
    assert names(folder, "{participant}*.edf") == ["S1_a.edf", "S1_b.edf"]
    assert names(folder, "{participant}*.edf", participant="S10") == ["S10_a.edf"]
    # A letter may follow.
    assert names(folder, "{participant}*.edf", participant="S1_") == ["S1_a.edf", "S1_b.edf"]
    for name in ["sub1.edf", "sub21.edf", "S12_a.edf"]:
        (folder / name).touch()
    assert names(folder, "*{participant}.edf", participant="1") == ["sub1.edf"]  # nor does it begin before
    with refusal("no file matches", "S10_a.edf"):
        names(folder, "{participant}?_a.edf")


@pytest.mark.parametrize("pattern", ["{participant}_c.edf", "{participant}_c*.edf", "sub"])
def test_a_missing_file_is_named(folder: Path, pattern: str) -> None:
    file = folder / pattern.replace("{participant}", "S1")
    with refusal("", participant="S1", field="input.files", file=file) as caught:
        find_files(folder, [pattern], participant="S1")
    assert caught.value.hint
    with refusal("", field="input.power.study"):
        find_files(folder, [pattern], participant="S1", field="input.power.study")
    with refusal("folder", participant="S1", file=folder / "none"):
        find_files(folder / "none", [pattern], participant="S1")


def test_light_modules_load_no_numerical_library() -> None:
    names = ("formats.files", "checks.summary", "checks.consistency")
    modules = ", ".join(f"shortloop.eeg.{each}" for each in names)
    heavy = "sorted({'numpy', 'mne', 'scipy'} & set(sys.modules))"
    assert fresh_python(f"import sys, {modules}; print({heavy})", ROOT) == "[]\n"


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
    assert tomllib.loads(f"bads.{key_of(name)} = 1") == {"bads": {name: 1}}


@pytest.mark.parametrize(
    "name", ["", " a", "a ", "a/b", "..", ".a", "-a", "a\nb", "a\x1bb", "a*", "a\u202eb"]
)
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ValidationError, match="letters and digits, with spaces"):
        CHECK.validate_python(name)


PATTERNS = ["{participant}.edf", "Gedächtnis/{participant}/a.edf"]
PATTERNS += ["{participant}_*.edf", "**/{participant}_ä?.edf"]


@pytest.mark.parametrize("written", FORMS)
@pytest.mark.parametrize("asked", FORMS)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", NAMES)
def test_files_are_found(tmp_path: Path, name: str, pattern: str, asked: Form, written: Form) -> None:
    file = pattern.replace("{participant}", name).replace("**", "above/below")
    file = file.replace("*", "ö1").replace("?", "3")
    path = touched(tmp_path, file, written)
    touched(tmp_path, file.replace(name, f"{name}x"), written)
    touched(tmp_path, file.replace(name, "Jorg"), written)
    who, as_asked = unicodedata.normalize("NFC", name), unicodedata.normalize(asked, pattern)
    assert find_files(tmp_path, [as_asked], participant=who) == [path]
    with refusal(r"no file|missing"):
        find_files(tmp_path, [as_asked], participant=f"{who}y")


def test_names_that_differ_by_case_and_by_system(tmp_path: Path) -> None:
    path = touched(tmp_path / "Gedächtnis", "Jo\u0308rg.edf", "NFD")
    assert as_written(tmp_path, "Gedächtnis/Jörg.edf") == path
    assert as_written(tmp_path, "Gedächtnis/Jürg.edf").name == "Jürg.edf"
    assert alike(["P1", "p1", "P2", "Jörg", "JO\u0308RG", "P1"]) == [("P1", "p1"), ("Jörg", "JO\u0308RG")]
    assert alike(["P1", "P2", "p10"]) == []


@pytest.mark.parametrize("form", FORMS)
def test_bids(tmp_path: Path, form: Form) -> None:
    """As MNE-BIDS writes them, and as they are copied from a system that takes accents apart."""
    import mne_bids

    raw = recording("x", trials=4)
    raw.info["line_freq"] = 50
    who = unicodedata.normalize(form, "Jörg")
    path = mne_bids.BIDSPath(subject=who, task="run", root=tmp_path, datatype="eeg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mne_bids.write_raw_bids(raw, path, allow_preload=True, format="BrainVision", verbose="ERROR")
        settings = InputSettings.model_validate({"format": "bids"})
        (file,) = settings.find(tmp_path, "Jörg", "run")  # type: ignore[attr-defined]
        assert file == path.fpath
        from shortloop.eeg.formats.read import read_epochs

        epochs = read_epochs(settings, [file], participant="Jörg", phase="run", classes=("face", "house"))
    assert len(epochs.labels) == 4
