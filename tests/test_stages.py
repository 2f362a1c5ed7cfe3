"""What holds for every stage there is, whatever it computes."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import pickle
import re
import typing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from cases import first_cases
from in_process import (
    InProcess,
    cut_off_and_resumed,
    do_job,
    files_of,
    load_libraries,
    stage_of,
    unit_in_a_fork,
    unit_of,
)
from refusal import refusal
from scipy.io import savemat
from source_tree import METHODS, id_of

from build_scripts.build_frames import pipeline as of_frames
from build_scripts.build_panel import pipeline as of_panel
from build_scripts.build_pipeline import (
    apply,
    individual,
    intervals,
    make_features,
    patterns,
    permute,
    pipeline,
    train,
)
from dev.build_ridge import pipeline as ridge
from shortloop.eeg.pipeline import StudyRun, import_features
from shortloop.eeg.study.load import read_study
from shortloop.frames.pipeline import FramesRun, read_frames
from shortloop.panel.pipeline import PanelRun, read_panel
from shortloop.stages.records import axes_of
from shortloop.stages.results import open_result
from shortloop.stages.stage import Stage
from shortloop.stages.task import Task, costs_of, fields_of, open_stage
from shortloop.store.loaded import LoadedJob

SIMULATED = """\
name = "tiny"
participants = ["A", "B"]
classes = ["x", "y"]
phases = {train = "study", decode = "test"}
input = {format = "simulated", channels = 4, trials = 12, sfreq = 128, tmin = -0.3, tmax = 0.6}
decoding = {folds = 3, select_alpha = 1.0}
estimator = {kind = "lda"}
permutations = {count = 120}

[features.amplitude]
bins = 3
bin_samples = 9
apply = false
"""
POWER = """
[features.power]
fmin = 14
fmax = 20
fstep = 6
every = 4
bins = 3
bin_points = 3
"""
APPLIED = SIMULATED.replace("apply = false\n", "").replace('["A", "B"]', '["A"]')
RETRAINED = APPLIED.replace("count = 120", 'count = 5, null = "training-labels"')
SVM = RETRAINED.replace('kind = "lda"', 'kind = "linear-svm"').replace("select", 'score = "auc", select')
BAYES = RETRAINED.replace('kind = "lda"', 'kind = "sklearn", path = "sklearn.naive_bayes.GaussianNB"')
THESIS = """\
name = "mat"
participants = ["A"]
classes = ["x", "y"]
phases = {train = "study", decode = "test"}
features.power = {}

[input]
format = "thesis"
power.study = "{participant}.mat"
power.test = "{participant}_test.mat"
"""
PANEL = """\
name = "panel"
input = {format = "simulated", groups = 30, rows = 90}
groups = {by = ["group"], blocks = 1}
csv = true
predict = {models = ["plain"], interval = 0.9}
paper = {groups = [7, 8], formats = ["latex", "excel"], plots = ["x1"]}
diagnostics = {groups = ["7"], worst = 8}
models.plain = {model = "ols", formula = "y ~ x1 + x2 + C(visits > 2)", covariance = "HC3"}
models.tree = {model = "sklearn", estimator = "sklearn.linear_model.Ridge", formula = "y ~ x1", keep = true}
"""
FRAMES = """\
name = "frames"
libraries = ["pandas"]
transformations = ["groups"]
table = {rows = 300, columns = 4, groups = 5, chunk = 100}
timing = {repeats = 1, workers = 2}
"""
STUDIES = {
    "simulated": SIMULATED,
    "applied": APPLIED + POWER,
    "lda": RETRAINED,
    "svm": SVM,
    "bayes": BAYES,
    "mat": THESIS,
    "subsampled": RETRAINED.replace("select", "subsample = true, select"),
}

# A small job of every stage, and more where a stage goes several ways: by study, stage and kind of features.
STAGES = {
    "simulated": "import_epochs, check, amplitude, train amplitude, permute amplitude, group amplitude, "
    "individual amplitude, patterns amplitude, evoked, report, ridge amplitude",
    "applied": "power, apply power, permute power, individual power, intervals power, patterns power",
    "lda": "apply amplitude, retrain amplitude",
    "svm": "train amplitude, apply amplitude, retrain amplitude, individual amplitude, intervals amplitude, "
    "patterns amplitude",
    "bayes": "train amplitude, apply amplitude, retrain amplitude, patterns amplitude",
    "mat": "import_features power",
    "subsampled": "subsample amplitude, train amplitude",
    "panel": "import_panel, panel_groups, panel_block, panel_fit, panel_results, panel_residuals, "
    "panel_diagnostics, panel_models, panel_paper, panel_predict, panel_predictions, panel_rows, "
    "panel_report",
    "frames": "frames_table, frames_truth, frames_run, frames_report",
}
CASES = [
    (study, *each.partition(" ")[::2]) for study, stages in STAGES.items() for each in stages.split(", ")
]
OF_STAGES = [file for file in METHODS if "exax_method" in file.read_text(encoding="utf-8")]
GROW = [case for case in CASES if case[1] in ("permute", "retrain")]
Case = tuple[str, str, str]


class Jobs(typing.NamedTuple):
    """A job of each case: what it was asked to do, and where it is."""

    tasks: dict[Case, Task]
    folders: dict[Case, Path]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    found = Jobs({}, {})
    for name, text in STUDIES.items():
        folder = tmp_path_factory.mktemp(name)
        file = folder / "study.toml"
        file.write_text(text, encoding="utf-8")
        for seed, stem in enumerate(("A", "A_test")):
            _write_mat(folder / f"{stem}.mat", seed)
        run = InProcess(folder)
        study = StudyRun(run, read_study(file), file)
        if name == "simulated":
            pipeline(study)
            ridge(study)
        elif name == "mat":
            import_features(study, "power")
        else:
            for kind, made in make_features(study).items():
                models = train(study, "A", kind, made["A"])
                applied = apply(study, "A", kind, made["A"], models)
                individual(study, kind, [permute(study, "A", kind, made["A"], models, applied)], [])
                intervals(study, "A", kind, models, applied)
                patterns(study, "A", kind, made["A"], models)
        _note(found, name, run)
    others: list[Any] = [("panel", PANEL, read_panel, PanelRun, of_panel)]
    others += [("frames", FRAMES, read_frames, FramesRun, of_frames)]
    for name, text, read, kind, of in others:
        folder = tmp_path_factory.mktemp(name)
        file = folder / f"{name}.toml"
        file.write_text(text, encoding="utf-8")
        run = InProcess(folder)
        of(kind(run, read(file), file))
        _note(found, name, run)
    return found


def _note(found: Jobs, name: str, run: InProcess) -> None:
    for job in run.jobs:
        kind = str(run.tasks[job.job].options.get("kind", ""))
        found.tasks.setdefault((name, job.stage, kind), run.tasks[job.job])
        found.folders.setdefault((name, job.stage, kind), job.path)


def _write_mat(file: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], 6)
    bins = np.empty(4, object)
    bins[:] = [rng.standard_normal((12, 5)) for _ in range(4)]
    content = {
        "category": y + 1.0,
        "category_name": np.array(["x", "y"], object)[y],
        "feature_name": np.array([f"E0_freq_4_tpoint_{number}" for number in range(5)], object),
        "feature": bins,
        "numclassifiers": 4.0,
    }
    savemat(file, {file.stem: content})


@pytest.fixture(scope="module")
def fresh() -> Iterator[ProcessPoolExecutor]:
    """Another process, that has inherited nothing; it loads libraries, and does nothing but fork."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), load_libraries) as pool:
        yield pool


def name_of(case: Case) -> str:
    return " ".join(filter(None, (case[1], case[2], f"of {case[0]}")))


each_case = pytest.mark.parametrize("case", CASES, ids=name_of)
# Where times are the result, they are others each time.
SAME = [case for case in CASES if case[1] != "frames_run"]
each_same = pytest.mark.parametrize("case", SAME, ids=name_of)
FIRST = {*{case[1]: case for case in reversed(SAME)}.values(), *GROW}
each_stage = first_cases(len(FIRST), "case", sorted(SAME, key=lambda case: case not in FIRST), ids=name_of)
"""One case of each stage, and all of those that grow; the slow tests have the others."""


def test_every_stage_and_every_stage_that_grows_has_a_case() -> None:
    live = {"import_dataset"}  # exax alone writes datasets: tests/live/test_live_panel_columns.py
    assert {file.stem.removeprefix("a_") for file in OF_STAGES} - live == {stage for _, stage, _ in CASES}
    grow = {stage for _, stage, _ in CASES if stage_of(stage).grows}
    assert grow == {stage for _, stage, _ in GROW}
    for stage in grow:
        assert stage_of(stage).grows in fields_of(stage_of(stage)).options


@each_case
def test_plain_data_opens_in_any_process(jobs: Jobs, fresh: ProcessPoolExecutor, case: Case) -> None:
    """All is compiled when it is opened: processes that are forked then share it."""
    task = jobs.tasks[case]
    assert pickle.loads(pickle.dumps(task)) == task
    units = len(costs_of(open_stage(task)))
    if units:
        here = unit_of(task, units // 2)
        there, compiled = fresh.submit(unit_in_a_fork, task, units // 2).result()
        assert compiled == set()
        assert here.keys() == there.keys()
        outputs = open_stage(task).outputs()
        for name, value in here.items():
            value = pickle.loads(pickle.dumps(value))  # so that texts are shared, or not, as there
            assert pickle.dumps(there[name]) == pickle.dumps(value), name
            if name in outputs:  # which holds it exactly
                np.testing.assert_array_equal(value.astype(outputs[name].dtype), value, err_msg=name)


@each_stage
@first_cases(1, "which", ["half", "none", "all but one"])
def test_cut_off_and_resumed_it_leaves_the_same(jobs: Jobs, tmp_path: Path, case: Case, which: str) -> None:
    """Cut off after some of its units; the last ones come first."""
    task, like = jobs.tasks[case], jobs.folders[case]
    units = len(costs_of(open_stage(task)))
    done = {"none": 0, "half": units // 2, "all but one": max(units - 1, 0)}[which]
    assert files_of(cut_off_and_resumed(task, like, tmp_path, done, workers=2)) == files_of(like)


@each_case
def test_its_numbers_are_labelled_in_xarray_netcdf_and_tables(jobs: Jobs, tmp_path: Path, case: Case) -> None:
    found = open_result(jobs.folders[case], jobs.tasks[case].where)
    job = LoadedJob(found.job, found.path, found.record, found.where)
    labelled, lengths = job.to_xarray(), dict[str, int]()
    for name, described in job.record["arrays"].items():
        array = labelled[name]
        np.testing.assert_array_equal(array.values, job.arrays[name], strict=True)
        assert array.dtype.kind in "biufUmM"
        assert array.attrs["long_name"] == described["description"] != ""
        assert array.attrs.get("units", "") == described["unit"]
        for axis, length in zip(axes_of(described), array.shape, strict=True):
            assert axis, f"{name}: an axis that nobody names"
            assert lengths.setdefault(axis, length) == length, f"{name}: {axis} in two lengths"
    for axis, source in job.record.get("coordinates", {}).items():
        assert any(len(each) == lengths[axis] for each in labelled.coords.values())
        assert source in job.record["facts"] or source in labelled.coords
    assert labelled.attrs["job"] == job.job
    assert json.loads(labelled.attrs["provenance"])[0]["job"] == job.job
    labelled.to_netcdf(tmp_path / "job.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "job.nc", engine="h5netcdf") as again:
        xr.testing.assert_identical(again, labelled)
    for name, kept in job.record.get("tables", {}).items():
        table = job.to_frame(name)
        assert len(table) == kept["rows"]
        assert [*table.columns] == [*kept["columns"]]
    for name in [each for each in job.arrays if labelled[each].ndim]:
        table, expected = job.to_frame(name), labelled[name].to_dataframe()[[name]]
        pd.testing.assert_frame_equal(table, expected, check_index_type=False)
    if not job.tables and job.arrays:
        with refusal(f"one of {next(iter(job.arrays))}"):
            job.to_frame()


@each_same
def test_units_fill_all_of_their_outputs(jobs: Jobs, tmp_path: Path, case: Case) -> None:
    other = do_job(jobs.tasks[case], tmp_path / "main-1", fill=0xA5).path
    assert files_of(other) == files_of(jobs.folders[case])


@pytest.mark.parametrize("case", GROW, ids=name_of)
@pytest.mark.parametrize("share", [0.4, 1.0, 1.6])
def test_grown_or_at_once_it_leaves_the_same(jobs: Jobs, tmp_path: Path, case: Case, share: float) -> None:
    task, at_once = jobs.tasks[case], jobs.folders[case]
    count = stage_of(case[1]).grows
    amount = task.options[count]
    assert isinstance(amount, int)
    fewer = {**task.options, count: round(share * amount)}
    do_job(dataclasses.replace(task, options=fewer), tmp_path / "main-1")
    grown = do_job(dataclasses.replace(task, before=str(tmp_path / "main-1")), tmp_path / "main-2").path
    assert files_of(grown) == files_of(at_once)


@pytest.mark.parametrize("file", OF_STAGES, ids=id_of)
def test_options_say_what_they_are(file: Path) -> None:
    stage = stage_of(file.stem.removeprefix("a_"))
    fields = fields_of(stage)
    annotations = {name: text for kind in stage.__mro__[::-1] for name, text in _annotations(kind).items()}
    for name in fields.options:
        assert not hasattr(Stage, name)
        words = set(re.findall(r"\w+", annotations[name].replace("dict[str, object]", "")))
        assert not words & {"Any", "object", "Job", "Result"}, f"{name}: {annotations[name]}"
    for name in stage.siblings:
        assert name.partition(".")[0] in fields.options


def _annotations(kind: type) -> dict[str, Any]:
    return {name: str(each) for name, each in vars(kind).get("__annotations__", {}).items()}
