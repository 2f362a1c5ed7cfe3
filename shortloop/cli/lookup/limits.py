"""``shortloop limits``: measure what this machine can do, and print it."""

from __future__ import annotations

import time
from dataclasses import asdict

from shortloop.base.terminal import Waiting
from shortloop.base.text import amount
from shortloop.cli.output import moment, print_facts, print_json, print_lines, print_table
from shortloop.profile.limits import kept_limits, measure

QUIET = 0.1  # cores that others may use while it is measured


def print_limits(again: bool, as_json: bool) -> None:
    """Print the limits of this machine, measured now if they were not, or if they are asked for again."""
    limits = None if again else kept_limits()
    if limits is None:
        with Waiting("measured") as waiting:
            limits = measure(waiting.tell)
    if as_json:
        print_json(**{**asdict(limits), "measured": moment(limits.measured)})
        return
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(limits.measured))
    print_lines(f"{limits.machine}, measured on {when}", style="bold")
    if limits.others > QUIET:
        print_lines(
            f"other programs used {limits.others:.1f} cores meanwhile: measure --again when it is quiet"
        )
    rows = [
        (str(number), *(f"{each / 1e9:.3g}" for each in rates))
        for number, *rates in zip(limits.processes, limits.flop, limits.flop32, limits.bytes, strict=True)
    ]
    columns = ("processes", "GFLOP/s double", "GFLOP/s single", "GB/s in memory")
    print_table(columns, rows, right=columns)
    print_lines("")
    print_facts(
        [
            ("disk", f"{amount(limits.disk_write)}/s written and flushed, {amount(limits.disk_read)}/s read"),
            ("processes", f"{_short(limits.fork)} until one has begun and ended"),
            ("messages", f"{_short(limits.message)} to another process and back"),
            ("flushing", f"{_short(limits.fsync)} for 4 KiB to be safe on the disk"),
        ]
    )
    print_lines("", "`shortloop show JOB` says what a job achieved; --again measures these anew")


def _short(seconds: float) -> str:
    return f"{1e3 * seconds:.2g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.0f} µs"
