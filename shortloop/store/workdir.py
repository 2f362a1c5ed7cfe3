"""A workdir and the projects that share it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.project.project import CONFIGURATION, configuration, project_directory
from shortloop.project.system_errors import READ_ONLY

__all__ = ["HIDDEN", "hidden_folder", "is_gone", "project_at", "project_name"]

HIDDEN = ".shortloop"
"""Folder of a workdir; exax only looks at names of jobs."""


def hidden_folder(workdir: Path) -> Path:
    """The folder of a workdir for what is noted of its jobs, made if needed."""
    folder = workdir / HIDDEN
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):  # that is told from other errors, and by itself
            raise
        if error.errno in READ_ONLY and workdir.is_dir():  # then it is only read
            return folder
        raise InputError(
            f"the workdir cannot be used ({error.strerror})",
            file=workdir,
            hint="mount its disk, or see that you may write there; `workdirs` in accelerator.conf names it",
        ) from None
    return folder


def project_name(workdir: Path) -> str:
    """What a workdir calls this project, so that both may be moved together."""
    inside, project = os.path.realpath(workdir), os.path.realpath(project_directory())
    return os.path.relpath(project, inside) if Path(inside).is_relative_to(project) else project


def project_at(workdir: Path, name: str) -> Path:
    """The folder of a project."""
    return Path(os.path.normpath(os.path.join(os.path.realpath(workdir), name)))


def is_gone(project: str) -> bool:
    """Whether another project uses no workdir of this one any more."""
    from accelerator.configfile import load_config

    file = os.path.join(project, CONFIGURATION)
    try:
        if not os.path.isfile(file):
            return True
        used = load_config(file).workdirs.values()
    except Exception:  # exax fails in many ways at what it cannot read
        return False
    return not set(used).intersection(configuration().workdirs.values())
