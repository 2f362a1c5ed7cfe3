"""Entry point of the comparison of data frame libraries, with its command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from shortloop.analyses import Analysis, SettingsKind
from shortloop.base.errors import InputError, TransientError

app = typer.Typer()


@app.command()
def modin_environment(
    folder: Annotated[Path, typer.Argument(help="Folder to create; must not exist.")],
) -> None:
    """Create an environment with Modin on Ray, which needs an older pandas, for build_frames to measure."""
    from shortloop.frames.pipeline import REQUIRED

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("the folder is not empty", file=folder, hint="choose a folder that does not exist")
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", *REQUIRED]
    for command in ([sys.executable, "-m", "venv", str(folder)], install):
        if subprocess.run(command, check=False).returncode:
            failed = f"`{' '.join(command)}` failed"
            hint = "see its output above; delete the folder and try again"
            raise TransientError("the environment could not be created", file=folder, found=failed, hint=hint)
    print(f'created; add it to the settings file:\n[modin]\nenvironment = "{folder.absolute()}"')


SETTINGS = SettingsKind("frames", "shortloop.frames.settings.Frames", "build_frames")
ANALYSIS = Analysis(commands=app, settings=SETTINGS)
