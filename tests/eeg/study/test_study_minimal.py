"""Study files: the shortest of each format and estimator, wrong values, and files that are no study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.formats.edf import EdfInput
from shortloop.eeg.formats.fif import FifInput
from shortloop.eeg.formats.recording_format import InputSettings
from shortloop.eeg.formats.simulated import SimulatedInput
from shortloop.eeg.study.load import DEFAULT_STUDY, data_folder, read_study
from shortloop.eeg.study.schema import Study

Mistake = Callable[..., InputError]
NPZ = '[input]\nformat = "npz"\n[input.files]\nstudy = ["x.npz"]\n'
THESIS = '[input]\nformat = "thesis"\n'
OWN = '[input]\nformat = "npz"\nfiles = {npz = 3}\n'
MATLAB = "[estimator]\nkind = 'matlab-svm'\n"
AGAIN = "[permutations]\nnull = 'training-labels'\n"


def of(kind: str, line: str) -> dict[str, str]:
    return {"features": f"[features.{kind}]\n{line}\n"}


WRONG: list[tuple[str, dict[str, str], str, str, str]] = [
    # what is written, at what key it is told, what is shown as found, what the expectation says
    ("seed = -1", {}, "seed", "-1", "greater than or equal to 0"),
    ("name = 'a b'", {}, "name", "'a b'", "letters without accents"),
    ("participants = 'P1'", {}, "participants", "'P1'", "a list in brackets"),
    ("participants = ['P1', 'a/b']", {}, "participants.1", "'a/b'", "letters and digits, with spaces"),
    ("[estimator]\nkind = 'linear-svm'\nC = 0.1", {}, "estimator.C", "0.1", "a list in brackets"),
    ("[estimator]\nkind = 'linear-svm'\nC = [0.1, -1.0]", {}, "estimator.C.1", "-1.0", "greater than 0"),
    (f"{MATLAB}kernel_scale = 'car'", {}, "estimator.kernel_scale", "'car'", "or 'auto'"),
    (
        "[estimator]\nkind = 'svm'",
        {},
        "estimator.kind",
        "'svm'",
        "'lda', 'linear-svm', 'matlab-svm', 'ridge'",
    ),
    (f"{AGAIN}retrained = 9", {}, "permutations.retrained", "null = 'training-labels' trains all again", ""),
    ("", of("amplitude", "baseline = [1.0]"), "features.amplitude.baseline", "[1.0]", "2 values"),
    ("", of("amplitude", "baseline = [1, 'x']"), "features.amplitude.baseline.1", "'x'", "number"),
    ("", of("power", "fmax = 1.0"), "features.power", "fmax (1.0 Hz) is below fmin (4.0 Hz)", ""),
    ("", {"features": "[features]\n"}, "features", "no features asked for", ""),
    (
        "",
        {"rest": '[input]\nformat = "simulate"\n'},
        "input.format",
        "'simulate'",
        "'npz', 'simulated', 'table'",
    ),
    # Names that happen to be those of formats are the user's own.
    ("[phases]\ntrain = 'npz'", {"rest": OWN}, "input.files.npz", "3", "list in brackets"),
    # Parts that contradict each other.
    ("participants = ['P1', 'P2', 'P1']", {}, "participants", "P1 named twice", ""),
    ("classes = ['a', 'b', 'b', 'a']", {}, "classes", "a, b named twice", ""),
    ("[phases]\ndecode = 'test'", {"rest": NPZ}, "input.files", "nothing given for test (given: study)", ""),
    ("", {"rest": NPZ + "[input.events]\na = ['A']\n"}, "input.events", "nothing given for b (given: a)", ""),
    ("", {"rest": THESIS + 'power = {study = "x"}\n'}, "input.amplitude", "nothing given for study", ""),
]


@pytest.mark.parametrize(("top", "parts", "field", "found", "expected"), WRONG)
def test_wrong_value(
    mistake: Mistake, top: str, parts: dict[str, str], field: str, found: str, expected: str
) -> None:
    error = mistake(top, **parts)
    assert "wrong value" in error.problem
    assert "more)" not in error.problem
    assert error.field == field
    assert str(error.found).startswith(found)
    assert expected in str(error.expected or "")
    assert bool(expected) == bool(error.expected)


HEAD = 'name = "s"\nparticipants = ["P1"]\nclasses = ["a", "b"]\n[features.amplitude]\n'
FILES = '[input.files]\nstudy = ["{participant}*"]\n'
INPUTS = {
    "simulated": '[input]\nformat = "simulated"\n',
    "thesis": '[input]\nformat = "thesis"\namplitude = { study = "a.mat" }\n',
    "bids": '[input]\nformat = "bids"\n',
    **{
        name: f'[input]\nformat = "{name}"\n{FILES}'
        for name in ("brainvision", "csv", "edf", "fif", "eeglab", "fieldtrip", "mne", "xdf", "npz")
    },
}
ESTIMATORS = {
    **dict.fromkeys(("linear-svm", "matlab-svm", "lda", "ridge"), ""),
    "sklearn": 'path = "sklearn.naive_bayes.GaussianNB"\n',
}


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_default_study() -> None:
    study = read_study()
    assert study == read_study(DEFAULT_STUDY)
    assert isinstance(study.input, SimulatedInput)
    assert (study.phases.train, study.phases.decoded, study.phases.within) == ("study", "test", False)
    assert list(study.features.kinds) == ["amplitude", "power"]
    assert len(study.classes) == 3
    assert len(study.participants) == 8
    assert Study.model_validate(study.model_dump(mode="json")) == study


@pytest.mark.parametrize("name", INPUTS)
def test_shortest_study_of_each_format(name: str, tmp_path: Path) -> None:
    study = read_study(written(tmp_path, HEAD + INPUTS[name]))
    assert type(study.input) is InputSettings.named(name)
    assert study.phases.within
    assert study.phases.names == ("study",)
    assert isinstance(study.estimator, LinearSvmSettings)
    assert study.decoding.folds == 10
    assert study.features.amplitude is not None
    assert study.features.amplitude.lowpass == 30.0
    assert study.features.power is None
    assert list(study.features.kinds) == ["amplitude"]
    if isinstance(study.input, FifInput):
        assert study.input.class_of_event(("b",)) == {"b": 0}
    if name == "thesis":  # ready-made features need no decoded phase
        decoded = written(tmp_path, f'{HEAD}[phases]\ndecode = "test"\n{INPUTS[name]}')
        assert read_study(decoded).phases.decoded == "test"


def test_an_empty_file_lacks_keys(tmp_path: Path) -> None:
    with refusal(r"missing a key \(and 4 more\)", field="name"):
        read_study(written(tmp_path, ""))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_shortest_estimator(kind: str, tmp_path: Path) -> None:
    text = ESTIMATORS[kind]
    study = read_study(written(tmp_path, f'{HEAD}{INPUTS["simulated"]}[estimator]\nkind = "{kind}"\n{text}'))
    assert type(study.estimator) is EstimatorSettings.named(kind)


def test_values_are_taken_over(tmp_path: Path) -> None:
    text = (
        HEAD
        + "baseline = false\nlowpass = false\nstart = 0\n"
        + INPUTS["edf"]
        + "test = ['x', 'y']\n[input.events]\na = ['T1', 'T2']\nb = ['T0']\n"
        + "[phases]\ndecode = 'test'\n[decoding]\nfolds = 4\nscaling = 'training'\n"
        + "[estimator]\nkind = 'sklearn'\npath = 'a.B'\nparams = { C = 1, on = true, how = 'x', tol = 0.5 }\n"
    )
    study = read_study(written(tmp_path, text))
    assert study.features.amplitude is not None
    assert study.features.amplitude.baseline is None
    assert study.features.amplitude.lowpass is None
    assert study.features.amplitude.start == 0.0
    assert isinstance(study.input, EdfInput)
    assert study.input.files == {"study": ("{participant}*",), "test": ("x", "y")}
    assert study.input.class_of_event(("a",)) == {"T1": 0, "T2": 0}
    assert study.phases.names == ("study", "test")
    assert (study.decoding.folds, study.decoding.scaling) == (4, "training")
    assert isinstance(study.estimator, SklearnSettings)
    assert study.estimator.params == {"C": 1, "on": True, "how": "x", "tol": 0.5}
    assert study.estimator.params["on"] is True
    assert isinstance(study.estimator.params["C"], int)


def test_folder_is_relative_to_the_study_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder("~/eeg", "/studies/s.toml") == tmp_path / "eeg"
    assert data_folder(".", "/studies/s.toml") == Path("/studies")
    assert data_folder("../eeg", "/studies/s.toml") == Path("/eeg")
    assert data_folder("eeg", "s.toml") == tmp_path / "eeg"
    assert data_folder("/eeg", "/studies/s.toml") == Path("/eeg")
