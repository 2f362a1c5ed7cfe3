"""``shortloop init``: the folder of a new project, which runs at once."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from shortloop.cli.analyses import Template
from shortloop.errors import InputError
from shortloop.jobs.exax.patches import SOCKET_PATH_LIMIT
from shortloop.jobs.project import CONFIGURATION
from shortloop.text import one_line

__all__ = ["EXAMPLE", "template_of", "write_project"]

TEMPLATES = Path(__file__).parents[1] / "templates"
COMMON = TEMPLATES / "project"
NAME = "PROJECT"
"""What stands in templates for the name of the project."""
RENAMED = {"gitignore": ".gitignore"}  # the name of a hidden file would be left out of the package
FIRST = "\tshortloop.prepare auto-discover\n"
SOCKET = ".socket.dir/server"


def _files_below(folder: Path) -> dict[str, Path]:
    found = sorted(file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {str(file.relative_to(folder)): file for file in found}


EXAMPLE = Template(
    files=lambda: _files_below(TEMPLATES / "analysis"),
    packages=(),
    run="shortloop run analysis",
    needs="example",
    libraries=("matplotlib", "pandas", "pyarrow", "statsmodels"),
)
"""The small analysis that a project begins with when no other is named."""


def write_project(folder: Path, template: Template) -> None:
    """Write a new project, and say what to do with it.

    Parameters
    ----------
    folder : Path
        Where; it is made, or empty.
    template : Template
        What it begins with.

    Raises
    ------
    InputError
        If there is something in the folder, its name is none of a project, or its path is too long.
    """
    path = Path(os.path.abspath(folder))
    _check(path)
    files = {**_files_below(COMMON), **template.files()}
    for name, source in files.items():
        *above, last = Path(name).parts
        target = path.joinpath(*above, RENAMED.get(last, last))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_filled(source.read_bytes(), path.name, template.packages, name))
    shown = one_line(os.path.relpath(path))
    print(f"{shown}: {len(files)} files; README.md says what they are. Now:")
    print(f"  cd {shown}")
    print(f"  {template.run}")
    missing = template.missing()
    if missing:
        print(f"It needs {', '.join(missing)}: pip install 'shortloop[{template.needs}]'")


def _check(path: Path) -> None:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(
            "there is something already",
            file=path,
            expected="a folder that is not there yet, or empty",
            hint="give another name",
        )
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", path.name):
        raise InputError(
            "that is no name of a project",
            found=path.name,
            expected="letters, digits, and - _ . between them",
        )
    above = next((each for each in path.parents if (each / CONFIGURATION).is_file()), None)
    if above is not None:
        raise InputError(
            "a project cannot lie in another one",
            file=path,
            found=above / CONFIGURATION,
            hint="go to another folder",
        )
    if len(os.fsencode(path / SOCKET)) > SOCKET_PATH_LIMIT:
        raise InputError(
            "the path of the server's socket would be too long for this system",
            file=path / SOCKET,
            expected=f"at most {SOCKET_PATH_LIMIT} bytes",
            hint="choose a folder nearer to the root",
        )


def _filled(content: bytes, project: str, packages: Sequence[str], name: str) -> bytes:
    if name == CONFIGURATION:
        more = "".join(f"\t{package} auto-discover\n" for package in packages)
        return content.replace(FIRST.encode(), (FIRST + more).encode())
    return content.replace(NAME.encode(), project.encode()) if name in ("README.md", "setup.cfg") else content


def template_of(templates: Mapping[str, Template], options: Sequence[str]) -> Template:
    """The template that the options of the command name.

    Parameters
    ----------
    templates : mapping of str to Template
        By the name of the analysis.
    options : sequence of str
        What was given beside the folder, e.g. ``["--NAME"]``.

    Returns
    -------
    Template
        `EXAMPLE` if none was given.

    Raises
    ------
    InputError
        If there is no such analysis, or several were given.
    """
    if not options:
        return EXAMPLE
    names = [each.removeprefix("--") for each in options]
    if len(names) > 1 or names[0] not in templates or not options[0].startswith("--"):
        raise InputError(
            "a project begins with one analysis",
            found=" ".join(options),
            expected=f"nothing, or one of {', '.join(f'--{name}' for name in sorted(templates))}",
        )
    return templates[names[0]]
