"""What every format must satisfy; its page, its ending and its ready studies name it."""

from __future__ import annotations

import gzip
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eeg_recordings import exported, make_raw, read
from refusal import refusal
from scipy.io import savemat
from test_formats_several_files import raw_struct

from shortloop.eeg.checks.consistency import check_alike, check_trials
from shortloop.eeg.checks.summary import summarize
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.formats.epochs.settings import Preprocessing
from shortloop.eeg.formats.files.recognised import recognised
from shortloop.eeg.formats.read import read_epochs, read_features
from shortloop.eeg.formats.recording_format import FeaturesInput, FilesInput, InputSettings, RecordedInput
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.study.load import data_folder, read_study
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


def test_every_format_is_found_and_the_versions_of_what_mne_reads_with_count() -> None:
    folder = ROOT / "shortloop" / "eeg" / "formats"
    records = {file.stem for file in folder.glob("*.py") if "    format: Literal[" in file.read_text("utf-8")}
    assert records == {each.__module__.rpartition(".")[2] for each in FORMATS.values()} != set()
    method = ROOT / "methods" / "a_import_epochs.py"
    assert {"antio", "curryreader", "mffpy"} <= closure(method, settings_of("mne").modules())[1]
    assert not {"antio", "curryreader", "mffpy"} & closure(method, settings_of("edf").modules())[1]


def cases() -> Iterator[object]:
    """Every check of every format; of the one that takes a process, some in the slow tests."""
    for name in FORMATS:
        for check in FORMAT_CHECKS:
            is_slow = "imports" in check.__name__ and name not in ("edf", "table")
            if "light" not in check.__name__:
                yield pytest.param(name, check, marks=[pytest.mark.slow] * is_slow)


@pytest.mark.parametrize(("name", "check"), [*cases()])
def test_it_passes_the_common_tests(name: str, check: Check) -> None:
    check({"format": name, **(FILES if issubclass(FORMATS[name], FilesInput) else {})})


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


@pytest.mark.apart
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
            files = study.input.find(data_folder(study.input.folder, file), participant, phase)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*180 of 340 trials are there twice")
                who: dict[str, Any] = {"participant": participant, "phase": phase}
                epochs = read_epochs(study.input, files, classes=study.classes, **who)
            summaries.append(summarize(epochs, participant=participant, phase=phase, file=files[0].name))
            amplitude: Any = study.features.amplitude
            first = int(np.argmin(np.abs(epochs.times - amplitude.start)))
            last = first + (amplitude.bins * amplitude.bin_samples - 1) * amplitude.step
            assert abs(epochs.times[first] - amplitude.start) <= 0.5 / epochs.sfreq
            assert last < len(epochs.times)
            assert amplitude.baseline[0] >= epochs.times[0] - 0.5 / epochs.sfreq
            assert amplitude.lowpass is None or amplitude.lowpass < epochs.sfreq / 2
    check_alike(summaries)
    assert isinstance(study.estimator, LinearSvmSettings)
    training = [summary for summary in summaries if summary.phase == study.phases.train]
    check_trials(training, folds=study.decoding.folds, inner_folds=study.estimator.inner_folds)


def npz(file: Path) -> Path:
    np.savez(file, X=np.zeros((2, 1, 3)), y=[0, 1], t=np.arange(3.0), ch=["a"])
    return file


def mat(file: Path, **content: object) -> Path:
    savemat(file, content, appendmat=False)
    return file


def text(file: Path, content: str) -> Path:
    file.write_text(content)
    return file


THESIS: dict[str, list[str]] = {"category_name": [], "feature": []}
BRAINVISION = "Brain Vision Data Exchange"
EEGLAB = {"nbchan": 1, "srate": 1.0, "trials": 2}
FILES_RECOGNISED = {
    "edf": ("edf", lambda at: exported(make_raw(), at / "x.edf"), "EDF"),
    "bdf": ("edf", lambda at: exported(make_raw(), at / "x.bdf"), "BDF"),
    "fif": ("fif", lambda at: exported(make_raw(), at / "x_raw.fif"), "MNE's .fif"),
    "vhdr": ("brainvision", lambda at: exported(make_raw(), at / "x.vhdr"), "a BrainVision header"),
    "set": ("eeglab", lambda at: exported(make_raw(), at / "x.set"), "EEGLAB"),
    "npz": ("npz", lambda at: npz(at / "x.npz"), "arrays of NumPy"),
    "fieldtrip": ("fieldtrip", lambda at: mat(at / "x.mat", data=raw_struct()), "FieldTrip"),
    "features": ("thesis", lambda at: mat(at / "x.mat", x=THESIS), "ready features"),
    "table": ("", lambda at: mat(at / "x.mat", a=1, b=2), "a .mat file with a, b"),
    "erp": ("", lambda at: mat(at / "x.mat", ERP={"bindata": 1}), "averages of ERPLAB"),
    "markers": ("", lambda at: text(at / "x", f"{BRAINVISION} Marker File, Version 1.0"), "markers"),
    "annex": ("", lambda at: text(at / "x", "/annex/objects/MD5E-s1--2.edf\n"), "git-annex"),
    "lfs": ("", lambda at: text(at / "x", "version https://git-lfs.github.com/spec/v1\n"), "Git LFS"),
    "page": ("", lambda at: text(at / "x", "<!DOCTYPE html><html>404</html>"), "a web page"),
}
NEEDED = {"edf": "edfio", "bdf": "edfio", "vhdr": "pybv", "set": "eeglabio", "fieldtrip": "pymatreader"}
# Each is taken for some others.
SAID = [(name, "edf" if FILES_RECOGNISED[name][0] == "fif" else "fif") for name in FILES_RECOGNISED]
SAID += [("set", "fieldtrip"), ("fieldtrip", "eeglab"), ("edf", "brainvision"), ("vhdr", "npz")]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("name", "said"), SAID)
def test_it_is_named(tmp_path: Path, name: str, said: str) -> None:
    pytest.importorskip(NEEDED.get(name, "mne"))
    form, make, words = FILES_RECOGNISED[name]
    made = make(tmp_path)
    liar = tmp_path / {"edf": "s.edf", "fif": "s_raw.fif", "eeglab": "s.set"}.get(said, "s.mat")
    shutil.copy(made, liar)
    with refusal("not of the format that the study says", words, file=liar, expected=said) as caught:
        read(said, [liar])
    hint = str(caught.value.hint)
    assert hint == f'write format = "{form}"' if form else "format" not in hint


def test_recordings_in_place_of_features(tmp_path: Path) -> None:
    file = mat(tmp_path / "x.mat", EEG=EEGLAB)
    settings = InputSettings.model_validate({"format": "thesis", "power": {"run": "x"}})
    with refusal("not of the format", found="EEGLAB", hint='write format = "eeglab"'):
        read_features(settings, file, kind="power", participant="S1", phase="run", classes=("a", "b"))


def test_a_file_of_the_right_format_keeps_its_own_message(tmp_path: Path) -> None:
    file = exported(make_raw(), tmp_path / "x_raw.fif")
    with refusal("channel to drop is not in the file"):
        read("fif", [file], drop=("Qz",))
    packed = tmp_path / "y_raw.fif"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    with refusal("not of the format", found="packed by gzip", hint="unpack it"):
        read("fif", [packed])
    named = tmp_path / "S1.xdf"
    named.write_bytes(b"XDF:" + bytes(200))
    kind: Any = recognised(named)
    assert (kind.name, kind.format) == ("XDF", "xdf")
