"""Wrong values of a study file are told by file, key, what was found and what was expected."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shortloop.base.errors import InputError

Mistake = Callable[..., InputError]
SIMULATED = '[input]\nformat = "simulated"\n'
NPZ = '[input]\nformat = "npz"\n[input.files]\nstudy = ["x.npz"]\n'
THESIS = '[input]\nformat = "thesis"\n'


WRONG: list[tuple[str, dict[str, str], str, str, str]] = [
    # what is written, at what key it is told, what is shown as found, what the expectation says
    ("seed = -1", {}, "seed", "-1", "greater than or equal to 0"),
    ("seed = 4294967296", {}, "seed", "4294967296", "less than 4294967296"),
    ("seed = 1.5", {}, "seed", "1.5", "integer"),
    ("seed = '3'", {}, "seed", "'3'", "integer"),
    ("seed = true", {}, "seed", "True", "integer"),
    ("name = 'a b'", {}, "name", "'a b'", "letters without accents"),
    ("name = '../x'", {}, "name", "'../x'", "letters without accents"),
    ("name = ''", {}, "name", "''", "letters without accents"),
    ("name = 3", {}, "name", "3", "string"),
    ("participants = 'P1'", {}, "participants", "'P1'", "a list in brackets"),
    ("participants = []", {}, "participants", "[]", "at least 1"),
    ("participants = ['P1', 2]", {}, "participants.1", "2", "string"),
    ("participants = ['P1', 'a/b']", {}, "participants.1", "'a/b'", "letters and digits, with spaces"),
    ("classes = ['a']", {}, "classes", "['a']", "at least 2"),
    ("phases = 3", {}, "phases", "3", "table"),
    ("[phases]\ntrain = 5", {}, "phases.train", "5", "string"),
    ("[decoding]\nfolds = 1", {}, "decoding.folds", "1", "greater than or equal to 2"),
    ("[decoding]\nfolds = '10'", {}, "decoding.folds", "'10'", "integer"),
    ("[decoding]\nselect_alpha = 0.0", {}, "decoding.select_alpha", "0.0", "greater than 0"),
    ("[decoding]\nselect_alpha = 1.5", {}, "decoding.select_alpha", "1.5", "less than or equal to 1"),
    ("[decoding]\nselect_alpha = nan", {}, "decoding.select_alpha", "nan", "finite"),
    ("[decoding]\nscaling = 'none'", {}, "decoding.scaling", "'none'", "'separate' or 'training'"),
    ("[estimator]\nkind = 'linear-svm'\nC = 0.1", {}, "estimator.C", "0.1", "a list in brackets"),
    ("[estimator]\nkind = 'linear-svm'\nC = []", {}, "estimator.C", "[]", "at least 1"),
    ("[estimator]\nkind = 'linear-svm'\nC = [0.1, -1.0]", {}, "estimator.C.1", "-1.0", "greater than 0"),
    ("[estimator]\nkind = 'linear-svm'\ntol = inf", {}, "estimator.tol", "inf", "finite"),
    (
        "[estimator]\nkind = 'matlab-svm'\nkernel_scale = 'car'",
        {},
        "estimator.kernel_scale",
        "'car'",
        "or 'auto'",
    ),
    (
        "[estimator]\nkind = 'svm'",
        {},
        "estimator.kind",
        "'svm'",
        "'lda', 'linear-svm', 'matlab-svm', 'ridge', 'sklearn'",
    ),
    ("[estimator]\nkind = 'sklearn'\npath = 'SVC'", {}, "estimator.path", "'SVC'", "match"),
    (
        "[estimator]\nkind = 'sklearn'\npath = 'a.B'\nparams = {x = [1]}",
        {},
        "estimator.params.x",
        "[1]",
        "number",
    ),
    ("[permutations]\ncount = 0", {}, "permutations.count", "0", "greater than or equal to 1"),
    (
        "[permutations]\nnull = 'labels'",
        {},
        "permutations.null",
        "'labels'",
        "'test-labels' or 'training-labels'",
    ),
    ("[permutations]\nretrained = -1", {}, "permutations.retrained", "-1", "greater than or equal to 0"),
    (
        "[permutations]\nnull = 'training-labels'\nretrained = 9",
        {},
        "permutations.retrained",
        "null = 'training-labels' trains all again already; leave it out",
        "",
    ),
    ("[group]\nalpha = 1.0", {}, "group.alpha", "1.0", "less than 1"),
    ("[group]\nsmooth = -1.0", {}, "group.smooth", "-1.0", "greater than or equal to 0"),
    (
        "",
        {"features": "[features.amplitude]\nlowpass = true\n"},
        "features.amplitude.lowpass",
        "True",
        "number",
    ),
    (
        "",
        {"features": "[features.amplitude]\nbaseline = [1.0]\n"},
        "features.amplitude.baseline",
        "[1.0]",
        "2 values",
    ),
    (
        "",
        {"features": "[features.amplitude]\nbaseline = [1, 2, 3]\n"},
        "features.amplitude.baseline",
        "[1, 2, 3]",
        "at most 2",
    ),
    (
        "",
        {"features": "[features.amplitude]\nbaseline = [1, 'x']\n"},
        "features.amplitude.baseline.1",
        "'x'",
        "number",
    ),
    ("", {"features": "[features.amplitude]\nbins = 2.5\n"}, "features.amplitude.bins", "2.5", "integer"),
    ("", {"features": "[features.amplitude]\napply = 'no'\n"}, "features.amplitude.apply", "'no'", "boolean"),
    (
        "",
        {"features": "[features.power]\nfmax = 1.0\n"},
        "features.power",
        "fmax (1.0 Hz) is below fmin (4.0 Hz)",
        "",
    ),
    ("", {"features": "[features]\n"}, "features", "no features asked for", ""),
    ("", {"features": "features = 1\n"}, "features", "1", "table"),
    (
        "",
        {"rest": '[input]\nformat = "simulate"\n'},
        "input.format",
        "'simulate'",
        "'npz', 'simulated', 'table', 'thesis'",
    ),
    ("", {"rest": SIMULATED + "tmin = '0'\n"}, "input.tmin", "'0'", "number"),
    ("", {"rest": SIMULATED + "sfreq = 0\n"}, "input.sfreq", "0", "greater than 0"),
    (
        "",
        {"rest": '[input]\nformat = "npz"\nfiles = {study = "x"}\n'},
        "input.files.study",
        "'x'",
        "a list in brackets",
    ),
    ("", {"rest": '[input]\nformat = "npz"\nfiles = "x"\n'}, "input.files", "'x'", "table"),
    (
        "",
        {"rest": '[input]\nformat = "npz"\nfiles = {study = ["x", 1]}\n'},
        "input.files.study.1",
        "1",
        "string",
    ),
    # Names that happen to be those of formats are the user's own.
    (
        "[phases]\ntrain = 'npz'",
        {"rest": '[input]\nformat = "npz"\nfiles = {npz = 3}\n'},
        "input.files.npz",
        "3",
        "list in brackets",
    ),
    # Parts that contradict each other.
    ("participants = ['P1', 'P2', 'P1']", {}, "participants", "P1 named twice", ""),
    ("classes = ['a', 'b', 'b', 'a']", {}, "classes", "a, b named twice", ""),
    ("[phases]\ndecode = 'test'", {"rest": NPZ}, "input.files", "nothing given for test (given: study)", ""),
    ("[phases]\ntrain = 'x'\ndecode = 'y'", {"rest": NPZ}, "input.files", "nothing given for x, y", ""),
    ("", {"rest": NPZ + "[input.events]\na = ['A']\n"}, "input.events", "nothing given for b (given: a)", ""),
    ("", {"rest": THESIS}, "input.amplitude", "nothing given for study (given: none)", ""),
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


@pytest.mark.parametrize("tag", ["simulate", "Simulated"])
def test_nearest_format_is_suggested(mistake: Mistake, tag: str) -> None:
    assert mistake(rest=f'[input]\nformat = "{tag}"\n').hint == "did you mean 'simulated'?"
