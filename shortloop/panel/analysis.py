"""What regressions over groups add to the ``shortloop`` command."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.analyses import Analysis, Look, Opened, SettingsKind, Tell, Template, project_files
from shortloop.base.extras import need

if TYPE_CHECKING:
    from shortloop.base.plain import Plain
    from shortloop.sweep.findings import Finding

__all__ = ["ANALYSIS"]

OWN = ("build_scripts/build_panel.py",)
"""Files of the repository that new projects begin with; the package holds them, too."""


def _findings(summary: Mapping[str, Plain]) -> dict[str, Finding] | None:
    from shortloop.panel.findings import panel_findings

    return panel_findings(summary)


def _look(data: Path, project: Path, tell: Tell) -> Look | None:  # noqa: ARG001  as `Analysis.look`
    need(TEMPLATE.needs, TEMPLATE.libraries)
    from shortloop.panel.preview import look

    return look(data, project)


def _open_rows(file: Path, tell: Tell) -> Opened:
    need(TEMPLATE.needs, TEMPLATE.libraries)
    from shortloop.panel.panel_file import open_panel

    return open_panel(file, tell)


TEMPLATE = Template(
    files=partial(project_files, "panel", OWN, {"panel.toml": Path(__file__).with_name("default.toml")}),
    packages=("shortloop.methods", "accelerator.standard_methods"),
    run="shortloop run panel",
    needs="panel",
    libraries=("formulaic", "matplotlib", "numba", "pandas", "pyarrow", "scipy", "statsmodels"),
)
ANALYSIS = Analysis(
    template=TEMPLATE,
    settings=SettingsKind("panel", "shortloop.panel.settings.Panel", "build_panel", _open_rows),
    findings=_findings,
    look=_look,
)
