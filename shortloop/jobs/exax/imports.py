"""What jobs of a method import, as far as its file and its stage say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from shortloop.jobs.keys.code import MADE_OF_STAGE, code_state
from shortloop.jobs.keys.methods import find_method
from shortloop.jobs.keys.source import read_source

__all__ = ["imports_of"]

# What every stage needs.
ALWAYS = (
    "multiprocessing.sharedctypes",  # of what hands out units
    "numpy",
    "shortloop.worker.fields",
    "shortloop.worker.output",
)


def imports_of(method: str, modules: Sequence[str] = ()) -> list[str]:
    """What jobs of a method import.

    Parameters
    ----------
    method : str
        Name of the method.
    modules : sequence of str
        Modules that it imports by a name that is an option.

    Returns
    -------
    list of str
        Names of modules, or of what is in them.
    """
    package, file = find_method(method)
    known, own = code_state(file, modules).modules, code_state(file).modules
    imported = _imported(file, f"{package}.{file.stem}", own)
    return sorted({*imported, *modules, *_imported_by(modules, known)})


def _imported(file: Path, method: str, known: Mapping[str, Path]) -> set[str]:
    """What a method imports; of one that is made of a stage, what that imports too."""
    names = _run(file, method)
    if not MADE_OF_STAGE & names:
        return names
    stages = {name.rpartition(".")[0] for name in names} & known.keys()
    return {*names, *_imported_by(stages, known), *ALWAYS}


def _imported_by(modules: Iterable[str], known: Mapping[str, Path]) -> set[str]:
    return {name for each in modules if each in known for name in _run(known[each], each)}


def _run(file: Path, module: str) -> set[str]:
    """What a file imports when it is run; what it has for types alone may be heavy."""
    source = read_source(file, module)
    return {*source.names} - {*source.for_types}
