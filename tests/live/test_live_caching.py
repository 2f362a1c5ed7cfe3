"""What runs again after a change, and what does not, on a live exax server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from live_project import EditedProject, LiveProject, fixture_of, write_recording

FOLDED = """\
from shortloop.eeg.stages.amplitude import Amplitude
from shortloop.exax.method import exax_method


class Folded(Amplitude):
    def compute(self, unit):
        return {name: abs(values) for name, values in super().compute(unit).items()}


globals().update(exax_method(Folded, __file__))
"""
CHECK = {("check", None)}
GROUP = {("individual", None), ("group", None), ("report", None)}
STAGES = ("import_epochs", "evoked", "amplitude", "train", "apply", "permute", "intervals", "patterns")


def jobs_of(*participants: str, stages: tuple[str, ...] = STAGES) -> set[tuple[str, str | None]]:
    return {(stage, participant) for stage in stages for participant in participants}


def add_unused(project: LiveProject, module: str) -> None:
    """Add code to a module of the package that changes no result."""
    with (project.folder / "shortloop" / module).open("a", encoding="utf-8") as stream:
        stream.write("\nUNUSED = 1\n")


project = fixture_of(EditedProject)


@pytest.fixture(scope="module")
def built(project: LiveProject) -> LiveProject:
    assert project.run().keys() == jobs_of("A", "B") | CHECK | GROUP
    return project


@pytest.fixture
def unchanged(built: LiveProject) -> Iterator[LiveProject]:
    """Everything built and up to date, whatever the test before did."""
    study = (built.folder / "study.toml").read_text(encoding="utf-8")
    yield built
    if (built.folder / "study.toml").read_text(encoding="utf-8") != study:
        built.write_study(study)
        built.run()


def test_nothing_is_built_again(unchanged: LiveProject) -> None:
    assert unchanged.run().keys() == set()
    summary = unchanged.summary()
    assert summary["built"] == 0
    assert summary["reused"] == len(summary["jobs"]) == 20


@pytest.mark.slow
def test_a_group_option_rebuilds_group_and_report(unchanged: LiveProject) -> None:
    unchanged.edit_study("[permutations]", "[group]\nsmooth = 0.5\n\n[permutations]")
    assert unchanged.run().keys() == GROUP


@pytest.mark.slow
def test_the_grid_rebuilds_train_and_what_is_below(unchanged: LiveProject) -> None:
    unchanged.edit_study("C = [0.001, 0.01]", "C = [0.001, 0.01, 0.1]")
    below = ("train", "apply", "permute", "intervals", "patterns")
    assert unchanged.run().keys() == jobs_of("A", "B", stages=below) | GROUP


@pytest.mark.slow  # in each `make test`, test_live_init.py asks for the same of an installed package
def test_the_number_of_permutations_rebuilds_permute_and_what_is_below(unchanged: LiveProject) -> None:
    unchanged.edit_study("count = 39", "count = 59")
    assert unchanged.run().keys() == jobs_of("A", "B", stages=("permute",)) | GROUP


@pytest.mark.slow
def test_code_that_leaves_the_same_rebuilds_the_stages_that_reach_it_and_none_below(
    unchanged: LiveProject,
) -> None:
    add_unused(unchanged, "eeg/features/amplitude.py")
    assert unchanged.run().keys() == jobs_of("A", "B", stages=("amplitude",))
    add_unused(unchanged, "eeg/decoding/train.py")
    assert unchanged.run().keys() == jobs_of("A", "B", stages=("train", "apply"))
    add_unused(unchanged, "eeg/decoding/solvers/svm.py")
    assert unchanged.run().keys() == jobs_of("A", "B", stages=("train", "apply"))


@pytest.mark.slow
def test_what_no_result_is_made_of_rebuilds_nothing(unchanged: LiveProject) -> None:
    for name in ("plan/planner.py", "store/store.py", "exax/server.py", "project/project.py", "cli/main.py"):
        add_unused(unchanged, name)
    assert unchanged.run().keys() == set()
    add_unused(unchanged, "eeg/report/sentences.py")
    assert unchanged.run().keys() == {("report", None)}


@pytest.mark.slow
def test_code_that_leaves_something_else_rebuilds_what_is_below(unchanged: LiveProject) -> None:
    method = unchanged.folder / "methods" / "a_amplitude.py"
    source = method.read_text(encoding="utf-8")
    method.write_text(FOLDED, encoding="utf-8")
    assert unchanged.run().keys() >= jobs_of("A", "B", stages=("amplitude", "train", "apply"))
    method.write_text(source, encoding="utf-8")
    assert unchanged.run().keys() == set()  # what was there before is there still


def test_a_comment_or_docstring_rebuilds_nothing(unchanged: LiveProject) -> None:
    svm = unchanged.folder / "shortloop" / "eeg" / "decoding" / "solvers" / "svm.py"
    source = svm.read_text(encoding="utf-8")
    assert '"""One-versus-rest' in source
    changed = source.replace('"""One-versus-rest', '"""A one-versus-rest') + "\n# a remark\n"
    svm.write_text(changed, encoding="utf-8")
    method = unchanged.folder / "methods" / "a_train.py"
    method.write_text("# a remark\n" + method.read_text(encoding="utf-8"), encoding="utf-8")
    assert unchanged.run().keys() == set()


def test_a_damaged_result_is_made_again_and_nothing_below(unchanged: LiveProject) -> None:
    file = unchanged.result("train", "A") / "predicted.npy"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert unchanged.run().keys() == {("train", "A")}
    assert (unchanged.result("train", "A") / "predicted.npy").read_bytes() == content


def test_another_file_of_the_same_name_and_size_rebuilds_its_participant(unchanged: LiveProject) -> None:
    file = unchanged.folder / "data" / "A.npz"
    size = file.stat().st_size
    before = np.load(unchanged.result("import_epochs", "A") / "data_viewing.npy")
    write_recording(file, seed=17)
    assert file.stat().st_size == size
    assert unchanged.run().keys() == jobs_of("A") | CHECK | GROUP
    after = np.load(unchanged.result("import_epochs", "A") / "data_viewing.npy")
    assert not np.array_equal(before, after)


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


@pytest.mark.slow
def test_a_participant_more_costs_its_own_jobs_and_the_groups(unchanged: LiveProject) -> None:
    write_recording(unchanged.folder / "data" / "C.npz", seed=5)
    unchanged.edit_study('["A", "B"]', '["A", "B", "C"]')
    assert unchanged.run().keys() == jobs_of("C") | CHECK | GROUP


@pytest.mark.slow
def test_a_participant_less_costs_the_groups_jobs(unchanged: LiveProject) -> None:
    unchanged.edit_study('["A", "B"]', '["A"]')
    alone = {("retrain", "A")}  # scores of one participant are tested by training again
    assert unchanged.run().keys() == CHECK | GROUP | alone
    group = unchanged.result("group")
    assert np.load(group / "curve_scores.npy").shape[0] == 1


@pytest.mark.slow
def test_development_takes_everything_above_from_the_cache(unchanged: LiveProject) -> None:
    script: Path = unchanged.folder / "dev" / "a_ridge.py"
    assert unchanged.run("ridge").keys() == jobs_of("A", "B", stages=("ridge",))
    assert unchanged.run("ridge").keys() == set()
    source = script.read_text(encoding="utf-8")
    script.write_text(source.replace("alpha: float = 100.0", "alpha: float = 10.0"), encoding="utf-8")
    assert unchanged.run("ridge").keys() == jobs_of("A", "B", stages=("ridge",))
