"""`shortloop jobs`: the list, its filters and its order."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toy_jobs import ToyJobs, toy_project

from shortloop.base.errors import InputError
from shortloop.cli.jobs import Filter, print_jobs

Listed = Callable[..., list[str]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = toy_project(tmp_path_factory.mktemp("jobs"))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        jobs = ToyJobs(folder)
        jobs.make("A", age=10 * 86_400)
        jobs.make("B", age=5 * 86_400, large=200_000)
        jobs.make("A", options={"x": 1})
        jobs.make("A", method="other", age=86_400)
        jobs.unrecorded(finished=True, script=True)
        jobs.ended()
        jobs.places.clear()
        jobs.make("C", pipeline="build_toy big", settings="big")
        jobs.ended("build_toy big")
    return folder


@pytest.fixture
def listed(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Listed:
    """Gives the ids of the jobs that a list has."""
    monkeypatch.chdir(project)

    def of(wanted: Filter, order: str = "id", reverse: bool = False) -> list[str]:
        print_jobs(wanted, order, reverse)
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split() == [
            *("job", "stage", "partition", "settings", "made", "seconds", "size", "state"),
        ]
        assert re.match(rf"{len(lines) - 2} jobs?, ", lines[-1])
        return [line.split()[0] for line in lines[1:-1]]

    return of


def test_a_row_says_what_a_job_is(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    print_jobs(Filter(partition="B"), "id", False)
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row[:4] == ["main-1", "scores", "B", "small"]
    assert row[6] == "1.5"
    assert 200 <= int(row[7]) <= 210
    assert row[8:] == ["KB", "current"]


@pytest.mark.parametrize(
    ("wanted", "jobs"),
    [
        ({}, [0, 1, 2, 3, 5]),
        ({"scripts": True}, [0, 1, 2, 3, 4, 5]),
        ({"stage": "scores"}, [0, 1, 2, 5]),
        ({"partition": "A"}, [0, 2, 3]),
        ({"settings": "big"}, [5]),
        ({"settings": "build_toy small"}, [0, 1, 2, 3]),
        ({"state": "superseded"}, [0]),
        ({"older": "3d"}, [0, 1]),
        ({"newer": "3d"}, [2, 3, 5]),
        ({"older": "3d", "newer": "7d"}, [1]),
        ({"larger": "100KB"}, [1]),
        ({"stage": "scores", "partition": "A", "state": "current"}, [2]),
        ({"stage": "none"}, []),
    ],
)
def test_filters(listed: Listed, wanted: dict[str, Any], jobs: list[int]) -> None:
    assert listed(Filter(**wanted)) == [f"main-{number}" for number in jobs]


@pytest.mark.parametrize(
    ("order", "jobs"),
    [("made", [0, 1, 3, 2, 5]), ("stage", [3, 0, 2, 1, 5]), ("partition", [3, 0, 2, 1, 5])],
)
def test_orders(listed: Listed, order: str, jobs: list[int]) -> None:
    assert listed(Filter(), order) == [f"main-{number}" for number in jobs]


def test_the_largest_can_come_first(listed: Listed) -> None:
    assert listed(Filter(), "size", reverse=True)[0] == "main-1"
    assert listed(Filter(), reverse=True) == ["main-5", "main-3", "main-2", "main-1", "main-0"]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [({"state": "broken"}, "superseded"), ({"older": "x"}, "30d"), ({"larger": "x"}, "20GB")],
)
def test_a_filter_that_makes_no_sense_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(project)
    with pytest.raises(InputError, match=words):
        print_jobs(Filter(**wanted), "id", False)
    with pytest.raises(InputError, match="partition"):
        print_jobs(Filter(), "colour", False)
