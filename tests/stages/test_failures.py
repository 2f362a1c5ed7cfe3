"""Units that fail: computed again, ended when they take too long, and put into one line."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import numpy as np
import pytest

from shortloop.base.errors import InputError
from shortloop.stages.failures import Tried, check_missing, text_of, tried
from shortloop.stages.needs import Needs


def failing(*errors: BaseException) -> Callable[[], str]:
    left = list(errors)

    def compute() -> str:
        if left:
            raise left.pop(0)
        return "values"

    return compute


def test_a_unit_that_fails_is_computed_again() -> None:
    first, second = ValueError("one"), KeyError("two")
    assert tried(Needs(retries=2), failing(first, second)) == Tried(
        "values", ["ValueError: one", "KeyError: 'two'"]
    )
    assert tried(Needs(retries=2), failing()) == "values"


def test_the_last_error_ends_the_job_and_says_the_others() -> None:
    with pytest.raises(KeyError) as error:
        tried(Needs(retries=1), failing(ValueError("one"), KeyError("two")))
    assert error.value.__notes__ == ["computed 2 times: ValueError: one; KeyError: 'two'"]


def test_an_error_that_is_kept_has_a_traceback() -> None:
    kept = tried(Needs(retries=1, on_error="keep"), failing(ValueError(), InputError("a bad file", file="x")))
    assert kept.values is None
    assert kept.errors == ["ValueError", "InputError: a bad file file: x"]
    assert "in compute" in kept.traceback
    assert "stages/failures.py" not in kept.traceback


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
def test_what_ends_a_run_is_neither_kept_nor_tried_again(error: BaseException) -> None:
    with pytest.raises(type(error)):
        tried(Needs(retries=3, on_error="keep"), failing(error))


def test_a_unit_that_takes_too_long_fails() -> None:
    before = signal.getsignal(signal.SIGALRM)

    def slow() -> None:
        try:
            time.sleep(30)
        except Exception:
            time.sleep(30)

    begun = time.monotonic()
    kept = tried(Needs(timeout=0.1, on_error="keep"), slow)
    assert kept.errors == ["TimeoutError: took over 0.1 s"]
    assert "in slow" in kept.traceback
    with pytest.raises(TimeoutError, match=r"took over 0\.1 s"):
        tried(Needs(timeout=0.1), slow)
    assert time.monotonic() - begun < 10
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert tried(Needs(timeout=60.0), failing()) == "values"


def test_an_error_is_one_line_alike_in_each_process() -> None:
    assert text_of(ValueError()) == "ValueError"
    assert text_of(ValueError("two\n  lines")) == "ValueError: two lines"
    assert text_of(ValueError("at 0x7f0123456789")) == "ValueError: at 0x…"
    assert text_of(ValueError("\udcff")) == "ValueError: \\udcff"
    assert len(text_of(ValueError("x" * 10**6))) == 300


@pytest.mark.parametrize("kind", ["i8", "u1", "?", "S3", "V4"])
def test_outputs_without_a_missing_value_are_refused(kind: str) -> None:
    with pytest.raises(InputError, match="an output has no missing value"):
        check_missing("fit", {"fine": np.zeros(2), "counts": np.zeros(2, kind)})
    check_missing("fit", {name: np.zeros(2, name) for name in ("f4", "c16", "M8[s]", "m8[D]", "U5")})
