"""EEG decoding in the ``shortloop`` command."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from shortloop.analyses import Analysis, Look, SettingsKind, Tell, Template, project_files
from shortloop.base.extras import need

OWN = ("build_scripts/build_pipeline.py", "dev/a_ridge.py", "dev/build_ridge.py")
"""Files of the repository that new projects begin with; they are in the installed package, too."""


def _late(name: str) -> Callable[..., Any]:
    """Import a function when it is called: the command must load nothing heavy."""
    return lambda *given: pkgutil.resolve_name(f"shortloop.eeg.{name}")(*given)


def _look(data: Path, project: Path, tell: Tell) -> Look | None:
    need(TEMPLATE.needs, TEMPLATE.libraries)
    from shortloop.eeg.inspect.propose import look

    return look(data, project, tell)


TEMPLATE = Template(
    files=partial(project_files, "eeg", OWN, {"study.toml": Path(__file__).parent / "study/default.toml"}),
    packages=("shortloop.methods",),
    run="shortloop run",
    needs="eeg",
    libraries=("matplotlib", "mne", "mne_bids", "numba", "pandas", "pymatreader", "scipy", "sklearn"),
)
ANALYSIS = Analysis(
    compare=_late("report.comparison:compare_scores"),
    template=TEMPLATE,
    settings=SettingsKind(
        "study", "shortloop.eeg.study.schema.Study", "build_pipeline", _late("inspect.check_study:open_all")
    ),
    findings=_late("findings:study_findings"),
    look=_look,
)
