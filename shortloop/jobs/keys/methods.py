"""exax's methods: in which package and file each is, and what it is called as a module."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path

from shortloop.errors import InputError
from shortloop.jobs.project import configuration

__all__ = ["find_method", "find_script", "look_again", "module_of"]

_methods: dict[str, tuple[str, Path]] = {}


def find_method(method: str) -> tuple[str, Path]:
    """The package and the file of an exax method.

    Parameters
    ----------
    method : str
        Its name.

    Returns
    -------
    package : str
    file : Path

    Raises
    ------
    InputError
        If no package of the configuration has it.
    """
    known = _methods.get(method)
    if known is not None and os.path.isfile(known[1]):
        return known
    for package, folder in _packages():
        file = folder / f"a_{method}.py"
        if file.is_file():
            _methods[method] = package, file
            return package, file
    raise InputError(
        "there is no such method",
        found=method,
        expected=f"a file a_{method}.py in {', '.join(name for name, _ in _packages())}",
        hint="check its spelling in the build script, and `method packages` in accelerator.conf",
    )


def find_script(script: str) -> Path | None:
    """The file of a build script.

    Parameters
    ----------
    script : str
        Its name, as ``ax run`` takes it.

    Returns
    -------
    Path or None
        None if there is none.
    """
    package, _, name = script.rpartition(".")
    name = name if name.startswith("build") else f"build_{name}"
    for known, folder in sorted(_packages()):  # exax looks in this order
        file = folder / f"{name}.py"
        if f".{known}".endswith(f".{package}".rstrip(".")) and file.is_file():
            return file
    return None


def module_of(method: Path) -> str:
    """The full name of a method as a module.

    Parameters
    ----------
    method : Path
        Its file.

    Returns
    -------
    str
        As ``"methods.a_train"``, or ``"accelerator.standard_methods.a_csvimport"``.
    """
    above, packages = method.parent, _packages()
    found = [name for name, folder in packages if folder == above]
    if not found:  # it may be known by another path
        real = os.path.realpath(above)
        found = [name for name, folder in packages if os.path.realpath(folder) == real]
    return f"{found[0] if found else above.name}.{method.stem}"


def look_again() -> None:
    """Forget where methods are: there is another package of them."""
    _methods.clear()
    _packages.cache_clear()


@cache
def _packages() -> list[tuple[str, Path]]:
    packages = []
    for name in configuration().method_directories:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            packages.append((str(name), Path(folder)))
    return packages
