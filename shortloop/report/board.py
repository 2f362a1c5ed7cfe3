"""Links from a report to exax's board."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shortloop.report.provenance import ProvenanceRow

__all__ = ["ADDRESS", "BoardLink", "board_link", "last_job"]

ADDRESS = "http://localhost:8520"
"""Where ``ax board-server`` listens if it is not told otherwise. The board asks nobody who they are, so it
belongs to no address that others can reach; that of ``ax server`` is at a socket, where no browser goes."""


class BoardLink(NamedTuple):
    """A link to a job on the board.

    job: its id.
    partition: what of the data it is for; empty: all.
    address: where it is shown.
    text: what else is shown there, and when.
    """

    job: str
    partition: str
    address: str
    text: str


def board_link(job: str, partition: str = "") -> BoardLink:
    """A link from a report to a job on the board, which says when it leads anywhere."""
    return BoardLink(
        job,
        partition,
        f"{ADDRESS}/job/{job}",
        "and the jobs that it was made from, on the board of exax: on the machine where “ax server” "
        "and “ax board-server” run in the folder of the project, and while they do",
    )


def last_job(rows: Sequence[ProvenanceRow]) -> tuple[str, str]:
    """The job that all others of some provenance lead to."""
    jobs = [job for row in rows for job in row.jobs]
    whole = [job for job in jobs if not job[0]]
    return (whole or jobs or [("", "")])[-1]
