"""What a run leaves: summary, figures, page, and every job by its id with no server running."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import numpy as np
import pytest
from live_project import LiveProject
from PIL import Image

from shortloop.keys.code import EXTRA_CODE


@pytest.fixture(scope="module")
def finished(project: LiveProject) -> LiveProject:
    """A finished study whose server is gone."""
    project.stop_server()
    # Threads set as badly as can be: the methods' own setting must win.
    project.start_server(OMP_NUM_THREADS="7", OPENBLAS_NUM_THREADS="7")
    project.run()
    project.stop_server()
    return project


def test_the_summary_lists_every_job_and_score(finished: LiveProject) -> None:
    summary = finished.summary()
    assert summary["built"] == 20
    stages = [(job["stage"], job["participant"]) for job in summary["jobs"]]
    assert ("train", "A") in stages
    assert all(job["built"] and job["seconds"] > 0 for job in summary["jobs"])
    (a, _) = summary["scores"]
    assert a["participant"] == "A"
    assert len(a["curve"]) == len(a["train_times"]) == 4
    assert np.shape(a["generalization"]) == (4, 4)
    axes = {name: [len(a[axis]) for axis in summary["axes"][name]] for name in ("curve", "generalization")}
    assert axes == {name: [*np.shape(a[name])] for name in axes}
    assert summary["axes"]["generalization"] == ["test_times", "train_times"]
    group = finished.job("group")
    code = f"import shortloop; print(shortloop.load({group!r}).to_xarray().plane_scores.dims)"
    assert finished.python(code) == "('participants', 'test_times', 'train_times')\n"
    code = f"import shortloop; print(shortloop.load({group!r}).to_xarray().plane_scores.values[0].tolist())"
    assert json.loads(finished.python(code)) == a["generalization"]
    (findings,) = summary["findings"]
    assert findings["group"]["participants"] == 2
    assert {"significant", "p", "peak"} <= set(findings["group"]["curve"])


def test_figures_are_there_as_png_and_pdf(finished: LiveProject) -> None:
    folder = finished.folder / "results" / "live"
    names = finished.summary()["files"]
    assert "report.html" in names
    for name in names:
        file = folder / name
        assert file.is_file()
        if file.suffix == ".png":
            with Image.open(file) as image:
                assert min(image.size) > 300
        if file.suffix == ".pdf":
            assert file.read_bytes().startswith(b"%PDF")


def test_the_page_names_the_jobs_behind_its_figures(finished: LiveProject) -> None:
    page = (finished.folder / "results" / "live" / "report.html").read_text(encoding="utf-8")
    for stage in ("import_epochs", "amplitude", "train", "apply", "permute"):
        assert finished.job(stage, "A") in page
    assert finished.job("group") in page


def test_load_gives_arrays_and_record_without_a_server(finished: LiveProject) -> None:
    assert finished.ax("status").returncode != 0
    job = finished.job("train", "A")
    said = finished.python(
        f"""
import json, shortloop
result = shortloop.load({job!r})
weights = result.arrays["weights"]
print(json.dumps([result.stage, result.partition, weights.shape, result.options, result.inputs,
                  result.facts["classes"], result.record["versions"]["numpy"], result.seconds > 0]))
""",
    )
    stage, participant, shape, options, inputs, classes, numpy_version, timed = json.loads(said)
    assert (stage, participant, shape) == ("train", "A", [4, 3, 2, 15])
    assert options["estimator"]["C"] == [0.001, 0.01]
    assert inputs == {"features": finished.job("amplitude", "A")}
    assert classes == ["left", "right"]
    assert numpy_version == np.__version__
    assert timed


def test_show_says_what_made_a_job_and_what_it_holds(finished: LiveProject) -> None:
    shown = finished.works("show", finished.job("train", "A"), COLUMNS="200")
    for word in ("train of A", "amplitude A", "estimator.C", "weights", "4 × 3 × 2 × 15", "numpy", "a_train"):
        assert word in shown
    assert "A.npz" in finished.works("show", finished.job("import_epochs", "A"), COLUMNS="200")


def test_exax_shows_the_job_too(finished: LiveProject) -> None:
    finished.start_server()
    try:
        done = finished.ax("job", finished.job("permute", "B"))
    finally:
        finished.stop_server()
    assert done.returncode == 0, done.stderr
    assert "permute B" in done.stdout


def test_one_blas_thread_however_the_server_was_started(finished: LiveProject) -> None:
    stages = [("train", "A"), ("apply", "B"), ("amplitude", "A"), ("permute", "A"), ("group", None)]
    for stage, participant in stages:
        record = finished.record(finished.job(stage, participant))
        blas = [pool for pool in record["threads"] if "blas" in pool["library"] or "mkl" in pool["library"]]
        assert blas
        # StoredJob so, not brought down to it: the libraries were loaded with one thread.
        assert all(pool["threads"] == pool["threads_used"] == 1 for pool in record["threads"])


def test_what_went_into_the_key_lies_with_the_job(finished: LiveProject) -> None:
    import tarfile

    with tarfile.open(finished.result("train", "A") / "method.tar.gz") as archive:
        texts = {Path(m.name).name: archive.extractfile(m).read().decode() for m in archive}  # type: ignore[union-attr]
    (code,) = [text for name, text in texts.items() if name.endswith(".txt")]
    assert "# module shortloop.eeg.decoding.train" in code
    beside = (finished.result("train", "A") / EXTRA_CODE).read_text(encoding="utf-8")
    assert "# module shortloop.eeg.decoding.solvers.svm" in beside  # which is imported by name
    assert f"# python {platform.python_version()}" in code
    assert "# module shortloop.eeg.group.statistics" not in code
