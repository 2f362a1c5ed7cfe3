"""What EEG decoding adds to the ``shortloop`` command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shortloop.cli.analyses import Analysis, Comparison, Template

if TYPE_CHECKING:
    from shortloop.worker.results import Result

__all__ = ["ANALYSIS"]

app = typer.Typer()
SCRIPTS = ("build_scripts", "dev")
"""Folders of the repository that a package of this library holds too, for new projects."""


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


def project_files() -> dict[str, Path]:
    """Files of a new project of this analysis: pipeline and example as in the repository, and a study.

    Returns
    -------
    dict of str to Path
        By their path in the project.
    """
    here = Path(__file__).parent
    own = here.parent / "templates" / here.name
    found = {str(file.relative_to(own)): file for file in own.rglob("*.*") if "__pycache__" not in file.parts}
    installed, repository = (
        (here / "build_scripts", here / "dev"),
        [here.parents[1] / name for name in SCRIPTS],
    )
    for room, folder in zip(SCRIPTS, installed if installed[0].is_dir() else repository):
        found |= {f"{room}/{file.name}": file for file in folder.glob("[ab]*_*.py")}
    return {**found, "study.toml": here / "study" / "default.toml"}


TEMPLATE = Template(
    files=project_files,
    packages=("shortloop.eeg.methods",),
    run="shortloop run",
    needs="eeg",
    libraries=("matplotlib", "mne", "numba", "pandas", "scipy", "sklearn"),
)
ANALYSIS = Analysis(commands=app, compare=compare, template=TEMPLATE)
