"""Patches applied to exax when its server starts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def patch(owner: object, name: str) -> Callable[[Callable[..., object]], None]:
    """Replace a function of exax by the decorated one, which takes the original as its first argument."""

    def put(replacement: Callable[..., object]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def patched(*arguments: Any, **more: Any) -> object:
            return replacement(original, *arguments, **more)

        setattr(owner, name, patched)

    return put
