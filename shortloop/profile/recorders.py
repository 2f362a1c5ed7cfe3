"""Recorders of a repeated job's processes: cProfile, line_profiler and memray.

`shortloop.units.recording` finds these functions by their names. Each takes the scratch folder and gives a
function that makes the context of a phase; what is recorded in it is a file of its own in that folder.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import pkgutil
import secrets
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from shortloop.base.errors import InputError
from shortloop.units.recording import Recorder

TIME, LINES, MEMORY = ".prof", ".lines", ".memray"  # endings of their files


def nothing(folder: Path) -> Recorder:  # noqa: ARG001  as of all recorders
    """Record nothing but times, for profilers that look from outside."""
    return lambda phase: contextlib.nullcontext()


def time(folder: Path) -> Recorder:
    """Record the calls of functions with cProfile."""
    from cProfile import Profile

    @contextlib.contextmanager
    def record(phase: str) -> Iterator[None]:
        profile = Profile()
        profile.enable()
        try:
            yield
        finally:
            profile.disable()
            profile.dump_stats(_file(folder, phase, TIME))

    return record


def lines(folder: Path, *functions: str) -> Recorder:
    """Record the lines of functions, of classes or of modules with line_profiler."""
    from line_profiler import LineProfiler

    @contextlib.contextmanager
    def record(phase: str) -> Iterator[None]:
        profiler = LineProfiler()
        for function in chain.from_iterable(map(functions_of, functions)):
            profiler.add_function(function)
        profiler.enable_by_count()
        try:
            yield
        finally:
            profiler.disable_by_count()
            timings = {key: each for key, each in profiler.get_stats().timings.items() if each}
            if timings:
                content = pickle.dumps((timings, profiler.get_stats().unit))
                _file(folder, phase, LINES).write_bytes(content)

    return record


def memory(folder: Path) -> Recorder:
    """Record allocations with memray, with frames of compiled code."""
    from memray import Tracker

    return lambda phase: Tracker(_file(folder, phase, MEMORY), native_traces=True)


def functions_of(name: str) -> list[FunctionType]:
    """Functions by a dotted name: one, e.g. ``methods.a_fit.fit``, or those of a class or module."""
    place = None
    with contextlib.suppress(ImportError, AttributeError, ValueError):
        place = pkgutil.resolve_name(name)
    if found := [*_functions_in(place)]:
        return found
    expected = "the dotted name of a function of Python, or of a class or module, e.g. methods.a_fit.fit"
    raise InputError("no such function", field="--function", found=name, expected=expected)


def _functions_in(place: Any) -> Iterator[FunctionType]:
    """Functions that a module or class defines; of a function, what it decorates."""
    if isinstance(place, ModuleType | type):
        module = place.__name__ if isinstance(place, ModuleType) else place.__module__
        for each in vars(place).values():
            if getattr(each, "__module__", None) == module:
                yield from _functions_in(each)
        return
    while hasattr(place, "__wrapped__"):
        place = place.__wrapped__
    if hasattr(place, "__code__"):
        yield place


def _file(folder: Path, phase: str, ending: str) -> Path:
    return folder / f"{phase}-{os.getpid()}-{secrets.token_hex(4)}{ending}"
