"""EEG decoding in the ``shortloop`` command."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.analyses import Analysis, Comparison, Look, Opened, SettingsKind, Tell, Template, project_files
from shortloop.base.extras import need

if TYPE_CHECKING:
    from shortloop.base.plain import Plain
    from shortloop.stages.results import Result
    from shortloop.sweep.findings import Finding


OWN = ("build_scripts/build_pipeline.py", "dev/a_ridge.py", "dev/build_ridge.py")
"""Files of the repository that new projects begin with; they are in the installed package, too."""


def _compare(first: Result, second: Result) -> Comparison | None:
    from shortloop.eeg.report.comparison import compare_scores

    return compare_scores(first, second)


def _findings(summary: Mapping[str, Plain]) -> dict[str, Finding] | None:
    from shortloop.eeg.findings import study_findings

    return study_findings(summary)


def _look(data: Path, project: Path, tell: Tell) -> Look | None:
    need(TEMPLATE.needs, TEMPLATE.libraries)
    from shortloop.eeg.inspect.propose import look

    return look(data, project, tell)


def _open_recordings(file: Path, tell: Tell) -> Opened:
    from shortloop.eeg.inspect.check_study import open_all

    return open_all(file, tell)


TEMPLATE = Template(
    files=partial(project_files, "eeg", OWN, {"study.toml": Path(__file__).parent / "study/default.toml"}),
    packages=("shortloop.methods",),
    run="shortloop run",
    needs="eeg",
    libraries=("matplotlib", "mne", "mne_bids", "numba", "pandas", "pymatreader", "scipy", "sklearn"),
)
ANALYSIS = Analysis(
    compare=_compare,
    template=TEMPLATE,
    settings=SettingsKind("study", "shortloop.eeg.study.schema.Study", "build_pipeline", _open_recordings),
    findings=_findings,
    look=_look,
)
