"""What every format must satisfy, and that a job's key holds the one that it reads and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortloop.eeg.formats.base import FeaturesInput, FilesInput, InputSettings
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.testing import FORMAT_CHECKS, Check
from shortloop.keys.closure import closure
from shortloop.keys.code import code_state
from shortloop.settings.base import tag_of

ROOT = Path(__file__).resolve().parents[3]
FORMATS = {tag_of(each): each for each in InputSettings.kinds()}
FILES = {"files": {"run": ("x",)}}


def settings_of(name: str) -> InputSettings:
    more = FILES if issubclass(FORMATS[name], FilesInput) else {}
    return InputSettings.model_validate({"format": name, **more})


def test_every_format_in_the_folder_is_found() -> None:
    folder = ROOT / "shortloop" / "eeg" / "formats"
    records = {file.stem for file in folder.glob("*.py") if "    format: Literal[" in file.read_text("utf-8")}
    assert records == {each.__module__.rpartition(".")[2] for each in FORMATS.values()} != set()


@pytest.mark.parametrize("check", [each for each in FORMAT_CHECKS if "light" not in each.__name__])
@pytest.mark.parametrize("name", FORMATS)
def test_it_passes_the_common_tests(name: str, check: Check) -> None:
    check({"format": name, **(FILES if issubclass(FORMATS[name], FilesInput) else {})})


def test_the_versions_of_what_mne_reads_with_count() -> None:
    method = ROOT / "methods" / "a_import_epochs.py"
    assert {"antio", "curryreader", "mffpy"} <= closure(method, settings_of("mne").modules())[1]
    assert not {"antio", "curryreader", "mffpy"} & closure(method, settings_of("edf").modules())[1]


@pytest.mark.parametrize("name", FORMATS)
def test_a_key_holds_the_format_that_it_reads_and_no_other(name: str) -> None:
    stage = "import_features" if issubclass(FORMATS[name], FeaturesInput) else "import_epochs"
    method = ROOT / "methods" / f"a_{stage}.py"
    more = settings_of(name).modules()
    records = {each.__module__ for each in FORMATS.values()}
    assert set(closure(method)[0]) & records == set()
    assert set(closure(method, more)[0]) & records == set(more) == {FORMATS[name].__module__}
    assert ("mne" in code_state(method, more).libraries) == issubclass(FORMATS[name], SignalInput)
