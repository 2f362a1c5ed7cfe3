"""What EEG decoding adds to the ``shortloop`` command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.cli.analyses import Analysis, Comparison, SettingsKind, Template

if TYPE_CHECKING:
    from shortloop.eeg.study.schema import Study
    from shortloop.worker.results import Result

__all__ = ["ANALYSIS"]

OWN = ("build_scripts/build_pipeline.py", "dev/a_ridge.py", "dev/build_ridge.py")
"""Files of the repository that new projects begin with; a package of this library holds them, too."""


def check(file: Path) -> str:
    """What a study file asks for.

    Parameters
    ----------
    file : Path
        The file.

    Returns
    -------
    str
        A line.

    Raises
    ------
    InputError
        If it is missing or wrong.
    """
    from shortloop.eeg.study.load import read_study

    study = read_study(file)
    return (
        f"study {study.name}, {len(study.participants)} participants, {len(study.classes)} classes, "
        f"{study.phases.train} trains, {study.phases.decoded} is decoded, "
        f"{' and '.join(study.features.kinds)} features"
    )


def record() -> type[Study]:
    """The record of a study file.

    Returns
    -------
    type
    """
    from shortloop.eeg.study.schema import Study

    return Study


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
    rooms = here.parent if (here.parent / "build_scripts").is_dir() else here.parents[1]
    return {**found, **{name: rooms / name for name in OWN}, "study.toml": here / "study" / "default.toml"}


TEMPLATE = Template(
    files=project_files,
    packages=("shortloop.methods",),
    run="shortloop run",
    needs="eeg",
    libraries=("matplotlib", "mne", "numba", "pandas", "scipy", "sklearn"),
)
ANALYSIS = Analysis(compare=compare, template=TEMPLATE, settings=SettingsKind(record, check))
