"""Unknown and missing keys of a study file are named, with those that it may have."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shortloop.base.errors import InputError

Mistake = Callable[..., InputError]
SIMULATED = '[input]\nformat = "simulated"\n'

UNKNOWN = [
    ("sed = 3", {}, "sed", "did you mean 'seed'?"),
    ("wholly_unknown = 3", {}, "wholly_unknown", "remove the key"),
    ("[phases]\ndecoded = 'test'", {}, "phases.decoded", "did you mean 'decode'?"),
    ("[decoding]\nfold = 3", {}, "decoding.fold", "did you mean 'folds'?"),
    ("[permutations]\ncounts = 3", {}, "permutations.counts", "did you mean 'count'?"),
    ("[group]\nalpah = 0.1", {}, "group.alpah", "did you mean 'alpha'?"),
    (
        "",
        {"features": "[features.amplitude]\nlow_pass = 3.0\n"},
        "features.amplitude.low_pass",
        "did you mean 'lowpass'?",
    ),
    ("", {"features": "[features.power]\nfmn = 3.0\n"}, "features.power.fmn", "did you mean 'fmin'?"),
    ("", {"features": "[features.amplitudes]\n"}, "features.amplitudes", "did you mean 'amplitude'?"),
    ("", {"rest": SIMULATED + "trails = 3\n"}, "input.trails", "did you mean 'trials'?"),
    # Keys of other formats and estimators are none of this one.
    (
        "",
        {"rest": '[input]\nformat = "npz"\ntrials = 4\n[input.files]\nstudy = ["x"]\n'},
        "input.trials",
        "remove the key",
    ),
    (
        "",
        {"rest": '[input]\nformat = "npz"\nnpz = 4\n[input.files]\nstudy = ["x"]\n'},
        "input.npz",
        "remove the key",
    ),
    ("", {"rest": SIMULATED + "folder = 'x'\n"}, "input.folder", None),
    ("[estimator]\nkind = 'matlab-svm'\ninner_folds = 3", {}, "estimator.inner_folds", "remove the key"),
    ("[estimator]\nkind = 'linear-svm'\nc = [0.1]", {}, "estimator.c", None),
    (
        "[estimator]\nkind = 'sklearn'\npath = 'a.B'\nparam = {}",
        {},
        "estimator.param",
        "did you mean 'params'?",
    ),
]


@pytest.mark.parametrize(("top", "parts", "field", "hint"), UNKNOWN)
def test_unknown_key(mistake: Mistake, top: str, parts: dict[str, str], field: str, hint: str | None) -> None:
    error = mistake(top, **parts)
    assert "unknown key" in error.problem
    assert error.field == field
    assert error.found == field.split(".")[-1]
    assert field.split(".")[-1] not in str(error.expected).split(", ")
    if hint:
        assert error.hint == hint


def test_unknown_key_lists_those_of_its_table_alone(mistake: Mistake) -> None:
    npz = mistake(rest='[input]\nformat = "npz"\nx = 1\n[input.files]\nstudy = ["x"]\n')
    assert npz.expected == "drop, events, files, folder, format, phase_events, time_unit, unit"
    linear = mistake("[estimator]\nkind = 'linear-svm'\nx = 1")
    assert linear.expected == "C, inner_folds, kind, tol"


MISSING = [
    ("#name", {}, "name"),
    ("#participants", {}, "participants"),
    ("#classes", {}, "classes"),
    ("", {"features": ""}, "features"),
    ("", {"rest": ""}, "input"),
    ("", {"rest": "[input]\n"}, "input.format"),
    ("", {"rest": '[input]\nformat = "npz"\n'}, "input.files"),
    ("[estimator]\nC = [0.1]", {}, "estimator.kind"),
    ("[estimator]\nkind = 'sklearn'", {}, "estimator.path"),
]


@pytest.mark.parametrize(("top", "parts", "field"), MISSING)
def test_missing_key(mistake: Mistake, top: str, parts: dict[str, str], field: str) -> None:
    error = mistake(top, **parts)
    assert error.problem == "the study file is missing a key"
    assert error.field == field
    assert error.hint == f"add '{field.split('.')[-1]}'"


def test_other_mistakes_are_counted(mistake: Mistake) -> None:
    error = mistake("seed = -1\n[group]\nalpha = 2.0\nbeta = 1\n[decoding]\nfolds = 0")
    assert error.problem.endswith("(and 3 more)")


def test_a_value_that_is_wrong_is_not_also_one_too_few(mistake: Mistake) -> None:
    error = mistake("classes = ['a b', 'c']")
    assert error.field == "classes.0"
    assert "more" not in error.problem
