"""``@stage`` makes a method of the file that it stands in, and leaves the function as it was."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project, own_methods

from shortloop.base.errors import InputError

project = pytest.fixture(empty_project)


@pytest.fixture(autouse=True)
def methods(project: Path) -> Iterator[None]:
    Path("methods").mkdir(exist_ok=True)
    with own_methods(project / "methods"):
        yield


FUNCTION = '''\
"""A method."""

from shortloop import Job, stage


@stage
def double(numbers: Job, factor: float = 2.0):
    """Doubles."""
    return {"doubled": factor}
'''
UNITS = '''\
"""A method."""

from shortloop import Job, stage


def parts(numbers: Job):
    return {}


@stage(units=parts)
def double(part, factor: float):
    return {"doubled": factor * part}
'''
CLASS = '''\
"""A method."""

from shortloop import Job, Stage, stage


@stage
class Double(Stage):
    """Doubles."""

    numbers: Job
    factor: float = 2.0
'''


def loaded(text: str, file: str = "methods/a_double.py") -> Any:
    Path(file).write_text(text, encoding="utf-8")
    return importlib.import_module(file.removesuffix(".py").replace("/", "."))


@pytest.mark.parametrize(
    ("text", "description", "has"),
    [
        (FUNCTION, "Doubles.", ["synthesis"]),
        (UNITS, "double", ["analysis", "prepare", "synthesis"]),
        (CLASS, "Doubles.", ["synthesis"]),
    ],
)
def test_a_file_becomes_a_method(text: str, description: str, has: list[str]) -> None:
    made = loaded(text)
    assert (made.jobs, made.options["factor"], made.description) == (("numbers",), None, description)
    assert [name for name in ("analysis", "prepare", "synthesis") if hasattr(made, name)] == has


@pytest.mark.parametrize(("text", "given", "doubled"), [(FUNCTION, None, 3), (UNITS, 2, 6)])
def test_the_function_can_be_called(text: str, given: object, doubled: int) -> None:
    assert loaded(text).double(given, 3) == {"doubled": doubled}


def test_a_file_of_another_name_is_no_method() -> None:
    assert not hasattr(loaded(FUNCTION, "methods/steps.py"), "synthesis")


def test_two_stages_in_a_file_are_refused() -> None:
    with pytest.raises(InputError, match="a method is made of one stage") as caught:
        loaded(FUNCTION + FUNCTION.replace("double", "triple"))
    assert "double and triple" in caught.value.message
