"""Tracebacks of a recursion without an end show both of its ends."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

from shortloop.exax.tracebacks import MOST, of_user


def test_the_middle_of_a_long_traceback_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Callable[[int], int]] = [lambda left: calls[left % 2](left - 1)]
    calls.append(lambda left: calls[0](left - 1) if left else 1 // left)
    with pytest.raises(ZeroDivisionError) as caught:
        calls[0](300)
    whole = "".join(traceback.format_exception(caught.value))
    shown = of_user(whole)
    assert shown.count('File "') == 2 * MOST
    assert f"… {whole.count('File ') - 2 * MOST} calls left out" in shown
    assert shown.startswith(whole[:200])
    assert shown.endswith(whole[-200:])
    monkeypatch.setenv("SHORTLOOP_TRACEBACK", "full")
    assert of_user(whole) == whole
