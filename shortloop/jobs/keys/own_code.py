"""Code of one's own, which counts by what it says, and installed libraries, which count by their version."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import site
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shortloop.jobs.keys.file_state import State, states_of_files

if TYPE_CHECKING:  # it takes longer to import than all of this
    from importlib import metadata

__all__ = ["PACKAGE", "ROOT", "Version", "is_own", "version_of", "whole_package"]

PACKAGE = "shortloop"
ROOT = Path(__file__).resolve().parents[3]
"""Where this package lies."""
NUMERICAL = ("llvmlite", "numpy", "scipy")
"""What other libraries compute with, so that another version may change their results."""
DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow", "cv2": "opencv-python", "yaml": "PyYAML"}


class Version(NamedTuple):
    """The version of a library.

    Parameters
    ----------
    text : str
        The version; of one that was installed from a folder or a repository, where two may share a number,
        with a hash of what was installed.
    files : list of str
        Files that say so: another version changes them.
    beneath : list of str
        Numerical libraries that it computes with.
    """

    text: str
    files: list[str]
    beneath: list[str]


# By name; each with the states of the files that it was read from.
_versions: dict[str, tuple[list[State], Version]] = {}


def is_own(file: str) -> bool:
    """Whether a file is code of one's own: of this package, or of nothing that is installed.

    Parameters
    ----------
    file : str
        Its path.

    Returns
    -------
    bool
    """
    path = os.path.abspath(file)
    return path.startswith(f"{ROOT}/{PACKAGE}/") or not path.startswith(_library_folders())


def version_of(library: str) -> Version | None:
    """The version of a library as it is installed now.

    Parameters
    ----------
    library : str
        Name that it is imported by.

    Returns
    -------
    Version or None
        None if nothing of that name is installed.
    """
    known = _versions.get(library)
    if known is not None and known[0] == states_of_files(known[1].files):
        return known[1]
    distribution = _distribution(library)
    if distribution is None:
        return None
    files = _files_of(distribution)
    states = states_of_files(files)  # before they are read, so that an installation meanwhile shows
    text, requires = _says_of_itself(distribution)
    if distribution.read_text("direct_url.json") is not None:
        listed = distribution.read_text("RECORD") or ""
        text += f" of {hashlib.blake2b(listed.encode(), digest_size=10).hexdigest()}"
    required = {re.split(r"[^\w-]", each, maxsplit=1)[0] for each in requires}
    version = Version(text, files, [name for name in NUMERICAL if name in required])
    _versions[library] = (states, version)
    return version


def whole_package(name: str) -> dict[str, Path] | None:
    """Every module of a package of one's own that lies outside the project: on PYTHONPATH, or installed in
    place. It counts as a whole, as nobody can say from outside what it imports of itself.

    Parameters
    ----------
    name : str
        Top-level name.

    Returns
    -------
    dict of str to Path or None
        Modules by name; None if it is a library, or cannot be found.
    """
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    origin = spec.origin if spec.has_location else None
    places = [*([origin] if origin else []), *map(str, folders)]
    if not places or not (all(map(is_own, places)) or version_of(name) is None):
        return None
    found = {name: Path(origin)} if origin and os.path.isfile(origin) else {}  # it may be in an archive
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            parts = [name, *file.relative_to(folder).parts]
            stem = file.name.partition(".")[0]
            module = parts[:-1] if stem == "__init__" else [*parts[:-1], stem]
            if file.name.endswith((".py", ".so")) and all(map(str.isidentifier, module)):
                found[".".join(module)] = file
    return found


@cache
def _library_folders() -> tuple[str, ...]:
    folders = {*site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.__file__)}
    # And where others have installed, with what pip writes beside a library.
    folders |= {folder for folder in sys.path if folder and next(Path(folder).glob("*.dist-info"), None)}
    folders |= {os.path.realpath(folder) for folder in folders if folder}
    return tuple(f"{folder}/" for folder in folders if folder)


def _distribution(library: str) -> metadata.Distribution | None:
    from importlib import metadata

    try:
        return metadata.distribution(DISTRIBUTIONS.get(library, library))
    except (metadata.PackageNotFoundError, ValueError):
        if library in sys.stdlib_module_names:
            return None
        try:
            if importlib.util.find_spec(library) is None:
                return None
        except (ImportError, ValueError):
            return None
    found = metadata.packages_distributions().get(library, [])  # slow: it reads what each has installed
    return metadata.distribution(found[0]) if found else None


def _says_of_itself(distribution: metadata.Distribution) -> tuple[str, list[str]]:
    """Its version, and what it requires."""
    import email

    text = distribution.read_text("METADATA")
    if text is None:
        return distribution.version, distribution.requires or []
    headers = email.message_from_string(text.partition("\n\n")[0])  # to read its description takes longest
    return headers["Version"], headers.get_all("Requires-Dist") or []


def _files_of(distribution: Any) -> list[str]:
    """Its own files, which every installation replaces."""
    folder = getattr(distribution, "_path", None)  # there is no public way to it
    files = [folder / name for name in ("METADATA", "RECORD", "PKG-INFO")] if folder is not None else []
    return [str(file) for file in files if os.path.exists(file)]
