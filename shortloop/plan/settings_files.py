"""One settings file per name.

The name determines the results folder and the place of jobs, so a second file of the same name would
overwrite the results of the first and release its jobs.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.base.errors import InputError
from shortloop.project.project import project_directory
from shortloop.settings.cache import CACHE_TABLE, CacheSettings, cache_settings
from shortloop.settings.changes import changed_name, changed_text

if TYPE_CHECKING:
    from shortloop.store.index import Index

TAKE_OVER = "SHORTLOOP_TAKE_OVER"  # set to anything: a file takes over a name that another one has
EMBEDDED = ""


@dataclass(frozen=True)
class SettingsFile:
    name: str  # name in the file
    file: Path
    noun: str  # what messages call the settings, e.g. ``"study"``
    embedded: Path  # default file of the package
    text: str = field(init=False, default="", repr=False)
    """What was in the file, with surrogates for what is no text; with what a sweep changes."""

    def __post_init__(self) -> None:
        with suppress(OSError):
            text = self.file.read_bytes().decode("utf-8", "surrogateescape")
            object.__setattr__(self, "text", changed_text(text))

    def take_over(self, index: Index, environ: Mapping[str, str] = os.environ) -> str | None:
        """Check that this file may use its name; return a message if it was another file's."""
        if (noted := index.settings_file(self.name)) is None or noted == self._noted(self.file):
            return None
        below = Path(os.path.realpath(project_directory()), noted)
        before = self.embedded if noted == EMBEDDED else below
        if before.exists() and before.samefile(self.file):
            return None
        other, this = self._words(before), self._words(self.file)
        if environ.get(TAKE_OVER) or not _has_name(before, self.name):
            return (
                f"the {self.noun} {self.name} was run from {other} before; it is that of {this} from now on"
            )
        raise InputError(
            f"another {self.noun} file is also named {self.name}: each run would overwrite the other's "
            "results",
            file=this,
            field="name",
            found=f"{self.name}, also the name in {other}",
            hint="rename one of them; to replace the other's results, run once with "
            f"`shortloop run --take-over`, or with {TAKE_OVER}=1",
        )

    def table(self, name: str) -> dict[str, object] | None:
        try:
            found = tomllib.loads(self.text.removeprefix("\ufeff")).get(name)
        except ValueError:  # whoever reads all of it says so
            return None
        return found if isinstance(found, dict) else None

    def note(self, index: Index) -> None:
        """Record that the name belongs to this file."""
        index.put_settings_file(self.name, self._noted(self.file))

    def _noted(self, file: Path) -> str:
        """Path as recorded: relative inside the project, so that both can be moved."""
        return EMBEDDED if os.path.realpath(file) == os.path.realpath(self.embedded) else _below_project(file)

    def _words(self, file: Path) -> str:
        return f"the embedded {self.noun}" if self._noted(file) == EMBEDDED else str(file)


def cache_of(settings: SettingsFile | None) -> CacheSettings:
    """Settings of the shared cache of a run."""
    if settings is None:
        return cache_settings()
    return cache_settings(settings.table(CACHE_TABLE), settings.file)


def names_of_file(index: Index, file: Path) -> set[str]:
    noted = _below_project(file)
    names = {name for name in index.settings_names().values() if index.settings_file(name) == noted}
    return {name for name in names if _has_name(file, name)} or names


def _below_project(file: Path) -> str:
    project = Path(os.path.realpath(project_directory()))
    path = Path(os.path.realpath(file.parent), file.name)  # a link stays one, whatever it leads to
    return str(path.relative_to(project) if path.is_relative_to(project) else path)


def _has_name(file: Path, name: str) -> bool:
    """True if a settings file exists and has a name."""
    try:
        own = str(tomllib.loads(file.read_bytes().decode("utf-8-sig")).get("name"))
        return name in (own, changed_name(own))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):  # it may be in the middle of an edit
        return True
