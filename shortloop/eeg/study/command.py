"""``shortloop study``: the fields of a study file, and checking one."""

from __future__ import annotations

from pathlib import Path

from shortloop.cli.tables import print_lines
from shortloop.text import one_line

__all__ = ["check_file", "list_fields"]


def list_fields() -> None:
    """Print every field of a study file with its description."""
    from rich.console import Console
    from rich.table import Table

    from shortloop.eeg.study.schema import Study
    from shortloop.settings.fields import documented_fields

    table = Table(box=None, pad_edge=False)
    table.add_column("field", style="bold", no_wrap=True)
    table.add_column("what, unit, default", overflow="fold")
    for name, description in documented_fields(Study):
        table.add_row(name.replace("[", "\\["), description.replace("[", "\\["))
    Console(highlight=False).print(table)


def check_file(file: Path) -> None:
    """Read a study file and say what it asks for.

    Parameters
    ----------
    file : Path
        The study file.

    Raises
    ------
    InputError
        If it is missing or wrong.
    """
    from shortloop.eeg.study.load import read_study

    study = read_study(file)
    print_lines(
        f"{one_line(file)} is fine: study {study.name}, {len(study.participants)} participants, "
        f"{len(study.classes)} classes, {study.phases.train} trains, {study.phases.decoded} is decoded, "
        f"{' and '.join(study.features.kinds)} features"
    )
