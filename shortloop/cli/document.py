"""``--json``: print one JSON document instead of text."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from shortloop.base.errors import InputError


OPTION = "--json"
_streams: list[TextIO] = []
_printed: list[bool] = []


def is_requested() -> bool:
    """True if the command line asks for a document."""
    options = sys.argv[1:]
    return OPTION in options[: options.index("--") if "--" in options else None]


def reserve_output() -> None:
    """Keep standard output for the document: other prints go to standard error."""
    sys.stdout.flush()
    _streams.append(os.fdopen(os.dup(1), "w", encoding="ascii"))
    os.dup2(2, 1)


def print_document(document: Mapping[str, object]) -> None:
    """Print the document of the command."""
    _printed.append(True)
    stream = _streams[-1] if _streams else sys.stdout
    print(json.dumps(_plain(document), indent=2), file=stream, flush=True)


def is_printed() -> bool:
    """True if the command has printed its document."""
    return bool(_printed)


def error_fields(error: InputError) -> dict[str, object]:
    """The fields of an error."""
    names = ("problem", "file", "field", "found", "expected", "hint", "where", "message")
    return {name: getattr(error, name) for name in names}


def moment(seconds: float | None) -> str | None:
    """Seconds since 1970 as date and time with the offset from UTC; None if unknown."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat() if seconds else None


def _plain(value: Any) -> Any:
    """A value as JSON has it; numbers that are not finite are null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):  # of NumPy
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
