"""What is said of processes that ended before their work did."""

from __future__ import annotations

import pytest

from shortloop.units.process_ends import how_ended, job_lost, unit_lost


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (0, "exit with status 0"),
        (3, "exit with status 3"),
        (-9, "signal 9 (SIGKILL)"),
        (-11, "signal 11 (SIGSEGV)"),
        (-45, "signal 45"),
    ],
)
def test_signals_have_names(status: int, said: str) -> None:
    assert how_ended(status) == said


@pytest.mark.parametrize(
    ("status", "hint"),
    [(-9, "memory"), (-11, "compiled code"), (-6, "compiled code"), (1, "raise an exception")],
)
def test_the_hint_goes_with_the_end(status: int, hint: str) -> None:
    error = unit_lost("firm 3 of fit", how_ended(status), "main-1 (fit)")
    assert hint in str(error.hint)
    assert "firm 3 of fit" in error.message
    assert "main-1 (fit)" in error.message


def test_units_of_a_job_are_told_if_they_are_known() -> None:
    assert "unit:" not in job_lost("main-1 (fit)", how_ended(-9)).message
    assert "firm 3" in job_lost("main-1 (fit)", how_ended(-9), "firm 3").message
