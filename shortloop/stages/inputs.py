"""Input files of a job, identified by content and found by path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from shortloop.base.errors import InputError

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

_QUOTED = re.compile(r"[%\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class File:
    """A file that a job is made from, as `Run.file` gives it to a pipeline, and a stage has it as an option.

    The job's options and its key hold the content and the name, which the stage may look at, but not where
    the project is.

    Parameters
    ----------
    content : str
        Hash of its content.
    path : Path
        Where it is.
    name : str
        Its path below the folder of the project or of the input; else its whole path or address.
    """

    content: str
    path: Path
    name: str = ""

    @property
    def option(self) -> str:
        """Text for options and keys; empty if nobody has read the file."""
        name = _QUOTED.sub(lambda found: quote(found[0], errors="surrogateescape"), self.name)
        return f"{self.content} {name}" if self.content and name else self.content

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Validate content and name as the file, whose place the context of the validation knows."""
        from pydantic_core import core_schema

        def found(option: str, info: core_schema.ValidationInfo) -> File:
            files: Mapping[str, Path] | None = info.context
            assert files is not None
            content, _, name = option.partition(" ")
            if "/" in content or "." in content:  # no hash has that
                hint = "give what `run.file(path)` returns in the build script"
                raise InputError("an input file was given as a path", found=option, hint=hint)
            return cls(content, files[option], unquoted(name))

        return core_schema.with_info_after_validator_function(found, core_schema.str_schema())


def unquoted(name: str) -> str:
    """Decode the name of a file that `File.option` holds."""
    return unquote(name, errors="surrogateescape")


def renamed(text: str, now: Mapping[str, str]) -> str:
    """Replace old names of files in a text written earlier."""
    if not now:
        return text
    longest = sorted(now, key=len, reverse=True)  # a path before the name in it
    old = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, longest))})(?![\w-]|\.\w)")
    return old.sub(lambda found: now[found[0]], text)
