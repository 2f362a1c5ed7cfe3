"""Messages between a notebook and its building process."""

from __future__ import annotations

import base64
import json
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["REPLY", "GivenFile", "GivenJob", "Reply", "Request", "packed", "unpacked"]

REPLY = b"\x1e"
"""Stands before a reply; all else that the process prints is for the user."""


@dataclass(frozen=True)
class GivenJob:
    """A job, as an argument.

    job: its id.
    """

    job: str


@dataclass(frozen=True)
class GivenFile:
    """A file, as an argument.

    path: where it is.
    """

    path: Path


@dataclass(frozen=True)
class Request:
    """A job that a notebook asks for.

    notebook: what the notebook is called.
    cell: what tells the job from others of its stage and partition, whatever it is made of.
    stage: name of the stage.
    partition: which part of the data; None: all.
    arguments: Options, `GivenFile`, and `GivenJob` or lists of these, by name.
    modules: text of each module of the notebook's stages, by the name of the stage.
    """

    notebook: str
    cell: str
    stage: str
    partition: str | None
    arguments: dict[str, object] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What came of it; one of these.

    job: the id of the job.
    fresh: whether it was built now.
    wrong: what is wrong, for the user.
    failed: what the job said when it failed.
    interrupted: whether the user has interrupted it.
    """

    job: str = ""
    fresh: bool = False
    wrong: str = ""
    failed: str = ""
    interrupted: bool = False

    def line(self) -> bytes:
        """As it is sent."""
        return REPLY + json.dumps(vars(self)).encode() + b"\n"


def packed(request: Request) -> bytes:
    """A request as a line."""
    return base64.b64encode(pickle.dumps(request)) + b"\n"


def unpacked(line: bytes) -> Request:
    """The request in a line."""
    loaded: Any = pickle.loads(base64.b64decode(line))
    assert isinstance(loaded, Request)
    return loaded
