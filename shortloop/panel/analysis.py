"""What regressions over groups add to the ``shortloop`` command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.cli.analyses import Analysis, SettingsKind

if TYPE_CHECKING:
    from shortloop.panel.settings import Panel

__all__ = ["ANALYSIS"]


def record() -> type[Panel]:
    """The record of a panel file.

    Returns
    -------
    type
    """
    from shortloop.panel.settings import Panel

    return Panel


def check(file: Path) -> str:
    """What a panel file asks for.

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
    from shortloop.panel.pipeline import read_panel

    panel = read_panel(file)
    models = ", ".join(f"{name} ({model.model})" for name, model in panel.models.items())
    return f"panel {panel.name}, a group for each {' and '.join(panel.groups.by)}, models {models}"


ANALYSIS = Analysis(settings=SettingsKind(record, check))
