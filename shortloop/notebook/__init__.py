"""Notebook functions as stages, built by a process beside the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortloop.notebook.session import Session as Session


def __getattr__(name: str) -> Any:
    if name == "Session":
        from shortloop.notebook.session import Session

        return Session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
