"""A format, an estimator and an engine of other packages, each one file, in the runs of one project."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from pathlib import Path

import pytest
from cases import first_cases
from live_project import LiveProject, fixture_of

FORMAT = '''\
from typing import Literal

from pydantic import Field

from shortloop.eeg.formats.recording_format import FilesInput, Part
from shortloop.eeg.headers.numpy_files import declared


class LabInput(FilesInput):
    """Files of the laboratory."""

    format: Literal["lab"] = Field("lab", description="files of the laboratory")
    gain: float = Field(1.0, description="volts of a unit; default 1")

    def declared(self, file, participant):
        return declared(file, ("X", "y", "t", "ch"))

    def warm_up(self):
        import numpy

    def read_part(self, file, participant, classes):
        from collections import Counter

        import numpy as np

        with np.load(file) as content:
            data, events, times, names = (content[each] for each in ("X", "y", "t", "ch"))
        wanted = self.class_of_event(classes)
        kept = [number for number, event in enumerate(events) if event in wanted]
        return Part(
            file=file,
            data=data[kept] * self.gain,
            labels=np.array([wanted[events[number]] for number in kept]),
            times=times,
            sfreq=1 / float(times[1] - times[0]),
            channels=tuple(map(str, names)),
            seen=Counter(events.tolist()),
        )
'''
ESTIMATOR = '''\
from typing import Literal

from pydantic import Field

from shortloop.eeg.decoding.estimators.protocol import ClassifierSettings


class NearestSettings(ClassifierSettings):
    """The class whose mean is nearest."""

    papers = {"Doe, 2020": "Doe, J. (2020). Means. Journal of Means, 1(1), 1-2."}
    kind: Literal["nearest"] = Field("nearest", description="the class whose mean is nearest")
    shrink: float | None = Field(None, gt=0, description="threshold; default: none")

    def make(self):
        from sklearn.neighbors import NearestCentroid

        return NearestCentroid(shrink_threshold=self.shrink)

    def described(self, n_classes):
        return f"the nearest of {n_classes} means (Doe, 2020)"
'''
ENGINE = '''\
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from shortloop.engines.engine import Computed, Engine
from shortloop.engines.worker import compute_batch
from shortloop.units.messages import HERE


class ThreadsEngine(Engine):
    """Threads of the standard library."""

    def __init__(self, settings, workers):
        super().__init__(settings, workers)
        self._pool = ThreadPoolExecutor(workers)

    def compute(self, supplies, batches, asked):
        work, out = supplies.work, {}
        if "elsewhere" in (self.settings.options or {}):
            work = work._replace(here=(work.here[0], "of another folder of this name"))
        while True:
            while len(out) < self.count and (units := batches.next()):
                out[self._pool.submit(compute_batch, work, units)] = units
            if not out:
                return
            for each in wait(out, return_when=FIRST_COMPLETED).done:
                yield Computed(out.pop(each), each.result())

    def described(self):
        return {"version": "1.0", "where": HERE}

    def close(self):
        self._pool.shutdown(wait=False, cancel_futures=True)
'''
OFFERED = {
    "lab-format": ("shortloop.formats", "lab", "lab_format:LabInput"),
    "thread-engine": ("shortloop.engines", "threads", "thread_engine:ThreadsEngine"),
    "nearest-means": ("shortloop.estimators", "nearest", "nearest_means:NearestSettings"),
}


def install(site: Path, package: str, text: str, version: str, place: Path | None = None) -> None:
    """Install a package of one module, as pip does; in `place`, if it is installed in place."""
    group, name, value = OFFERED[package]
    module = value.partition(":")[0]
    for old in site.glob(f"{module}-*.dist-info"):
        shutil.rmtree(old)
    info = site / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    ((place or site) / f"{module}.py").write_text(text, encoding="utf-8")
    (info / "METADATA").write_text(f"Name: {package}\nVersion: {version}\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n", encoding="utf-8")
    listed = f"{info.name}/METADATA,,\n"
    if place is None:
        listed += f"{module}.py,sha256={hashlib.sha256(text.encode()).hexdigest()},{len(text)}\n"
    else:
        (info / "top_level.txt").write_text(f"{module}\n", encoding="utf-8")
    (info / "RECORD").write_text(listed, encoding="utf-8")


CHECKED = """\
from pathlib import Path
from shortloop.eeg.testing import check_estimator, check_format, check_reading
from shortloop.testing import check_engine

lab = {"format": "lab", "files": {"viewing": ["{participant}.npz"]}}
check_estimator({"kind": "nearest", "shrink": 0.1})
check_format(lab)
found = check_reading(lab, Path("data/A.npz"), ["left", "right"])
assert found.data.shape == (32, 3, 40), found.data.shape
check_engine("threads")
"""


class WithPackages(LiveProject):
    """A study of one participant by packages that are installed beside it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.site, self.place = folder / "site", folder / "place"
        self.place.mkdir()
        install(self.site, "lab-format", FORMAT, "1.0")
        install(self.site, "nearest-means", ESTIMATOR, "1.0", self.place)
        install(self.site, "thread-engine", ENGINE, "1.0")
        self.edit_study('["A", "B"]', '["A"]')
        self.edit_study('format = "npz"', 'format = "lab"\ngain = 2.0')
        text = (self.folder / "study.toml").read_text(encoding="utf-8")
        start, end = text.index("[estimator]"), text.index("[permutations]")
        own = '[estimator]\nkind = "nearest"\nshrink = 0.1\n\n'
        self.write_study(text[:start] + own + text[end:] + "retrained = 2\n")

    def environment(self, **more: str) -> dict[str, str]:
        return {**super().environment(**more), "PYTHONPATH": f"{self.site}:{self.place}"}

    def built(self) -> set[str]:
        return {stage for stage, _ in self.run()}

    def refused(self) -> str:
        said = self.shortloop("run").fails()
        assert "Traceback" not in said
        return said


project = fixture_of(WithPackages)


def test_a_study_names_them(project: WithPackages) -> None:
    assert {"import_epochs", "train", "apply", "retrain", "report"} <= project.built()
    said = (project.folder / "results/live/methods.txt").read_text(encoding="utf-8")
    assert "The classifier was the nearest of 2 means (Doe, 2020)." in said
    assert "Journal of Means" in said
    assert "scikit-learn" in said
    summary = project.summary()
    assert summary["scores"][0]["participant"] == "A"
    assert {"report.html", "methods.txt"} <= {*summary["files"]}
    assert all((project.folder / "results/live" / name).is_file() for name in summary["files"])
    for stage in ("train", "apply"):
        pools = project.record(project.job(stage, "A"))["threads"]
        assert pools
        assert all(pool["threads"] == pool["threads_used"] == 1 for pool in pools)
    assert project.run() == {}
    listed = project.shortloop("study").stdout
    assert re.search(r"estimator\[nearest\].shrink +threshold; default: none", listed)
    assert "input[lab].gain" in listed


def test_an_engine_computes_the_same(project: WithPackages) -> None:
    before = (project.result("train", "A") / "predicted.npy").read_bytes()
    done = project.shortloop("run", "--force", "train", SHORTLOOP_ENGINE="threads").ok()
    assert "units are computed by threads" in done.stdout
    assert (project.result("train", "A") / "predicted.npy").read_bytes() == before
    assert "threads 1.0, 2 workers" in project.shortloop("show", project.job("train", "A")).stdout
    said = project.shortloop("run", SHORTLOOP_ENGINE="thread").fails()
    assert "slices or joblib or dask or ray or slurm or threads" in said


def test_an_engine_that_sends_nothing_says_that_the_project_must_be_there(project: WithPackages) -> None:
    text = (project.folder / "study.toml").read_text(encoding="utf-8")
    engine = '[engine]\nname = "threads"\noptions = {elsewhere = true}\n'
    project.write_study(f"{text}\n{engine}")
    said = project.shortloop("run", "--force", "train").fails()
    project.write_study(text)
    assert "the project is not on a node of threads" in said
    assert "the same path" in said


@pytest.mark.slow
def test_they_pass_the_common_tests(project: WithPackages) -> None:
    project.python(CHECKED)


# Each of another length, as bytecode goes by whole seconds and the length.
BROKEN = (
    ("described", "explains", "with the methods described"),
    ('"Doe, 2020": "D', '"Roe et al., 2020": "R', "papers lacks what described cites: Doe, 2020"),
    ("\nfrom pydantic", "\nimport numpy\nfrom pydantic", "imports numpy"),
    ("shrink_threshold=self.shrink", "shrink_threshold=1e9", "% of predictions are right"),
    ('description="threshold; default: none"', "", "fields without a description: shrink"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "said"), BROKEN)
def test_what_breaks_a_common_test(project: WithPackages, old: str, new: str, said: str) -> None:
    file = project.place / "nearest_means.py"
    file.write_text(ESTIMATOR.replace(old, new), encoding="utf-8")
    try:
        done = project.shell(sys.executable, "-c", CHECKED)
    finally:
        file.write_text(ESTIMATOR, encoding="utf-8")
    assert done.returncode == 1
    assert said in done.stderr


@first_cases(
    1,
    ("old", "new", "said"),
    [("shrink = 0.1", "shrink = 0", "greater than 0"), ('format = "lab"', 'format = "lap"', "mean 'lab'?")],
)
def test_what_is_wrong_is_said(project: WithPackages, old: str, new: str, said: str) -> None:
    project.edit_study(old, new)
    assert said in project.refused()
    project.edit_study(new, old)


@pytest.mark.slow
def test_a_package_edited_in_place_or_installed_anew_reruns_what_uses_it(project: WithPackages) -> None:
    project.built()
    file = project.place / "nearest_means.py"
    file.write_text(ESTIMATOR.replace("(shrink_", "(priors='uniform', shrink_"), encoding="utf-8")
    built = project.built()
    assert {"train", "apply", "retrain"} <= built
    assert "import_epochs" not in built
    file.write_text(ESTIMATOR + "\n# Nothing else.\n", encoding="utf-8")
    install(project.site, "lab-format", FORMAT.replace("* self.gain", "* 3.0 * self.gain"), "1.1")
    assert "import_epochs" in project.built()
    install(project.site, "lab-format", FORMAT, "1.0")
    assert project.run() == {}


def test_a_package_that_is_gone_is_named(project: WithPackages) -> None:
    shutil.rmtree(project.site / "nearest_means-1.0.dist-info")
    said = project.refused()
    assert "install the package" in said
    assert "nearest-means 1.0 in an earlier run" in said
