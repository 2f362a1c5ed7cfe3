"""The way from a report to exax's board, the page that shows any job in a browser."""

from __future__ import annotations

from shortloop.report.page import PageLink

__all__ = ["ADDRESS", "board_link"]

ADDRESS = "http://localhost:8520"
"""Where ``ax board-server`` listens if it is not told otherwise. The board asks nobody who they are, so it
belongs to no address that others can reach; that of ``ax server`` is at a socket, where no browser goes."""


def board_link(job: str, what: str) -> PageLink:
    """A link from a report to a job on the board, which says when it leads anywhere.

    Parameters
    ----------
    job : str
        Id of the job.
    what : str
        What it has of the report, e.g. ``"the statistics of amplitude"``.

    Returns
    -------
    PageLink
        For ``PageSection(links=…)``.
    """
    return PageLink(
        f"{ADDRESS}/job/{job}",
        f"{what}, and the jobs that it was made from, on the board of exax: on the machine where “ax server” "
        "and “ax board-server” run in the folder of the project, and while they do",
    )
