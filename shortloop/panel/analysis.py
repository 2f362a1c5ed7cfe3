"""Regressions over groups in the ``shortloop`` command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.analyses import Analysis, Look, Opened, SettingsKind, Tell, Template, project_files
from shortloop.base.extras import need

if TYPE_CHECKING:
    from shortloop.base.plain import Plain
    from shortloop.sweep.findings import Finding

OWN = ("build_scripts/build_panel.py",)  # files that new projects begin with; the package holds them, too


def panel_findings(summary: Mapping[str, Plain]) -> dict[str, Finding] | None:
    """List the findings of a run for a sweep; None if the summary is not of a panel."""
    # For each specification the number of fitted groups, and for each of its coefficients over these groups
    # the median, the median standard error, and the share of groups with a small p.
    from shortloop.sweep.findings import Finding

    def share(number: int, of: int) -> Finding:
        return Finding(100 * number / of if of else None, "%")

    listed: Any = summary.get("findings")
    if "panel" not in summary or not isinstance(listed, Sequence):
        return None
    found = {}
    for each in listed:
        name, small = each["name"], f"p < {each['alpha']}"
        found[f"{name}: groups fitted"] = Finding(each["fitted"])
        for of in each["coefficients"]:
            term = f"{name}, {of['term']}"
            quartiles = of["lower"], of["upper"], "quartiles over groups"
            found[f"{term}: median"] = Finding(of["median"], "", *quartiles)
            found[f"{term}: median standard error"] = Finding(of["error"])
            found[f"{term}: groups with {small}"] = share(of["small"], of["tested"])
            if of["tested_corrected"] is not None:
                corrected = share(of["small_corrected"], of["tested_corrected"])
                found[f"{term}: groups with corrected {small}"] = corrected
    return found


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
    findings=panel_findings,
    look=_look,
)
