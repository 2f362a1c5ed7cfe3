"""What every format must satisfy, and that a job's key holds the one that it reads and no other."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

from shortloop.eeg.formats.base import FilesInput, GeneratedInput, InputSettings, RecordedInput
from shortloop.eeg.formats.base_features import FeaturesInput
from shortloop.eeg.formats.registry import AnyInput
from shortloop.eeg.formats.signals import SignalInput
from shortloop.jobs.keys.closure import closure
from shortloop.jobs.keys.code import code_state
from shortloop.settings.records import tag_of

ROOT = Path(__file__).resolve().parents[3]
FORMATS: dict[str, type[InputSettings]] = {tag_of(each): each for each in get_args(get_args(AnyInput)[0])}
FILES = {"files": {"run": ("x",)}}


def in_a_new_process(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import json, sys\n{code}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(done.stdout)
    return found


def settings_of(name: str) -> InputSettings:
    more = FILES if issubclass(FORMATS[name], FilesInput) else {}
    return InputSettings.model_validate({"format": name, **more})


def imports_of(file: Path) -> set[str]:
    """Modules that a file imports anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
    return found


def test_every_format_in_the_folder_is_in_the_table() -> None:
    folder = ROOT / "shortloop" / "eeg" / "formats"
    records = {file.stem for file in folder.glob("*.py") if "    format: Literal[" in file.read_text("utf-8")}
    assert records == {each.__module__.rpartition(".")[2] for each in FORMATS.values()} != set()


@pytest.mark.parametrize("name", FORMATS)
def test_it_is_found_by_its_name_and_is_of_one_sort(name: str) -> None:
    record = FORMATS[name]
    assert InputSettings.named(name) is record
    assert type(settings_of(name)) is record
    assert [issubclass(record, sort) for sort in (GeneratedInput, RecordedInput, FeaturesInput)].count(
        True
    ) == 1


@pytest.mark.parametrize("name", FORMATS)
def test_what_decides_how_it_is_read_is_kept_without_places(name: str) -> None:
    settings = settings_of(name)
    kept = json.loads(json.dumps(settings.how_to_read("S1")))
    assert kept.keys() == type(settings).model_fields.keys() - settings.places
    needed = {key: value for key, value in FILES.items() if key in type(settings).model_fields}
    assert InputSettings.model_validate({**kept, **needed}) == settings


def test_the_records_of_all_formats_are_light() -> None:
    code = "import shortloop.eeg.study.schema; print(json.dumps(sorted(sys.modules)))"
    assert set(in_a_new_process(code)) & {"numpy", "scipy", "mne"} == set()


@pytest.mark.parametrize("name", [name for name in FORMATS if not issubclass(FORMATS[name], GeneratedInput)])
def test_a_reader_finds_all_that_the_format_imports_loaded(name: str) -> None:
    """The process that reads has little time and memory for imports of its own."""
    code = f"""
from shortloop.eeg.formats import read
from shortloop.eeg.formats.base import InputSettings
InputSettings.named({name!r}).warm_up(InputSettings.named({name!r}).model_construct())
print(json.dumps(sorted(sys.modules)))
"""
    loaded = set(in_a_new_process(code))
    imported = imports_of(ROOT / f"{FORMATS[name].__module__.replace('.', '/')}.py")
    assert {each for each in imported if find_spec(each.partition(".")[0]) is not None} <= loaded


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
    assert "shortloop.eeg.formats.registry" not in closure(method, more)[0]
    assert ("mne" in code_state(method, more).libraries) == issubclass(FORMATS[name], SignalInput)
