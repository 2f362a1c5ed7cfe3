"""Find build scripts and their files."""

from __future__ import annotations

from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.keys.methods import packages
from shortloop.project.project import project_directory

__all__ = ["chosen_script", "find_script", "own_scripts"]

USUAL, BEGIN = "build_pipeline", "build"


def find_script(script: str) -> Path | None:
    """The file of a build script."""
    package, _, name = script.rpartition(".")
    name = name if name.startswith(BEGIN) else f"{BEGIN}_{name}"
    for known, folder in sorted(packages()):  # exax looks in this order
        file = folder / f"{name}.py"
        if (not package or f".{known}".endswith(f".{package}")) and file.is_file():
            return file
    return None


def chosen_script(script: str | None) -> str:
    """The build script that a command is for."""
    if script is not None and find_script(script) is not None:
        return script
    if script is None and find_script(USUAL) is not None:
        return USUAL
    own = own_scripts()
    if script is None and len(own) == 1:
        return own[0]
    raise InputError(
        "which build script?" if script is None and own else "no such build script",
        found=script or "no script given",
        expected=f"one of {', '.join(own)}" if own else f"a file {BEGIN}_*.py in a package of methods",
        hint="`ax script` describes each",
    )


def own_scripts() -> list[str]:
    """Names of the build scripts in the folder of the project."""
    root = project_directory().resolve()
    return [
        file.stem
        for _, folder in sorted(packages())
        if folder.resolve().is_relative_to(root)
        for file in sorted(folder.glob(f"{BEGIN}*.py"))
    ]
