"""The methods section says what was done, with its numbers, and nothing that was not."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_reader import Page
from report_synthetic import details, evoked, kind_result, report_content, write_report

from shortloop.eeg.report.content import KindResult, ReportContent
from shortloop.eeg.report.methods import REFERENCES, methods_file, methods_text
from shortloop.eeg.study.load import DEFAULT_STUDY
from shortloop.eeg.study.schema import Study

FILES = {"format": "fif", "folder": "x", "files": {"study": ["{participant}.fif"]}}
RECORDED = {"phases": {"train": "study"}, "input": FILES}


def settings(**changed: Any) -> dict[str, Any]:
    """The default study, changed, as the report is given it."""
    import tomllib

    study = {**tomllib.loads(DEFAULT_STUDY.read_text(encoding="utf-8")), **changed}
    return Study.model_validate(study).for_report()


def recording(name: str = "s01", phase: str = "study", **changed: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "participant": name,
        "phase": phase,
        "kind": "epochs",
        "file": "x",
        "channels": ["Fz", "Cz"],
    }
    known |= {"trials": {"face": 40, "house": 38}, "sfreq": 250.0, "tmin": -0.5, "samples": 501}
    return {**known, "bins": 0, "features": 0, "accounts": [], **changed}


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


def null_of(result: KindResult, count: int) -> KindResult:
    null = np.arange(count, dtype=float)
    return dataclasses.replace(result, curve=dataclasses.replace(result.curve, null_max=null, null_mass=null))


def test_the_default_study() -> None:
    said = text(recordings=(recording(), recording(phase="test")))
    for part in (
        *("Simulated EEG of 8 participants", "2 channels at 250 Hz", "epochs of −500 to 1500 ms"),
        *(
            "38 to 40 in study and 38 to 40 in test",
            "mean of −200 to 0 ms was subtracted",
            "at 30 Hz",
            "order 6",
        ),
        "25 bins of 10 samples (40 ms) from −200 ms on gave 20 features each",
        "wavelets of 5 cycles (Tallon-Baudry et al., 1997) at 16 frequencies from 10 to 40 Hz",
        "12 bins of 5 points, 16 ms apart, from −200 ms on gave 160 features each",
        *("face, landmark or object", "shuffled 10-fold", "p < 0.05 in a one-way analysis of variance"),
        *("standard deviation of the training trials", "one-versus-rest linear support vector machine"),
        *(
            "C chosen out of 0.0001, 0.001 and 0.01",
            "in 5 stratified folds",
            "each bin of test",
            "over the 10",
        ),
        *("(Brodersen et al., 2010)", "σ = 1 bin, cut off at 2 σ", "chance (33.3 %)", "one-sample t test"),
        *(
            "499 permutations of the true labels",
            "p = (1 + b) / (1 + m)",
            "two-sided p < 0.05",
            "rate is 0.05.",
        ),
    ):
        assert part in said
    unsaid = "Gramfort|LIBSVM|Scikit|flip|Combrisson|rejected|trained again|None|weighted|drawn at"
    assert not re.search(unsaid, said)


def estimator(kind: str, **fields: Any) -> dict[str, Any]:
    return {"estimator": {"kind": kind, **fields}}


# What is changed in the study, what is then said, and what is no longer said.
BRANCHES: dict[str, tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]] = {
    "one C": (estimator("linear-svm", C=[0.1]), ("C = 0.1", "tolerance of 0.0001."), ("chosen out of",)),
    "matlab": (
        estimator("matlab-svm", C=2.0),
        ("constraint C = 2", "median distance", "Chang"),
        ("Fan et al.",),
    ),
    "matlab, scaled": (estimator("matlab-svm", kernel_scale=3.0), ("divided by 3",), ("median distance",)),
    "lda": (estimator("lda", shrinkage=0.3), ("shrunk by 0.3", "Blankertz"), ("vector",)),
    "ridge": (estimator("ridge", alpha=5.0), ("α = 5 (Hoerl",), ("vector",)),
    "sklearn": (
        estimator("sklearn", path="sklearn.naive_bayes.GaussianNB"),
        ("sklearn.naive_bayes.GaussianNB of scikit-learn", "with default parameters"),
        ("vector",),
    ),
    "parameters": (
        estimator("sklearn", path="sklearn.svm.SVC", params={"kernel": "rbf", "C": 2}),
        ("with kernel = rbf and C = 2, all else as by default",),
        ("default parameters",),
    ),
    "own": (estimator("sklearn", path="mine.Nearest"), ("was mine.Nearest, with",), ("scikit-learn",)),
    "two classes": ({"classes": ["a", "b"]}, ("classified as a or b",), ("one-versus-rest",)),
    "all features": ({"decoding": {"select_alpha": 1.0}}, ("all features were used",), ("analysis of var",)),
    "scaling": (
        {"decoding": {"scaling": "separate", "folds": 5}},
        ("by their own mean and standard deviation", "z-scored over its trials", "shuffled 5-fold"),
        ("by the mean and standard deviation of the training trials",),
    ),
    "runs": (
        {"decoding": {"fold_by": "run"}, "permutations": {"null": "training-labels"}},
        ("in at most 10 folds that each held out whole runs, with", "training labels within runs"),
        ("shuffled 10-fold", "within folds, with all"),
    ),
    "subsampled": ({"decoding": {"subsample": True}}, ("drawn at random", "as the smallest"), ("weighted",)),
    "weighted": ({"decoding": {"class_weight": "balanced"}}, ("weighted inversely",), ("drawn at random",)),
    "retrained": (
        {"permutations": {"null": "training-labels"}},
        ("training labels within folds", "all classifiers trained again"),
        ("true labels",),
    ),
    "not smoothed": ({"group": {"smooth": 0.0}}, ("were compared with",), ("smoothed",)),
    "levels": (
        {"group": {"alpha": 0.01, "cluster_alpha": 0.001}},
        ("two-sided p < 0.001", "error rate is 0.01."),
        ("error rate is 0.05",),
    ),
    "random flips": (
        {"group": {"null": "sign-flips"}},
        ("499 random ways to flip the signs", "Winkler et al., 2014", "(1 + m) for b of m sign patt"),
        ("true labels", "share of"),
    ),
    "no baseline": (
        {"features": {"amplitude": {"baseline": False, "lowpass": False, "step": 3}}},
        ("Amplitude features: 40 bins of 11 samples (132 ms, 1 of 3 kept)",),
        ("subtracted", "Butterworth", "Power features", "Oostenveld et al., 2011"),
    ),
    "nothing prepared": (RECORDED, ("The EEG of 8",), ("Simulated", "Gramfort", "FIR")),
}


@pytest.mark.parametrize("branch", BRANCHES)
def test_each_setting_changes_the_text(branch: str) -> None:
    changed, said, unsaid = BRANCHES[branch]
    found = text(recordings=(recording(),), **changed)
    for part in said:
        assert part in found
    for part in unsaid:
        assert part not in found
    assert not re.search(r"None|\{|\}|  |\.\.|\bnan\b|\bTrue\b|\bFalse\b", found)


def test_preparation_is_told_in_its_order_with_what_was_left_out() -> None:
    given: dict[str, Any] = {"highpass": 0.1, "lowpass": 40.0, "notch": 50.0, "reference": "average"}
    given |= {"baseline": [-0.2, 0.0], "reject": {"eeg": 150e-6}, "flat": {"eeg": 1e-6}}
    given |= {"resample": 200.0, "interpolate": True}
    dropped = [
        {"class": "face", "reason": "amplitude", "trials": 3},
        {"class": "face", "reason": "annotated as BAD_x", "trials": 1},
    ]
    account = {"trials": 50, "dropped": dropped, "bads": ["Fz"], "interpolated": ["Fz"]}
    known: tuple[dict[str, Any], ...]
    known = recording(accounts=[account]), recording("s02", accounts=[{"trials": 40, "dropped": []}])
    asked: dict[str, Any] = {**RECORDED, "input": {**FILES, "preprocessing": given}}
    said = text(recordings=known, **asked)
    steps = [
        "Gramfort et al., 2013",
        "high-pass filtered at 0.1 Hz",
        "low-pass filtered at 40 Hz",
        "zero-phase FIR",
    ]
    steps += ["removed at 50 Hz", r"bad channels \(1 in 1 of 2 recordings\) were interpolated", "Perrin"]
    steps += [
        "average of all EEG channels",
        "mean of −200 to 0 ms was subtracted",
        "above 150 µV",
        "below 1 µV",
    ]
    steps += [
        "to 200 Hz",
        r"Of 160 trials, 4 were left out \(3 rejected by amplitude and 1 annotated as BAD_x\)",
    ]
    assert re.search(".*".join(steps), said)
    asked["input"]["preprocessing"] = {"reference": ["M1", "M2"]}
    known = (recording(accounts=[{"trials": 50, "dropped": [], "bads": ["Fz", "Cz"]}]),)
    said = text(recordings=known, **asked)
    assert "bad channels (2 in 1 of 1 recording) were left out and the EEG was referenced to M1" in said
    assert "Perrin" not in said
    assert "were left out (" not in said
    # A bad channel of a recording is counted once, and sensors by their types.
    known = tuple(recording(phase=phase, accounts=[account]) for phase in ("study", "test"))
    assert "bad channels (1 in 1 of 1 recording)" in text(recordings=known, **RECORDED)
    typed = {"trials": 50, "dropped": [], "types": ["mag", "eeg"]}
    said = text(recordings=(recording(accounts=[typed], tmin=-0.1015625),), **RECORDED)
    assert "The MEG and EEG of 8 participants were analysed: 2 channels (1 MEG sensor" in said
    assert "in epochs of −102 to 1898 ms around the event" in said
    said = text(recordings=(recording(kind="amplitude"),), **RECORDED)
    assert said.startswith("Ready-made features of 8 participants were analysed. They had been computed")
    assert methods_text(report_content(kind_result(), settings={"classes": ["a"]})) == ((), ())


def test_what_was_in_one_recording_or_in_several_is_said() -> None:
    both = {"train": "study", "decode": "test"}
    files = {**FILES, "files": {"study": ["{participant}.fif"], "test": ["{participant}.fif"]}}
    parts = {"study": {"start": "study begins"}, "test": {"start": 190.5, "stop": "end"}}
    known = recording(file="a.fif"), recording(phase="test", file="a.fif")
    said = text(recordings=known, phases=both, input={**files, "sections": parts, "drop": ["VEOG", "M1"]})
    study = "study began with the event “study begins” and ended where another section began"
    test = "test began at 190.5 s and ended before the event “end”. VEOG and M1 were not used"
    assert re.search(f"sections of the same recordings: {study}.*{test}", said)
    assert "in several files" not in said
    events: dict[str, Any] = {"phase_events": {"test": {"face": [11], "landmark": [12], "object": [13]}}}
    said = text(recordings=known, phases=both, input={**files, **events})
    assert "Phases were in the same recordings, and had events of their own." in said
    other = recording(file="a.fif, b.fif"), recording(phase="test", file="c.fif")
    said = text(recordings=other, phases=both, input={**files, **events})
    assert "same recordings" not in said
    assert "Trials of a participant and phase that were in several files were taken together." in said


def test_results_change_the_text_too() -> None:
    alone = text(kind_result(participants=1))
    assert "EEG of 1 participant was" in alone
    assert "the participant's deviation from chance (33.3 %) was divided by" in alone
    assert "t test" not in alone
    assert "sign patterns" not in text(kind_result(participants=1), group={"null": "sign-flips"})
    every = text(null_of(kind_result(participants=5), 32), group={"null": "sign-flips"})
    assert "all 32 ways to flip the signs" in every
    assert "p is the share of sign patterns" in every
    assert "Phipson" not in every
    plain = kind_result()
    again = dataclasses.replace(plain, curve=dataclasses.replace(plain.curve, null="retrained"))
    said = text(again, permutations={"retrained": 9})
    assert "all was trained again 9 times for each participant" in said
    assert "takes one of these, or the true one, of every participant (Stelzer et al., 2013" in said
    assert "That of scores in the other phase is of" in said
    assert "all was trained again 19 times" in text(again, permutations={"retrained": None})
    assert "in the other phase" not in text(dataclasses.replace(again, generalization=None, test_times=None))
    within = text(kind_result(test_phase="study"))
    assert "also applied to all other bins of the trials that their fold had held out" in within
    assert "generalization" not in text(kind_result(test_bins=None))
    both = text(kind_result(), kind_result("power", test_bins=None, left_out=1))
    assert "from the amplitude and power features of that bin, separately for each kind" in both
    assert "the classifiers of amplitude features of each bin and fold" in both
    assert "In 1 of 1,920 folds no feature was selected; its held-out trials" in both
    unequal = kind_result()
    stats = dataclasses.replace(unequal.curve, expected=np.full(12, 40.0), score="accuracy")
    said = text(dataclasses.replace(unequal, curve=stats), decoding={"score": "accuracy"})
    assert "own scores under permuted labels, as classes differed in size (Combrisson & Jerbi, 2015)" in said
    assert "percentage of trials that were classified correctly" in said
    stats = dataclasses.replace(unequal.curve, score="auc", chance=0.5)
    said = text(dataclasses.replace(unequal, curve=stats), decoding={"score": "auc"})
    assert "of each class against the rest and averaged over classes (Hand & Till, 2001)" in said
    assert "chance (0.500)" in said


def test_what_is_shown_is_described_and_what_is_not_is_not() -> None:
    assert "Cohen's d of the scores that were tested" in text()
    for word in ("bootstrap", "patterns", "Event-related", "also tested alone"):
        assert word not in text()
    whole = details(kind_result())
    said = text(whole)
    assert "scores (95 %) are percentile bootstrap intervals (Efron, 1979)" in said
    assert "over 2,000 samples of the trials of each class." in said
    assert "Each participant was also tested alone" in said
    assert "Activation patterns (Haufe et al., 2014)" in said
    assert whole.patterns is not None
    unknown = dataclasses.replace(whole, patterns=dataclasses.replace(whole.patterns, patterns=None))
    assert "Haufe" not in text(unknown)
    alone = text(details(kind_result(participants=1)))
    assert "bootstrap" in alone
    assert "also tested alone" not in alone
    assert "Cohen" not in alone
    area = dataclasses.replace(whole, curve=dataclasses.replace(whole.curve, score="auc"))
    assert "of each class and fold." in text(area)
    found = " ".join(methods_text(report_content(kind_result(), settings=settings(), evoked=(evoked(),)))[0])
    assert "means over the trials of a class, after subtraction of the mean of −200 to 0 ms." in found


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
