"""What build scripts of panels share: reading the panel file, and bringing its rows in."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.base.errors import InputError
from shortloop.base.extras import REPORT_LIBRARIES
from shortloop.plan.pipeline import Built
from shortloop.settings.paths import STUDY_VARIABLE
from shortloop.study_run import StudyKind, StudyRun

if TYPE_CHECKING:
    from shortloop.panel.settings import Panel

__all__ = ["DEFAULT_PANEL", "PanelRun", "import_dataset", "import_panel", "read_panel", "run_panel"]

DEFAULT_PANEL = Path(__file__).with_name("default.toml")
LIBRARIES = (
    *("formulaic", "interface_meta", "numba", "pandas", "pyarrow", "scipy", "statsmodels"),
    *REPORT_LIBRARIES,
)
"""What the extra ``panel`` installs, by the names that it is imported by."""


def read_panel(path: str | PathLike[str] = DEFAULT_PANEL) -> Panel:
    """Read and validate a panel file."""
    from shortloop.panel.settings import Panel
    from shortloop.settings.read import read_settings

    return read_settings(path, Panel, noun="panel", variable=STUDY_VARIABLE)


KIND = StudyKind("panel", DEFAULT_PANEL, "panel", LIBRARIES, read_panel)
run_panel = KIND.run
PanelRun = StudyRun["Panel"]


def import_panel(run: PanelRun) -> Built:
    """Rows of all groups."""
    from shortloop.panel.formats.base import PlacedInput
    from shortloop.panel.formats.csvimport import LINE, CsvimportInput
    from shortloop.settings.paths import expand_path

    panel, file = run.study, None
    if isinstance(panel.input, PlacedInput):
        if not panel.input.file:
            raise InputError("the file of the rows is not named", file=run.file, field="input.file")
        path = expand_path(panel.input.file, run.file, field="input.file", what="the file of the rows")
        (file,) = run.files([path])
    if isinstance(panel.input, CsvimportInput):
        asked, types = panel.input, panel.input.types()
        lines = run.build(
            "csvimport",
            filename=file,
            separator=asked.separator,
            quotes=asked.quotes,
            lineno_label=LINE,
        )
        rows = run.build("dataset_type", source=lines, column2type=types)
        return import_dataset(run, rows, list(types), order=LINE)
    return run.build(
        "import_panel",
        settings=panel.input.how_to_read(),
        file=file,
        by=list(panel.groups.by),
        blocks=panel.groups.blocks,
        seed=panel.seed if file is None else 0,
        modules=panel.input.modules(),
    )


def import_dataset(
    run: PanelRun, rows: Built | tuple[Built, str], columns: Sequence[str] = (), order: str = ""
) -> Built:
    """Rows of all groups from a dataset of exax."""
    return run.build(
        "import_dataset",
        datasets={"rows": rows},
        by=list(run.study.groups.by),
        blocks=run.study.groups.blocks,
        columns=list(columns),
        order=order,
    )
