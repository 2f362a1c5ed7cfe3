"""Keep methods that cannot be imported from blocking other jobs.

Made for exax 2025.11.11. Upstream: a method that cannot be imported could fail its own builds alone; this
could go there as it is.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["do_without_broken_methods", "folder_of_package", "let_no_method_end_this"]


def do_without_broken_methods() -> None:
    """Let the server, which would not start, know only methods that were imported, and are the only ones of
    their names."""
    from accelerator import methods
    from accelerator.control import Main
    from accelerator.error import AcceleratorError
    from accelerator.runner import Runner

    load: Callable[..., Any] = Runner.load_methods

    @functools.wraps(load)
    def load_methods(self: Any, *arguments: Any) -> Any:
        warnings, self.broken, *known = load(self, *arguments)
        return [warnings, [], *known]

    def get_methods(self: Any) -> dict[str, Any]:
        return {name: self.method_info(name) for name in self.Methods.hash}

    Runner.broken = ()  # before it has loaded any
    Runner.load_methods, Main.get_methods = load_methods, get_methods

    check: Callable[..., str] = methods.Methods._check_package

    @functools.wraps(check)
    def check_package(self: Any, package: str) -> str:
        try:
            return check(self, package)
        except (Exception, SystemExit):  # whose methods say why, when a job needs one
            folder = folder_of_package(package)
            if folder is None:
                raise AcceleratorError(f"there is no package {package}; see accelerator.conf") from None
            return folder

    methods.Methods._check_package = check_package
    methods.read_methods_conf = _only_ones(methods.read_methods_conf)


def folder_of_package(package: str) -> str | None:
    """The folder of a package, even if it cannot be imported."""
    module = sys.modules.get(package)
    spec = importlib.util.find_spec(package) if module is None else module.__spec__
    return next(iter((spec.submodule_search_locations if spec else None) or ()), None)


def let_no_method_end_this() -> None:
    """Let the process that loads methods go on if one of them ends its process as it is imported."""
    runner: Any = sys.modules["__main__"]
    load: Callable[[str], Any] = runner.get_mod

    @functools.wraps(load)
    def get_mod(name: str) -> Any:
        try:
            return load(name)
        except (SystemExit, KeyboardInterrupt) as end:
            raise ImportError(f"{name} ends its process as it is imported") from end

    runner.get_mod = get_mod


def _only_ones(read: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """What reads which methods a package has, less those of a name that another package has, too."""
    from shortloop.project.project import configuration

    @functools.wraps(read)
    def read_methods(folder: str, discover: bool) -> dict[str, Any]:
        packages: Mapping[str, bool] = configuration().method_directories
        folders = {folder_of_package(name): found for name, found in packages.items()}
        count = Counter(name for each, found in folders.items() if each for name in read(each, found))
        return {name: each for name, each in read(folder, discover).items() if count[name] < 2}

    return read_methods
