"""Whose recordings are and of which phase is read from names as people give them, by a table of rules."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from shortloop.eeg.formats.files.find import find_files
from shortloop.eeg.inspect.names import NamedFiles, read_names
from shortloop.eeg.inspect.rules import EVENT_RULES, NAME_RULES, event_means, name_means


def every(form: str, *parts: str) -> list[str]:
    """Names with each of some parts, which are separated by commas."""
    return [form.format(*each) for each in itertools.product(*(part.split(", ") for part in parts))]


ELEVEN = ", ".join(map(str, range(1, 12)))
GROUPS, HALVES = "control_01, control_02, patient_01, patient_02", "encoding, retrieval"
WORDS = "Anna Müller, Eva Groß, Max Muster"
FOLDERS: dict[str, tuple[list[str], str, str]] = {
    # Names of files, and the participants and phases that they are of.
    "one file": (["recording.edf"], "recording", "recording"),
    "a word": (every("{}_{}.csv", "P1, P2, P10", "train, test"), "P1, P2, P10", "test, train"),
    "one participant, two phases": (every("P3_{}.csv", "train, test"), "P3", "test, train"),
    "first names": (every("{}_{}.set", "anna, bob", "study, test"), "anna, bob", "study, test"),
    "a folder a participant": (every("{}/{}.vhdr", "anna, bob, eve", HALVES), "anna, bob, eve", HALVES),
    "a folder a phase": (every("{}/P{}.set", "Train, Test", "1, 2, 10"), "P1, P2, P10", "test, train"),
    "runs without a separator": (every("S00{0}/S00{0}R0{1}.edf", "1, 2", "3, 7"), "S001, S002", "recording"),
    "eleven runs": (every("S{}_run{}.edf", "1, 2", ELEVEN), "S1, S2", "recording"),
    "acquisitions": (every("S{}_acq{}_run{}.edf", "1, 2", "1, 2", "1, 2"), "S1, S2", "acq1, acq2"),
    "processings": (every("sub-{}_proc-{}_eeg.set", "01, 02", "1, 2"), "01, 02", "proc1, proc2"),
    "sessions in folders": (every("day{}/S{}.edf", "1, 2", "1, 2, 3"), "S1, S2, S3", "recording"),
    "runs of one participant": (every("sub-01/run{}.set", "1, 2"), "01", "recording"),
    "an experiment": (every("group_N170_s{}_ses{}.npz", "01, 11", "1, 2"), "s01, s11", "recording"),
    "another that looks like a participant": (every("P300_S{}_train.csv", "1, 2"), "S1, S2", "train"),
    "dates": (every("VP0{0}_2019-0{0}-1{0}_oddball.bdf", "1, 2, 3"), "VP01, VP02, VP03", "oddball"),
    "spaces and umlauts": (every("Versuch Jörg/Proband {} Lernen.set", "1, 2"), "1, 2", "lernen"),
    "umlauts of two characters": (every("Versuch Jo\u0308rg/Proband {}.set", "1, 2"), "1, 2", "recording"),
    "endings in upper case": (["S1.EDF", "S2.edf", "S10.EDF"], "S1, S2, S10", "recording"),
    "numbers alone": (every("{}_{}.set", "1, 2", "1, 2"), "1, 2", "recording"),
    "groups of people": (every("{}_0{}.set", "control, patient", "1, 2"), GROUPS, "recording"),
    "a second run of some": (["S1_study.set", "S1_study_2.set", "S2_study.set"], "S1, S2", "study"),
    "accents": (every("{}_{}.set", "Jörg, Anna, Zoë", "study, test"), "Anna, Jörg, Zoë", "study, test"),
    "accents of two characters": (
        every("{}/study.set", "Jo\u0308rg, Jürg, Anna"),
        "Anna, Jörg, Jürg",
        "study",
    ),
    "names of two words": (every("{}/study.set", WORDS), WORDS, "study"),
    "names of two words and phases": (every("{} {}.set", WORDS, "study, test"), WORDS, "study, test"),
    "one name of two words": (["Anna Müller study.set"], "Anna Müller", "study"),
    "any number of words": (every("{}_study.set", "Anna Maria Li, Jo Li"), "Anna Maria Li, Jo Li", "study"),
    "words behind the phase": (
        every("study {}.set", "Mu\u0308ller Anna, Li Jo"),
        "Li Jo, Müller Anna",
        "study",
    ),
    # A name and what follows it are no participant and phase, if each is there with the other alone.
    "a name and what was shown": (every("{} {}.set", "Anna, Jörg", "Cats, Dogs"), "Anna, Jörg", "cats, dogs"),
    "a name and one thing that was shown": (every("{} Cats.set", "Anna, Jörg"), "Anna, Jörg", "recording"),
    "a number and two words": (every("P01 Eyes {}.set", "Open, Closed"), "P01", "open, closed"),
    "a numbered phase": (
        every("{} {}.edf", "Eva Groß, Jo Li", "Train1, test"),
        "Eva Groß, Jo Li",
        "train, test",
    ),
    "brackets": (every("S{} [raw].set", "1, 2"), "S1, S2", "recording"),
}
PATTERNS = {
    "a folder a phase": {"test": ["Test/{participant}.set"], "train": ["Train/{participant}.set"]},
    "eleven runs": {"recording": [f"{{participant}}_run{run}.edf" for run in range(1, 12)]},
    "processings": {f"proc{proc}": [f"sub-{{participant}}_proc-{proc}_eeg.set"] for proc in (1, 2)},
    "dates": {"oddball": ["{participant}_2019-*_oddball.bdf"]},
    "umlauts of two characters": {"recording": ["Versuch Jo\u0308rg/Proband {participant}.set"]},
    "endings in upper case": {"recording": ["{participant}.???"]},
    "a second run of some": {"study": ["{participant}_study*.set"]},
    "brackets": {"recording": ["{participant} [raw].set"]},
}


def named(root: Path, names: Sequence[str]) -> NamedFiles:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return read_names(root, sorted(root / name for name in names))


@pytest.mark.parametrize("folder", FOLDERS)
def test_participants_and_phases(tmp_path: Path, folder: str) -> None:
    """Each file is found once by the patterns that are written, those of a phase in their order."""
    names, participants, phases = FOLDERS[folder]
    found = named(tmp_path, names)
    assert list(found.files) == participants.split(", ")
    assert sorted(found.patterns) == sorted(phases.split(", "))
    assert found.patterns == PATTERNS.get(folder, found.patterns)
    assert found.left_out == {}
    reached = []
    for who, of in found.files.items():
        for phase, patterns in found.patterns.items():
            assert find_files(tmp_path, patterns, participant=who) == of[phase]
            reached += of[phase]
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
