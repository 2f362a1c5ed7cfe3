"""Properties of machines where results are the same bits: versions, environment, kernels."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from shortloop.base.errors import TransientError
from shortloop.keys.code import python_here
from shortloop.keys.hashing import hash_file
from shortloop.keys.installed import version_of
from shortloop.keys.own_code import PACKAGE
from shortloop.stages.threads import found_pools

# Variables with which machines of several kinds use the same kernels.
EVENED_OUT = "OPENBLAS_CORETYPE, NPY_DISABLE_CPU_FEATURES and NUMBA_CPU_NAME"
CHOOSE = ("numpy", "llvmlite")  # libraries that choose code for the processor when they are loaded
SURROUNDINGS = re.compile(r"TZ|LANG|LANGUAGE|LC_.*|PYTHON(COERCECLOCALE|HASHSEED|UTF8)")


class Facts(TypedDict):
    host: str  # name of the machine
    versions: dict[str, str]  # of Python, this package and libraries
    kernels: dict[str, str]  # code that a library uses on this processor, by the library


def facts_here(libraries: Iterable[str], versions: Mapping[str, str] | None = None) -> Facts:
    libraries = [*libraries]
    for name in CHOOSE:  # a unit may be the first to load it, and the other process not have done so
        if name in libraries:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    known = {**(versions or {}), "python": python_here()}
    known |= {name: version_of(name) or "not installed" for name in {PACKAGE, *libraries} - known.keys()}
    return {"host": socket.gethostname(), "versions": known, "kernels": _kernels()}


def check_alike(here: Facts, worker: Facts, other_kernels: bool) -> None:
    """Refuse a worker whose results may differ from those of this process."""
    differ = _differences(here["versions"], worker["versions"])
    kernels = {} if other_kernels else _differences(here["kernels"], worker["kernels"])
    if not differ and not kernels:
        return
    rows = [("", "here", worker["host"]), *((name, *each) for name, each in {**differ, **kernels}.items())]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    table = "".join(f"\n    {line}" for line in lines)
    if differ:
        problem = "a worker has different versions from this machine, so its results could differ"
        hint = "install the same versions on both; requirements.txt has versions that go together"
    else:
        problem = "a worker has a different processor, so the last digits of its results could differ"
        hint = f"set {EVENED_OUT} alike on both, or allow it with `other_kernels = true` below [engine]"
    raise TransientError(problem, found=table, hint=hint)


def check_same_code(modules: Mapping[str, Path], notes: bytes, host: str) -> None:
    """Refuse a worker that has loaded another version of a module."""
    loaded = [found for line in notes.splitlines() for found in json.loads(line).get("loaded", {}).items()]
    for name, (file, content) in loaded:
        here = modules.get(name)
        if here is None or file == str(here) or Path(file).resolve() == here.resolve():
            continue  # where it is the same file, it is seen elsewhere that it changed
        if hash_file(here) != content:
            problem = f"a worker has a different copy of {name}, so its results could differ"
            expected = f"what is in {here}"
            hint = "install the same copy on both, or have workers import this file (PYTHONPATH)"
            raise TransientError(problem, found=f"{file}, on {host}", expected=expected, hint=hint)


def _differences(here: Mapping[str, str], there: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Values that both have and that differ; a library that a process has not loaded computes nothing."""
    both = sorted(here.keys() & there.keys())
    return {name: (here[name], there[name]) for name in both if here[name] != there[name]}


def _kernels() -> dict[str, str]:
    found = {}
    for pool in found_pools():
        if "architecture" in pool:  # of linear algebra; others have no kernels to choose from
            found[f"{pool['prefix']} {pool['version']}"] = pool["architecture"]
    umath: Any = getattr(getattr(sys.modules.get("numpy"), "_core", None), "_multiarray_umath", None)
    if (features := getattr(umath, "__cpu_features__", None)) is not None:
        chosen = {*umath.__cpu_baseline__, *umath.__cpu_dispatch__}
        found["numpy"] = " ".join(sorted(name for name in chosen if features.get(name))) or "baseline"
    if "llvmlite" in sys.modules:
        from llvmlite import binding

        found["numba"] = os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name()
    return found


def surroundings_here() -> dict[str, str]:
    """Variables of the environment for time zone, locale, encoding and hashes of texts."""
    return {name: os.environ[name] for name in sorted(os.environ) if SURROUNDINGS.fullmatch(name)}


def with_surroundings(surroundings: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process, with the surroundings of another process."""
    others = {name: each for name, each in os.environ.items() if not SURROUNDINGS.fullmatch(name)}
    return {**others, **surroundings}
