"""``shortloop harmless``: declare a change harmless."""

from __future__ import annotations

from collections import Counter

from shortloop.cli.tables import counted, print_lines
from shortloop.plan.harmless import declare_harmless

__all__ = ["print_harmless"]


def print_harmless(script: str, stage: str, why: str) -> None:
    """Declare a change harmless, and print for which jobs."""
    done = declare_harmless(script, stage, why)
    changes = Counter(harmless.what for _, harmless in done.jobs)
    print_lines(*(f"{number} × {stage}: {what}" for what, number in changes.items()))
    there = f"; {done.there} already current" if done.there else ""
    print_lines(f"{counted(len(done.jobs), 'job')} declared current and will not be rebuilt{there}")
    print_lines(*(f"still to be built: {each}" for each in done.left))
