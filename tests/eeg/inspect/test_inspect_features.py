"""`shortloop init --data` finds ready-made features in arrays and tables, and writes a study of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from eeg_folders import exported, recording, silent
from eeg_proposed import proposed_study, runnable

from shortloop.analyses import Look
from shortloop.eeg.inspect.check_study import open_all
from shortloop.eeg.inspect.format_options import feature_table_settings
from shortloop.eeg.inspect.propose import look
from shortloop.eeg.study.schema import Study

PARTICIPANTS = ("S1", "S2", "S3")
PHASES = ("study", "test")


def looked_at(tmp_path: Path) -> tuple[Look, Study]:
    """The study of a folder; its files pass all that a run checks."""
    found, file = proposed_study(tmp_path / "data")
    assert found.questions == ()
    return found, runnable(file)


def trials(who: str, phase: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([*map(ord, who + phase)])
    return rng.standard_normal((40, 5)), np.array(["house", "face"])[rng.permutation(np.arange(40) % 2)]


def table_of(who: str, phase: str) -> pd.DataFrame:
    X, y = trials(who, phase)
    return pd.DataFrame(X, columns=[f"alpha E{number}" for number in range(5)]).assign(
        condition=y, run=np.arange(40) // 10, comment="none"
    )


def npz(folder: Path) -> None:
    for who, phase in itertools.product(PARTICIPANTS, PHASES):
        X, y = trials(who, phase)
        np.savez(folder / f"{who}_{phase}.npz", X=X, y=y)


def npy(folder: Path, people: tuple[str, ...] = PARTICIPANTS) -> None:
    for who, phase in itertools.product(people, PHASES):
        X, y = trials(who, phase)
        (folder / who).mkdir(exist_ok=True)
        np.save(folder / who / f"{phase}_X.npy", X)
        np.save(folder / who / f"{phase}_y.npy", y)


def tables(folder: Path) -> None:
    for who, phase in itertools.product(PARTICIPANTS, PHASES):
        table_of(who, phase).to_csv(folder / f"{who}_{phase}.csv")


def one_table(folder: Path) -> None:
    rows = [table_of(who, phase).assign(subject=who, task=phase) for who in PARTICIPANTS for phase in PHASES]
    pd.concat(rows).to_csv(folder / "all features.csv", sep=";", decimal=",", index=False)


@pytest.mark.parametrize("write", [npz, npy, tables, one_table], ids=lambda each: each.__name__)
def test_a_study_of_each(tmp_path: Path, write) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "data").mkdir()
    write(tmp_path / "data")
    found, study = looked_at(tmp_path)
    assert study.participants == PARTICIPANTS
    assert study.classes == ("face", "house")
    assert study.phases.names == PHASES
    given = study.input.model_dump()
    assert given["format"] == ("arrays" if write in (npz, npy) else "table")
    if write is npy:
        assert given["labels"]["test"] == "{participant}/test_y.npy"
    if write is tables:
        assert given["drop"] == ("Unnamed: 0", "run", "comment")
    if write is one_table:
        assert (given["participant"], given["phase"]) == ("subject", "task")
    counts = [f"{60} × {name}" for name in study.classes]
    assert all(each in "\n".join(found.lines) for each in counts)


def test_files_that_lack_something_are_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    npy(tmp_path / "data")
    (tmp_path / "data/S1/test_y.npy").unlink()
    np.save(tmp_path / "data/S2/study_y.npy", np.array(["face", None] * 20, dtype=object), allow_pickle=True)
    npy(tmp_path / "data", ("S4",))
    found, study = looked_at(tmp_path)
    assert study.participants == ("S3", "S4")
    said = "\n".join(found.lines)
    assert "S1: test_X.npy: no file beside it has a class for each trial" in said
    assert "cannot be read: S2/study_X.npy: labels are Python objects, which are not read" in said


def test_a_table_whose_phases_cannot_be_read_is_named(tmp_path: Path) -> None:
    """It ended in a traceback."""
    (tmp_path / "data").mkdir()
    for who in PARTICIPANTS:
        both = pd.concat([table_of(who, phase).assign(task=phase) for phase in PHASES])
        both.to_csv(tmp_path / f"data/{who}.csv", index=False)
    with (tmp_path / "data/S2.csv").open("a", encoding="utf-8") as file:
        file.write("1," * 12 + "1\n")
    found, study = looked_at(tmp_path)
    assert study.participants == ("S1", "S3")
    assert "cannot be read: S2.csv: a row has more values" in "\n".join(found.lines)


def test_two_columns_that_could_be_the_class_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for who in PARTICIPANTS:
        table = table_of(who, "study")
        shuffled = np.random.default_rng(1).permutation(table["run"])
        table.assign(stimulus=shuffled).to_csv(tmp_path / f"data/{who}.csv", index=False)
    found, file = proposed_study(tmp_path / "data", label='"condition"')
    (question,) = found.questions
    assert "Which column has the classes? Found: condition, stimulus" in question
    number = int(question.split("Line ")[1].split()[0])
    assert found.settings.splitlines()[number - 1].startswith('# label = "condition"')
    # Neither is a feature, whichever is chosen.
    assert {"condition", "stimulus"} <= {*runnable(file).input.model_dump()["drop"]}


def test_tables_and_arrays_beside_recordings_are_none(tmp_path: Path) -> None:
    """Answers of participants, in a table beside each recording, are no features."""
    for who in PARTICIPANTS:
        exported(recording(who), tmp_path / f"data/{who}.edf")
        table_of(who, "study").to_csv(tmp_path / f"data/{who}_answers.csv", index=False)
        np.save(tmp_path / f"data/{who}_mask.npy", np.zeros(5))
    found, study = looked_at(tmp_path)
    assert study.input.model_dump()["format"] == "edf"
    assert "no recordings: 3 × .csv" in found.lines
    assert "not read: S1_mask.npy, S2_mask.npy, S3_mask.npy: one array of NumPy" in found.lines


def test_a_table_of_nobody_is_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    table_of("S1", "study").to_csv(tmp_path / "data/panel.csv", index=False)
    assert look(tmp_path / "data", tmp_path / "my-study", silent) is None


def test_tables_that_cannot_be_read_or_are_of_two_participants_are_said(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    tables(tmp_path / "data")
    _, _ = looked_at(tmp_path)
    file = tmp_path / "my-study/study.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("{participant}_study", "S1_study"), encoding="utf-8")
    problems = open_all(file, silent).problems
    assert [each.problem for each in problems].count("a recording is there twice") >= 1
    # Not of UTF-8: no features are found there, and a study that names it says so.
    file.write_text(text, encoding="utf-8")
    bad = tmp_path / "data/S1_study.csv"
    bad.write_bytes(bad.read_text(encoding="utf-8").replace("comment", "Größe").encode("latin-1"))
    (problem,) = open_all(file, silent).problems
    assert problem.file == str(bad)


@pytest.mark.parametrize(
    "text",
    [
        "onset\tduration\ttrial_type\tvalue\n" + "1.5\t0\tface\t1\n2.5\t0\thouse\t2\n" * 20,
        "participant_id,age,group\n" + "".join(f"sub-{n},30,control\n" for n in range(30)),
        "label,x\n" + "a,1\nb,2\n",
        "no table at all\n" * 20,
        "label,x\n" + "a,word\nb,word\n" * 20,
    ],
)
def test_tables_without_features(tmp_path: Path, text: str) -> None:
    file = tmp_path / "some.csv"
    file.write_text(text, encoding="utf-8")
    assert feature_table_settings(file) is None
