"""What every format must satisfy; its page, its ending and its ready studies name it."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from shortloop.eeg.checks.consistency import check_alike, check_trials
from shortloop.eeg.checks.summary import RecordingSummary, summarize
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.formats.base import FeaturesInput, FilesInput, InputSettings, RecordedInput
from shortloop.eeg.formats.epochs.settings import Preprocessing
from shortloop.eeg.formats.files.find import find_files
from shortloop.eeg.formats.read import read_epochs, read_features
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.formats.thesis import ThesisInput
from shortloop.eeg.study.load import data_folder, read_study
from shortloop.eeg.study.schema import Study
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


PAGE = (ROOT / "docs" / "recordings.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
FORMATS_PAGE = InputSettings.kinds()


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_are_read(tmp_path: Path, number: int) -> None:
    file = tmp_path / "study.toml"
    file.write_text(EXAMPLES[number], encoding="utf-8")
    assert read_study(file).name in EXAMPLES[number]


def test_everything_is_there() -> None:
    assert len(EXAMPLES) == 6
    for each in FORMATS_PAGE:
        assert f"| `{tag_of(each)}` |" in PAGE
    for name in Preprocessing.model_fields:
        assert re.search(rf"\| [^|]*`{name}`[^|]* \|", PAGE)
    for source in ("tsv", "annotations", "stim"):
        assert f"| `{source}` |" in PAGE


SHARED = ROOT.parent / "shared"


def check_folds(study: Study, summaries: list[RecordingSummary]) -> None:
    check_alike(summaries)
    assert isinstance(study.estimator, LinearSvmSettings)
    training = [summary for summary in summaries if summary.phase == study.phases.train]
    check_trials(training, folds=study.decoding.folds, inner_folds=study.estimator.inner_folds)


@pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="needs ../shared/data")
@pytest.mark.parametrize("name", ["eegbci", "n400", "n170"])
def test_recordings_fit_their_study(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHORTLOOP_DATA", raising=False)
    file = ROOT / "studies" / f"{name}.toml"
    study = read_study(file)
    assert study.name == name
    assert isinstance(study.input, RecordedInput)
    summaries = []
    for participant in study.participants:
        for phase in study.phases.names:
            folder = data_folder(study.input.folder, file)
            files = study.input.find(folder, participant, phase)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*180 of 340 trials are there twice")
                epochs = read_epochs(
                    study.input, files, participant=participant, phase=phase, classes=study.classes
                )
            summaries.append(summarize(epochs, participant=participant, phase=phase, file=files[0].name))
            amplitude = study.features.amplitude
            assert amplitude is not None
            first = int(np.argmin(np.abs(epochs.times - amplitude.start)))
            last = first + (amplitude.bins * amplitude.bin_samples - 1) * amplitude.step
            assert abs(epochs.times[first] - amplitude.start) <= 0.5 / epochs.sfreq
            assert last < len(epochs.times)
            assert amplitude.baseline is not None
            assert amplitude.baseline[0] >= epochs.times[0] - 0.5 / epochs.sfreq
            assert amplitude.lowpass is None or amplitude.lowpass < epochs.sfreq / 2
    check_folds(study, summaries)


@pytest.mark.skipif(not (SHARED / "reference").is_dir(), reason="needs ../shared/reference")
def test_the_simulated_classification_data_fit_their_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "--subjects 2 --trials 30 --bins 6 --amp-bins 8 --channels 8 --freqs 10 --seed 2021"
    spec = importlib.util.spec_from_file_location(
        "simulate_study", SHARED / "reference" / "simulate_study.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "argv", ["simulate_study.py", str(tmp_path), *command.split()])
    spec.loader.exec_module(module)
    module.main()

    file = ROOT / "studies" / "thesis.toml"
    study = read_study(file)
    assert isinstance(study.input, ThesisInput)
    monkeypatch.delenv("THESIS_DATA", raising=False)
    assert data_folder(study.input.folder, file) == Path(os.path.abspath(ROOT / "data" / "thesis"))
    monkeypatch.setenv("THESIS_DATA", str(tmp_path))
    folder = data_folder(study.input.folder, file)
    summaries = []
    for participant in study.participants:
        for kind, patterns in (("amplitude", study.input.amplitude), ("power", study.input.power)):
            for phase, pattern in patterns.items():
                (path,) = find_files(folder, [pattern], participant=participant)
                features = read_features(
                    study.input, path, kind=kind, participant=participant, phase=phase, classes=study.classes
                )
                assert features.data.shape == ((8, 90, 88) if kind == "amplitude" else (6, 90, 400))
                np.testing.assert_array_equal(features.labels, np.repeat([0, 1, 2], 30))
                summaries.append(summarize(features, participant=participant, phase=phase, file=path.name))
    assert len(summaries) == 6
    check_folds(study, summaries)
