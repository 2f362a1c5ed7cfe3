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
    ("seed = 1.5", {}, "seed", "1.5", "integer"),
    ("name = 'a b'", {}, "name", "'a b'", "letters without accents"),
    ("participants = 'P1'", {}, "participants", "'P1'", "a list in brackets"),
    ("participants = ['P1', 'a/b']", {}, "participants.1", "'a/b'", "letters and digits, with spaces"),
    ("classes = ['a']", {}, "classes", "['a']", "at least 2"),
    ("[decoding]\nfolds = 1", {}, "decoding.folds", "1", "greater than or equal to 2"),
    ("[decoding]\nselect_alpha = 1.5", {}, "decoding.select_alpha", "1.5", "less than or equal to 1"),
    ("[estimator]\nkind = 'linear-svm'\nC = 0.1", {}, "estimator.C", "0.1", "a list in brackets"),
    ("[estimator]\nkind = 'linear-svm'\nC = [0.1, -1.0]", {}, "estimator.C.1", "-1.0", "greater than 0"),
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
    (
        "[permutations]\nnull = 'training-labels'\nretrained = 9",
        {},
        "permutations.retrained",
        "null = 'training-labels' trains all again already; leave it out",
        "",
    ),
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
        {"features": "[features.amplitude]\nbaseline = [1, 'x']\n"},
        "features.amplitude.baseline.1",
        "'x'",
        "number",
    ),
    (
        "",
        {"features": "[features.power]\nfmax = 1.0\n"},
        "features.power",
        "fmax (1.0 Hz) is below fmin (4.0 Hz)",
        "",
    ),
    ("", {"features": "[features]\n"}, "features", "no features asked for", ""),
    (
        "",
        {"rest": '[input]\nformat = "simulate"\n'},
        "input.format",
        "'simulate'",
        "'npz', 'simulated', 'table', 'thesis'",
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


@pytest.mark.parametrize(
    ("top", "parts", "field", "hint"),
    [
        ("[phases]\ndecoded = 'test'", {}, "phases.decoded", "did you mean 'decode'?"),
        ("", {"features": "[features.power]\nfmn = 3.0\n"}, "features.power.fmn", "did you mean 'fmin'?"),
        ("", {"features": "[features.amplitudes]\n"}, "features.amplitudes", "did you mean 'amplitude'?"),
        ("", {"rest": NPZ + "[input.x]\n"}, "input.x", "remove the key"),
        ("[estimator]\nkind = 'matlab-svm'\ninner_folds = 3", {}, "estimator.inner_folds", "remove the key"),
    ],
)
def test_keys_of_another_table_format_or_estimator(
    mistake: Mistake, top: str, parts: dict[str, str], field: str, hint: str
) -> None:
    error = mistake(top, **parts)
    assert "unknown key" in error.problem
    assert (error.field, error.found, error.hint) == (field, field.split(".")[-1], hint)


def test_a_value_that_is_wrong_is_not_also_one_too_few(mistake: Mistake) -> None:
    error = mistake("classes = ['a b', 'c']")
    assert error.field == "classes.0"
    assert "more" not in error.problem
