"""Whose recordings are and of which phase is read from names as people give them, by a table of rules."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from shortloop.eeg.formats.files.find import find_files
from shortloop.eeg.inspect.names import NamedFiles, read_names
from shortloop.eeg.inspect.rules import EVENT_RULES, NAME_RULES, event_means, name_means

FOLDERS = {
    "one file": (["recording.edf"], ["recording"], {"recording": ["{participant}.edf"]}),
    "a word": (
        [f"{who}_{word}.csv" for who in ("P1", "P2", "P10") for word in ("train", "test")],
        ["P1", "P2", "P10"],
        {"test": ["{participant}_test.csv"], "train": ["{participant}_train.csv"]},
    ),
    "one participant, two phases": (
        ["P3_train.csv", "P3_test.csv"],
        ["P3"],
        {"test": ["{participant}_test.csv"], "train": ["{participant}_train.csv"]},
    ),
    "first names": (
        [f"{who}_{word}.set" for who in ("anna", "bob") for word in ("study", "test")],
        ["anna", "bob"],
        {"study": ["{participant}_study.set"], "test": ["{participant}_test.set"]},
    ),
    "a folder a participant": (
        [f"{who}/{word}.vhdr" for who in ("anna", "bob", "eve") for word in ("encoding", "retrieval")],
        ["anna", "bob", "eve"],
        {"encoding": ["{participant}/encoding.vhdr"], "retrieval": ["{participant}/retrieval.vhdr"]},
    ),
    "a folder a phase": (
        [f"{word}/P{number}.set" for word in ("Train", "Test") for number in (1, 2, 10)],
        ["P1", "P2", "P10"],
        {"test": ["Test/{participant}.set"], "train": ["Train/{participant}.set"]},
    ),
    "runs without a separator": (
        [f"S00{who}/S00{who}R0{run}.edf" for who in (1, 2) for run in (3, 7)],
        ["S001", "S002"],
        {"recording": ["{participant}/{participant}R03.edf", "{participant}/{participant}R07.edf"]},
    ),
    "eleven runs": (
        [f"S{who}_run{run}.edf" for who in (1, 2) for run in range(1, 12)],
        ["S1", "S2"],
        {"recording": [f"{{participant}}_run{run}.edf" for run in range(1, 12)]},
    ),
    "two acquisitions of each run": (
        [f"S{who}_acq{acq}_run{run}.edf" for who in (1, 2) for acq in (1, 2) for run in (1, 2)],
        ["S1", "S2"],
        {f"acq{acq}": [f"{{participant}}_acq{acq}_run{run}.edf" for run in (1, 2)] for acq in (1, 2)},
    ),
    "two processings": (
        [f"sub-{who}_proc-{proc}_eeg.set" for who in ("01", "02") for proc in (1, 2)],
        ["01", "02"],
        {f"proc{proc}": [f"sub-{{participant}}_proc-{proc}_eeg.set"] for proc in (1, 2)},
    ),
    "sessions in folders": (
        [f"day{day}/S{who}.edf" for day in (1, 2) for who in (1, 2, 3)],
        ["S1", "S2", "S3"],
        {"recording": ["day1/{participant}.edf", "day2/{participant}.edf"]},
    ),
    "runs of one participant": (
        ["sub-01/run1.set", "sub-01/run2.set"],
        ["01"],
        {"recording": ["sub-{participant}/run1.set", "sub-{participant}/run2.set"]},
    ),
    "a name of the experiment": (
        [f"group_N170_s{who}_ses{session}.npz" for who in ("01", "11") for session in (1, 2)],
        ["s01", "s11"],
        {"recording": [f"group_N170_{{participant}}_ses{session}.npz" for session in (1, 2)]},
    ),
    "another that looks like a participant": (
        [f"P300_S{who}_train.csv" for who in (1, 2)],
        ["S1", "S2"],
        {"train": ["P300_{participant}_train.csv"]},
    ),
    "dates": (
        [f"VP0{who}_2019-0{who}-1{who}_oddball.bdf" for who in (1, 2, 3)],
        ["VP01", "VP02", "VP03"],
        {"oddball": ["{participant}_2019-*_oddball.bdf"]},
    ),
    "spaces and umlauts": (
        [f"Versuch Jörg/Proband {who} Lernen.set" for who in (1, 2)],
        ["1", "2"],
        {"lernen": ["Versuch Jörg/Proband {participant} Lernen.set"]},
    ),
    "umlauts of two characters": (
        [f"Versuch Jo\u0308rg/Proband {who}.set" for who in (1, 2)],
        ["1", "2"],
        {"recording": ["Versuch Jo\u0308rg/Proband {participant}.set"]},
    ),
    "endings in upper case": (
        ["S1.EDF", "S2.edf", "S10.EDF"],
        ["S1", "S2", "S10"],
        {"recording": ["{participant}.???"]},
    ),
    "numbers alone": (
        ["1_1.set", "1_2.set", "2_1.set", "2_2.set"],
        ["1", "2"],
        {"recording": ["{participant}_1.set", "{participant}_2.set"]},
    ),
    "groups of people": (
        [f"{group}_0{who}.set" for group in ("control", "patient") for who in (1, 2)],
        ["control_01", "control_02", "patient_01", "patient_02"],
        {"recording": ["{participant}.set"]},
    ),
    "a second run of some": (
        ["S1_study.set", "S1_study_2.set", "S2_study.set"],
        ["S1", "S2"],
        {"study": ["{participant}_study*.set"]},
    ),
    "first names with accents": (
        [f"{who}_{word}.set" for who in ("Jörg", "Anna", "Zoë") for word in ("study", "test")],
        ["Anna", "Jörg", "Zoë"],
        {"study": ["{participant}_study.set"], "test": ["{participant}_test.set"]},
    ),
    "accents of two characters": (
        ["Jo\u0308rg/study.set", "Jürg/study.set", "Anna/study.set"],
        ["Anna", "Jörg", "Jürg"],
        {"study": ["{participant}/study.set"]},
    ),
    "names of two words": (
        [f"{who}/study.set" for who in ("Anna Müller", "Eva Groß", "Max Muster")],
        ["Anna Müller", "Eva Groß", "Max Muster"],
        {"study": ["{participant}/study.set"]},
    ),
    "names of two words and phases": (
        [f"{who} {when}.set" for who in ("Anna Müller", "Jörg Schmidt") for when in ("study", "test")],
        ["Anna Müller", "Jörg Schmidt"],
        {"study": ["{participant} study.set"], "test": ["{participant} test.set"]},
    ),
    "names of any number of words": (
        ["Anna Maria Müller_study.set", "Jo Li_study.set"],
        ["Anna Maria Müller", "Jo Li"],
        {"study": ["{participant}_study.set"]},
    ),
    "names of two words behind the phase": (
        ["study Mu\u0308ller Anna.set", "study Li Jo.set"],
        ["Li Jo", "Müller Anna"],
        {"study": ["study {participant}.set"]},
    ),
    # A name and what follows it are no participant and phase, if each is there with the other alone.
    "a name and what was shown": (
        [f"{who} {shown}.set" for who in ("Anna", "Jörg") for shown in ("Faces", "Houses")],
        ["Anna", "Jörg"],
        {"faces": ["{participant} Faces.set"], "houses": ["{participant} Houses.set"]},
    ),
    "a name and one thing that was shown": (
        ["Anna Faces.set", "Jörg Faces.set"],
        ["Anna", "Jörg"],
        {"recording": ["{participant} Faces.set"]},
    ),
    "a number and two words": (
        ["P01 Eyes Open.set", "P01 Eyes Closed.set"],
        ["P01"],
        {"open": ["{participant} Eyes Open.set"], "closed": ["{participant} Eyes Closed.set"]},
    ),
    "a numbered phase": (
        [f"{who} {word}.edf" for who in ("Anna Müller", "Li Jo") for word in ("Train1", "test")],
        ["Anna Müller", "Li Jo"],
        {"train": ["{participant} Train1.edf"], "test": ["{participant} test.edf"]},
    ),
    "brackets": (
        [f"S{who} [raw].set" for who in (1, 2)],
        ["S1", "S2"],
        {"recording": ["{participant} [raw].set"]},
    ),
}


def named(root: Path, names: Sequence[str]) -> NamedFiles:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return read_names(root, sorted(root / name for name in names))


@pytest.mark.parametrize("folder", FOLDERS)
def test_participants_and_phases(tmp_path: Path, folder: str) -> None:
    """Each file is found once by the patterns that are written."""
    names, participants, patterns = FOLDERS[folder]
    found = named(tmp_path, names)
    assert list(found.files) == participants
    assert found.patterns == patterns
    assert found.left_out == {}
    reached = [
        path
        for who in found.files
        for each in patterns.values()
        for path in find_files(tmp_path, each, participant=who)
    ]
    assert sorted(reached) == sorted(tmp_path / name for name in names)


def test_a_participant_who_lacks_a_phase(tmp_path: Path) -> None:
    found = named(tmp_path, ["S1_study.set", "S1_test.set", "S2_study.set", "S2_test.set", "S3_study.set"])
    assert list(found.files["S3"]) == ["study"]
    assert found.patterns["study"] == ["{participant}_study.set"]


def test_names_that_a_study_cannot_have_are_left_out(tmp_path: Path) -> None:
    found = named(tmp_path, ["#.set", "Anna.set", "Eva.set"])
    assert list(found.files) == ["Anna", "Eva"]
    assert found.left_out == {tmp_path / "#.set": "'#' cannot be the name of a participant: rename it"}
    found = named(tmp_path, ["anna_study.set", "Anna_test.set", "eva_study.set", "eva_test.set"])
    assert list(found.files) == ["eva"]
    assert {path.name for path in found.left_out} == {"anna_study.set", "Anna_test.set"}
    assert {*found.left_out.values()} == {"Anna and anna differ only by upper and lower case: rename one"}


def test_thousands_of_files_take_seconds(tmp_path: Path) -> None:
    stems = [f"S{who:04}/S{who:04}_run{run}" for who in range(500) for run in (1, 2)]
    names = [f"{stem}_{word}.set" for stem in stems for word in "ab"]
    began = time.process_time()
    found = named(tmp_path, names)
    assert time.process_time() - began < 20
    assert len(found.files) == 500
    assert {*found.patterns} == {"a", "b"}


def test_each_example_has_its_meaning() -> None:
    assert [rule for rule in NAME_RULES if rule.meaning not in name_means(rule.example)] == []
    assert [rule for rule in EVENT_RULES if rule.meaning not in event_means(rule.example)] == []
