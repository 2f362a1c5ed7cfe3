"""Settings of the shared cache, in no key; pydantic is imported only where there are some."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, Literal

from shortloop.base.errors import InputError
from shortloop.settings.paths import expand_path

CACHE_VARIABLE = "SHORTLOOP_CACHE"  # address; with _PUSH, _INPUTS, _TRUSTED, _READ_ONLY: the other settings
CACHE_TABLE = "cache"  # table of a settings file


@dataclass(frozen=True)
class CacheSettings:
    """Table ``[cache]`` of a settings file."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    remote: str = ""  # a folder, or an address of fsspec, e.g. "s3://bucket/team"; empty: none
    push: Literal["never", "new"] = "never"  # new: a run pushes the jobs that it builds
    inputs: bool = False  # push jobs that read input files too, which may hold the recordings
    trusted: bool = False  # take objects and datasets too: reading these runs what their writer put there
    read_only: bool = False  # never write there, whatever a command says

    @property
    def shown(self) -> str:
        """Address for messages, without a password."""
        return re.sub(r"(://[^/@:]*):[^/@]*@", r"\1@", self.remote)


def cache_settings(
    table: Mapping[str, object] | None = None,
    file: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> CacheSettings:
    """Read which shared cache is used: of a settings file, or of variables, which come first."""
    said, source = dict(table or {}), str(file) if file else None
    known = [each.name for each in fields(CacheSettings)]
    names = {name: f"{CACHE_VARIABLE}_{name.upper()}" for name in known[1:]} | {"remote": CACHE_VARIABLE}
    given = {name: text for name, each in names.items() if (text := environ.get(each, "").strip())}
    if "remote" in given:
        file = None
    if not (said := said | given):
        return CacheSettings()
    from pydantic import TypeAdapter, ValidationError

    try:
        found = TypeAdapter(CacheSettings).validate_python(said)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else CACHE_TABLE
        is_unknown = first["type"] == "unexpected_keyword_argument"
        problem = "unknown setting of the shared cache" if is_unknown else f"invalid setting: {first['msg']}"
        raise InputError(
            problem,
            file=f"the variable {names[field]}" if field in given else source,
            field=f"{CACHE_TABLE}.{field}",
            found=None if is_unknown else repr(said.get(field)),
            expected=f"one of {', '.join(known)}" if is_unknown else None,
        ) from None
    if found.remote and "://" not in found.remote:
        beside = file or Path.cwd() / "settings"
        what = "the folder of the shared cache"
        folder = expand_path(found.remote, beside, field=f"{CACHE_TABLE}.remote", what=what)
        found = CacheSettings(**{**vars(found), "remote": str(folder)})
    return found
