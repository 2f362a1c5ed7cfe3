"""Random edits of a small EEG study, its recordings and its code, with kills: all that a run leaves is what a
process leaves that knows no exax, no keys and no kept jobs, and what changes nothing has nothing run again.

EDITS says how many runs, SEED which edits; ``make soak`` asks for many.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from live_project import write_recording
from random_edits import RandomProject

pytestmark = [pytest.mark.skipif("EDITS" not in os.environ, reason="takes minutes: `make soak` does it")]
RUNS = max(int(os.environ.get("EDITS", "0")) // 10, 1)
SEED = int(os.environ.get("SEED") or 0)
PHASES = ("study", "test")
STUDY = """\
name = "random"
seed = {seed}
participants = ["A", "B", "C"]
classes = {classes}
phases = {{ train = "study", decode = {decode} }}
input = {{ format = "npz", folder = "data", files.study = ["{{participant}}_study.npz"], \
files.test = ["{{participant}}_test.npz"] }}
decoding = {{ folds = {folds}, select_alpha = {alpha}, scaling = {scaling}, score = {score}{more} }}
estimator = {estimator}
permutations = {{ count = {count}, retrained = {retrained} }}
group = {{ smooth = {smooth}, null = {null} }}

[features.amplitude]
baseline = {baseline}
lowpass = 20.0
start = 0.0
bins = {bins}
bin_samples = 5

[features.power]
fmin = 12.0
fmax = {fmax}
fstep = 2.0
cycles = 2.0
every = 2
start = 0.1
bins = 2
bin_points = 3
"""
SVM = '{ kind = "linear-svm", C = [0.001, 0.01], inner_folds = 2 }'
# The first of each is what the study begins with.
VALUES: dict[str, tuple[str, ...]] = {
    "seed": ("3", "4"),
    "classes": ('["left", "right"]', '["right", "left"]'),
    "decode": ('"test"', '"study"'),
    "folds": ("3", "4"),
    "alpha": ("0.3", "1.0"),
    "scaling": ('"separate"', '"training"'),
    "score": ('"balanced-accuracy"', '"auc"', '"accuracy"'),
    "more": ("", ', class_weight = "balanced"', ", subsample = true"),
    "estimator": (SVM, '{ kind = "ridge" }', '{ kind = "sklearn", path = "methods.own.Own" }'),
    "count": ("19", "29", "9"),
    "retrained": ("3", "4", "0"),
    "smooth": ("1.0", "0.0"),
    "null": ('"permutations"', '"sign-flips"'),
    "baseline": ("false", "[-0.1, 0.0]"),
    "bins": ("3", "4"),
    "fmax": ("14.0", "16.0"),
}
OWN = """\
from sklearn.linear_model import RidgeClassifier

from methods.penalty import PENALTY


class Own(RidgeClassifier):
    def __init__(self, alpha=PENALTY):
        super().__init__(alpha=alpha)
"""
SCRIPT = """\
import json
from pathlib import Path

from build_scripts.build_pipeline import decode, evoked
from shortloop.eeg.pipeline import run_study


def main(urd):
    return run_study(urd, lambda run: [decode(run), evoked(run)][0][-1], finish)

"""
ARITHMETIC = ("decoding/metrics", "decoding/solvers", "decoding/patterns.py", "features", "group")


class StudyProject(RandomProject):
    """A study of two phases with all stages but the report; classes differ in size."""

    inputs = ("data", "study.toml")
    code = tuple(f"eeg/{name}" for name in ARITHMETIC)
    script = SCRIPT

    def __init__(self, folder: Path, rng: random.Random) -> None:
        super().__init__(folder, rng)
        self.values = {name: values[0] for name, values in VALUES.items()}
        self.numbers = 0
        (folder / "methods/own.py").write_text(OWN, encoding="utf-8")
        self.change_penalty()
        for file in (folder / "data").iterdir():
            file.unlink()
        for name in "ABC":
            for phase in PHASES:
                self.write_data(name, phase)
        self.write_values()

    def write_data(self, name: str, phase: str) -> None:
        self.numbers += 1
        labels = np.array(["left", "right"])[np.arange(32) % 5 % 2]
        write_recording(self.folder / f"data/{name}_{phase}.npz", self.numbers, y=labels)

    def write_values(self) -> None:
        self.write_study(STUDY.format(**self.values))

    # Edits that may change results.

    def change_setting(self) -> None:
        name = self.rng.choice(sorted(VALUES))
        self.values[name] = self.rng.choice([each for each in VALUES[name] if each != self.values[name]])
        self.write_values()

    def change_data(self) -> None:
        """Mostly so that size and times stay the same."""
        name, phase = self.rng.choice("ABC"), self.rng.choice(PHASES)
        file = self.folder / f"data/{name}_{phase}.npz"
        before = file.stat()
        self.write_data(name, phase)
        assert file.stat().st_size == before.st_size
        if self.rng.random() < 0.7:
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    def swap_participants(self) -> None:
        one, two = (self.folder / f"data/{name}_study.npz" for name in self.rng.sample("ABC", 2))
        aside = one.with_name("aside")
        one.rename(aside)
        two.rename(one)
        aside.rename(two)

    def change_penalty(self) -> None:
        text = f"PENALTY = {self.rng.randrange(1, 9)}.0\n"
        (self.folder / "methods/penalty.py").write_text(text, encoding="utf-8")

    def put_all_back(self) -> None:
        self.put_back()
        self.values = {name: values[0] for name, values in VALUES.items()}
        self.write_values()

    # Edits that change nothing.

    def touch(self) -> None:
        super().touch()
        for file in (self.folder / "data").iterdir():
            os.utime(file)

    def link(self) -> None:
        """A recording lies elsewhere now."""
        file = self.rng.choice(sorted((self.folder / "data").iterdir()))
        target = self.folder / f"elsewhere {self.rng.random()}"
        shutil.copy(file, target)
        file.unlink()
        file.symlink_to(target)


Edits = Mapping[Callable[[StudyProject], None], int]
MAY_CHANGE: Edits = {
    StudyProject.change_setting: 6,
    StudyProject.change_number: 6,
    StudyProject.change_data: 3,
    StudyProject.swap_participants: 1,
    StudyProject.change_penalty: 2,
    StudyProject.put_back: 3,
    StudyProject.damage_job: 2,
}
CHANGE_NOTHING: Edits = {StudyProject.remark: 1, StudyProject.touch: 1, StudyProject.link: 1}


def test_random_edits_of_a_study() -> None:
    print(f"SEED={SEED}")
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        project = StudyProject(Path(folder), rng)
        assert project.is_right("slices")
        for number in range(RUNS):
            harmless = number % 4 == 3
            every = CHANGE_NOTHING if harmless else MAY_CHANGE
            edits = rng.choices([*every], [*every.values()], k=rng.choice([1, 1, 2]))
            for edit in edits:
                edit(project)
            engine = rng.choice(["slices", "slices", "joblib", "dask"])
            print(*(each.__name__ for each in edits), engine, flush=True)
            if rng.random() < 0.2:
                print("ended on the way by", project.kill(), flush=True)
            if not project.is_right(engine):
                project.put_all_back()
                assert project.is_right(engine)
            if harmless:
                assert not any(fresh for *_, fresh in project.jobs())
    print(f"{RUNS} runs")
