"""What the comparison of data frames adds to the ``shortloop`` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shortloop.cli.analyses import Analysis, SettingsKind

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


ANALYSIS = Analysis(
    commands=app,
    settings=SettingsKind("frames", "shortloop.frames.settings.Frames", "build_frames"),
)
