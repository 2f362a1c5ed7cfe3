"""The methods section says what was done, with its numbers, and nothing that was not."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_reader import Page
from report_synthetic import kind_result, report_content, write_report

from shortloop.eeg.report.content import KindResult, ReportContent
from shortloop.eeg.report.methods import REFERENCES, methods_file, methods_text
from shortloop.eeg.study.load import DEFAULT_STUDY
from shortloop.eeg.study.schema import Study


def null_of(result: KindResult, count: int) -> KindResult:
    null = np.arange(count, dtype=float)
    return dataclasses.replace(result, curve=dataclasses.replace(result.curve, null_max=null, null_mass=null))


FILES = {"format": "fif", "folder": "x", "files": {"study": ["{participant}.fif"]}}
RECORDED = {"phases": {"train": "study"}, "input": FILES}


def settings(**changed: Any) -> dict[str, Any]:
    """The default study, changed, as the report is given it."""
    import tomllib

    study = {**tomllib.loads(DEFAULT_STUDY.read_text(encoding="utf-8")), **changed}
    return Study.model_validate(study).for_report()


def recording(name: str = "s01", phase: str = "study", **changed: Any) -> dict[str, Any]:
    known = {"participant": name, "phase": phase, "kind": "epochs", "file": "x", "channels": ["Fz", "Cz"]}
    about = {"sfreq": 250.0, "tmin": -0.5, "samples": 501, "bins": 0, "features": 0, "accounts": []}
    return {**known, **about, "trials": {"face": 40, "house": 38}, **changed}


def text(*kinds: KindResult, recordings: tuple[dict[str, Any], ...] = (), **changed: Any) -> str:
    asked = settings(**changed)
    kinds = tuple(with_null(kind, asked) for kind in kinds or [kind_result()])
    return " ".join(methods_text(report_content(*kinds, settings=asked, recordings=recordings))[0])


def with_null(result: KindResult, asked: dict[str, Any]) -> KindResult:
    """The same with the null distributions that were asked for, where none is known."""
    null = asked["permutations"]["null"] or "test-labels"
    if asked["group"]["null"] == "sign-flips" and result.curve.level == "group":
        null = "sign-flips"
    maps = {name: getattr(result, name) for name in ("curve", "generalization")}
    known = {name: each for name, each in maps.items() if each is not None and not each.null}
    return dataclasses.replace(
        result, **{name: dataclasses.replace(each, null=null) for name, each in known.items()}
    )


def test_the_default_study() -> None:
    said = text(recordings=(recording(), recording(phase="test")))
    parts = ["8 participants", "2 channels at 250 Hz", "−500 to 1500 ms", "38 to 40 in study"]
    parts += ["mean of −200 to 0 ms", "at 30 Hz", "order 6", "25 bins of 10 samples (40 ms)"]
    parts += ["5 cycles", "16 frequencies from 10 to 40 Hz", "12 bins of 5 points, 16 ms apart"]
    parts += ["face, landmark or object", "10-fold", "0.0001, 0.001 and 0.01", "5 stratified folds"]
    parts += ["σ = 1 bin", "(33.3 %)", "499 permutations", "p = (1 + b) / (1 + m)", "p < 0.05"]
    assert [part for part in parts if part not in said] == []
    unsaid = "Gramfort|LIBSVM|Scikit|flip|Combrisson|rejected|trained again|None|weighted|drawn at"
    assert not re.search(unsaid, said)


def estimator(kind: str, **fields: Any) -> dict[str, Any]:
    return {"estimator": {"kind": kind, **fields}}


GAUSSIAN = "sklearn.naive_bayes.GaussianNB"
SVC = {"path": "sklearn.svm.SVC", "params": {"kernel": "rbf", "C": 2}}
UNSMOOTHED = {"features": {"amplitude": {"baseline": False, "lowpass": False, "step": 3}}}
# What is changed in the study, and patterns of what is then said and of what is no longer said.
BRANCHES: dict[str, tuple[dict[str, Any], str, str]] = {
    "one C": (estimator("linear-svm", C=[0.1]), "C = 0.1.*tolerance of 0.0001", "chosen out of"),
    "matlab": (estimator("matlab-svm", C=2.0), "Chang.*C = 2.*median distance", "Fan et al."),
    "matlab, scaled": (estimator("matlab-svm", kernel_scale=3.0), "divided by 3", "median distance"),
    "lda": (estimator("lda", shrinkage=0.3), "shrunk by 0.3.*Blankertz", "vector"),
    "ridge": (estimator("ridge", alpha=5.0), r"α = 5 \(Hoerl", "vector"),
    "sklearn": (estimator("sklearn", path=GAUSSIAN), f"{GAUSSIAN} of scikit.*default parameters", "vector"),
    "parameters": (estimator("sklearn", **SVC), "kernel = rbf and C = 2, all else", "default parameters"),
    "own": (estimator("sklearn", path="mine.Nearest"), "mine.Nearest", "scikit-learn"),
    "two classes": ({"classes": ["a", "b"]}, "classified as a or b", "one-versus-rest"),
    "all features": ({"decoding": {"select_alpha": 1.0}}, "all features were used", "analysis of var"),
    "scaling": (
        {"decoding": {"scaling": "separate", "folds": 5}},
        "shuffled 5-fold.*by their own mean and standard deviation",
        "by the mean and standard deviation of the training trials",
    ),
    "runs": (
        {"decoding": {"fold_by": "run"}, "permutations": {"null": "training-labels"}},
        "in at most 10 folds that each held out whole runs.*training labels within runs",
        "shuffled 10-fold|within folds, with all",
    ),
    "subsampled": ({"decoding": {"subsample": True}}, "drawn at random.*smallest", "weighted"),
    "weighted": ({"decoding": {"class_weight": "balanced"}}, "weighted inversely", "drawn at random"),
    "retrained": (
        {"permutations": {"null": "training-labels"}},
        "training labels within folds.*trained again",
        "true labels",
    ),
    "not smoothed": ({"group": {"smooth": 0.0}}, "were compared with", "smoothed"),
    "levels": (
        {"group": {"alpha": 0.01, "cluster_alpha": 0.001}},
        r"two-sided p < 0.001.*error rate is 0.01\.",
        "error rate is 0.05",
    ),
    "random flips": (
        {"group": {"null": "sign-flips"}},
        r"499 random ways.*Winkler et al., 2014.*\(1 \+ m\) for b of m sign patt",
        "true labels|share of",
    ),
    "no baseline": (
        UNSMOOTHED,
        r"Amplitude features: 40 bins of 11 samples \(132 ms, 1 of 3 kept\)",
        "subtracted|Butterworth|Power features|Oostenveld et al., 2011",
    ),
    "nothing prepared": (RECORDED, "The EEG of 8", "Simulated|Gramfort|FIR"),
}


@pytest.mark.parametrize("branch", BRANCHES)
def test_each_setting_changes_the_text(branch: str) -> None:
    changed, said, unsaid = BRANCHES[branch]
    found = text(recordings=(recording(),), **changed)
    assert re.search(said, found), found
    assert not re.search(unsaid, found), found
    assert not re.search(r"None|\{|\}|  |\.\.|\bnan\b|\bTrue\b|\bFalse\b", found)


def test_preparation_is_told_in_its_order_with_what_was_left_out() -> None:
    given: dict[str, Any] = {"highpass": 0.1, "lowpass": 40.0, "notch": 50.0, "reference": "average"}
    given |= {"baseline": [-0.2, 0.0], "reject": {"eeg": 150e-6}, "flat": {"eeg": 1e-6}}
    given |= {"resample": 200.0, "interpolate": True}
    reasons = {"amplitude": 3, "annotated as BAD_x": 1}
    dropped = [{"class": "face", "reason": why, "trials": count} for why, count in reasons.items()]
    account = {"trials": 50, "dropped": dropped, "bads": ["Fz"], "interpolated": ["Fz"]}
    known: tuple[dict[str, Any], ...]
    known = recording(accounts=[account]), recording("s02", accounts=[{"trials": 40, "dropped": []}])
    asked: dict[str, Any] = {**RECORDED, "input": {**FILES, "preprocessing": given}}
    said = text(recordings=known, **asked)
    steps = ["high-pass filtered at 0.1 Hz", "low-pass filtered at 40 Hz", "removed at 50 Hz"]
    steps += [r"\(1 in 1 of 2 recordings\) were interpolated", "Perrin", "average of all EEG channels"]
    steps += ["mean of −200 to 0 ms", "above 150 µV", "below 1 µV", "to 200 Hz"]
    steps += [r"Of 160 trials, 4 .* \(3 rejected by amplitude and 1 annotated as BAD_x\)"]
    assert re.search(".*".join(steps), said)
    asked["input"]["preprocessing"] = {"reference": ["M1", "M2"]}
    known = (recording(accounts=[{"trials": 50, "dropped": [], "bads": ["Fz", "Cz"]}]),)
    said = text(recordings=known, **asked)
    assert re.search(r"\(2 in 1 of 1 recording\) were left out and .* referenced to M1", said)
    assert not re.search(r"Perrin|were left out \(", said)
    # A bad channel of a recording is counted once, and sensors by their types.
    known = tuple(recording(phase=phase, accounts=[account]) for phase in ("study", "test"))
    assert "bad channels (1 in 1 of 1 recording)" in text(recordings=known, **RECORDED)
    typed = {"trials": 50, "dropped": [], "types": ["mag", "eeg"]}
    said = text(recordings=(recording(accounts=[typed], tmin=-0.1015625),), **RECORDED)
    assert re.search("The MEG and EEG of 8 .* 2 channels .1 MEG sensor.*−102 to 1898 ms", said)
    assert text(recordings=(recording(kind="amplitude"),), **RECORDED).startswith("Ready-made features of 8")
    assert methods_text(report_content(kind_result(), settings={"classes": ["a"]})) == ((), ())


def test_references_are_those_that_are_cited() -> None:
    whole = report_content(kind_result(), settings=settings(), recordings=(recording(),))
    paragraphs, references = methods_text(whole)
    cited = re.findall(r"[(;] ?([A-Z][^();]*, \d{4})", " ".join(paragraphs))
    assert {*cited} <= {*REFERENCES}
    assert sorted({REFERENCES[each] for each in cited}) == sorted(references)
    assert len(references) == 9
    for short, full in REFERENCES.items():
        author, year = re.match(r"([^\s,]+).*?(\d{4})", short).groups()  # type: ignore[union-attr]
        assert full.startswith(author)
        assert f"({year})" in full


def test_versions_are_those_of_the_jobs() -> None:
    assert "NumPy 2.0.0; random numbers were drawn with the seed 2021." in text()
    assert "scikit-learn" not in text()
    content: ReportContent = report_content(kind_result(), settings=settings())
    source = dataclasses.replace(content.kinds[0].sources[0], versions={"numpy": "2.1", "python": "3.12"})
    other = dataclasses.replace(kind_result(), sources=(*kind_result().sources, source))
    assert "on Python 3.12 and NumPy 2.0.0 and 2.1; random" in text(other)


def test_it_is_on_the_page_and_beside_it(tmp_path: Path) -> None:
    content = report_content(kind_result(test_bins=None), settings=settings())
    write_report(content, tmp_path)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    written = (tmp_path / "methods.txt").read_text(encoding="utf-8")
    assert written == methods_file(content)
    paragraphs, references = methods_text(content)
    for part in (*paragraphs, *references):
        assert part in page.text.replace("\u00a0", " ")
        assert part in written
    assert {"#methods", "methods.txt"} <= {link["href"] for link in page.all("a")}


def test_results_change_the_text_too() -> None:
    alone = text(kind_result(participants=1))
    assert re.search(r"EEG of 1 participant was.*deviation from chance \(33.3 %\)", alone)
    assert "t test" not in alone
    assert "sign patterns" not in text(kind_result(participants=1), group={"null": "sign-flips"})
    every = text(null_of(kind_result(participants=5), 32), group={"null": "sign-flips"})
    assert re.search("all 32 ways.*share of sign patterns", every)
    assert "Phipson" not in every
    plain = kind_result()
    again = dataclasses.replace(plain, curve=dataclasses.replace(plain.curve, null="retrained"))
    said = text(again, permutations={"retrained": 9})
    assert re.search(r"trained again 9 times.*\(Stelzer et al., 2013.* in the other phase", said)
    assert "all was trained again 19 times" in text(again, permutations={"retrained": None})
    assert "in the other phase" not in text(dataclasses.replace(again, generalization=None, test_times=None))
    assert "trials that their fold had held out" in text(kind_result(test_phase="study"))
    assert "generalization" not in text(kind_result(test_bins=None))
    both = text(kind_result(), kind_result("power", test_bins=None, left_out=1))
    assert re.search("amplitude and power features.*classifiers of amplitude features.*In 1 of 1,920 f", both)
    unequal = kind_result()
    stats = dataclasses.replace(unequal.curve, expected=np.full(12, 40.0), score="accuracy")
    said = text(dataclasses.replace(unequal, curve=stats), decoding={"score": "accuracy"})
    assert re.search("percentage of trials.*classes differed in size .Combrisson & Jerbi, 2015", said)
    stats = dataclasses.replace(unequal.curve, score="auc", chance=0.5)
    said = text(dataclasses.replace(unequal, curve=stats), decoding={"score": "auc"})
    assert re.search(r"\(Hand & Till, 2001\).*chance \(0.500\)", said)
