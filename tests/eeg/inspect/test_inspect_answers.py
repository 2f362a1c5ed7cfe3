"""Each answer that `shortloop init --data` offers is accepted when it is given."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import mne
import numpy as np
import pytest
from cases import first_cases
from eeg_folders import exported, proposed, recording, silent, write_fieldtrip
from eeg_proposed import runnable

from shortloop.eeg.inspect.check_study import open_all

PEOPLE = ("P1", "P2")
COMMENT = re.compile(r'# events: ("(?:[^"\\]|\\.)*") \d+')


def in_annotations(data: Path, names: Sequence[str], ending: str = "edf") -> None:
    for who in PEOPLE:
        raw = recording(who, trials=12 * len(names), names=names, gap=1.1)
        shown = raw.annotations.description != "response"
        raw.set_annotations(raw.annotations[np.array(shown)])
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


@first_cases(3, "names", NAMES)
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
    found = proposed(tmp_path / "data", tmp_path / "p")
    (question,) = found.questions
    (tmp_path / "p").mkdir()
    offered = re.findall(r"column (\d+): (\d+) \(24 times\), (\d+)", question)
    assert len(offered) == 2
    for column, *classes in offered:
        text = re.sub(r"# column = .*", f"column = {column}", found.settings)
        text = re.sub(r"classes = .*", f"classes = {json.dumps(classes)}", text)
        (tmp_path / "p/study.toml").write_text(text, encoding="utf-8")
        runnable(tmp_path / "p/study.toml")


def test_phases_that_are_offered(tmp_path: Path) -> None:
    for who, word in itertools.product(PEOPLE, ("red", "green")):
        exported(recording(who, word), tmp_path / f"data/{who}_{word}.edf")
    found = proposed(tmp_path / "data", tmp_path / "p")
    (question,) = found.questions
    (tmp_path / "p").mkdir()
    offered = re.findall(r'"(\w+)"', question.partition("Found: ")[2].partition("\n")[0])
    assert sorted(offered) == ["green", "red"]
    for train, decode in itertools.permutations(offered):
        text = re.sub(r"# train = .*", f'train = "{train}"', found.settings)
        text = re.sub(r"# decode = .*", f'decode = "{decode}"', text)
        (tmp_path / "p/study.toml").write_text(text, encoding="utf-8")
        assert runnable(tmp_path / "p/study.toml").phases.train == train


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
    found = proposed(tmp_path / "data", tmp_path / "p")
    (question,) = found.questions
    assert "Found: 24 × picture." in question
    assert "a table NAME_events.tsv beside each recording" in question
    for who in PEOPLE:
        rows = ["onset\ttrial_type", *(f"{2 + 1.1 * at}\t{('old', 'new')[at % 2]}" for at in range(10))]
        (tmp_path / f"data/{who}_events.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    again = proposed(tmp_path / "data", tmp_path / "p")
    assert again.questions == ()


def test_an_event_named_as_a_whole_is_of_that_class(tmp_path: Path) -> None:
    """And of no other by its parts; the counts of both are those of the annotations."""
    in_annotations(tmp_path / "data", ("face", "face/famous", "house"))
    found = proposed(tmp_path / "data", tmp_path / "p")
    text = re.sub(r"(?m)^classes = .*", 'classes = ["face", "famous"]', found.settings)
    text = re.sub(r"(?m)^events\..*\n", "", text)
    text = re.sub(r"(?m)^tmin", 'events.face = ["face"]\nevents.famous = ["face/famous"]\ntmin', text)
    (tmp_path / "p").mkdir()
    (tmp_path / "p/study.toml").write_text(text, encoding="utf-8")
    opened = open_all(tmp_path / "p/study.toml", silent)
    assert opened.problems == ()
    assert "24 × face, 24 × famous" in opened.said
