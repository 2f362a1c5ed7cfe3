"""Whose recordings are, of which phase, and which events are the classes is read from names and numbers."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import mne
import numpy as np
import pytest
from eeg_folders import proposed

from shortloop.base.errors import InputError
from shortloop.eeg.data import Epochs
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.formats.files.find import find_files
from shortloop.eeg.inspect.choose import epochs_of, folds_for, window_of
from shortloop.eeg.inspect.events import are_in_turn, find_classes
from shortloop.eeg.inspect.names import NamedFiles, read_names
from shortloop.eeg.inspect.rules import EVENT_RULES, NAME_RULES, event_means, name_means


def every(form: str, *parts: str) -> list[str]:
    """Names with each of some parts, which are separated by commas."""
    return [form.format(*each) for each in itertools.product(*(part.split(", ") for part in parts))]


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
    "eleven runs": (every("S{}_run{}.edf", "1, 2", ", ".join(map(str, range(1, 12)))), "S1, S2", "recording"),
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
    "accents of two characters": (every("{}/study.set", "Jo\u0308rg, Jürg"), "Jörg, Jürg", "study"),
    "names of two words": (every("{}/study.set", WORDS), WORDS, "study"),
    "names of two words and phases": (every("{} {}.set", WORDS, "study, test"), WORDS, "study, test"),
    "one name of two words": (["Anna Müller study.set"], "Anna Müller", "study"),
    "any number of words": (every("{}_study.set", "Anna Maria Li, Jo Li"), "Anna Maria Li, Jo Li", "study"),
    "words behind the phase": (every("study {}.set", "Groß Eva, Li Jo"), "Groß Eva, Li Jo", "study"),
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
    assert (found.patterns, found.left_out) == (PATTERNS.get(folder, found.patterns), {})
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


def test_a_thousand_files_take_seconds(tmp_path: Path) -> None:
    stems = [f"S{who:04}/S{who:04}_run{run}" for who in range(250) for run in (1, 2)]
    names = [f"{stem}_{word}.set" for stem in stems for word in "ab"]
    began = time.process_time()
    found = named(tmp_path, names)
    assert time.process_time() - began < 10
    assert len(found.files) == 250
    assert {*found.patterns} == {"a", "b"}


def test_each_example_has_its_meaning() -> None:
    assert [rule for rule in NAME_RULES if rule.meaning not in name_means(rule.example)] == []
    assert [rule for rule in EVENT_RULES if rule.meaning not in event_means(rule.example)] == []


WHO = ("A", "B", "C")


def of_phase(phase: str) -> dict[str, int]:
    return {f"{phase}/face": 40, f"{phase}/house": 40}


MARKS = {"Response/R 99": 78, "New Segment/": 1, "BAD_blink": 12, "fixation": 80}
CASES: list[tuple[list[dict[str, int]], bool, list[str]]] = [
    # Events of each phase, whether they tell the classes, and which these are.
    ([{"face": 40, "house": 38}], True, ["face", "house"]),
    ([{"face": 40, "house": 40, **MARKS}], True, ["face", "house"]),
    ([{"standard": 400, "target": 100, "response": 97}], True, ["standard", "target"]),
    ([{"face": 40, "landmark": 38, "object": 41}], True, ["face", "landmark", "object"]),
    # A third event of another number is asked for.
    ([{"cue": 80, "face": 40, "house": 40}], False, ["cue", "face", "house"]),
    ([{"T0": 15, "T1": 8, "T2": 7}], False, ["T0", "T1", "T2"]),
    # Words that may be classes are none where their number says so.
    ([{"cue": 20, "go": 20, "stop": 20}], True, ["cue", "go", "stop"]),
    ([{"left": 20, "right": 20, "stop": 40}], True, ["left", "right"]),
    ([{"start": 40, "stop": 40}], True, ["start", "stop"]),
    ([{"stimulus": 40, "response": 40}], False, ["stimulus", "response"]),
    # Classes are in both phases, perhaps by parts of their names.
    ([{"face": 40, "house": 40, "cue": 40}, {"face": 30, "house": 30, "probe": 60}], True, ["face", "house"]),
    ([of_phase("study"), of_phase("test")], True, ["face", "house"]),
    ([{"face": 40, "house": 40}, {"picture": 40, "sound": 40}], False, []),
    ([{"stimulus": 40}], False, ["stimulus"]),
    ([{}], False, []),
    *(([{str(code): 20 for code in range(11, 11 + many)}], many < 5, []) for many in (2, 4, 5, 12)),
]


@pytest.mark.parametrize(("phases", "certain", "classes"), CASES)
def test_classes_are_told_or_asked(phases: list[dict[str, int]], certain: bool, classes: list[str]) -> None:
    found = find_classes([dict.fromkeys(WHO, counts) for counts in phases])
    assert found.certain is certain
    if classes:
        assert sorted(found.events) == sorted(classes)
    if certain and classes:
        known = {
            name: [of for event, of in phases[0].items() if name in event.split("/")] for name in classes
        }
        assert found.counts == {name: len(WHO) * sum(each) for name, each in known.items()}
    assert found.others.get("fixation", 240) == 240


def test_names_that_a_study_can_have() -> None:
    """In the order of the events: a set of parts had another one in each process."""
    counts = {f"{number}/{word}": 40 for number in (1, 2) for word in ("face", "house", "tool")}
    both = [{"A": {f"{phase}/{name}": of for name, of in counts.items()}} for phase in ("study", "test")]
    assert [*find_classes(both).events] == ["1", "face", "house", "tool", "2"]
    found = find_classes([{key: {"Stimulus/S  1": 40, "Stimulus/S  2": 40} for key in WHO}])
    assert found.events == {"S1": "Stimulus/S  1", "S2": "Stimulus/S  2"}
    found = find_classes([{key: {"Gesicht groß": 40, "Häuser": 40} for key in WHO}])
    assert list(found.events) == ["Gesichtgross", "Hauser"]
    found = find_classes([{key: {"a b": 40, "ab": 40} for key in WHO}])
    assert list(found.events) == ["ab", "ab-2"]


RNG = np.random.default_rng(0)
TRIALS = np.cumsum(RNG.uniform(2.0, 3.0, 40))
ORDER = RNG.permuted(np.arange(40) % 2)


def test_a_cue_and_its_target_are_parts_of_a_trial_and_classes_are_in_any_order() -> None:
    assert are_in_turn({"cue": TRIALS, "target": TRIALS + 0.7})
    assert are_in_turn({"cue": TRIALS, "target": np.delete(TRIALS + 0.7, [3, 9])})
    assert are_in_turn({"fix": TRIALS, "cue": TRIALS + 0.5, "target": TRIALS + 1.0})
    both = {"cue-l": TRIALS[ORDER == 0], "cue-r": TRIALS[ORDER == 1]}
    targets = {"hit": TRIALS[::2] + 0.7, "miss": TRIALS[1::2] + 0.7}
    assert are_in_turn({**both, **targets})
    assert not are_in_turn({"face": TRIALS[ORDER == 0], "house": TRIALS[ORDER == 1]})
    assert not are_in_turn({"face": np.arange(20) * 2.0, "house": np.arange(20) * 2.0 + 1})
    three = RNG.permuted(np.arange(40) % 3)
    assert not are_in_turn({name: TRIALS[three == index] for index, name in enumerate("abc")})
    assert not are_in_turn({"face": TRIALS[:20], "house": TRIALS[20:]})


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """Two recordings with a table of stimuli and responses, and what was shown in `value`."""
    for who in (1, 2):
        info = mne.create_info(["Fz", "Cz", "Oz"], 100.0, "eeg")
        data = np.random.default_rng(who).normal(0, 2e-5, (3, 13_000))
        mne.io.RawArray(data, info, verbose=False).save(tmp_path / f"S0{who}_raw.fif", verbose=False)
        rows = [
            row
            for at, code in zip(TRIALS, ORDER, strict=True)
            for row in (f"{at:.2f}\t0\tstimulus\t{11 + code}", f"{at + 0.7:.2f}\t0\tresponse\t{201}")
        ]
        text = "\n".join(["onset\tduration\ttrial_type\tvalue", *rows])
        (tmp_path / f"S0{who}_raw_events.tsv").write_text(text)
    return tmp_path


def test_codes_that_take_turns_are_asked_about_and_values_beside_responses_offered(recordings: Path) -> None:
    found = proposed(recordings, recordings / "p")
    assert "trial_type: stimulus (40 times), response (40 times)" in "\n".join(found.questions)
    for line in ('# event_column = "value"', '# events: "11" ', '# events: "12" '):
        assert line in found.settings
    for table in recordings.glob("*.tsv"):
        text = table.read_text().replace("stimulus\t11", "x\t1").replace("stimulus\t12", "x\t1")
        lines = [line.split("\t") for line in text.replace("response\t201", "x\t2").splitlines()]
        table.write_text("\n".join("\t".join([*line[:2], line[3]]) for line in lines))
    found = proposed(recordings, recordings / "p")
    assert "Which events are the classes? Found: 80 × 1, 80 × 2" in "\n".join(found.questions)


RATES = (50.0, 128.0, 160.0, 250.0, 512.0, 1000.0, 1024.0)
SPANS = ((-0.2, 0.8), (-1.0, 4.0), (0.0, 1.0), (-0.1, 0.25), (0.5, 2.0), (-2.0, -0.5), (-0.2, 0.1))


@pytest.mark.parametrize(("rate", "span"), itertools.product(RATES, SPANS))
def test_features_can_be_made(rate: float, span: tuple[float, float]) -> None:
    start, stop = (round(each * rate) / rate for each in span)
    window = window_of(start, stop, rate)
    times = start + np.arange(round((stop - start) * rate) + 1) / rate
    data = np.random.default_rng(0).standard_normal((3, 2, len(times)))
    epochs = Epochs(data, np.array([0, 1, 0]), ("x", "y"), times, rate, ("Cz", "Pz"))
    assert amplitude_features(epochs, window).data.shape[0] == window.bins
    last = window.start + window.bins * window.bin_samples * window.step / rate
    assert last <= stop + window.step / rate
    if stop > 0:
        assert last > stop - 0.25 * (stop - max(start, -0.2))  # most of what is there is used


@pytest.mark.parametrize("rates", [(128.0, 256.0), (500.0, 512.0), (128.0, 500.0, 1000.0), (160.0, 2048.0)])
def test_epochs_of_several_rates_are_alike_when_they_are_resampled(rates: tuple[float, ...]) -> None:
    start, stop = epochs_of(rates)
    assert -0.3 <= start <= -0.2
    assert 0.7 <= stop <= 0.8
    shapes = set()
    for rate in rates:
        info = mne.create_info(1, rate, "eeg", verbose="ERROR")
        raw = mne.io.RawArray(np.zeros((1, int(3 * rate))), info, verbose="ERROR")
        event = [[round(1.5 * rate), 0, 1]]
        epochs = mne.Epochs(raw, event, 1, start, stop, baseline=None, preload=True, verbose="ERROR")
        resampled = epochs.resample(min(rates), verbose="ERROR")
        shapes.add(len(resampled.times))
        assert abs(resampled.times[0] - start) * min(rates) <= 0.5 + 1e-9
    assert len(shapes) == 1


def test_epochs_and_folds_are_as_long_and_many_as_there_are_trials_for() -> None:
    """Who has too few trials is left out, and takes no folds from others."""
    with pytest.raises((InputError, ValueError)):
        window_of(0.0, -0.1, 100.0)
    assert folds_for({"A": {"x": 40, "y": 40}, "B": {"x": 20, "y": 21}}, 5) == (10, {})
    assert folds_for({"A": {"x": 40, "y": 40}, "B": {"x": 7, "y": 21}}, 5)[0] == 5
    folds, lacking = folds_for({"A": {"x": 40, "y": 40}, "B": {"x": 1, "y": 40}}, 5)
    assert folds == 10
    assert list(lacking) == ["B"]
    assert "1 trials of x" in lacking["B"]
