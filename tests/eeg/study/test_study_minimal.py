"""The embedded study, and the shortest study file of each format and estimator."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortloop.base.errors import InputError
from shortloop.eeg.decoding.estimators.base import EstimatorSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.formats.base import InputSettings
from shortloop.eeg.formats.edf import EdfInput
from shortloop.eeg.formats.fif import FifInput
from shortloop.eeg.formats.simulated import SimulatedInput
from shortloop.eeg.study.load import DEFAULT_STUDY, read_study
from shortloop.eeg.study.schema import Study

HEAD = 'name = "s"\nparticipants = ["P1"]\nclasses = ["a", "b"]\n[features.amplitude]\n'
FILES = '[input.files]\nstudy = ["{participant}*"]\n'
INPUTS = {
    "simulated": '[input]\nformat = "simulated"\n',
    "thesis": '[input]\nformat = "thesis"\namplitude = { study = "a.mat" }\n',
    "bids": '[input]\nformat = "bids"\n',
    "brainvision": '[input]\nformat = "brainvision"\n' + FILES,
    "csv": '[input]\nformat = "csv"\n' + FILES,
    "edf": '[input]\nformat = "edf"\n' + FILES,
    "fif": '[input]\nformat = "fif"\n' + FILES,
    "eeglab": '[input]\nformat = "eeglab"\n' + FILES,
    "fieldtrip": '[input]\nformat = "fieldtrip"\n' + FILES,
    "mne": '[input]\nformat = "mne"\n' + FILES,
    "xdf": '[input]\nformat = "xdf"\n' + FILES,
    "npz": '[input]\nformat = "npz"\n' + FILES,
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


def test_ready_made_features_need_no_decoded_phase(tmp_path: Path) -> None:
    text = HEAD + '[phases]\ndecode = "test"\n' + INPUTS["thesis"]
    assert read_study(written(tmp_path, text)).phases.decoded == "test"


def test_class_is_its_own_event_unless_named(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, HEAD + INPUTS["fif"]))
    assert isinstance(study.input, FifInput)
    assert study.input.class_of_event(("b",)) == {"b": 0}


def test_study_survives_its_own_dump() -> None:
    study = read_study()
    assert Study.model_validate(study.model_dump(mode="json")) == study


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).resolve().parents[3] / "studies").glob("*.toml")), ids=str
)
def test_studies_that_come_along(file: Path) -> None:
    assert read_study(file).name == file.stem


def test_empty_file_lacks_keys(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing a key \(and 4 more\)") as caught:
        read_study(written(tmp_path, ""))
    assert caught.value.field == "name"
