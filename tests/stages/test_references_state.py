"""What a call leaves in a process: variables that hold something else than before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shortloop.stages.references import changed, state_of_process

MODULE = """
class Lazy:
    \"\"\"Its first pickle leaves something in it, as those of exceptions do with some libraries.\"\"\"

    def __init__(self, value):
        self.value = value

    def __getstate__(self):
        self.is_pickled = True
        return dict(self.__dict__)

    def __setstate__(self, state):
        self.__dict__.update(state)


class Growing(Lazy):
    def __getstate__(self):
        state = dict(self.__dict__)
        self.more = None
        return state


plain = [1, 2]
lazy = Lazy(1)
growing = Growing(1)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "some_state.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import some_state  # type: ignore[import-not-found]

    yield some_state
    del sys.modules["some_state"]


def after(call: Callable[[], object]) -> list[str]:
    before = state_of_process()
    call()
    return changed(before, state_of_process())


def test_a_first_pickle_is_no_change(module: Any) -> None:
    assert after(lambda: None) == []


def test_changes_are_named(module: Any) -> None:
    assert after(lambda: module.plain.append(3)) == ["some_state.plain"]
    assert after(lambda: setattr(module.lazy, "value", 2)) == ["some_state.lazy"]
    assert after(lambda: setattr(module.growing, "value", 2)) == ["some_state.growing"]
    assert after(lambda: setattr(module, "new", 1)) == ["some_state.new"]
