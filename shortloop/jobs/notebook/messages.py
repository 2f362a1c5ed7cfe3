"""What a notebook and the process that builds its jobs say to each other."""

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

    Parameters
    ----------
    job : str
        Its id.
    """

    job: str


@dataclass(frozen=True)
class GivenFile:
    """A file, as an argument.

    Parameters
    ----------
    path : Path
        Where it is.
    """

    path: Path


@dataclass(frozen=True)
class Request:
    """A job that a notebook asks for.

    Parameters
    ----------
    notebook : str
        What the notebook is called.
    cell : str
        What tells the job from others of its stage and partition, whatever it is made of.
    stage : str
        Name of the stage.
    partition : str or None
        Which part of the data; None: all.
    arguments : dict of str to object
        Options, `GivenFile`, and `GivenJob` or lists of these, by name.
    modules : dict of str to str
        Text of each module of the notebook's stages, by the name of the stage.
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

    Parameters
    ----------
    job : str
        The id of the job.
    fresh : bool
        Whether it was built now.
    wrong : str
        What is wrong, for the user.
    failed : str
        What the job said when it failed.
    interrupted : bool
        Whether the user has interrupted it.
    """

    job: str = ""
    fresh: bool = False
    wrong: str = ""
    failed: str = ""
    interrupted: bool = False

    def line(self) -> bytes:
        """As it is sent.

        Returns
        -------
        bytes
        """
        return REPLY + json.dumps(vars(self)).encode() + b"\n"


def packed(request: Request) -> bytes:
    """A request as a line.

    Parameters
    ----------
    request : Request
        It holds plain values only.

    Returns
    -------
    bytes
    """
    return base64.b64encode(pickle.dumps(request)) + b"\n"


def unpacked(line: bytes) -> Request:
    """The request in a line.

    Parameters
    ----------
    line : bytes
        As of `packed`.

    Returns
    -------
    Request
    """
    loaded: Any = pickle.loads(base64.b64decode(line))
    assert isinstance(loaded, Request)
    return loaded
