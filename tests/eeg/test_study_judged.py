"""Whole studies against the same computed again from their recordings by MNE, SciPy and scikit-learn, with
settings drawn at random. STUDIES says how many, SEED which; ``make soak`` asks for many."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import edfio
import mne
import numpy as np
import pytest
from eeg_judge import Judge
from in_process import InProcess

from build_scripts.build_pipeline import decode
from shortloop.base.errors import InputError
from shortloop.eeg.pipeline import StudyRun
from shortloop.eeg.study.load import read_study

CHANNELS = ("Fz", "Cz", "Pz", "Oz", "VEOG")
SEED = int(os.environ.get("SEED", "1"))
NUMBERS = range(int(os.environ["STUDIES"])) if "STUDIES" in os.environ else (3, 6, 11)
"""Of studies; without being asked, quick ones: within a phase, from one to another, and whole runs."""


def drawn(rng: np.random.Generator, more: np.random.Generator) -> dict[str, Any]:
    """A study file's content."""
    ending, by_run = ("_raw.fif", ".edf")[more.integers(2)], bool(more.integers(2))

    def one(*of: Any) -> Any:
        return of[rng.integers(len(of))]

    within, classes = bool(rng.integers(2)), ["face", "house", "word"][: int(rng.integers(2, 4))]
    kind = one("linear-svm", "linear-svm", "matlab-svm", "lda", "ridge", "sklearn")
    score = one("balanced-accuracy", "accuracy", "auc")
    preprocessing = {
        "highpass": one(None, 0.5),
        "lowpass": one(None, 28.0),
        "reference": one(None, "average", ["Cz"]),
        "baseline": one(None, [-0.2, 0.0]),
        "resample": one(None, None, 64.0),
        "reject": one(None, {"eeg": 0.00015}),
    }
    estimator: dict[str, Any] = {
        "linear-svm": {"C": one([0.01], [0.0005, 0.005, 0.05]), "inner_folds": one(2, 3), "tol": 1e-9},
        "matlab-svm": {"C": one(0.1, 1.0), "kernel_scale": one(1.0, 5.0), "tol": 1e-9},
        "lda": {"shrinkage": one(0.1, 0.5)},
        "ridge": {"alpha": one(1.0, 30.0)},
        "sklearn": one(
            {"path": "sklearn.linear_model.LogisticRegression", "params": {"C": 0.1, "tol": 1e-12}},
            {"path": "sklearn.naive_bayes.GaussianNB"},
        ),
    }[kind]
    weighed = kind in ("linear-svm", "matlab-svm", "ridge")
    amplitude = {
        "baseline": one([-0.2, 0.0], False),
        "lowpass": one(20.0, False),
        "order": one(4, 6),
        "start": float(rng.uniform(-0.1, 0.1)),
        "bins": int(rng.integers(2, 5)),
        "bin_samples": int(rng.integers(1, 4)),
        "step": one(1, 2),
        "apply": one(True, True, False) or within,
    }
    power = {
        "fmin": 8.0,
        "fmax": one(12.0, 13.0),
        "fstep": 2.0,
        "cycles": one(2.0, 3.0),
        "start": float(rng.uniform(-0.1, 0.1)),
        "every": one(1, 3),
        "bins": int(rng.integers(2, 4)),
        "bin_points": int(rng.integers(1, 3)),
    }
    kinds = one(("amplitude",), ("power",), ("amplitude", "power"))
    study: dict[str, Any] = {
        "name": "judged",
        "seed": int(rng.integers(1000)),
        "participants": ["A", "B", "C", "D"][: int(rng.integers(3, 5))],
        "classes": classes,
        "phases": {"train": "study"} if within else {"train": "study", "decode": "test"},
        "input": {
            "format": "edf" if ending == ".edf" else "fif",
            "files": {
                phase: [f"{{participant}}_{phase}_run*{ending}"] for phase in ("study", "test")[: 2 - within]
            },
            "tmin": -0.3,
            "tmax": 0.6,
            "drop": ["VEOG"],
            "preprocessing": {name: each for name, each in preprocessing.items() if each is not None},
        },
        "features": {
            name: each for name, each in (("amplitude", amplitude), ("power", power)) if name in kinds
        },
        "decoding": {
            "folds": int(rng.integers(2, 4)),
            "select_alpha": one(1, 0.5, 0.2),
            "scaling": one("separate", "training"),
            "score": score,
            **({"class_weight": "balanced"} if weighed and rng.integers(2) else {}),
            "subsample": one(True, False, False),
            **({"fold_by": "run"} if by_run else {}),
        },
        "estimator": {"kind": kind, **estimator},
        "permutations": {
            "count": int(rng.integers(20, 26)),
            "null": one("test-labels", "test-labels", "training-labels"),
            "retrained": one(0, 0, 3),
        },
        "group": {
            "smooth": one(0, 1, 0.7),
            "truncate": one(1.0, 2.0),
            "cluster_alpha": one(0.05, 0.3),
            "null": one("permutations", "permutations", "sign-flips"),
        },
    }
    if study["permutations"]["null"] == "training-labels":  # which trains all again already
        study["permutations"]["retrained"] = 0
    return study


def record(folder: Path, study: dict[str, Any], rng: np.random.Generator, more: np.random.Generator) -> None:
    """Runs of continuous recordings with an effect of the class, and some trials that are too large.

    Rates of .fif differ as those of consumer headsets do, units of .edf as those of laboratories.
    """
    classes = study["classes"]
    several = "fold_by" in study["decoding"] or bool(more.integers(2))
    for who in study["participants"]:
        for (pattern,) in study["input"]["files"].values():
            for run in [1, 2, 10][: more.integers(2, 4) if several else 1]:
                rate = 128.0 * (1 + (more.uniform(-4e-4, 4e-4) if pattern.endswith("fif") else 0))
                names = np.repeat(
                    classes,
                    rng.integers(5, 8, len(classes)) if several else rng.integers(9, 14, len(classes)),
                )
                if run == 10 and more.integers(2):
                    names = names[names != classes[0]]
                rng.shuffle(names)
                onsets = 2 + np.arange(len(names)) * 1.1 + rng.uniform(0, 0.1, len(names))
                data = rng.standard_normal((len(CHANNELS), int(onsets[-1] + 4) * 128))
                data = (0.7 * np.cumsum(data, axis=1) % 3 + 2 * data) * 4e-6
                for onset, name in zip(onsets, names, strict=True):
                    at, number = round(onset * rate), classes.index(name)
                    data[number, at + 8 : at + 60] += 6e-6
                    data[3, at : at + 70] += 5e-6 * np.sin(np.arange(70) * 2 * np.pi * (8 + 2 * number) / 128)
                data[0, round(onsets[3] * rate)] += 5e-4
                file = folder / pattern.format(participant=who).replace("*", str(run))
                save(file, data, rate, onsets, names, ("uV", "mV", "V", "µV")[more.integers(4)])


def save(file: Path, data: np.ndarray, rate: float, onsets: np.ndarray, names: np.ndarray, unit: str) -> None:
    if file.suffix == ".fif":
        info = mne.create_info(list(CHANNELS), rate, ["eeg"] * 4 + ["eog"])
        raw = mne.io.RawArray(data, info, verbose="ERROR")
        raw.set_annotations(mne.Annotations(onsets, 0.0, names))
        raw.save(file, fmt="double", verbose="ERROR")
        return
    scale = {"uV": 1e6, "mV": 1e3, "V": 1.0, "µV": 1e6}[unit]
    signals = [
        edfio.EdfSignal(each * scale, rate, label=name, physical_dimension=unit.replace("µ", "u"))
        for each, name in zip(data, CHANNELS, strict=True)
    ]
    notes = [edfio.EdfAnnotation(onset, None, str(name)) for onset, name in zip(onsets, names, strict=True)]
    edfio.Edf(signals, annotations=notes).write(file)
    if unit == "µV":
        content = file.read_bytes()
        file.write_bytes(content[:4096].replace(b"uV      ", "µV     ".encode()) + content[4096:])


def toml(table: dict[str, Any], above: str = "") -> str:
    """Of tables, texts, numbers, truth values and lists of these."""
    lines = [f"{name} = {json.dumps(each)}" for name, each in table.items() if not isinstance(each, dict)]
    parts = [
        f"[{above}{name}]\n{toml(each, f'{above}{name}.')}"
        for name, each in table.items()
        if isinstance(each, dict)
    ]
    return "\n".join([*lines, *parts])


def same(what: str, found: Any, expected: np.ndarray, atol: float = 1e-9) -> None:
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=1e-7, atol=atol, err_msg=what)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_study_is_what_others_compute_from_its_recordings(number: int, tmp_path: Path) -> None:
    rng, more = (np.random.default_rng([SEED, number, *which]) for which in ((), (1,)))
    study = drawn(rng, more)
    record(tmp_path, study, rng, more)
    file = tmp_path / "study.toml"
    file.write_text(toml(study), encoding="utf-8")
    print(file.read_text(encoding="utf-8"))
    (tmp_path / "jobs").mkdir()
    run = InProcess(tmp_path / "jobs")
    try:
        decode(StudyRun(run, read_study(file), file))
    except InputError as error:
        if "cannot be held out" not in error.problem:
            raise
        pytest.skip("a class is in too few runs")
    check(
        Judge(tmp_path),
        {(job.stage, job.partition, job.result().facts.get("kind")): job.result() for job in run.jobs},
    )


def check(judge: Judge, jobs: dict[Any, Any]) -> None:
    study = judge.study
    for kind in study["features"]:
        applied = study["features"][kind].get("apply", True)
        people, uneven = [], set[str]()
        for who in study["participants"]:
            data = {}
            for phase in list(study["input"]["files"])[: 1 + applied]:
                x, labels, times, sfreq = judge.epochs(who, phase)
                mine = jobs[kind, who, kind] if (kind, who, kind) in jobs else jobs[kind, who, None]
                theirs = judge.features(kind, x, times, sfreq)
                scale = np.abs(theirs).max()
                same(f"{kind} of {who}", mine.arrays[f"data_{phase}"] / scale, theirs / scale, 3e-7)
                if study["decoding"]["subsample"]:
                    mine = jobs["subsample", who, kind]
                    kept = np.asarray(mine.arrays[f"trials_{phase}"])
                    assert (np.bincount(labels[kept]) == np.bincount(labels).min()).all()
                    assert (np.diff(kept) > 0).all()
                    labels = labels[kept]
                    judge.runs[who, phase] = judge.runs[who, phase][kept]
                assert (labels == mine.arrays[f"labels_{phase}"]).all()
                uneven |= {phase} if len(set(np.bincount(labels))) > 1 else set()
                data[phase] = np.asarray(mine.arrays[f"data_{phase}"], float), labels  # rounded to four bytes
            found = judge.participant(who, data, applied)
            people.append(found)
            if judge.undecided:
                pytest.skip("nobody can say which class some trials are of")
            assert (found["folds"] == jobs["train", who, kind].arrays["folds"]).all()
            assert (found["predicted"] == jobs["train", who, kind].arrays["predicted"]).all()
            assert (found["kept"] == jobs["train", who, kind].arrays["kept"]).all()
            stage = "permute" if study["permutations"]["null"] == "test-labels" else "retrain"
            scores = jobs[stage, who, kind].arrays
            for shape in ("curve", "plane")[: 1 + applied]:
                same(f"{shape} of {who}", scores[f"{shape}_scores"], found[shape])
                same(f"null {shape} of {who}", scores[f"{shape}_null"], found[f"{shape}_null"])
        group = jobs["group", None, kind].arrays
        for shape in ("curve", "plane")[: 1 + applied]:
            phase = judge.train_phase if shape == "curve" else judge.test_phase
            for name, each in judge.statistics(kind, shape, people, phase in uneven).items():
                same(f"{name} of the {shape}", group[f"{shape}_{name}"], each)
