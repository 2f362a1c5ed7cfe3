"""Build scripts: which there are, and in which file each is."""

from __future__ import annotations

from pathlib import Path

from shortloop.errors import InputError
from shortloop.jobs.keys.methods import packages
from shortloop.jobs.project import project_directory

__all__ = ["chosen_script", "find_script"]

USUAL, BEGIN = "build_pipeline", "build"


def find_script(script: str) -> Path | None:
    """The file of a build script.

    Parameters
    ----------
    script : str
        Its name, as ``ax run`` takes it.

    Returns
    -------
    Path or None
        None if there is none.
    """
    package, _, name = script.rpartition(".")
    name = name if name.startswith(BEGIN) else f"{BEGIN}_{name}"
    for known, folder in sorted(packages()):  # exax looks in this order
        file = folder / f"{name}.py"
        if (not package or f".{known}".endswith(f".{package}")) and file.is_file():
            return file
    return None


def chosen_script(script: str | None) -> str:
    """The build script that a command is for.

    Parameters
    ----------
    script : str or None
        As it was asked for; None: build_pipeline, or the only one of the project.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If there is none of that name, or several, and none was asked for.
    """
    if script is not None and find_script(script) is not None:
        return script
    if script is None and find_script(USUAL) is not None:
        return USUAL
    own = _own_scripts()
    if script is None and len(own) == 1:
        return own[0]
    raise InputError(
        "which build script?" if script is None and own else "there is no such build script",
        found=script or "none was named",
        expected=f"one of {', '.join(own)}" if own else f"a file {BEGIN}_*.py in a package of methods",
        hint="`ax script` says what each is for",
    )


def _own_scripts() -> list[str]:
    root = project_directory().resolve()
    return [
        file.stem
        for _, folder in sorted(packages())
        if folder.resolve().is_relative_to(root)
        for file in sorted(folder.glob(f"{BEGIN}*.py"))
    ]
