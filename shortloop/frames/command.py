"""What the comparison of data frames adds to the ``shortloop`` command: its entry point."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from shortloop.analyses import Analysis, SettingsKind
from shortloop.base.errors import InputError, TransientError

__all__ = ["ANALYSIS"]

app = typer.Typer()


@app.command()
def modin_environment(
    folder: Annotated[Path, typer.Argument(help="Folder to create; must not exist.")],
) -> None:
    """Create an environment with Modin on Ray, which needs an older pandas, for build_frames to measure."""
    from shortloop.frames.pipeline import REQUIRED

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("something is there already", file=folder, hint="name a folder that does not exist")
    commands = (
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin" / "python"), "-m", "pip", "install", *REQUIRED],
    )
    for command in commands:
        if subprocess.run(command, check=False).returncode:
            raise TransientError(
                "the environment could not be made",
                file=folder,
                found=f"`{' '.join(command)}` failed",
                hint="see what it said above; delete the folder and try again",
            )
    print(f'made; name it in the settings file:\n[modin]\nenvironment = "{folder.absolute()}"')


ANALYSIS = Analysis(
    commands=app,
    settings=SettingsKind("frames", "shortloop.frames.settings.Frames", "build_frames"),
)
