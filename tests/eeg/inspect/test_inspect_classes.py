"""Classes are told from other events where names and numbers say it, and asked for where they do not."""

from __future__ import annotations

import pytest

from shortloop.eeg.inspect.events import find_classes

WHO = ("A", "B", "C")


def alike(**counts: int) -> dict[str, dict[str, int]]:
    return {who: dict(counts) for who in WHO}


def test_two_events_are_the_classes() -> None:
    found = find_classes([alike(face=40, house=38)])
    assert found.certain
    assert found.events == {"face": "face", "house": "house"}
    assert found.counts == {"face": 120, "house": 114}


def test_what_marks_something_else_is_no_class() -> None:
    counts = {
        "face": 40,
        "house": 40,
        "Response/R 99": 78,
        "New Segment/": 1,
        "BAD_blink": 12,
        "fixation": 80,
    }
    found = find_classes([dict.fromkeys(WHO, counts)])
    assert found.certain
    assert list(found.events) == ["face", "house"]
    assert found.others["fixation"] == 240


def test_an_oddball() -> None:
    assert find_classes([alike(standard=400, target=100, response=97)]).certain


@pytest.mark.parametrize("counts", [{"cue": 80, "face": 40, "house": 40}, {"T0": 15, "T1": 8, "T2": 7}])
def test_a_third_event_of_another_number_is_asked_for(counts: dict[str, int]) -> None:
    found = find_classes([dict.fromkeys(WHO, counts)])
    assert not found.certain
    assert sorted(found.events) == sorted(counts)


def test_words_that_may_be_classes_are_none_where_their_number_says_so() -> None:
    assert list(find_classes([alike(cue=20, go=20, stop=20)]).events) == ["cue", "go", "stop"]
    assert list(find_classes([alike(left=20, right=20, stop=40)]).events) == ["left", "right"]
    assert list(find_classes([alike(start=40, stop=40)]).events) == ["start", "stop"]


def test_several_classes_of_like_size() -> None:
    found = find_classes([alike(face=40, landmark=38, object=41)])
    assert found.certain
    assert len(found.events) == 3


def test_classes_are_in_both_phases() -> None:
    found = find_classes([alike(face=40, house=40, start_cue=40), alike(face=30, house=30, probe=60)])
    assert found.certain
    assert list(found.events) == ["face", "house"]


def test_parts_of_names_where_the_phases_have_other_names() -> None:
    train = {key: {"study/face": 40, "study/house": 40} for key in WHO}
    test = {key: {"test/face": 30, "test/house": 30} for key in WHO}
    found = find_classes([train, test])
    assert found.certain
    assert found.events == {"face": "face", "house": "house"}
    assert found.counts == {"face": 120, "house": 120}


def test_phases_without_a_common_event_are_asked_about() -> None:
    assert not find_classes([alike(face=40, house=40), alike(picture=40, sound=40)]).certain


def test_names_that_a_study_can_have() -> None:
    found = find_classes([{key: {"Stimulus/S  1": 40, "Stimulus/S  2": 40} for key in WHO}])
    assert found.events == {"S1": "Stimulus/S  1", "S2": "Stimulus/S  2"}
    found = find_classes([{key: {"Gesicht groß": 40, "Häuser": 40} for key in WHO}])
    assert list(found.events) == ["Gesichtgross", "Hauser"]
    found = find_classes([{key: {"a b": 40, "ab": 40} for key in WHO}])
    assert list(found.events) == ["ab", "ab-2"]


def test_one_event_alone() -> None:
    found = find_classes([alike(stimulus=40)])
    assert not found.certain
    assert list(found.events) == ["stimulus"]


def test_no_events() -> None:
    found = find_classes([{key: {} for key in WHO}])
    assert not found.certain
    assert found.events == {}
