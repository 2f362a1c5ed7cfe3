"""What is said where a node has not the project: what it lacks, and what it is sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from shortloop.engines.node_cache import Piece

__all__ = ["Mirrored", "Missing", "Needs", "Parcel"]


class Mirrored(TypedDict):
    """Where the mirrors of a job are, on a node that has not the project.

    Parameters
    ----------
    project : str
        The project's folder on the machine of the run.
    code, data : str
        Folders that have what the job imports, and what it reads; ``in`` in them is the project, ``out`` the
        rest of the file system.
    lock : str
        File that is locked while the data is used.
    inputs : dict of str to str
        Where input files are, by their content.
    whole : list of str
        Folders in them that have all of what a job left.
    absent : list of str
        Folders that this node has not, whatever there is of their names: the project, by each of its paths,
        and the folder of inputs.
    """

    project: str
    code: str
    data: str
    lock: str
    inputs: dict[str, str]
    whole: list[str]
    absent: list[str]


class Needs(TypedDict):
    """What a job says of what it needs on nodes that have not the project.

    Parameters
    ----------
    what : str
        What messages call the job.
    listing : bytes
        As of `shortloop.engines.listing.list_needs`.
    sources : dict
        The same.
    seconds : float or None
        How long this machine would take to compute it, as far as is known.
    """

    what: str
    listing: bytes
    sources: dict[str, tuple[Path | bytes, int]]
    seconds: float | None


class Parcel(NamedTuple):
    """What is sent to a node at a time.

    Parameters
    ----------
    sender : str
        Who sends it, hexadecimal.
    pieces : list of Piece
        Parts of contents.
    """

    sender: str
    pieces: list[Piece]


class Missing(NamedTuple):
    """What a node lacks to compute a batch.

    Parameters
    ----------
    cache : str
        Name of the node's cache, which all its workers share.
    contents : list of str
        Hashes; none, if the node does not know what the job needs.
    """

    cache: str
    contents: list[str]
