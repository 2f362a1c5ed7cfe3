"""Cells of a notebook, run as IPython runs them, but without a kernel."""

from __future__ import annotations

import linecache
import types
from typing import Any

from shortloop.exax.declare import stage
from shortloop.notebook.definitions import Notebook
from shortloop.notebook.module import Module, module_of_stage


class Session:
    """Declares stages."""

    stage = staticmethod(stage)

    def build(self) -> None:
        """Never called."""


class Cells:
    """A notebook of which cells are run one after the other."""

    def __init__(self, *texts: str) -> None:
        self.module = types.ModuleType("__main__")
        self.space: dict[str, Any] = vars(self.module)
        self.run_cells: list[tuple[str, str]] = []
        self.space["ax"] = Session()
        self.run("from shortloop import File, Job", *texts)

    def run(self, *texts: str) -> None:
        for text in texts:
            name = f"<cell {len(self.run_cells) + 1}>"
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            self.run_cells.append((name, text))
            exec(compile(text, name, "exec", dont_inherit=True), self.space)

    def written(self, stage: str = "fit") -> Module:
        notebook = Notebook(self.space, self.run_cells, lambda value: isinstance(value, Session))
        return module_of_stage(self.space[stage], notebook)

    def called(self, *arguments: Any, stage: str = "fit", **named: Any) -> Any:
        """What the stage gives as its module has it."""
        made = types.ModuleType("notebook_cells.a_fit")
        import sys

        sys.modules[made.__name__] = made
        exec(compile(self.written(stage).text, "<written>", "exec", dont_inherit=True), vars(made))
        return vars(made)[stage](*arguments, **named)
