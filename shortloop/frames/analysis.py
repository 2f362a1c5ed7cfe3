"""What the comparison of data frames adds to the ``shortloop`` command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shortloop.cli.analyses import Analysis, SettingsKind

if TYPE_CHECKING:
    from shortloop.frames.settings import Frames

__all__ = ["ANALYSIS"]

app = typer.Typer()


@app.command()
def modin_environment(
    folder: Annotated[Path, typer.Argument(help="Folder to make; must not exist.")],
) -> None:
    """Make an environment with Modin on Ray, which needs an older pandas, to measure it with build_frames."""
    from shortloop.frames.environment import make_environment

    make_environment(folder)
    print(f'made; name it in the settings file:\n[modin]\nenvironment = "{folder.absolute()}"')


def record() -> type[Frames]:
    """The record of a settings file.

    Returns
    -------
    type
    """
    from shortloop.frames.settings import Frames

    return Frames


def check(file: Path) -> str:
    """What a settings file asks for.

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
    from shortloop.frames.pipeline import read_frames

    frames = read_frames(file)
    table = frames.table
    return (
        f"frames {frames.name}, {table.rows:,} rows × {table.columns} columns, "
        f"{', '.join(frames.transformations)} on {', '.join(frames.libraries)}"
    )


ANALYSIS = Analysis(commands=app, settings=SettingsKind(record, check, "build_frames"))
