"""Ready-made features that are mapped from their files give the bits that copies of them give."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from live_project import LiveProject
from scipy.io import savemat

pytestmark = pytest.mark.slow
STUDY = """\
name = "live"
participants = ["A", "B"]
classes = ["left", "right"]
phases = {train = "study", decode = "test"}

[input]
format = "thesis"
folder = "data"
power.study = "{participant}_study.mat"
power.test = "{participant}_test.mat"

[features.power]

[decoding]
folds = 3

[estimator]
kind = "linear-svm"
inner_folds = 2

[permutations]
count = 39
"""
# tests/eeg/decoding/test_decoding_determinism.py trains and applies each estimator on such maps.
SHUFFLED = (
    STUDY.replace("folds = 3\n", "folds = 3\nselect_alpha = 1\n", 1)
    .replace('kind = "linear-svm"\ninner_folds = 2', 'kind = "lda"')
    .replace("count = 39", 'count = 39\nnull = "training-labels"')
)
CORE = """
import json

from build_scripts.build_pipeline import decode
from shortloop.eeg.pipeline import run_study


def main(urd):
    return run_study(urd, lambda run: decode(run)[-1], note)


def note(run, last, seconds):
    jobs = [(job.stage, job.partition, job.job) for job in run.jobs]
    (run.file.parent / "jobs.json").write_text(json.dumps(jobs))
"""


def write_data(folder: Path, compressed: bool) -> None:
    rng = np.random.default_rng(5)
    y = np.tile([0, 1], 15)
    for participant in "AB":
        for phase in ("study", "test"):
            bins = np.empty(4, dtype=object)
            for number in range(4):
                bins[number] = rng.standard_normal((30, 40)) + (number > 1) * y[:, np.newaxis]
            content = {
                "category": y + 1.0,
                "category_name": np.array(["left", "right"], dtype=object)[y],
                "feature_name": np.array([f"E{number}" for number in range(40)], dtype=object),
                "feature": bins,
            }
            name = f"{participant}_{phase}"
            savemat(folder / f"{name}.mat", {name: content}, do_compression=compressed)


def test_copies_and_maps_give_the_same_bits(project: LiveProject) -> None:
    project.write("dev/build_core.py", CORE)
    found: dict[str, dict[tuple[str, str | None, str], str]] = {}
    imported = {}
    for data in ("copied", "mapped"):
        (project.folder / data).mkdir()
        write_data(project.folder / data, compressed=data == "copied")
        project.write_study(SHUFFLED.replace('"data"', f'"{data}"'))
        project.run("core")
        jobs = {(stage, name): project.job_folder(job) for stage, name, job in project.read_json("jobs.json")}
        found[data] = {
            (*key, file.name): hashlib.sha256(file.read_bytes()).hexdigest()
            for key, folder in jobs.items()
            for file in folder.glob("*.npy")
            if not file.name.startswith("data_")
        }
        imported[data] = folder = jobs["import_features", "A"]
        described = json.loads((folder / "record.json").read_text())["arrays"]["data_test"]
        assert described["shape"] == [4, 30, 40]
        assert ("outside" in described) is (data == "mapped")
        assert len([*folder.glob("data_*.npy")]) == (2 if data == "copied" else 0)
    assert imported["copied"] != imported["mapped"]
    assert {
        ("train", "A", "predicted.npy"),
        ("apply", "B", "votes.npy"),
        ("retrain", "A", "plane_null.npy"),
    } <= {*found["copied"]}
    assert found["copied"] == found["mapped"]
