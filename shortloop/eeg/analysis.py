"""What EEG decoding adds to the ``shortloop`` command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shortloop.cli.analyses import Analysis, Comparison

if TYPE_CHECKING:
    from shortloop.worker.results import Result

__all__ = ["ANALYSIS"]

app = typer.Typer()


@app.command()
def study(
    file: Annotated[
        Path | None, typer.Argument(readable=False, help="Study file to check; default: none.")
    ] = None,
) -> None:
    """Check a study file; without one, list all fields with units and defaults."""
    from shortloop.eeg.study.command import check_file, list_fields

    if file is None:
        list_fields()
    else:
        check_file(file)


def compare(first: Result, second: Result) -> Comparison | None:
    """Scores of two jobs.

    Parameters
    ----------
    first, second : Result
        Jobs of one stage.

    Returns
    -------
    Comparison or None
        None where a job holds no scores.
    """
    from shortloop.eeg.report.comparison import compare_scores

    return compare_scores(first, second)


ANALYSIS = Analysis(commands=app, compare=compare)
