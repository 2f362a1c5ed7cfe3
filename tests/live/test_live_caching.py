"""What a run of a study leaves, what runs again after a change, and what does not, on a live exax server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from live_project import EditedProject, LiveProject, served, write_recording
from PIL import Image

pytestmark = pytest.mark.slow  # test_live_entry_points.py has a study in each `make test`
CHECK = {("check", None)}
GROUP = {("individual", None), ("group", None), ("report", None)}
STAGES = ("import_epochs", "evoked", "amplitude", "train", "apply", "permute", "intervals", "patterns")


def jobs_of(*participants: str, stages: tuple[str, ...] = STAGES) -> set[tuple[str, str | None]]:
    return {(stage, participant) for stage in stages for participant in participants}


def add_unused(project: LiveProject, module: str) -> None:
    """Add code to a module of the package that changes no result."""
    with (project.folder / "shortloop" / module).open("a", encoding="utf-8") as stream:
        stream.write("\nUNUSED = 1\n")


@pytest.fixture(scope="module")
def built() -> Iterator[LiveProject]:
    """Threads are set as badly as can be: the methods' own setting must win."""
    with served(EditedProject, OMP_NUM_THREADS="7", OPENBLAS_NUM_THREADS="7") as project:
        assert project.run().keys() == jobs_of("A", "B") | CHECK | GROUP
        yield project


@pytest.fixture
def unchanged(built: LiveProject) -> Iterator[LiveProject]:
    """Everything built and up to date, whatever the test before did."""
    study = (built.folder / "study.toml").read_text(encoding="utf-8")
    yield built
    if (built.folder / "study.toml").read_text(encoding="utf-8") != study:
        built.write_study(study)
        built.run()


def test_the_summary_lists_every_job_score_and_file(built: LiveProject) -> None:
    summary = built.summary()
    assert summary["built"] == 20
    assert all(job["built"] and job["seconds"] > 0 for job in summary["jobs"])
    (a, _) = summary["scores"]
    assert a["participant"] == "A"
    assert len(a["curve"]) == len(a["train_times"]) == 4
    assert np.shape(a["generalization"]) == (4, 4)
    axes = {name: [len(a[axis]) for axis in summary["axes"][name]] for name in ("curve", "generalization")}
    assert axes == {name: [*np.shape(a[name])] for name in axes}
    assert summary["axes"]["generalization"] == ["test_times", "train_times"]
    (findings,) = summary["findings"]
    assert findings["group"]["participants"] == 2
    assert {"significant", "p", "peak"} <= set(findings["group"]["curve"])
    folder = built.folder / "results" / "live"
    assert "report.html" in summary["files"]
    for file in (folder / name for name in summary["files"]):
        assert file.is_file()
        if file.suffix == ".png":
            with Image.open(file) as image:
                assert min(image.size) > 300
        if file.suffix == ".pdf":
            assert file.read_bytes().startswith(b"%PDF")
    page = (folder / "report.html").read_text(encoding="utf-8")
    for stage in ("import_epochs", "amplitude", "train", "apply", "permute"):
        assert built.job(stage, "A") in page
    assert built.job("group") in page


LOAD = """
import json, shortloop
job, group = (shortloop.load(each) for each in {jobs!r})
planes = group.to_xarray().plane_scores
print(json.dumps([
    [job.stage, job.partition, job.arrays["weights"].shape, job.options["estimator"]["C"], job.inputs],
    [job.facts["classes"], job.record["versions"]["numpy"], job.seconds > 0],
    [planes.dims, planes.values[0].tolist()],
]))
"""


def test_jobs_are_loaded_and_shown_without_a_server(built: LiveProject) -> None:
    shown = built.ax("job", built.job("permute", "B")).ok().stdout
    assert "permute B" in shown
    built.stop_server()
    try:
        assert built.ax("status").returncode != 0
        job, features = built.job("train", "A"), built.job("amplitude", "A")
        said = json.loads(built.python(LOAD.format(jobs=[job, built.job("group")])))
        shown = built.works("show", job, COLUMNS="200")
        imported = built.works("show", built.job("import_epochs", "A"), COLUMNS="200")
    finally:
        built.start_server()
    assert said == [
        ["train", "A", [4, 3, 2, 15], [0.001, 0.01], {"features": features}],
        [["left", "right"], np.__version__, True],
        [["participants", "test_times", "train_times"], built.summary()["scores"][0]["generalization"]],
    ]
    for word in ("train of A", "amplitude A", "estimator.C", "weights", "4 × 3 × 2 × 15", "numpy", "a_train"):
        assert word in shown
    assert "A.npz" in imported


def test_one_blas_thread_however_the_server_was_started(built: LiveProject) -> None:
    stages = [("train", "A"), ("apply", "B"), ("amplitude", "A"), ("permute", "A"), ("group", None)]
    for stage, participant in stages:
        record = built.record(built.job(stage, participant))
        assert [pool for pool in record["threads"] if "blas" in pool["library"] or "mkl" in pool["library"]]
        # Loaded with one thread, not brought down to it.
        assert all(pool["threads"] == pool["threads_used"] == 1 for pool in record["threads"])


def test_nothing_is_built_again(unchanged: LiveProject, tmp_path: Path) -> None:
    assert unchanged.run().keys() == set()
    summary = unchanged.summary()
    assert summary["built"] == 0
    assert summary["reused"] == len(summary["jobs"]) == 20
    # A run from another folder is one of the project whose package it uses.
    command, path = [sys.executable, "-m", "shortloop", "run"], str(unchanged.folder)
    given = unchanged.environment(PYTHONPATH=path)
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, check=True)
    assert "0 jobs built, 20 reused" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "below"),
    [
        ("[permutations]", "[group]\nsmooth = 0.5\n\n[permutations]", ()),
        ("0.01]", "0.01, 0.1]", ("train", "apply", "permute", "intervals", "patterns")),
        ("folds = 3", 'folds = 3\nscore = "accuracy"', ("permute", "intervals")),
        ("folds = 3", 'folds = 3\nscore = "auc"', ("train", "apply", "permute", "intervals", "patterns")),
        ("count = 39", "count = 59", ("permute",)),  # each `make test` asks an installed package for it
    ],
)
def test_an_option_rebuilds_what_reads_it_and_what_is_below(
    unchanged: LiveProject, old: str, new: str, below: tuple[str, ...]
) -> None:
    unchanged.edit_study(old, new)
    checked = CHECK if "auc" in new else set()  # its words depend on the score
    assert unchanged.run().keys() == jobs_of("A", "B", stages=below) | checked | GROUP


def test_code_that_leaves_the_same_rebuilds_stages_that_reach_it_alone(unchanged: LiveProject) -> None:
    add_unused(unchanged, "eeg/features/amplitude.py")
    assert unchanged.run().keys() == jobs_of("A", "B", stages=("amplitude",))
    add_unused(unchanged, "eeg/decoding/train.py")
    assert unchanged.run().keys() == jobs_of("A", "B", stages=("train", "apply"))
    add_unused(unchanged, "eeg/decoding/solvers/svm.py")
    assert unchanged.run().keys() == jobs_of("A", "B", stages=("train", "apply"))


def test_what_no_result_is_made_of_rebuilds_nothing(unchanged: LiveProject) -> None:
    for name in ("plan/planner.py", "store/store.py", "exax/server.py", "project/project.py", "cli/main.py"):
        add_unused(unchanged, name)
    assert unchanged.run().keys() == set()
    add_unused(unchanged, "eeg/report/eeg_page.py")
    assert unchanged.run().keys() == {("report", None)}


def test_another_file_of_the_same_name_and_size_rebuilds_its_participant(unchanged: LiveProject) -> None:
    file = unchanged.folder / "data" / "A.npz"
    size = file.stat().st_size
    before = np.load(unchanged.result("import_epochs", "A") / "data_viewing.npy")
    write_recording(file, seed=17)
    assert file.stat().st_size == size
    assert unchanged.run().keys() == jobs_of("A") | CHECK | GROUP
    assert not np.array_equal(before, np.load(unchanged.result("import_epochs", "A") / "data_viewing.npy"))


def test_a_touched_or_moved_file_rebuilds_nothing(unchanged: LiveProject) -> None:
    file = unchanged.folder / "data" / "A.npz"
    file.touch()
    assert unchanged.run().keys() == set()
    elsewhere = unchanged.folder / "elsewhere"
    (unchanged.folder / "data").rename(elsewhere)
    try:
        unchanged.edit_study('folder = "data"', 'folder = "elsewhere"')
        assert unchanged.run().keys() == set()
    finally:
        elsewhere.rename(unchanged.folder / "data")
        unchanged.edit_study('folder = "elsewhere"', 'folder = "data"')


def test_a_participant_more_or_less(unchanged: LiveProject) -> None:
    write_recording(unchanged.folder / "data" / "C.npz", seed=5)
    unchanged.edit_study('["A", "B"]', '["A", "B", "C"]')
    assert unchanged.run().keys() == jobs_of("C") | CHECK | GROUP
    unchanged.edit_study('["A", "B", "C"]', '["A"]')
    alone = {("retrain", "A")}  # scores of one participant are tested by training again
    assert unchanged.run().keys() == CHECK | GROUP | alone
    assert np.load(unchanged.result("group") / "curve_scores.npy").shape[0] == 1
