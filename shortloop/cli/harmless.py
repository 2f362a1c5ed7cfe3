"""``shortloop harmless``: what a declaration did."""

from __future__ import annotations

from collections import Counter

from shortloop.cli.tables import counted, print_lines
from shortloop.jobs.harmless import declare_harmless

__all__ = ["print_harmless"]


def print_harmless(script: str, stage: str, why: str) -> None:
    """Declare a change harmless, and print for which jobs.

    Parameters
    ----------
    script : str
        Name of the build script.
    stage, why : str
        As of `shortloop.jobs.harmless.declare_harmless`.
    """
    done = declare_harmless(script, stage, why)
    changes = Counter(harmless.what for _, harmless in done.jobs)
    print_lines(*(f"{number} × {stage}: {what}" for what, number in changes.items()))
    there = f", {done.there} were current already" if done.there else ""
    print_lines(f"{counted(len(done.jobs), 'job')} taken for current, and not built again{there}")
    print_lines(*(f"still to be built: {each}" for each in done.left))
