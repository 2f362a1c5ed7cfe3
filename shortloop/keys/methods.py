"""Find exax methods and build scripts: package, file and module name."""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.keys.file_state import once_per_moment
from shortloop.project.project import configuration, project_directory

STAGE = "STAGE"  # name of the class of a method's stage in its module
_methods: dict[str, tuple[str, Path]] = {}


def find_method(method: str) -> tuple[str, Path]:
    known = _methods.get(method)
    if known is not None and once_per_moment((find_method, method), known[1].is_file):
        return known
    files = [(package, folder / f"a_{method}.py") for package, folder in packages()]
    found = [each for each in files if each[1].is_file()]
    if len(found) > 1:
        problem = f"{len(found)} methods are named {method}"
        what = ", ".join(str(file) for _, file in found)
        advice = "rename one of the files and its stage, or delete it"
        raise InputError(problem, found=what, expected="a different name for each method", hint=advice)
    if found:
        _methods[method] = found[0]
        return found[0]
    expected = f"a file a_{method}.py in {', '.join(name for name, _ in packages())}"
    hint = "check its spelling in the build script, and `method packages` in accelerator.conf"
    raise InputError("no such method", found=method, expected=expected, hint=hint)


def module_of(method: Path) -> str:
    above, known = method.parent, packages()
    found = [name for name, folder in known if folder == above]
    if not found:  # it may be known by another path
        real = os.path.realpath(above)
        found = [name for name, folder in known if os.path.realpath(folder) == real]
    return f"{found[0] if found else above.name}.{method.stem}"


def forget_methods() -> None:
    """Clear the cache after a package of methods was added."""
    _methods.clear()
    packages.cache_clear()


@cache
def packages() -> list[tuple[str, Path]]:
    """Packages of methods and build scripts in the configuration, with their folders."""
    found, path = [], sys.path
    sys.path = [configuration().project_directory, *path]  # as in exax's processes
    try:
        for name in configuration().method_directories:
            spec = importlib.util.find_spec(name)
            folders = (spec.submodule_search_locations or ()) if spec else ()
            found += [(str(name), Path(folder)) for folder in folders]
    finally:
        sys.path = path
    return found


USUAL, BEGIN = "build_pipeline", "build"


def find_script(script: str) -> Path | None:
    package, _, name = script.rpartition(".")
    name = name if name.startswith(BEGIN) else f"{BEGIN}_{name}"
    for known, folder in sorted(packages()):  # exax looks in this order
        file = folder / f"{name}.py"
        if (not package or f".{known}".endswith(f".{package}")) and file.is_file():
            return file
    return None


def chosen_script(script: str | None) -> str:
    """Build script that a command is for."""
    if script is not None and find_script(script) is not None:
        return script
    if script is None and find_script(USUAL) is not None:
        return USUAL
    own = own_scripts()
    if script is None and len(own) == 1:
        return own[0]
    problem = "which build script?" if script is None and own else "no such build script"
    expected = f"one of {', '.join(own)}" if own else f"a file {BEGIN}_*.py in a package of methods"
    hint = "`ax script` describes each"
    raise InputError(problem, found=script or "no script given", expected=expected, hint=hint)


def own_scripts() -> list[str]:
    root = project_directory().resolve()
    return [
        file.stem
        for _, folder in sorted(packages())
        if folder.resolve().is_relative_to(root)
        for file in sorted(folder.glob(f"{BEGIN}*.py"))
    ]
