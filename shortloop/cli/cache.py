"""``shortloop cache``: what is in the shared cache, pushing to it, and deleting from it."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.base.text import amount, counted
from shortloop.cli.output import parse_age, parse_size, print_json, print_lines
from shortloop.project.project import FINISHED, in_project, job_folders
from shortloop.run.sharing import to_push
from shortloop.settings.cache import CACHE_TABLE, CACHE_VARIABLE, CacheSettings, cache_settings
from shortloop.settings.paths import SETTINGS_VARIABLE
from shortloop.store.manifest import MANIFEST
from shortloop.store.shared_cache import SharedCache


def use_cache(
    settings: Path | None, push: bool, collect: bool, older: str | None, to: str | None, as_json: bool = False
) -> None:
    """Push all finished jobs, or delete old ones there, and print what is there."""
    with in_project():
        found = _settings(settings and settings.absolute())
    if not found.remote:
        hint = f"set remote in the table [{CACHE_TABLE}] of the settings file, or {CACHE_VARIABLE}"
        raise InputError("no shared cache is set", hint=hint)
    if found.read_only and (push or collect):
        raise InputError("the shared cache is read-only here", field=f"{CACHE_TABLE}.read_only")
    if collect and older is None and to is None:
        raise InputError("--gc would delete all jobs", hint="add --older AGE, --to SIZE, or both")
    if not collect and (older is not None or to is not None):
        raise InputError("--older and --to need --gc")
    cache = SharedCache(found)
    facts: dict[str, object] = {"remote": found.shown}
    if push:
        facts["pushed"], said = _push(cache)
        print_lines(*([] if as_json else [said]))
    if collect:
        jobs, freed = cache.collect(parse_age(older) if older else 0.0, parse_size(to) if to else 0)
        facts |= {"deleted": jobs, "bytes_freed": freed}
        print_lines(*([] if as_json else [f"deleted {counted(jobs, 'job')}: {amount(freed)} freed"]))
    jobs, size = cache.contents()
    if cache.lost:
        raise InputError("the shared cache failed", file=found.shown, found=cache.lost)
    if as_json:
        print_json(**facts, jobs=jobs, bytes=size)
    else:
        print_lines(f"{counted(jobs, 'job')}, {amount(size)} in {found.shown}")


def _settings(file: Path | None) -> CacheSettings:
    given = file or (Path(name) if (name := os.environ.get(SETTINGS_VARIABLE)) else None)
    if given is None:
        return cache_settings()
    try:
        table = tomllib.loads(given.read_text(encoding="utf-8-sig")).get(CACHE_TABLE)
    except (OSError, ValueError) as error:
        raise InputError("the settings file cannot be read", file=given, found=error) from None
    return cache_settings(table if isinstance(table, dict) else None, given.absolute())


def _push(cache: SharedCache) -> tuple[int, str]:
    """Push all jobs of the project's workdirs; return how many, and a line about them."""
    folders = [folder for folder in job_folders() if (folder / FINISHED).is_file()]
    jobs = to_push(folders, cache.settings)
    pushed, kept = cache.push(jobs), sum((folder / MANIFEST).is_file() for folder in folders) - len(jobs)
    back = f"; kept back, as they read input files or are not complete: {kept}" if kept else ""
    return pushed, f"pushed {counted(pushed, 'job')} of {len(jobs)}{back}"
