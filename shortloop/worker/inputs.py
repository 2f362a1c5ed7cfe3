"""Input files of a job: known by their content, found by their path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.errors import InputError

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

__all__ = ["File"]


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
        Its path below the folder of the project or of the input; of a file elsewhere, its whole path.
    """

    content: str
    path: Path
    name: str = ""

    @property
    def option(self) -> str:
        """What options and keys hold of it; empty if nobody has read it."""
        return f"{self.content} {self.name}" if self.content and self.name else self.content

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Validated, content and name become the file; the context of the validation says where that is."""
        from pydantic_core import core_schema

        def found(option: str, info: core_schema.ValidationInfo) -> File:
            files: Mapping[str, Path] | None = info.context
            assert files is not None
            content, _, name = option.partition(" ")
            if "/" in content or "." in content:  # no content has that
                raise InputError(
                    "a job is made from what is in a file, and was given a path",
                    found=option,
                    expected="what `run.file(path)` gives",
                    hint="change the build script",
                )
            return cls(content, files[option], name)

        return core_schema.with_info_after_validator_function(found, core_schema.str_schema())
