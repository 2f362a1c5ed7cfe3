"""Bad input stops at import: one clear message, status 1, nothing half-made.

Names that hold escape sequences are shown in it, and no terminal obeys them. What looks at jobs with such
names is in tests/cli/test_cli_foreign_text.py, pages are in tests/report.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import first_cases
from live_project import STUDY, LiveProject, write_recording
from scipy.io import savemat

Spoil = Callable[[LiveProject], None]


def data(project: LiveProject, name: str = "B") -> Path:
    return project.folder / "data" / f"{name}.npz"


def edit(old: str, new: str) -> Spoil:
    return lambda project: project.edit_study(old, new)


def truncate(project: LiveProject) -> None:
    content = data(project).read_bytes()
    data(project).write_bytes(content[: len(content) // 2])


def with_arrays(change: Callable[[dict[str, Any]], object], name: str = "B") -> Spoil:
    """A recording whose arrays are changed."""

    def spoil(project: LiveProject) -> None:
        with np.load(data(project, name)) as file:
            arrays = dict(file)
        change(arrays)
        np.savez(data(project, name), **arrays)

    return spoil


without_labels = with_arrays(lambda arrays: arrays.pop("y"))
at_another_rate = with_arrays(lambda arrays: arrays.update(t=np.arange(-8, 32) / 50))
# What the import, the check of all recordings, the settings and the estimator refuse: one of each, as
# tests/eeg/formats and tests/settings have all.
CASES: dict[str, tuple[Spoil, tuple[str, ...]]] = {
    "truncated file": (truncate, ("B", "B.npz")),
    "another rate": (at_another_rate, ("B", "50", "64")),
    "too few trials": (edit("folds = 3", "folds = 17"), ("left", "16", "17")),
    "unknown key": (edit("lowpass", "lowpas"), ("study.toml", "features.amplitude.lowpas", "'lowpass'")),
    "no estimator": (
        edit(
            'kind = "linear-svm"\nC = [0.001, 0.01]\ninner_folds = 2',
            'kind = "sklearn"\npath = "sklearn.svm.No"',
        ),
        ("estimator.path", "sklearn.svm.No"),
    ),
}


@pytest.fixture
def fresh(project: LiveProject) -> Iterator[LiveProject]:
    yield project
    project.write_study(STUDY)
    for seed, name in enumerate("AB"):
        write_recording(data(project, name), seed)
    shutil.rmtree(project.folder / "results", ignore_errors=True)


@first_cases(1, "case", CASES)
def test_bad_input_stops_the_run(fresh: LiveProject, case: str) -> None:
    spoil, words = CASES[case]
    spoil(fresh)
    done = fresh.ax("run", "build_pipeline")
    assert done.returncode == 1
    said = done.stdout + done.stderr  # exax gives a build script one stream for both
    assert said.count("shortloop: ") == 1
    for word in words:
        assert word in said, f"{word!r} not in:\n{said}"
    assert "Traceback" not in said
    # Nothing half-made: no results, and every job that is there is whole.
    assert not (fresh.folder / "results" / "live").exists()
    for job in (fresh.folder / "workdirs" / "main").glob("main-[0-9]*"):
        setup = job / "setup.json"
        is_build_script = setup.is_file() and '"is_build": true' in setup.read_text()
        assert is_build_script or (job / "post.json").is_file()


@pytest.mark.slow
def test_what_is_odd_is_said_and_stops_nothing(fresh: LiveProject) -> None:
    """A flat channel, and folds of which no feature is kept."""
    with_arrays(lambda arrays: arrays["X"][:, 1].fill(0))(fresh)
    fresh.edit_study("folds = 3", "folds = 3\nselect_alpha = 1e-3")
    done = fresh.ax("run", "build_pipeline").ok()
    note = "B, viewing: channel b is flat in all 32 trials"
    (line,) = [line for line in done.stdout.splitlines() if note in line]
    assert line.startswith("note: ")
    assert note in " ".join(fresh.shortloop("show", fresh.job("import_epochs", "B")).stdout.split())
    models = [np.load(fresh.result("train", name) / "kept.npy").any(axis=2) for name in "AB"]
    missing = sum(int((~each).sum()) for each in models)
    assert 0 < missing < 24
    assert f"amplitude: {missing} of 24 folds kept no feature and gave no model" in done.stdout


@first_cases(1, "bad", [without_labels, at_another_rate], ids=["rejected", "compared"])
def test_a_job_of_a_file_that_has_another_name_now_says_that_name(fresh: LiveProject, bad: Spoil) -> None:
    bad(fresh)
    done = fresh.ax("run", "build_pipeline")
    assert "B.npz" in done.stdout + done.stderr
    before = fresh.folder / "data"
    before.rename(fresh.folder / "elsewhere")
    before.mkdir()
    try:
        for name in "AB":
            shutil.copy(fresh.folder / "elsewhere" / f"{name}.npz", data(fresh, f"recording_{name}"))
        fresh.edit_study("{participant}.npz", "recording_{participant}.npz")
        done = fresh.ax("run", "build_pipeline")
        said = done.stdout + done.stderr
        if bad is without_labels:
            assert str(data(fresh, "recording_B")) in said
        else:
            assert "file:         recording_B.npz" in said
    finally:
        shutil.rmtree(before)
        (fresh.folder / "elsewhere").rename(before)


FEATURES = """\
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
"""


def write_features(file: Path) -> None:
    """Ready-made features of four bins."""
    rng = np.random.default_rng([*file.name.encode()])
    y = np.tile([0, 1], 15)
    bins = np.empty(4, dtype=object)
    for number in range(4):
        bins[number] = rng.standard_normal((30, 40))
    content = {
        "category": y + 1.0,
        "category_name": np.array(["left", "right"], dtype=object)[y],
        "feature_name": np.array([f"E{number}" for number in range(40)], dtype=object),
        "feature": bins,
    }
    savemat(file, {file.stem: content})


def test_a_file_that_makes_its_reader_crash_stops_the_run(fresh: LiveProject) -> None:
    """SciPy's reader does not survive a struct that says it is a sparse matrix."""
    fresh.write_study(FEATURES)
    for participant in "AB":
        for phase in ("study", "test"):
            write_features(fresh.folder / "data" / f"{participant}_{phase}.mat")
    file = fresh.folder / "data" / "B_test.mat"
    content = bytearray(file.read_bytes())
    assert content[144] == 2
    content[144] = 5
    file.write_bytes(content)
    for _ in range(2):  # the second time it is known
        said = fresh.ax("run", "build_pipeline").fails()
        assert said.count("shortloop: ") == 1
        for word in ("participant:  B", "B_test.mat", "crashed (SIGSEGV)", "copy it again"):
            assert word in said, f"{word!r} not in:\n{said}"
        assert "killed" not in said
        assert "Traceback" not in said


ESCAPE = "\x1b[31m"
CHANNELS = [f"{ESCAPE}Cz", "b\u202e", "c\x9b2J"]
# Names of files: one that a terminal obeys, one that is no UTF-8 and would end a line.
FOREIGN = {"A": f"A {ESCAPE}.npz".encode(), "B": b"B \xff\n.npz"}
UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@first_cases(
    1,
    ("changes", "words"),
    [
        ({"ch": [f"{ESCAPE}Pz", f"{ESCAPE}Pz", "c"]}, r"\x1b[31mPz"),
        ({"ch": [f"{ESCAPE}Pz", *CHANNELS[1:]]}, r"\x1b[31mPz"),
        ({"y": np.array([f"{ESCAPE}left", "right"])[np.arange(32) % 2]}, r"\x1b[31mleft"),
    ],
    ids=["a channel twice", "another channel", "another event"],
)
def test_names_that_a_terminal_obeys(fresh: LiveProject, changes: dict[str, Any], words: str) -> None:
    for seed, (name, file) in enumerate(FOREIGN.items()):
        changed = {"ch": CHANNELS, **(changes if name == "B" else {})}
        write_recording(data(fresh, name), seed, **changed)
        data(fresh, name).rename(data(fresh).with_name(os.fsdecode(file)))
    fresh.edit_study("{participant}.npz", "{participant}*.npz")
    said = fresh.shortloop("run").fails()
    for file in FOREIGN.values():
        data(fresh).with_name(os.fsdecode(file)).unlink()
    assert words in said
    assert r"B \udcff\n.npz" in said
    assert not UNFIT.search(said)
    assert "Traceback" not in said


@pytest.fixture
def with_notes(fresh: LiveProject) -> Iterator[LiveProject]:
    """Of one recording the import notes something that names the file, and the check something else."""
    before = fresh.folder / "data"
    shutil.copytree(before, fresh.folder / "kept")

    def twice(arrays: dict[str, Any]) -> None:
        arrays["X"][5], arrays["y"][5] = arrays["X"][4], arrays["y"][4]

    with_arrays(twice)(fresh)
    with_arrays(lambda arrays: arrays.update(X=arrays["X"] * 1e3), "A")(fresh)
    yield fresh
    shutil.rmtree(before)
    (fresh.folder / "kept").rename(before)


@pytest.mark.slow
def test_notes_are_in_the_report_with_the_names_of_now_whoever_built_jobs(with_notes: LiveProject) -> None:
    results = with_notes.folder / "results" / "live"

    def written() -> tuple[str, str]:
        page, table = results / "report.html", results / "tables" / "recordings.csv"
        return page.read_text(encoding="utf-8"), table.read_text(encoding="utf-8")

    done = with_notes.ax("run", "build_pipeline")
    assert "note: B, viewing: B, B.npz: 1 of 32 trials are there twice" in done.stdout
    assert "note: B, viewing: the signal is" in done.stdout  # one of two is odd
    page, table = written()
    assert "B.npz: 1 of 32 trials are there twice" in page
    assert "times smaller than usual" in page
    assert "times smaller than usual" in table
    data(with_notes).rename(data(with_notes, "recording_B"))
    data(with_notes, "A").rename(data(with_notes, "recording_A"))
    with_notes.edit_study("{participant}.npz", "recording_{participant}.npz")
    done = with_notes.ax("run", "build_pipeline")
    assert "option names.B" in with_notes.shortloop("why", "report").stdout
    assert "built train" not in done.stdout  # what it was made from is the same
    page, table = written()
    assert "recording_B.npz: 1 of 32 trials are there twice" in page
    assert "B, recording_B.npz" in table or ",recording_B.npz," in table
    for text in (page, table):  # the jobs above that are reused were made from it by its old name
        assert " B.npz" not in re.sub(r"\b[0-9a-f]{64} B\.npz", "", text)
        assert ",B.npz" not in text
    shown = with_notes.shortloop("show", with_notes.job("import_epochs", "B")).stdout
    assert "recording_B.npz: 1 of 32" in " ".join(shown.split())
