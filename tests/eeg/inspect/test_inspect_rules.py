"""The two tables of rules: each example has its meaning, and their edges are as people write names."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortloop.eeg.inspect.events import find_classes
from shortloop.eeg.inspect.names import read_names
from shortloop.eeg.inspect.rules import EVENT_RULES, NAME_RULES, event_means, name_means


def test_each_example_has_its_meaning() -> None:
    assert [rule for rule in NAME_RULES if rule.meaning not in name_means(rule.example)] == []
    assert [rule for rule in EVENT_RULES if rule.meaning not in event_means(rule.example)] == []


@pytest.mark.parametrize(
    ("text", "before", "meanings"),
    [
        ("P3", "", {"participant"}),
        ("P300", "", set()),
        ("300", "P", {"participant"}),
        ("01", "Sub", {"participant"}),
        ("part1", "", {"participant", "run"}),
        ("b", "", set()),
        ("B2", "", {"run"}),
        ("20190112", "VP", {"participant", "date"}),
        ("2", "acq1", set()),
        ("Patient", "", {"group"}),
        ("Encoding", "", {"training"}),
        ("test2", "", set()),
    ],
)
def test_meanings_of_words_in_paths(text: str, before: str, meanings: set[str]) -> None:
    assert name_means(text, before) == meanings


def test_a_numbered_phase_is_no_part_of_a_name(tmp_path: Path) -> None:
    paths = [
        tmp_path / f"{who} {word}.edf" for who in ("Anna Müller", "Li Jo") for word in ("Train1", "test")
    ]
    for path in paths:
        path.touch()
    found = read_names(tmp_path, paths)
    assert [*found.files] == ["Anna Müller", "Li Jo"]
    assert {*found.patterns} == {"train", "test"}


def test_classes_of_parts_are_in_the_order_of_the_events() -> None:
    """A set of parts had another order in each process."""
    counts = {f"{number}/{word}": 40 for number in (1, 2) for word in ("face", "house", "tool")}
    train = {f"study/{name}": count for name, count in counts.items()}
    test = {f"test/{name}": count for name, count in counts.items()}
    found = find_classes([{"A": train}, {"A": test}])
    assert [*found.events] == ["1", "face", "house", "tool", "2"]
