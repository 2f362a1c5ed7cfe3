"""The study file can be read, and says what it is meant to."""

from shortloop import read_study


def test_the_study_can_be_read():
    study = read_study("study.toml")
    assert study.participants
    assert study.phases.train in study.phases.names
