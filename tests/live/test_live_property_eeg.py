"""Random edits of a small EEG study, its recordings and its code, with kills: all that a run leaves is what a
process leaves that knows no exax, no keys and no kept jobs, and what changes nothing has nothing run again.

EDITS says how many runs, SEED which edits; ``make soak`` asks for many.
"""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_project import EditedProject, write_recording

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif("EDITS" not in os.environ, reason="takes minutes: `make soak` does it"),
]

RUNS = max(int(os.environ.get("EDITS", "0")) // 10, 1)
SEED = int(os.environ.get("SEED") or 0)
ORACLE = Path(__file__).with_name("eeg_oracle.py")
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


def finish(run, last, seconds):
    jobs = [[job.stage, job.partition, str(job.path), job.fresh] for job in run.jobs]
    (Path(__file__).parents[1] / "jobs.json").write_text(json.dumps(jobs))
"""
NOT_RESULTS = ("manifest.json", "method.tar.gz", "post.json", "setup.json", ".modules.txt")
HOW = ("engine", "threads", "versions")  # parts of a record that say how, and not what
# Modules of arithmetic alone, where another number mostly gives another result and not an error.
ARITHMETIC = ("decoding/metrics", "decoding/solvers", "decoding/patterns.py", "features", "group")
Found = dict[tuple[object, ...], object]


class StudyProject(EditedProject):
    """A study of two phases with all stages but the report; classes differ in size."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        super().__init__(folder)
        self.rng, self.values = rng, {name: values[0] for name, values in VALUES.items()}
        self.numbers = 0
        self.kept: dict[Path, bytes] = {}
        (folder / "dev/build_core.py").write_text(SCRIPT, encoding="utf-8")
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

    def change_number(self) -> None:
        """In code of the package; it may be too much for it."""
        file = self.rng.choice(self.arithmetic())
        text = file.read_text(encoding="utf-8")
        found = [
            (each, each.value)
            for each in ast.walk(ast.parse(text))
            if isinstance(each, ast.Constant) and isinstance(each.value, float | int)
        ]
        if found:
            number, value = self.rng.choice(found)
            self.kept.setdefault(file, file.read_bytes())
            lines = file.read_bytes().split(b"\n")
            line, new = lines[number.lineno - 1], repr(value * 2 or 1).encode()
            lines[number.lineno - 1] = line[: number.col_offset] + new + line[number.end_col_offset :]
            file.write_bytes(b"\n".join(lines))

    def put_back(self) -> None:
        for file, content in self.kept.items():
            file.write_bytes(content)
        self.kept.clear()

    def put_all_back(self) -> None:
        self.put_back()
        self.values = {name: values[0] for name, values in VALUES.items()}
        self.write_values()

    def damage_job(self) -> None:
        arrays = sorted(self.folder.glob("workdirs/main/main-[0-9]*/*.npy"))
        if arrays:
            file = self.rng.choice(arrays)
            content = bytearray(file.read_bytes())
            content[-1] ^= 1
            file.write_bytes(content)

    # Edits that change nothing.

    def remark(self) -> None:
        for file in self.rng.sample(self.arithmetic(), 3):
            file.write_text(f"{file.read_text(encoding='utf-8')}# {self.rng.random()}\n", encoding="utf-8")

    def touch(self) -> None:
        for file in [*(self.folder / "data").iterdir(), *self.arithmetic()]:
            os.utime(file)

    def link(self) -> None:
        """A recording lies elsewhere now."""
        file = self.rng.choice(sorted((self.folder / "data").iterdir()))
        target = self.folder / f"elsewhere {self.rng.random()}"
        shutil.copy(file, target)
        file.unlink()
        file.symlink_to(target)

    def arithmetic(self) -> list[Path]:
        eeg = self.folder / "shortloop/eeg"
        found = [eeg / name for name in ARITHMETIC]
        files = [file for each in found for file in ([each] if each.is_file() else each.rglob("*.py"))]
        return sorted(file for file in files if file.name not in ("__init__.py", "settings.py"))

    # What is checked.

    def go(self, engine: str) -> subprocess.CompletedProcess[str]:
        return self.shortloop("run", "core", SHORTLOOP_ENGINE=engine)

    def kill(self) -> str:
        """Begin a run, and end it on the way; by what."""
        command = [sys.executable, "-m", "shortloop", "run", "core"]
        quiet = subprocess.DEVNULL
        running = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(),
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
        )
        try:
            running.wait(self.rng.uniform(1, 10))
        except subprocess.TimeoutExpired:
            by = self.rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
            running.send_signal(by)
            running.wait(timeout=120)
            return by.name
        return "itself"

    def expected(self) -> Found | None:
        """What must come out; None if it is refused, or fails."""
        with tempfile.TemporaryDirectory(prefix="sl-") as folder:
            clean = Path(folder)
            for name in ("shortloop", "methods", "build_scripts", "data"):
                shutil.copytree(
                    self.folder / name, clean / name, ignore=shutil.ignore_patterns("__pycache__")
                )
            for name in ("study.toml", "accelerator.conf"):
                shutil.copy(self.folder / name, clean)
            single = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
            command = [sys.executable, str(ORACLE), str(clean / "workdirs/main")]
            environment = self.environment(PYTHONPATH=folder, **single)
            done = subprocess.run(
                command, cwd=clean, env=environment, stderr=subprocess.PIPE, text=True, check=False
            )
            if done.returncode:
                print("it fails:", *done.stderr.strip().splitlines()[-1:], flush=True)
                return None
            return contents(json.loads((clean / "jobs.json").read_text()))

    def jobs(self) -> list[list[Any]]:
        listed: list[list[Any]] = json.loads((self.folder / "jobs.json").read_text(encoding="utf-8"))
        return listed


def contents(jobs: list[list[Any]]) -> Found:
    """All that jobs left, but for what says how: by stage, participant, number among these, and file."""
    found: Found = {}
    seen: dict[tuple[object, ...], int] = {}
    for stage, partition, folder in jobs:
        number = seen[stage, partition] = seen.get((stage, partition), 0) + 1
        for file in sorted(Path(folder).iterdir()):
            if file.name in NOT_RESULTS or file.is_dir():
                continue
            content: object = file.read_bytes()
            if file.name == "record.json":
                record = json.loads(file.read_text(encoding="utf-8"))
                content = {name: each for name, each in record.items() if name not in HOW}
            found[stage, partition, number, file.name] = content
    return found


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
        assert is_right(project, "slices")
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
            if not is_right(project, engine):
                project.put_all_back()
                assert is_right(project, engine)
            if harmless:
                assert not any(fresh for *_, fresh in project.jobs())
    print(f"{RUNS} runs")


def is_right(project: StudyProject, engine: str) -> bool:
    """Whether a run leaves what it must; false if that fails, as then the run must."""
    done, must = project.go(engine), project.expected()
    if must is None:
        assert done.returncode, done.stdout + done.stderr
        return False
    assert done.returncode == 0, done.stdout + done.stderr
    found = contents([job for *job, _ in project.jobs()])
    assert found.keys() == must.keys()
    assert not [name for name in must if found[name] != must[name]]
    return True
