"""Locate the project and its jobs through accelerator.conf, without a server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Protocol

from shortloop.base.errors import InputError
from shortloop.project.system_errors import if_writable, system_error, unreadable

CONFIGURATION = "accelerator.conf"
OF_A_JOB = ("build", "launch", "prepare", "analysis", "synthesis")
CELLS = "notebook_cells"  # package of methods made from notebook cells
FINISHED = "post.json"  # exax writes it last
SET_ASIDE = "post.damaged.json"  # new name of that file if a job is damaged, so that nobody uses it any more
DELETED = "post.deleted.json"
"""What it is renamed to when the results of a job are deleted. The folder stays, and with it the job's id."""


class Configuration(Protocol):
    """The part of exax's configuration that is used here."""

    workdirs: dict[str, str]
    target_workdir: str
    method_directories: dict[str, bool]
    slices: int
    url: str
    listen: str | tuple[str, int]
    board_listen: str | tuple[str, int] | None
    urd_listen: str | tuple[str, int]
    urd_local: bool
    project_directory: str
    result_directory: str
    user_cwd: str

    def get(self, name: str) -> str | None:
        """Return an optional field, e.g. ``"input_directory"``."""


def project_directory() -> Path:
    """Folder of accelerator.conf: exax's project in its processes, else here or above, else by code."""
    try:
        here = os.getcwd()
    except FileNotFoundError as error:
        raise system_error(error) or error from None
    for folder in _possible_folders(here):
        if os.path.isfile(os.path.join(folder, CONFIGURATION)):
            return _path(os.path.join(here, folder))
    hint = "change to the project's folder, or create one with `shortloop init`"
    raise InputError(f"no {CONFIGURATION} here or in a folder above", file=here, hint=hint)


def configuration_file() -> Path:
    return project_directory() / CONFIGURATION


@contextmanager
def in_project() -> Iterator[None]:
    """Make the project the current folder within the block."""
    before = os.getcwd()
    os.chdir(project_directory())
    try:
        yield
    finally:
        with suppress(OSError):  # it was deleted meanwhile, which `explained` says
            os.chdir(before)


def import_from_project() -> None:
    """Import packages of the project before all others, like exax."""
    folder = str(project_directory())
    sys.path[:] = [folder, *(each for each in sys.path if each != folder)]


@cache
def _configuration(file: Path) -> Configuration:
    from accelerator.configfile import load_config
    from accelerator.error import UserError

    try:
        loaded: Configuration = load_config(str(file))
    except (UserError, ValueError) as error:
        raise InputError("exax cannot use its configuration", file=file, found=error) from None
    return loaded


def configuration() -> Configuration:
    return _configuration(configuration_file())


def running_configuration(what: str) -> Configuration | None:
    """exax's live configuration of this process; changing it changes what exax does."""
    running = getattr(sys.modules.get("accelerator.g"), "running", None)
    return getattr(sys.modules.get("accelerator.shell"), "cfg", None) if running == what else None


def user_directory() -> Path:
    """Folder in which the user gave the command."""
    running = running_configuration("build")
    return Path(running.user_cwd) if running is not None else Path.cwd()


def runs_jobs() -> bool:
    """True in exax's process that loads methods and forks jobs."""
    main = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    return Path(main).parts[-2:] == ("accelerator", "runner.py")


def job_directory(job: str) -> Path:
    workdir, _, number = job.rpartition("-")
    workdirs = configuration().workdirs
    if workdir not in workdirs or not number.isdecimal():
        expected = " or ".join(f"{name}-NUMBER" for name in workdirs)
        hint = "job ids are in results/<name>/summary.json, in the report, and in `shortloop jobs`"
        raise InputError("invalid job id", found=job, expected=expected, hint=hint)
    folder = Path(workdirs[workdir]) / job
    try:
        (folder / "setup.json").stat()
    except PermissionError as error:
        raise unreadable(error, "the folder of the job") from None
    except OSError:
        raise InputError("no such job", found=job, file=folder, hint="`shortloop jobs` lists them") from None
    return folder


def job_folders(workdirs: Mapping[str, Path] | None = None) -> Iterator[Path]:
    """Yield the folder of each job of some workdirs; default: all."""
    if workdirs is None:
        workdirs = {name: Path(folder) for name, folder in configuration().workdirs.items()}
    for name, workdir in workdirs.items():
        numbers = [
            int(number)
            for each in (workdir.iterdir() if workdir.is_dir() else ())
            if (number := each.name.removeprefix(f"{name}-")).isdecimal() and number != each.name
        ]
        yield from (workdir / f"{name}-{number}" for number in sorted(numbers))


def cache_place(name: str) -> Path:
    """A cache folder of this project, there or not."""
    return project_directory() / "workdirs" / ".cache" / name


def cache_directory(name: str) -> Path:
    """A cache folder of this project, created if possible."""
    folder = cache_place(name)
    with if_writable():
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def user_cache(name: str) -> Path:
    """A cache folder of this user, for all projects; it may not exist."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home, "shortloop", name)


def keep(file: Path, text: str) -> None:
    """Replace a small cache file, unless it cannot be written."""
    if file.parent.is_dir():
        with if_writable():
            write_atomically(file, text)


def write_atomically(file: Path, text: str) -> None:
    """Replace a small text file in one step."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")  # names of files
    part.replace(file)


def _possible_folders(here: str) -> Iterator[str]:
    """A generator, because this is called for each job, and the first folder is mostly right."""
    running = getattr(sys.modules.get("accelerator.g"), "running", "")
    if running in OF_A_JOB:  # the current folder is that of a job, which may lie in another project
        yield from filter(None, sys.path)
    yield here
    yield from map(str, Path(here).parents)
    yield from sys.path[:1]
    yield str(Path(__file__).resolve().parents[2])


_path = cache(Path)
