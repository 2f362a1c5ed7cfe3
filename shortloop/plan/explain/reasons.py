"""The one-line reason to build a job, and changed functions in its code."""

from __future__ import annotations

import ast
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from shortloop.base.text import short_list
from shortloop.keys.closure import closure
from shortloop.keys.code import EXTRA_CODE
from shortloop.keys.key import Parts
from shortloop.keys.methods import find_method
from shortloop.keys.source import NOTHING, normalised, read_source
from shortloop.plan.explain.differences import Difference, differences, nearest, unmatched
from shortloop.plan.pipeline import Jobs, flat
from shortloop.project.project import DELETED
from shortloop.stages.results import sources_of
from shortloop.store.manifest import Manifest
from shortloop.store.setup import setup_of
from shortloop.store.store import Store

NEW = "new"  # reason of a job whose place was empty before

# Jobs of one stage mostly differ in the same: by module and both its hashes.
_names: dict[tuple[str, str, str], list[str]] = {}


def reason_to_build(store: Store, parts: Parts, previous: Manifest | None, sources: Jobs) -> str:
    """Say why a job must be built that the store did not find."""
    key = parts.key()
    if key in store.damaged:
        job, what = store.damaged[key]
        return f"{job} was damaged: {what}"
    if key in store.slices.others:
        job, number = store.slices.others[key]
        return f"{job} holds data of {number} slices, jobs have {store.slices.now} now"
    if previous is None:
        return NEW
    folder = store.folder(previous.job)
    keys = [previous.key, *(each.key() for each, _, _ in previous.declared())]
    if folder is not None and key in keys and (folder / DELETED).exists():
        return f"{previous.job} was deleted"
    found = [each for each in differences(nearest(previous, parts), parts) if each.known]
    if not found:
        return "its result is gone"
    words = [_words(each, previous, parts, sources, folder) for each in found[:2]]
    return short_list([*words, *[""] * (len(found) - 2)], separator="; ")


def reason_to_wait(parts: Parts, previous: Manifest | None, sources: Jobs) -> str:
    """Say what decides, in a plan, if a job must be built."""
    found = [] if previous is None else differences(nearest(previous, parts), parts)
    if previous is None or any(each.known for each in found):
        return ""
    if any(each.kind == "file" for each in found):
        return "if the content of its unread files changed"
    stages = sorted({each.stage for each in flat(sources) if not each.content})
    return f"if {' or '.join(stages)} comes out different" if stages else ""


def _words(each: Difference, previous: Manifest, new: Parts, sources: Jobs, folder: Path | None) -> str:
    if None in (each.old, each.new):
        return each.words()
    # Of code that was declared harmless, no text is kept.
    if each.kind == "code" and folder is not None and each.old == previous.parts.code.get(each.name):
        return each.words(_changed_names(each, new.method, folder))
    if each.kind == "input":
        before = () if folder is None else sources_of(setup_of(folder))
        return _input_words(each, [job for name, job in before if name == each.name], sources)
    return each.words()


def _changed_names(each: Difference, method: str, folder: Path) -> list[str]:
    known = (each.name, str(each.old), str(each.new))
    if known not in _names:
        old = stored_code(folder).get(each.name)
        new = code_now(method.rpartition(".")[2], [each.name]).get(each.name)
        _names[known] = [] if old is None or new is None else changed_names(old, new[0])
    return _names[known]


def _input_words(each: Difference, before: list[str], sources: Jobs) -> str:
    now = flat({each.name: sources[each.name]})
    old = each.old if isinstance(each.old, list) else [each.old]
    if len(old) != len(now):
        return f"{each.name}: {len(old)} → {len(now)} jobs"
    lost, different = unmatched(old, [job.content for job in now])
    if not different:
        return f"the order of {len(now)} {now[0].stage} jobs changed"
    first = now[different[0]]
    if len(different) > 1:
        return f"{len(different)} of {len(now)} {first.stage} jobs came out different"
    ids = f" {before[lost[0]]} → {first.job}" if lost and len(before) == len(now) else f" {first.job}"
    who = f" {first.partition}" if first.partition and len(now) > 1 else ""
    return f"{first.stage}{who}{ids} came out different"


ARCHIVE = "method.tar.gz"
HEADING = "# module "


@cache
def stored_code(folder: Path) -> dict[str, str]:
    found = _in_archive(folder / ARCHIVE)
    with suppress(OSError, UnicodeDecodeError):  # modules that the method imports by names not in its code
        found |= _modules_in((folder / EXTRA_CODE).read_text(encoding="utf-8"))
    return found


def code_now(method: str, more: Sequence[str] = ()) -> dict[str, tuple[str, Path]]:
    package, file = find_method(method)
    modules = {f"{package}.a_{method}": file, **closure(file, more)[0]}
    said = {name: (read_source(each, name).text, each) for name, each in modules.items()}
    return {name: (text, each) for name, (text, each) in said.items() if text != NOTHING}


@cache
def changed_names(old: str, new: str) -> list[str]:
    """Functions, classes and constants that differ between two versions of a module."""
    before, after = dict(_named(old)), dict(_named(new))
    changed = [name for name, text in after.items() if before.get(name) != text]
    return [*changed, *(name for name in before if name not in after)]


def _in_archive(file: Path) -> dict[str, str]:
    """Code that exax keeps: the method, and the file written by `shortloop.keys.code.code_of`."""
    found: dict[str, str] = {}
    try:
        with tarfile.open(file) as archive:
            for member in archive:
                stream = archive.extractfile(member)
                text = stream.read().decode() if stream is not None else ""
                if member.name.endswith(".py"):
                    module = ".".join(Path(member.name).with_suffix("").parts[-2:])
                    found[module] = normalised(ast.parse(text))
                else:
                    found.update(_modules_in(text))
    except (OSError, EOFError, tarfile.TarError, SyntaxError, UnicodeDecodeError):
        return {}
    return found


def _modules_in(text: str) -> dict[str, str]:
    """Split a file written by `shortloop.keys.code`."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(HEADING):
            lines = found.setdefault(line.removeprefix(HEADING), [])
        else:
            lines.append(line)
    return {name: "\n".join(lines).strip("\n") for name, lines in found.items()}


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Names and source of functions, classes without their named members, these members, and constants."""
    for node in ast.parse(text).body:
        members = node.body if isinstance(node, ast.ClassDef) else []
        if isinstance(node, ast.ClassDef):
            node.body = [each for each in members if not _names_of(each)] or [ast.Pass()]
        yield from ((name, ast.unparse(node)) for name in _names_of(node))
        for each in members:
            yield from ((f"{_names_of(node)[0]}.{name}", ast.unparse(each)) for name in _names_of(each))


def _names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    return []
