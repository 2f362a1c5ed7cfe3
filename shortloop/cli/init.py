"""``shortloop init``: create the folder of a new project."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from shortloop.analyses import Analysis, Look, Template, files_below, selected
from shortloop.base.errors import InputError
from shortloop.base.terminal import Waiting
from shortloop.base.text import one_line
from shortloop.cli.output import print_lines
from shortloop.exax.patches.processes import SOCKET_PATH_LIMIT
from shortloop.project.project import CONFIGURATION

TEMPLATES = Path(__file__).parents[1] / "templates"
COMMON = TEMPLATES / "project"
NAME = "PROJECT"  # in templates: the name of the project
RENAMED = {"gitignore": ".gitignore"}  # the package would not include a hidden file
FIRST = "\tshortloop.prepare auto-discover\n"
SOCKET = ".socket.dir/server"
OPEN = 3  # exit status: the project is written, but cannot run before a question is answered

EXAMPLE = Template(  # the small analysis of a new project if no other is named
    files=lambda: files_below(TEMPLATES / "analysis"),
    packages=(),
    run="shortloop run analysis",
    needs="example",
    libraries=("matplotlib", "pandas", "pyarrow", "statsmodels"),
)


def look_at_data(
    analyses: Mapping[str, Analysis], options: Sequence[str], data: Path, folder: Path
) -> tuple[Template, Mapping[str, bytes], int]:
    """Inspect data, print what was found, and let an analysis write a settings file for it."""
    project = Path(os.path.abspath(folder))
    _check(project)
    if not data.exists():
        raise InputError("data not found", file=data, hint="give an existing file or folder")
    able = {
        name: (each.template, each.settings.noun, each.look)
        for name, each in analyses.items()
        if each.look and each.template and each.settings
    }
    if options:
        able = {options[0].removeprefix("--"): selected(able, options)}
    lacking = {name: template for name, (template, *_) in able.items() if template.missing()}
    if not options:  # an analysis that is not asked for need not be complete
        able = {name: each for name, each in able.items() if name not in lacking}
    found: dict[str, Look] = {}
    refused: list[InputError] = []
    for name, (*_, look_at) in able.items():
        try:
            with Waiting("inspected") as waiting:
                look = look_at(data, project, waiting.tell)
        except InputError as error:  # another analysis may recognize the data
            refused.append(error)
            continue
        if look is not None:
            found[name] = look
    if refused and not found:
        raise refused[0]
    if len(found) != 1:
        names = " or ".join(f"--{name}" for name in found or able)
        extras = ",".join(sorted(each.needs for each in lacking.values()))
        install = f"; for other formats, pip install 'shortloop[{extras}]'" if extras else ""
        problem = "several analyses recognize this data" if found else "no analysis recognizes this data"
        expected = "data of one analysis" if found else f"data for {names or 'an analysis'}"
        hint = f"add {names}" if found else f"check that the files exist and are complete{install}"
        raise InputError(problem, file=data, expected=expected, hint=hint)
    ((name, look),) = found.items()
    template, noun, _ = able[name]
    print_lines(*look.lines, "")
    for question in look.questions:
        print_lines("To be answered before it runs:", question, "")
    return template, {f"{noun}.toml": look.settings.encode()}, len(look.questions)


def write_project(
    folder: Path, template: Template, instead: Mapping[str, bytes] | None = None, questions: int = 0
) -> int:
    path = Path(os.path.abspath(folder))
    _check(path)
    files = {**files_below(COMMON), **template.files()}
    with _all_or_nothing(path):
        for name, source in files.items():
            *above, last = Path(name).parts
            target = path.joinpath(*above, RENAMED.get(last, last))
            target.parent.mkdir(parents=True, exist_ok=True)
            content = (instead or {}).get(name) or source.read_bytes()
            if name == CONFIGURATION:
                more = "".join(f"\t{package} auto-discover\n" for package in template.packages)
                content = content.replace(FIRST.encode(), (FIRST + more).encode())
            elif name in ("README.md", "setup.cfg"):
                content = content.replace(NAME.encode(), path.name.encode())
            target.write_bytes(content)
    shown = one_line(os.path.relpath(path))
    print(f"{shown}: {len(files)} files, described in README.md. Next:")
    steps = [f"answer the questions above in {name}" for name in instead or () if questions]
    steps += [f"shortloop study {name}" for name in instead or ()]
    print(*(f"  {step}" for step in (f"cd {shown}", *steps, template.run)), sep="\n")
    if missing := template.missing():
        print(f"It needs {', '.join(missing)}: pip install 'shortloop[{template.needs}]'")
    return OPEN if questions else 0


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[None]:
    """Delete a partly written project, so that the command can be repeated."""
    was_there = folder.exists()
    try:
        yield
    except BaseException:
        for each in [*folder.iterdir()] if folder.exists() else ():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        if folder.exists() and not was_there:
            folder.rmdir()
        raise


def _check(path: Path) -> None:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        expected, hint = "a new or empty folder", "choose another name"
        raise InputError("the folder is not empty", file=path, expected=expected, hint=hint)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", path.name):
        wanted = "ASCII letters and digits, with - _ . between them"
        raise InputError("invalid project name", found=path.name, expected=wanted)
    above = next((each for each in path.parents if (each / CONFIGURATION).is_file()), None)
    if above is not None:
        problem = "a project cannot be inside another project"
        raise InputError(problem, file=path, found=above / CONFIGURATION, hint="create it in another folder")
    if len(os.fsencode(path / SOCKET)) > SOCKET_PATH_LIMIT:
        wrong = "the path of the server's socket would be too long for this system"
        file = path / SOCKET
        advice = "choose a folder nearer to the root"
        raise InputError(wrong, file=file, expected=f"at most {SOCKET_PATH_LIMIT} bytes", hint=advice)
