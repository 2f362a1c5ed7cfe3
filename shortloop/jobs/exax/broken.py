"""Methods that cannot be imported keep nobody from building jobs of others."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["do_without_broken_methods", "let_no_method_end_this"]


def do_without_broken_methods() -> None:
    """Let the server, which would not start, know only methods that were imported."""
    from accelerator.control import Main
    from accelerator.runner import Runner

    load: Callable[..., Any] = Runner.load_methods

    @functools.wraps(load)
    def load_methods(self: Any, *arguments: Any) -> Any:
        warnings, self.broken, *known = load(self, *arguments)
        return [warnings, [], *known]

    def get_methods(self: Any) -> dict[str, Any]:
        return {name: self.method_info(name) for name in self.Methods.hash}

    Runner.broken = ()  # before it has loaded any
    Runner.load_methods, Main.get_methods = load_methods, get_methods


def let_no_method_end_this() -> None:
    """Let the process that loads methods go on if one of them ends its process as it is imported."""
    runner: Any = sys.modules["__main__"]
    load: Callable[[str], Any] | None = getattr(runner, "get_mod", None)
    if load is None:  # another version of exax
        return

    @functools.wraps(load)
    def get_mod(name: str) -> Any:
        try:
            return load(name)
        except (SystemExit, KeyboardInterrupt) as end:
            raise ImportError(f"{name} ends its process as it is imported") from end

    runner.get_mod = get_mod
