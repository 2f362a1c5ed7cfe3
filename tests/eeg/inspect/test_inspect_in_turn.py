"""Codes that follow each other in each trial are asked about: they are parts of one trial, not classes."""

from __future__ import annotations

from pathlib import Path

import mne
import numpy as np
import pytest
from eeg_folders import proposed

from shortloop.eeg.inspect.events import are_in_turn, find_classes

RNG = np.random.default_rng(0)
TRIALS = np.cumsum(RNG.uniform(2.0, 3.0, 40))
ORDER = RNG.permuted(np.arange(40) % 2)


def test_a_cue_and_its_target_are_parts_of_a_trial() -> None:
    assert are_in_turn({"cue": TRIALS, "target": TRIALS + 0.7})
    assert are_in_turn({"cue": TRIALS, "target": np.delete(TRIALS + 0.7, [3, 9])})
    assert are_in_turn({"fix": TRIALS, "cue": TRIALS + 0.5, "target": TRIALS + 1.0})
    both = {"cue-l": TRIALS[ORDER == 0], "cue-r": TRIALS[ORDER == 1]}
    targets = {"hit": TRIALS[::2] + 0.7, "miss": TRIALS[1::2] + 0.7}
    assert are_in_turn({**both, **targets})


def test_classes_in_any_order_are_none() -> None:
    assert not are_in_turn({"face": TRIALS[ORDER == 0], "house": TRIALS[ORDER == 1]})
    assert not are_in_turn({"face": np.arange(20) * 2.0, "house": np.arange(20) * 2.0 + 1})
    three = RNG.permuted(np.arange(40) % 3)
    assert not are_in_turn({name: TRIALS[three == index] for index, name in enumerate("abc")})
    assert not are_in_turn({"face": TRIALS[:20], "house": TRIALS[20:]})


@pytest.mark.parametrize(("codes", "certain"), [(2, True), (4, True), (5, False), (12, False)])
def test_more_than_four_codes_are_asked_about(codes: int, certain: bool) -> None:
    seen = {who: {str(11 + code): 20 for code in range(codes)} for who in "AB"}
    assert find_classes([seen]).certain is certain


def test_what_was_done_is_no_class_beside_what_was_shown() -> None:
    assert not find_classes([{"A": {"stimulus": 40, "response": 40}}]).certain


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


def test_value_is_offered_where_trial_type_tells_stimuli_from_responses(recordings: Path) -> None:
    found = proposed(recordings, recordings / "p")
    asked = "\n".join(found.questions)
    assert "Which column of the tables has the events?" in asked
    assert "trial_type: stimulus (40 times), response (40 times)" in asked
    assert '# event_column = "value"' in found.settings
    assert '# events: "11" ' in found.settings
    assert '# events: "12" ' in found.settings


def test_codes_that_take_turns_are_asked_about(recordings: Path) -> None:
    for table in recordings.glob("*.tsv"):
        text = table.read_text().replace("stimulus\t11", "x\t1").replace("stimulus\t12", "x\t1")
        lines = [line.split("\t") for line in text.replace("response\t201", "x\t2").splitlines()]
        table.write_text("\n".join("\t".join([*line[:2], line[3]]) for line in lines))
    found = proposed(recordings, recordings / "p")
    assert "Which events are the classes? Found: 80 × 1, 80 × 2" in "\n".join(found.questions)
