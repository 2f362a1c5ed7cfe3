"""Functions of build scripts: read the panel file, import its rows, deliver the results."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.base.extras import REPORT_LIBRARIES
from shortloop.base.text import one_line
from shortloop.panel.diagnostics import PAGES
from shortloop.plan.pipeline import Built
from shortloop.report.deliver import copy_files, deliver_report, print_place, run_summary, write_summary
from shortloop.settings.paths import STUDY_VARIABLE
from shortloop.study_run import StudyKind, StudyRun

if TYPE_CHECKING:
    from shortloop.panel.settings import Panel

DEFAULT_PANEL = Path(__file__).with_name("default.toml")
LIBRARIES = (  # import names of the libraries of the extra `panel`
    *("formulaic", "interface_meta", "numba", "pandas", "patsy", "pyarrow", "scipy"),
    *("sklearn", "statsmodels"),
    *REPORT_LIBRARIES,
)
TABLES = [
    f"{name}.{ending}"
    for name in ("coefficients", "fits", "margins", "scores", "tests")
    for ending in ("csv", "parquet")
]
PREDICTIONS = ("predictions.csv", "predictions.parquet")  # if they are asked for
PAPER = (".tex", ".md", ".xlsx", ".png", ".pdf")  # endings of files of a table for a paper


def read_panel(path: str | PathLike[str] = DEFAULT_PANEL) -> Panel:
    from shortloop.panel.settings import Panel
    from shortloop.settings.read import read_settings

    return read_settings(path, Panel, noun="panel", variable=STUDY_VARIABLE)


KIND = StudyKind("panel", DEFAULT_PANEL, "panel", LIBRARIES, read_panel)
run_panel = KIND.run
PanelRun = StudyRun["Panel"]


def import_panel(run: PanelRun) -> Built:
    from shortloop.panel.formats.csvimport import LINE, CsvimportInput
    from shortloop.panel.formats.panel_format import PlacedInput

    panel, file = run.study, None
    if isinstance(panel.input, PlacedInput):
        (file,) = run.files([panel.input.path(run.file)])
    if isinstance(panel.input, CsvimportInput):
        asked, types = panel.input, panel.input.types()
        lines = run.build(
            "csvimport", filename=file, separator=asked.separator, quotes=asked.quotes, lineno_label=LINE
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


def import_new_rows(run: PanelRun) -> Built:
    """Import the rows that [predict] names."""
    from shortloop.panel.formats.panel_format import FileInput

    panel = run.study
    assert panel.predict is not None
    assert isinstance(panel.input, FileInput)
    asked = panel.input.model_copy(update={"file": panel.predict.input, "columns": ()})
    (file,) = run.files([asked.path(run.file)])
    return run.build(
        "import_panel",
        partition="predict",
        settings=asked.how_to_read(),
        file=file,
        by=list(panel.groups.by),
        blocks=panel.groups.blocks,
        seed=0,
        modules=asked.modules(),
    )


def import_dataset(
    run: PanelRun, rows: Built | tuple[Built, str], columns: Sequence[str] = (), order: str = ""
) -> Built:
    """Build the rows of all groups from a dataset of exax."""
    return run.build(
        "import_dataset",
        datasets={"rows": rows},
        by=list(run.study.groups.by),
        blocks=run.study.groups.blocks,
        columns=list(columns),
        order=order,
    )


def predictions(panel: Panel) -> list[tuple[str, str | None]]:
    """List specifications and outcomes that predict rows, in order."""
    named = panel.predicted()
    return [
        (name, of)
        for name, model in panel.models.items()
        if name in named
        for of in model.outcomes or (None,)
    ]


def deliver(run: PanelRun, report: Built, seconds: float) -> None:
    from shortloop.report.page import slug

    name = run.study.name
    folder, files, findings = deliver_report(report.path, name)
    for job, found in zip([job for job in run.jobs if job.stage == "panel_results"], findings, strict=True):
        place = f"tables/{found['folder']}"
        tables = [each for each in TABLES if (job.path / each).exists()]
        copy_files(job.path, tables, folder / place)
        files += [f"{place}/{each}" for each in tables]
    drawn = [found["diagnostics"] for found in findings if found["diagnostics"]]
    for job, place in zip([job for job in run.jobs if job.stage == "panel_diagnostics"], drawn, strict=True):
        copy_files(job.path, [PAGES], folder, [place])
    files += drawn
    predicted = [job for job in run.jobs if job.stage == "panel_predictions"]
    for job, (model, outcome) in zip(predicted, predictions(run.study), strict=True):
        place = f"tables/{slug(' '.join(filter(None, (model, outcome))))}"
        tables = [each for each in PREDICTIONS if (job.path / each).is_file()]
        copy_files(job.path, tables, folder / place)
        files += [f"{place}/{each}" for each in tables]
    for job in [job for job in run.jobs if job.stage == "panel_paper"]:
        made = sorted(each.name for each in job.path.iterdir() if each.suffix in PAPER)
        copy_files(job.path, made, folder / "paper")
        files += [f"paper/{each}" for each in made]
    summary = run_summary(run.jobs, report, seconds, files)
    write_summary(folder, {"panel": name, **summary, "findings": findings})
    for found in findings:
        for said in found["says"]:
            print(one_line(said))
    print_place(folder)
