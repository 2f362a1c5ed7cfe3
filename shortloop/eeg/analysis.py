"""What EEG decoding adds to the ``shortloop`` command."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.cli.analyses import (
    Analysis,
    Comparison,
    Look,
    Opened,
    SettingsKind,
    Tell,
    Template,
    project_files,
)
from shortloop.extras import need

if TYPE_CHECKING:
    from shortloop.plain import Plain
    from shortloop.sweep.findings import Finding
    from shortloop.worker.results import Result

__all__ = ["ANALYSIS"]

OWN = ("build_scripts/build_pipeline.py", "dev/a_ridge.py", "dev/build_ridge.py")
"""Files of the repository that new projects begin with; a package of this library holds them, too."""


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


def findings(summary: Mapping[str, Plain]) -> dict[str, Finding] | None:
    """What a run of a study found.

    Parameters
    ----------
    summary : mapping
        What is in ``summary.json``.

    Returns
    -------
    dict of str to Finding, or None
        None if it is of something else.
    """
    from shortloop.eeg.findings import study_findings

    return study_findings(summary)


def look(data: Path, project: Path, tell: Tell) -> Look | None:
    """A study of the recordings in a folder.

    Parameters
    ----------
    data : Path
        The folder.
    project : Path
        Folder of the project that the study will be in.
    tell : callable
        Is told how far it is.

    Returns
    -------
    Look or None
        None if there are no recordings.
    """
    need(TEMPLATE.needs, TEMPLATE.libraries)
    from shortloop.eeg.looking.look import look as look_at_recordings

    return look_at_recordings(data, project, tell)


def open_recordings(file: Path, tell: Tell) -> Opened:
    """Open all recordings of a study.

    Parameters
    ----------
    file : Path
        The study file.
    tell : callable
        Is told how far it is.

    Returns
    -------
    Opened
    """
    from shortloop.eeg.looking.opened import open_all

    return open_all(file, tell)


TEMPLATE = Template(
    files=partial(project_files, "eeg", OWN, {"study.toml": Path(__file__).parent / "study/default.toml"}),
    packages=("shortloop.methods",),
    run="shortloop run",
    needs="eeg",
    libraries=("matplotlib", "mne", "mne_bids", "numba", "pandas", "pymatreader", "scipy", "sklearn"),
)
ANALYSIS = Analysis(
    compare=compare,
    template=TEMPLATE,
    settings=SettingsKind("study", "shortloop.eeg.study.schema.Study", "build_pipeline", open_recordings),
    findings=findings,
    look=look,
)
