"""How a stage is to be computed, as it declares it."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from shortloop.base.errors import InputError
from shortloop.exax.declare import stage
from shortloop.stages.fields import fields_of
from shortloop.stages.needs import Needs, bytes_of, needs_of, seconds_of
from shortloop.stages.stage import STAGE_OF, Stage

USUAL: dict[str, Any] = {"cores": 1, "memory": 0, "retries": 0, "timeout": None, "on_error": "stop"}


class Careful(Stage):
    """A stage that says all of it."""

    cores = 2
    memory = "30 GB"
    retries: ClassVar[int] = 2
    timeout: ClassVar[float | str | None] = "5 min"
    on_error = "keep"


class Quicker(Careful):
    """A stage that says some of it otherwise."""

    timeout = 1.5


def test_a_class_declares_what_it_needs() -> None:
    assert needs_of(Stage) == Needs(**USUAL)
    assert needs_of(Careful) == Needs(2, 30_000_000_000, 2, 300.0, "keep")
    assert needs_of(Quicker) == Needs(2, 30_000_000_000, 2, 1.5, "keep")
    assert not fields_of(Careful).options


def none() -> dict[str, object]:
    return {}


def test_a_function_declares_what_it_needs() -> None:
    @stage(units=none, retries=1, timeout="2 h", cores=3, memory="1 GiB", on_error="keep")
    def slope(rows):  # type: ignore[no-untyped-def]
        return {"slope": rows}

    assert needs_of(getattr(slope, STAGE_OF)) == Needs(3, 2**30, 1, 7200.0, "keep")


@pytest.mark.parametrize("name", ["cores", "memory", "retries", "timeout"])
def test_code_of_a_stage_cannot_read_what_is_in_no_key(name: str) -> None:
    for where in (Careful, Quicker, Careful(), Stage):
        with pytest.raises(AttributeError, match=f"{name} of .* cannot be read: it is not part of the key"):
            getattr(where, name)
        assert name not in vars(Careful)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cores", 0),
        ("cores", 1.5),
        ("cores", True),
        ("retries", -1),
        ("retries", "2"),
        ("timeout", 0),
        ("timeout", "5 parsecs"),
        ("timeout", "soon"),
        ("timeout", float("nan")),
        ("timeout", True),
        ("memory", "30 gigs"),
        ("memory", -1),
        ("memory", 0.5),
        ("on_error", "ignore"),
        ("on_error", None),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_written(name: str, value: Any) -> None:
    with pytest.raises(InputError) as error:
        type("Bad", (Stage,), {"__module__": __name__, name: value})
    said = str(error.value)
    assert f"field:        {name}" in said
    assert f"found:        {value!r}" in said
    assert "stage:        Bad" in said
    assert __file__ in said


def test_an_option_of_such_a_name_is_refused() -> None:
    with pytest.raises(InputError, match="an option: retries: int"):
        type("Bad", (Stage,), {"__module__": __name__, "__annotations__": {"retries": "int"}, "retries": 2})
    with pytest.raises(InputError, match="a parameter of load has the name of a setting"):

        @stage
        def load(timeout: float = 3.0) -> dict[str, object]:
            return {}


def test_a_decorated_class_says_it_itself() -> None:
    with pytest.raises(InputError, match=r"write e\.g\. `retries = 2` in the class"):

        @stage(retries=2)
        class Late(Stage):
            pass


def test_durations_and_sizes() -> None:
    said = {"90 s": 90, "5 min": 300, "5 minutes": 300, "2 h": 7200, "1.5h": 5400, "1 day": 86400}
    assert {text: seconds_of(text) for text in said} == said
    assert [seconds_of(text) for text in ("", "5", "min", "-5 s", "5 m", "1 h 5 min")] == [None] * 6
    sizes = {"30 GB": 30 * 10**9, "16 GiB": 16 * 2**30, "500 MB": 5 * 10**8, "1 kB": 1000, "7 B": 7}
    assert {text: bytes_of(text) for text in sizes} == sizes
    assert [bytes_of(text) for text in ("", "30", "30 Gb", "GB")] == [None] * 4


def test_a_limit_is_said_as_it_is_written() -> None:
    said = [Needs(timeout=seconds).limit for seconds in (300, 90, 7200, 0.5, 86400)]
    assert said == ["5 min", "90 s", "2 h", "0.5 s", "1 d"]
