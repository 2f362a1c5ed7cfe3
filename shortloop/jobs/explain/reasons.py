"""The reason to build a job, in a line: what a run prints beside it, and its manifest keeps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shortloop.jobs.explain.code_changes import changed_names, code_now, kept_code
from shortloop.jobs.explain.differences import NEW, Difference, differences, short, short_list
from shortloop.jobs.keys.key import Parts
from shortloop.jobs.keys.own_code import ROOT
from shortloop.jobs.store.inputs import name_of
from shortloop.jobs.store.setup import setup_of, sources_of

__all__ = ["code_words", "file_words", "one_line"]

# Jobs of one stage mostly differ in the same: by module and both its hashes.
_names: dict[tuple[str, str, str], list[str] | None] = {}


def one_line(old: Parts | None, new: Parts, folder: Path | None, jobs: Mapping[str, Any]) -> str:
    """The reason to build a job.

    Parameters
    ----------
    old : Parts or None
        Of the job in its place before; None if there was none.
    new : Parts
        Of the job.
    folder : Path or None
        Of the job before.
    jobs : mapping of str to Built, or to a list of them
        Jobs that it is made from.

    Returns
    -------
    str
    """
    if old is None:
        return NEW
    found = [each for each in differences(old, new) if each.known]
    if not found:
        return "its result is gone"
    words = [_words(each, new, folder, jobs) for each in found[:2]]
    return short_list([*words, *[""] * (len(found) - 2)], separator="; ")


def file_words(each: Difference) -> str:
    """Which input file is another one.

    Parameters
    ----------
    each : Difference
        Of a file.

    Returns
    -------
    str
    """
    if each.old is None:
        return f"file {name_of(each.new)} is new" if each.new else "a file more"
    if each.new is None:
        return f"file {name_of(each.old)} is not there any more"
    old, new = name_of(each.old), name_of(each.new)
    return f"file {new} was changed" if old == new else f"file {old} → {new}"


def code_words(each: Difference, names: list[str] | None) -> str:
    """Which functions are others.

    Parameters
    ----------
    each : Difference
        Of code.
    names : list of str or None
        Their names; None if that is not known.

    Returns
    -------
    str
    """
    room = each.name.rpartition(".")[2]
    file = _file_of(each.name)
    if each.old is None:
        return f"code of {room} ({file}), which it did not use before"
    if each.new is None:
        return f"code of {room} ({file}), which it does not use any more"
    return f"code of {short_list([f'{room}.{name}' for name in names or []]) or room} ({file})"


def _words(each: Difference, new: Parts, folder: Path | None, jobs: Mapping[str, Any]) -> str:
    if each.kind == "code":
        return code_words(each, _changed(each, new.method, folder))
    if each.kind == "file":
        return file_words(each)
    if each.kind == "input":
        return _input_words(each, _ids_before(folder, each.name), jobs)
    return f"{each.kind} {each.name}: {short(each.old)} → {short(each.new)}"


def _changed(each: Difference, method: str, folder: Path | None) -> list[str] | None:
    if each.old is None or each.new is None or folder is None:
        return None
    known = (each.name, each.old, each.new)
    if known not in _names:
        old = kept_code(folder).get(each.name)
        new = code_now(method.rpartition(".")[2]).get(each.name)
        _names[known] = None if old is None or new is None else changed_names(old, new[0])
    return _names[known]


def _input_words(each: Difference, before: list[str], jobs: Mapping[str, Any]) -> str:
    made = jobs.get(each.name)
    if each.old is None or made is None:
        return f"{each.name} is {'not ' if made is None else ''}given {'any more' if made is None else 'now'}"
    now = made if isinstance(made, list | tuple) else [made]
    old = each.old if isinstance(each.old, list) else [each.old]
    if len(old) != len(now):
        return f"{each.name}: {len(old)} → {len(now)} jobs"
    differ = [index for index, job in enumerate(now) if job.content not in (old[index], "")]
    first = now[differ[0]]
    if len(differ) > 1:
        return f"{len(differ)} of {len(now)} {first.stage} jobs came out different"
    ids = f" {before[differ[0]]} → {first.job}" if len(before) == len(now) else f" {first.job}"
    who = f" {first.partition}" if first.partition and len(now) > 1 else ""
    return f"{first.stage}{who}{ids} came out different"


def _file_of(module: str) -> str:
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"


def _ids_before(folder: Path | None, name: str) -> list[str]:
    """Ids of the jobs that the job before was made from."""
    return [] if folder is None else [job for of, job in sources_of(setup_of(folder)) if of == name]
