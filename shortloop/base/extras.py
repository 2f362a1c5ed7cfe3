"""Other packages: optional libraries, the extras that install them, and entry points that add to this one.

Reading entry points takes milliseconds, as every installed package is looked at: ask for no name of ours.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError, TransientError, place_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

REPORT_LIBRARIES = ("fontTools", "jinja2", "markupsafe", "matplotlib")
"""What the extra ``report`` installs, by the names that it is imported by."""
OWN = "shortloop"  # the package whose extras have the names of its entry points
LOADED: dict[str, str] = {}
"""Package of each entry point that this process has loaded, by what messages call that."""


def need(extra: str, libraries: Collection[str]) -> None:
    """Check that the libraries of an extra are installed, before one of them is imported."""
    if missing := [name for name in libraries if not is_installed(name)]:
        problem = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed"
        raise TransientError(problem, hint=f"`pip install 'shortloop[{extra}]'`")


def is_installed(name: str) -> bool:
    """True if a library is installed; it is not imported."""
    if sys.modules.get(name) is not None:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def called(group: str, name: str) -> str:
    """Name an entry point in a message."""
    return f"{name!r} as an entry point of {group}"


def entry_points(group: str) -> list[EntryPoint]:
    """List the entry points of a group; of none, none."""
    if not group:
        return []
    from importlib import metadata  # slow, and most processes ask for no entry point

    return [*metadata.entry_points(group=group)]


def entry_point(group: str, name: str) -> EntryPoint | None:
    """Find an entry point by its name, which one package alone may offer."""
    found = [each for each in entry_points(group) if each.name == name]
    if len({each.value for each in found}) > 1:
        problem = "several packages have an entry point of the same name"
        said = ", ".join(package_of(each, "Version") for each in found)
        hint = "uninstall all but one of them"
        raise TransientError(problem, field=f"{group}: {name}", found=said, hint=hint)
    return found[0] if found else None


def package_of(point: EntryPoint, *more: str) -> str:
    """Name of the package that has an entry point, and more of its metadata."""
    known = point.dist and point.dist.metadata  # None of one that no package has brought
    return " ".join(known[field] for field in ("Name", *more) if field in known) if known else ""


def load_entry_point(point: EntryPoint, is_right: Callable[[Any], bool], problem: str, expected: str) -> Any:
    """Import what an entry point names, and check it."""
    field, package = f"{point.name} = {point.value}", package_of(point, "Version")
    try:
        found = point.load()
    except Exception as error:
        place = place_of(error)
        hint = f"install what it needs, or update or uninstall the package {package}"
        if isinstance(error, ImportError) and package_of(point) == OWN:
            hint = f"`pip install '{OWN}[{point.name}]'`"
        raise TransientError(
            "an entry point cannot be loaded",
            file=None if place.startswith(__file__) else place,
            field=field,
            found=f"{type(error).__name__}: {error}",
            hint=hint,
        ) from error
    if not is_right(found):
        what = found.__name__ if isinstance(found, type) else type(found).__name__
        said = f"{what}, of the package {package}"
        hint = f"correct it there, or uninstall {package_of(point)}"
        raise InputError(problem, field=field, found=said, expected=expected, hint=hint)
    LOADED[called(point.group, point.name)] = package
    return found
