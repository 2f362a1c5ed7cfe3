"""An environment for Modin, beside the one of this project: made on request, and looked into."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from shortloop.errors import InputError, TransientError

__all__ = ["REQUIRED", "installed_there", "make_environment"]

REQUIRED = ("modin[ray]>=0.32", "pyarrow>=16", "numpy>=2.0")
ASK = """\
import importlib.metadata as m, json, sys
def version(name):
    try:
        return m.version(name)
    except m.PackageNotFoundError:
        return None
print(json.dumps({name: version(name) for name in sys.argv[1:]}))
"""


def make_environment(folder: Path) -> None:
    """Make a virtual environment, and install Modin on Ray there.

    Parameters
    ----------
    folder : Path
        Where; must not exist, or be empty.

    Raises
    ------
    InputError
        If something is there, or it cannot be installed; pip has said why.
    """
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


def installed_there(folder: Path, libraries: Sequence[str], asked_in: Path) -> dict[str, str]:
    """Versions of libraries in an environment.

    Parameters
    ----------
    folder : Path
        The environment.
    libraries : sequence of str
        Names that they are installed by.
    asked_in : Path
        Settings file that names the environment, for messages.

    Returns
    -------
    dict of str to str
        By name.

    Raises
    ------
    InputError
        If it is no environment, or lacks one of them.
    """
    python = folder / "bin" / "python"
    hint = f"`shortloop modin-environment {folder}` makes one, where nothing is yet"
    if not (python.is_file() and (folder / "pyvenv.cfg").is_file()):
        raise InputError(
            "this is no virtual environment",
            file=asked_in,
            field="modin.environment",
            found=str(folder),
            expected="a folder with pyvenv.cfg and bin/python",
            hint=hint,
        )
    done = subprocess.run(
        [str(python), "-I", "-c", ASK, *libraries], capture_output=True, text=True, check=False, timeout=60
    )
    found: dict[str, str | None] = json.loads(done.stdout) if not done.returncode else {}
    missing = [name for name in libraries if not found.get(name)]
    if missing:
        raise InputError(
            "the environment lacks libraries",
            file=asked_in,
            field="modin.environment",
            found=f"no {', '.join(missing)} in {folder}",
            hint=f"`{python} -m pip install {' '.join(REQUIRED)}`",
        )
    return {name: str(version) for name, version in found.items()}
