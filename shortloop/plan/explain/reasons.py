"""Differences between a job's key and that of the previous job in its place, and the reason to build it."""

from __future__ import annotations

import ast
import re
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeGuard

from shortloop.base.plain import Plain
from shortloop.base.text import short, short_list
from shortloop.keys.code import EXTRA_CODE, code_texts
from shortloop.keys.hashing import canonical
from shortloop.keys.installed import number_of
from shortloop.keys.key import Parts, with_order
from shortloop.keys.methods import find_method
from shortloop.keys.own_code import ROOT
from shortloop.keys.source import normalised
from shortloop.plan.pipeline import Jobs, flat
from shortloop.project.project import DELETED
from shortloop.stages.results import sources_of
from shortloop.store.inputs import name_of
from shortloop.store.integrity import CONTENT
from shortloop.store.manifest import Manifest
from shortloop.store.setup import setup_of
from shortloop.store.store import Store

UNKNOWN = ""  # in a plan: content of a job that is not built, or of a file that was not read
NEW = "new"  # reason of a job whose place was empty before
DECLARED = "file "  # what names of files that a method declares begin with
ARCHIVE = "method.tar.gz"
HEADING = re.compile("^# module (.*)\n", re.MULTILINE)

# Jobs of one stage mostly differ in the same: by module and both its hashes.
_names: dict[tuple[str, str, str], list[str]] = {}


@dataclass(frozen=True)
class Difference:
    """One difference between two keys; None: added or removed."""

    kind: str  # option, file, code, version or input
    name: str  # option with dots for what is inside, module, library, or name of the input
    old: Plain  # of code a hash, of a file or job its content, of a list of jobs their contents
    new: Plain

    @property
    def known(self) -> bool:
        """False in a plan for inputs that are still to be built or read."""
        if isinstance(self.old, list) and isinstance(self.new, list):
            return any(new not in (old, UNKNOWN) for old, new in zip(self.old, self.new)) or (
                len(self.old) != len(self.new)
            )
        return self.new != UNKNOWN or self.old is None or self.kind not in ("file", "input")

    def words(self, names: Sequence[str] = (), full: bool = False) -> str:
        """Describe the difference in a line; of code with the names of what changed."""
        if self.kind == "file":
            return _file_words(self.old, self.new)
        if self.kind == "code":
            return _code_words(self, names)
        if self.kind == "input":
            return f"{self.name} {self.how('was added', 'was removed', 'came out different')}"
        values = [self.old, self.new]
        if self.kind == "version" and number_of(str(self.old)) != number_of(str(self.new)):
            values = [value and number_of(str(value)) for value in values]
        none = (None, "") if self.kind == "version" else (None,)
        old, new = ("none" if value in none else str(value) for value in values)
        return f"{self.kind} {self.name}: {old if full else short(old)} → {new if full else short(new)}"

    def how(self, added: str, removed: str, changed: str) -> str:
        return added if self.old is None else removed if self.new is None else changed


def differences(old: Parts, new: Parts) -> list[Difference]:
    if not new.libraries:  # what it will load is not known: what the other one has loaded, as it is now
        new = new.installed(old.libraries)
    options = [*_options(dict(option_rows(old.options)), dict(option_rows(new.options)))]
    if not options:  # they may differ in the order of what is inside
        one, other = with_order(old.options), with_order(new.options)
        options = [
            Difference("option", f"{name}, its order", one[name], other[name])
            for name in sorted(one.keys() & other.keys())
            if one[name] != other[name]
        ]

    def is_emptied(each: Difference) -> bool:  # differences inside a dict already say so
        return {} in (each.old, each.new) and any(one.name.startswith(f"{each.name}.") for one in options)

    return [
        *sorted((each for each in options if not is_emptied(each)), key=_order),
        *sorted(_compare("code", old.code, new.code), key=_order),
        *_compare("version", old.versions, new.versions),
        *_compare("input", old.inputs, new.inputs),
    ]


def nearest(before: Manifest, parts: Parts) -> Parts:
    """Parts of a job, or those after a change declared harmless: whichever is closer."""
    states = [*(each.applied(before.parts) for each in reversed(before.harmless)), before.parts]
    return min(states, key=lambda each: len(differences(each, parts))) if before.harmless else before.parts


def is_open(parts: Parts) -> bool:
    return is_unread(parts.options) or UNKNOWN in _leaves([*parts.inputs.values()])


def is_unread(option: Plain) -> bool:
    """True if an option holds a file that was not read."""
    return UNKNOWN in _leaves([value for _, value in option_rows({"": option})])


def unmatched(old: Sequence[Plain], new: Sequence[Plain]) -> tuple[list[int], list[int]]:
    """Positions of contents that only one of two lists has, in whatever order."""

    def without(contents: Sequence[Plain], others: Sequence[Plain]) -> list[int]:
        left, found = Counter(others), []
        for place, content in enumerate(contents):
            if left[content]:
                left[content] -= 1
            elif content != UNKNOWN:
                found.append(place)
        return found

    return without(old, new), without(new, old)


def option_rows(options: Mapping[str, Plain], prefix: str = "") -> Iterator[tuple[str, Plain]]:
    for name, value in options.items():
        if isinstance(value, dict) and value:
            yield from option_rows(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _order(each: Difference) -> int:
    return (each.old is None) + 2 * (each.new is None)


def _compare(kind: str, old: Mapping[str, Plain], new: Mapping[str, Plain]) -> Iterator[Difference]:
    for name in sorted({*old, *new}):
        one, other = old.get(name), new.get(name)
        if isinstance(one, str) and one == other:  # as nearly all are
            continue
        if canonical(one) != canonical(other):  # 1 is not 1.0, nor True
            yield Difference(kind, name, one, other)


def _options(old: Mapping[str, Plain], new: Mapping[str, Plain]) -> Iterator[Difference]:
    for each in _compare("option", old, new):
        ones, others = _leaves(each.old), _leaves(each.new)
        texts = [leaf for leaf in (*ones, *others) if isinstance(leaf, str)]
        if len(texts) < len(ones) + len(others) or not any(map(CONTENT.fullmatch, texts)):  # no files
            yield each
        elif len(ones) == len(others):
            for one, other in zip(ones, others):
                if one != other:
                    kind = "file" if _is_content(one) and _is_content(other) else "option"
                    yield Difference(kind, each.name, one, other)
        else:
            gone = ((one, None) for one in filter(_is_content, ones) if one not in others)
            more = ((None, other) for other in filter(_is_content, others) if other not in ones)
            yield from [Difference("file", each.name, *pair) for pair in (*gone, *more)] or [each]


def _is_content(value: Plain) -> TypeGuard[str]:
    return isinstance(value, str) and (value == UNKNOWN or CONTENT.fullmatch(value) is not None)


def _leaves(value: Plain) -> list[Plain]:
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [] if value is None else [value]


def _file_words(before: Plain, now: Plain) -> str:
    old, new = name_of(str(before)), name_of(str(now))
    if before is None:
        return f"file {new} is new" if now else "one more file"
    if now is None:
        return f"file {old} was removed"
    if old != new:
        return f"file {old} → {new}"
    moved = str(before).partition(" ")[0] == str(now).partition(" ")[0]
    return f"file {new} was {'moved' if moved else 'changed'}"


def _code_words(each: Difference, names: Sequence[str]) -> str:
    if each.name.startswith(DECLARED):
        return f"declared {each.name} {each.how('was added', 'was removed', 'was changed')}"
    path, module = each.name.replace(".", "/"), each.name.rpartition(".")[2]
    file = f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"
    changed = short_list([f"{module}.{name}" for name in names]) or module
    return f"code of {changed} ({file}){each.how(', not used before', ', no longer used', '')}"


def reason_to_build(store: Store, parts: Parts, previous: Manifest | None, sources: Jobs) -> str:
    """Say why a job must be built that the store did not find."""
    if (key := parts.key()) in store.damaged:
        job, what = store.damaged[key]
        return f"{job} was damaged: {what}"
    if key in store.slices.others:
        job, number = store.slices.others[key]
        return f"{job} holds data of {number} slices, jobs have {store.slices.now()} now"
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
        file = find_method(method.rpartition(".")[2])[1]
        new = code_texts(file).get(each.name) or code_texts(file, [each.name]).get(each.name)
        _names[known] = [] if old is None or new is None else changed_names(old, new)
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


@cache
def stored_code(folder: Path) -> dict[str, str]:
    found = _in_archive(folder / ARCHIVE)
    with suppress(OSError, UnicodeDecodeError):  # modules that the method imports by names not in its code
        found |= _modules_in((folder / EXTRA_CODE).read_text(encoding="utf-8"))
    return found


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
    _, *parts = HEADING.split(text)
    return {name: code.strip("\n") for name, code in zip(parts[::2], parts[1::2])}


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
