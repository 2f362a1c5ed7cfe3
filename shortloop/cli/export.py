"""``shortloop export``: a job with its provenance, to take along."""

from __future__ import annotations

from pathlib import Path

from shortloop.cli.output import print_json, print_lines
from shortloop.provenance import write_crate


def export_job(job: str, place: Path, with_inputs: bool, as_json: bool) -> None:
    """Write a job as a Workflow Run RO-Crate."""
    write_crate(job, place, with_inputs)
    if as_json:
        print_json(job=job, file=place)
    else:
        print_lines(f"written: {place}, a Workflow Run RO-Crate of {job} and all that it was made from")
