"""What is in folders of laboratories is told apart; each answer that `shortloop init --data` offers works."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import mne
import numpy as np
import pandas as pd
import pytest
from cases import first_cases
from eeg_folders import exported, proposed, recording, silent, write_fieldtrip
from eeg_proposed import proposed_study, runnable
from handmade_recordings import write_bci2000
from scipy.io import savemat

from shortloop.analyses import Look
from shortloop.eeg.inspect.check_study import open_all
from shortloop.eeg.inspect.events import find_classes
from shortloop.eeg.inspect.format_options import feature_table_settings
from shortloop.eeg.inspect.propose import look
from shortloop.eeg.inspect.scan import NO_SIGNAL
from shortloop.eeg.study.load import read_study
from shortloop.eeg.study.schema import Study

PEOPLE = ("P1", "P2")
COMMENT = re.compile(r'# events: ("(?:[^"\\]|\\.)*") \d+')


def in_annotations(data: Path, names: Sequence[str], ending: str = "edf") -> None:
    for who in PEOPLE:
        raw = recording(who, trials=12 * len(names), names=names, gap=1.1)
        raw.set_annotations(raw.annotations[np.array(raw.annotations.description != "response")])
        data.mkdir(exist_ok=True)
        if ending == "fif":
            raw.save(data / f"{who}_raw.fif", verbose="ERROR")
        else:
            exported(raw, data / f"{who}.{ending}")


def in_tables(data: Path, names: Sequence[str]) -> None:
    for who in PEOPLE:
        raw = recording(who, trials=12 * len(names), names=names, gap=1.1)
        shown = [each for each in raw.annotations if each["description"] != "response"]
        rows = ["onset\tduration\ttrial_type"]
        rows += [f"{each['onset']}\t0.3\t{each['description']}" for each in shown]
        raw.set_annotations(None)
        exported(raw, data / f"{who}.edf")
        (data / f"{who}_events.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")


NAMES = {
    "bad": ("bad", "good"),
    "alike": ("face", "face/famous", "house", "house 1", "house-1"),
    "quotes": ('say "a"', "back\\slash", "it's", "t#", "a,b"),
    "tag": ("BAD/x", "good"),
    "edge": ("Edge", "centre", "edge_2"),
    "codes": ("1", "2", "3", "4", "5", "6"),
    "accents": ("Tür", "Haus", "Baum", "Maß", "Öl"),
    "tags": ("a/b", "a/c", "d/b", "d/c", "e/b", "e/c"),
    "signs": ("50 %", "50 #", "50 °", "x=1", "[1]"),
    "responses": ("button", "stimulus"),
}


@first_cases(2, "names", NAMES)
@pytest.mark.parametrize(
    ("where", "pairs"),
    [
        (in_annotations, itertools.pairwise),
        *(
            pytest.param(each, lambda all_of: itertools.combinations(all_of, 2), marks=pytest.mark.slow)
            for each in (in_annotations, in_tables)
        ),
    ],
)
def test_classes_that_are_offered(
    tmp_path: Path,
    names: str,
    where: Callable[..., None],
    pairs: Callable[[list[str]], Iterable[Sequence[str]]],
) -> None:
    where(tmp_path / "data", NAMES[names])
    found = proposed(tmp_path / "data", tmp_path / "p")
    (question,) = found.questions
    offered = [json.loads(each) for each in COMMENT.findall(found.settings)]
    assert len(offered) >= 2
    example = json.loads(question.rpartition("classes = ")[2])
    assert {*example} <= {*offered}
    file = tmp_path / "p/study.toml"
    file.parent.mkdir()
    at = int(re.findall(r"Line (\d+)", question)[-1]) - 1
    for pair in [example, offered, *pairs(offered)]:
        lines = found.settings.splitlines()
        lines[at] = f"classes = {json.dumps(list(pair))}"
        file.write_text("\n".join(lines), encoding="utf-8")
        opened = open_all(file, silent)
        assert opened.problems == (), (pair, str(opened.problems[0]))
        assert names == "alike" or opened.said.count("24 × ") == len(pair), opened.said


def test_columns_that_are_offered(tmp_path: Path) -> None:
    """Of FieldTrip's trialinfo; classes are then those of the column."""
    (tmp_path / "data").mkdir()
    rng = np.random.default_rng(0)
    for who in PEOPLE:
        write_fieldtrip(recording(who), tmp_path / f"data/{who}.mat", rng.permutation(np.arange(48) % 2 + 5))
    (question,) = proposed(tmp_path / "data", tmp_path / "p").questions
    offered = re.findall(r"column (\d+): (\d+) \(24 times\), (\d+)", question)
    assert len(offered) == 2
    for column, *classes in offered:
        runnable(proposed_study(tmp_path / "data", column=column, classes=json.dumps(classes))[1])


def test_phases_that_are_offered(tmp_path: Path) -> None:
    for who, word in itertools.product(PEOPLE, ("red", "green")):
        exported(recording(who, word), tmp_path / f"data/{who}_{word}.edf")
    (question,) = proposed(tmp_path / "data", tmp_path / "p").questions
    offered = re.findall(r'"(\w+)"', question.partition("Found: ")[2].partition("\n")[0])
    assert sorted(offered) == ["green", "red"]
    for train, decode in itertools.permutations(offered):
        _, file = proposed_study(tmp_path / "data", train=f'"{train}"', decode=f'"{decode}"')
        assert runnable(file).phases.train == train


def test_a_class_called_bad_is_cut_as_mne_cuts_it(tmp_path: Path) -> None:
    """Its events are no stretches; those that are called so and are no class still are."""
    from eeg_recordings import make_raw, read

    raw = make_raw()
    expected = read("fif", [saved(raw, tmp_path / "a_raw.fif")])
    raw.annotations.rename({"face": "bad", "house": "edge"})
    found = read("fif", [saved(raw, tmp_path / "b_raw.fif")], classes=("bad", "edge"))
    np.testing.assert_array_equal(found.data, expected.data)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert len(found.labels) == 13, "one is within BAD_blink"


def saved(raw: mne.io.BaseRaw, file: Path) -> Path:
    raw.save(file, fmt="double", verbose="ERROR")
    return file


def test_one_event_is_offered_as_no_class(tmp_path: Path) -> None:
    """What is said to do is done: a table of events is written."""
    in_annotations(tmp_path / "data", ["picture"])
    (question,) = proposed(tmp_path / "data", tmp_path / "p").questions
    assert "Found: 24 × picture." in question
    assert "NAME_events.tsv" in question
    for who in PEOPLE:
        rows = ["onset\ttrial_type", *(f"{2 + 1.1 * at}\t{('old', 'new')[at % 2]}" for at in range(10))]
        (tmp_path / f"data/{who}_events.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert proposed(tmp_path / "data", tmp_path / "p").questions == ()


def test_an_event_named_as_a_whole_is_of_that_class(tmp_path: Path) -> None:
    """And of no other by its parts; the counts of both are those of the annotations."""
    in_annotations(tmp_path / "data", ("face", "face/famous", "house"))
    _, file = proposed_study(tmp_path / "data", classes='["face", "famous"]')
    text = re.sub(r"(?m)^events\..*\n", "", file.read_text(encoding="utf-8"))
    text = re.sub(r"(?m)^tmin", 'events.face = ["face"]\nevents.famous = ["face/famous"]\ntmin', text)
    file.write_text(text, encoding="utf-8")
    opened = open_all(file, silent)
    assert opened.problems == ()
    assert "24 × face, 24 × famous" in opened.said


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
    features = pd.DataFrame(X, columns=[f"alpha E{number}" for number in range(5)])
    return features.assign(condition=y, run=np.arange(40) // 10, comment="none")


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
    assert (study.participants, study.classes) == (PARTICIPANTS, ("face", "house"))
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
    assert "S1: test_X.npy: no file beside it" in said
    assert "cannot be read: S2/study_X.npy: labels are Python objects" in said


def test_two_columns_that_could_be_the_class_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for who in PARTICIPANTS:
        table = table_of(who, "study")
        shuffled = np.random.default_rng(1).permutation(table["run"])
        table.assign(stimulus=shuffled).to_csv(tmp_path / f"data/{who}.csv", index=False)
    found, file = proposed_study(tmp_path / "data", label='"condition"')
    (question,) = found.questions
    assert "Found: condition, stimulus" in question
    number = int(question.split("Line ")[1].split()[0])
    assert found.settings.splitlines()[number - 1].startswith('# label = "condition"')
    # Neither is a feature, whichever is chosen.
    assert {"condition", "stimulus"} <= {*runnable(file).input.model_dump()["drop"]}


def test_a_phase_with_words_of_both_roles_is_asked_about(tmp_path: Path) -> None:
    """It ended in StopIteration."""
    (tmp_path / "data").mkdir()
    for who in PARTICIPANTS:
        for word in ("study_test", "rest"):
            table_of(who, word).to_csv(tmp_path / f"data/{who}_{word}.csv", index=False)
    question, *_ = proposed(tmp_path / "data", tmp_path / "my-study").questions
    assert question.startswith("Which phase trains the classifiers")


def test_tables_and_arrays_of_nobody_or_beside_recordings_are_none(tmp_path: Path) -> None:
    """Answers of participants, in a table beside each recording, are no features."""
    for who in PARTICIPANTS:
        exported(recording(who), tmp_path / f"data/{who}.edf")
        table_of(who, "study").to_csv(tmp_path / f"data/{who}_answers.csv", index=False)
        np.save(tmp_path / f"data/{who}_mask.npy", np.zeros(5))
    found, study = looked_at(tmp_path)
    assert study.input.model_dump()["format"] == "edf"
    assert "no recordings: 3 × .csv" in found.lines
    assert "not read: S1_mask.npy, S2_mask.npy, S3_mask.npy: one array of NumPy" in found.lines
    (tmp_path / "other").mkdir()
    table_of("S1", "study").to_csv(tmp_path / "other/panel.csv", index=False)
    assert look(tmp_path / "other", tmp_path / "my-study", silent) is None


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


PENNIES = "onset\tduration\tevent_value\tevent_sample\ttrl\tresponse_time\tlift_side\tpred"
FACES = "onset\tduration\tsample\tevent_type\tface_type\ttrial\tvalue\tstim_file"


def bids(root: Path, header: str, row: str) -> None:
    """Two participants of a task, whose tables of events have the columns of a published study."""
    root.mkdir()
    (root / "dataset_description.json").write_text(json.dumps({"Name": "x", "BIDSVersion": "1.6.0"}))
    for who in ("05", "06"):
        folder = root / f"sub-{who}/eeg"
        raw = recording(who).drop_channels(["VEOG"])
        stem = f"sub-{who}_task-game"
        shown = [each for each in raw.annotations if each["description"] != "response"]
        lines = [header]
        for number, each in enumerate(shown):
            of = ["face", "house"].index(each["description"])
            lines.append(row.format(onset=each["onset"], number=number, of=of + 1, word=each["description"]))
            if "{word}" in row:
                lines.append(f"{each['onset'] - 0.4}\tn/a\t1\tshow_cross\tn/a\t{number}\t9\tcross.bmp")
        raw.set_annotations(None)
        exported(raw, folder / f"{stem}_eeg.vhdr")
        (folder / f"{stem}_events.tsv").write_text("\n".join(lines) + "\n")


def test_tables_of_events_without_the_columns_of_bids(tmp_path: Path) -> None:
    """As in eeg_matchingpennies of bids-examples: which column has the events is asked."""
    bids(tmp_path / "data", PENNIES, "{onset}\tn/a\t{of}\t{number}\t{number}\t16.6666666667\t{of}\t{of}")
    found, file = proposed_study(tmp_path / "data")
    (question,) = found.questions
    assert re.search("Found: event_value: .*; lift_side: ", question)
    assert "the table of events cannot be read" in open_all(file, silent).problems[0].problem
    _, file = proposed_study(tmp_path / "data", event_column='"lift_side"')
    runnable(file, classes=("1", "2"))


def test_tables_of_events_with_codes_and_words(tmp_path: Path) -> None:
    """As in ds003645: codes are in `value`, what they mean in other columns; both are offered."""
    bids(tmp_path / "data", FACES, "{onset}\tn/a\t{number}\tshow_face\t{word}\t{number}\t1{of}\tf074.bmp")
    found, _ = proposed_study(tmp_path / "data")
    column, classes = found.questions
    assert re.search(r"face_type: .*value: 9 \(48 times\)", column)
    assert 'classes = ["11", "12"]' in classes
    answers = {"event_column": '"face_type"', "classes": '["face", "house"]'}
    _, file = proposed_study(tmp_path / "data", **answers)
    runnable(file)


@pytest.mark.parametrize("form", ["{who}/150923/emptyroom_raw.fif", "Empty Room/{who}_raw.fif"])
def test_noise_of_an_empty_room_is_of_nobody(tmp_path: Path, form: str) -> None:
    data = tmp_path / "data"
    for who in ("jm_0123", "kl_0456"):
        raw = recording(who)
        for name in (f"{who}/150923/{who}_run01_raw.fif", form.format(who=who)):
            (data / name).parent.mkdir(parents=True, exist_ok=True)
            raw.save(data / name, verbose="ERROR")
    found, file = proposed_study(data)
    assert "2 participants: jm, kl" in found.lines
    (noise,) = (line for line in found.lines if "noise of an empty room" in line)
    assert noise.count(".fif") == 2
    runnable(file)


def test_recordings_of_bci2000(tmp_path: Path) -> None:
    for who in ("AA", "BB"):
        for run in (1, 2):
            write_bci2000(recording(f"{who}{run}", trials=24), tmp_path / f"data/{who}S001R0{run}.dat")
    found, file = proposed_study(tmp_path / "data", classes='["1", "2"]')
    assert "  events (stim): 96 × 9, 48 × 2, 48 × 1" in found.lines
    runnable(file)


def test_channels_that_are_no_eeg_are_told_from_electrodes() -> None:
    names = mne.channels.make_standard_montage("standard_1005").ch_names
    every = [*names, *(f"EEG {name}-Ref" for name in names), "POL E", "POL X1", "MEG 0113"]
    every += [f"{kind}{number}" for kind in "ABCDE" for number in range(1, 33)]
    every += [f"E{number}" for number in range(1, 257)] + [f"EEG{number:03}" for number in range(60)]
    assert [name for name in every if NO_SIGNAL.match(name)] == []
    others = ["VEOG", "HEOGL", "EOG061", "EKG1", "ECG063", "EXG1", "GSR1", "Erg2", "Resp", "Plet", "STI 014"]
    others += ["Status", "POL DC01", "DC1", "POL EKG1", "EEG ECG", "BIP1", "SpO2", "EtCO2", "Photic", "AUX 1"]
    assert [name for name in others if not NO_SIGNAL.match(name)] == []


@pytest.mark.parametrize(
    ("counts", "likely"),
    [
        ({"T0": 45, "T1": 23, "T2": 22}, ["T1", "T2"]),
        ({"1": 63, "2": 57, "4096": 120}, ["1", "2"]),
        ({"0": 360, "1": 360, "256": 360, "5": 44, "6": 35}, ["5", "6"]),
        ({"a": 100, "b": 20}, ["a", "b"]),
        ({"a": 10, "b": 20, "c": 40}, ["a", "b"]),
    ],
)
def test_what_comes_with_every_trial_is_no_class(counts: dict[str, int], likely: list[str]) -> None:
    assert find_classes([{"P1": counts}]).likely() == likely


def test_folds_are_as_many_as_the_likely_classes_allow(tmp_path: Path) -> None:
    """A study whose classes are filled in as the question proposes is one that runs."""
    for who in ("P1", "P2"):
        exported(recording(who, trials=30, names=("T0", "T1", "T0", "T2")), tmp_path / f"data/{who}.edf")
    found, _ = proposed_study(tmp_path / "data")
    (question,) = found.questions
    assert question.endswith('for example: classes = ["T1", "T2"]')
    _, file = proposed_study(tmp_path / "data", classes='["T1", "T2"]')
    assert runnable(file).decoding.folds < 10


def test_many_files_beside_recordings_are_one_line(tmp_path: Path) -> None:
    """139 answers of participants are no news each; a file that cannot be read hides no other format."""
    for who in range(3):
        exported(recording(f"P{who}"), tmp_path / f"data/P{who}.edf")
    for number in range(139):
        (tmp_path / f"data/answers{number}.csv").write_text("trial,rt,correct\n1,0.5,1\n2,0.6,0\n")
        savemat(tmp_path / f"data/behaviour{number}.mat", {"rt": np.ones(3), f"x{number}": 1})
    (tmp_path / "data/broken.set").write_bytes(b"MATLAB 5.0 MAT-file, but no more")
    found, file = proposed_study(tmp_path / "data")
    assert "139 files are no recordings: 139 × .csv" in found.lines
    (line,) = (each for each in found.lines if each.startswith("not read: "))
    assert " and 131 more: a .mat file with " in line
    assert sum("broken.set" in each for each in found.lines) == 1
    assert "3 participants: P0, P1, P2" in found.lines
    assert len(read_study(file).participants) == 3


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


def test_versions_of_a_recording_are_asked_about(tmp_path: Path) -> None:
    """Two acquisitions of the same trials: noise would be decoded, as each trial is there twice."""
    row = "{onset}\tn/a\t{number}\tshow_face\t{word}\t{number}\t1{of}\tf074.bmp"
    bids(tmp_path / "data", FACES.replace("face_type", "trial_type"), row.replace("show_cross", "cross"))
    for file in [*(tmp_path / "data").rglob("sub-*_task-game*")]:
        text = file.read_bytes()
        for name in ("acq-left", "acq-right"):
            header = file.suffix in (".vhdr", ".vmrk")
            changed = text.replace(b"task-game", f"task-game_{name}".encode()) if header else text
            file.with_name(file.name.replace("game", f"game_{name}")).write_bytes(changed)
        file.unlink()
    found, file = proposed_study(tmp_path / "data", classes='["face", "house"]')
    assert 'Found: acq: "left", "right".' in found.questions[0]
    (problem,) = {each.problem for each in open_all(file, silent).problems}
    assert "the game phase are not runs" in problem
    lines = file.read_text().splitlines()
    at = int(found.questions[0].rpartition("Line ")[2].split()[0]) - 1
    lines[at] = lines[at].removeprefix("# ")
    file.write_text("\n".join(lines))
    opened = open_all(file, silent)
    assert opened.problems == ()
    assert "48 × face, 48 × house" in opened.said, "each trial once, of two participants"
