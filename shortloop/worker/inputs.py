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

    The job's options and its key hold only the content, so that a file may be moved.

    Parameters
    ----------
    content : str
        Hash of its content, which is what the job's key holds.
    path : Path
        Where it is.
    """

    content: str
    path: Path

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Validated, a content becomes the file; the context of the validation says where that is."""
        from pydantic_core import core_schema

        def found(content: str, info: core_schema.ValidationInfo) -> File:
            files: Mapping[str, Path] | None = info.context
            assert files is not None
            if "/" in content or "." in content:  # no content has that
                raise InputError(
                    "a job is made from what is in a file, and was given a path",
                    found=content,
                    expected="what `run.file(path)` gives",
                    hint="change the build script",
                )
            return cls(content, files[content])

        return core_schema.with_info_after_validator_function(found, core_schema.str_schema())
