"""Notebook sessions: functions as stages, and their jobs."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError
from shortloop.base.text import one_line
from shortloop.exax.declare import stage as declared
from shortloop.keys.options import plain
from shortloop.notebook.client import Driver, GivenFile, GivenJob, Request
from shortloop.notebook.definitions import Notebook
from shortloop.notebook.module import Module, module_of_stage
from shortloop.project.project import project_directory
from shortloop.stages.results import Result
from shortloop.store.loaded import look_up

FRAME = re.compile(r'File "[^"\n]*/notebook_cells/a_(\w+)\.py", line (\d+)(?:, in (\S+))?')
SINGLE = (type(None), bool, int, float, str, bytes, date, datetime, time, timedelta, GivenFile)


class StageFailed(Exception):
    """A failed job; its message, with lines of cells."""


class Session:
    """Builds jobs of functions of this notebook, and of stages of the project that it lies in.

    Parameters
    ----------
    name : str, optional
        What the notebook is called in ``shortloop show`` and ``runs``. Default: its file, if that is
        known.

    Examples
    --------
    >>> ax = Session()
    >>> @ax.stage
    ... def doubled(number: int):
    ...     return {"twice": 2 * number}
    >>> ax.build(doubled, number=4)["twice"]
    8
    """

    def __init__(self, name: str = "") -> None:
        self._project = project_directory()
        self._driver = Driver(self._project)
        self._name = name
        self._modules: dict[str, Module] = {}
        self._cell: tuple[object, Counter[tuple[str, str | None]]] = (None, Counter())

    stage = staticmethod(declared)

    def file(self, path: str | Path) -> GivenFile:
        """Register an input file by its content.

        Parameters
        ----------
        path : path-like
            Where it is; a relative path starts from the folder of the project.

        Returns
        -------
        GivenFile
            To be given to `build`.
        """
        return GivenFile(self._project / path)

    def build(
        self, stage: str | Callable[..., object], /, *, partition: str | None = None, **arguments: object
    ) -> Result:
        """Return a job: the one that is there, or built now.

        Parameters
        ----------
        stage : callable or str
            A function with `stage` above it, or the name of a stage in a file of the project.
        partition : str, optional
            Which part of the data it is for. Default: all.
        **arguments
            As the stage names them: options, files of `file`, and jobs, of `build` or ``shortloop.load``.

        Returns
        -------
        Job
            As of ``shortloop.load``: ``job["name"]``, ``job.to_frame()``, ``str(job)``.

        Raises
        ------
        InputError
            If that cannot be built; the message says why.
        StageFailed
            If the stage raised an exception.
        """
        with _short_traceback():
            given = {name: _given(name, each) for name, each in arguments.items()}
            name = stage if isinstance(stage, str) else self._written(stage)
            # A function with the same name does not matter to a stage in a file.
            modules = {each: module.text for each, module in self._modules.items() if each != stage}
            place = self._place(name, partition)
            reply = self._driver.ask(Request(self._notebook(), place, name, partition, given, modules))
            if reply.wrong:
                raise InputError(self._in_cells(reply.wrong))
            if reply.failed:
                raise StageFailed(self._in_cells(_from_cell(reply.failed)))
            if not reply.fresh:
                print(one_line(" ".join(filter(None, ("reused", name, partition, reply.job)))))
            return look_up(reply.job)

    def close(self) -> None:
        """End the server, if this session has started it. It ends with the notebook anyway."""
        self._driver.close()

    def _written(self, stage: Callable[..., object]) -> str:
        space = getattr(inspect.unwrap(stage), "__globals__", {})
        module = module_of_stage(stage, Notebook(space, _cells(), lambda value: isinstance(value, Session)))
        self._modules[module.name] = module
        return module.name

    def _notebook(self) -> str:
        if not self._name:
            space = vars(sys.modules["__main__"])
            file = space.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME", "")
            self._name = Path(str(file)).stem
        return f"notebook {self._name}".strip()

    def _place(self, stage: str, partition: str | None) -> str:
        """Return the id of the current cell, with a number from its second such job on."""
        shell = _shell()
        run, cell = getattr(shell, "execution_count", None), ""
        if shell is not None:
            parent: dict[str, Any] = getattr(shell, "get_parent", dict)()
            cell = str(parent.get("metadata", {}).get("cellId") or "")
        if self._cell[0] != run or run is None:
            self._cell = (run, Counter())
        self._cell[1][stage, partition] += 1
        number = self._cell[1][stage, partition]
        return f"{cell} #{number}".strip() if number > 1 else cell

    def _in_cells(self, text: str) -> str:
        """Replace lines of written modules by those of cells."""

        def replacement(match: re.Match[str]) -> str:
            module = self._modules.get(match[1])
            place = None if module is None else module.lines.get(int(match[2]))
            if place is None:
                return match[0]
            within = f", in {match[3]}" if match[3] else ""
            return f"{_label(place[0])}, line {place[1]}{within}"

        return FRAME.sub(replacement, text)


@contextmanager
def _short_traceback() -> Iterator[None]:
    """Let IPython show the message of an error without this package's traceback."""
    try:
        yield
    except (InputError, StageFailed) as error:
        error._render_traceback_ = str(error).splitlines  # type: ignore[union-attr]
        raise error.with_traceback(None) from None


def _from_cell(text: str) -> str:
    """Remove traceback lines above the first line of a cell from a failed job's message."""
    kept: list[str] = []
    waiting: list[str] = []  # lines of a traceback before the first cell
    for line in text.splitlines():
        margin = waiting[0][: len(waiting[0]) - len(waiting[0].lstrip())] if waiting else ""
        if waiting and (FRAME.search(line) or not line.startswith(margin + " ")):
            kept += [waiting[0]] if FRAME.search(line) else waiting
            waiting = []
        if waiting or line.lstrip().startswith("Traceback (most recent call last)"):
            waiting.append(line)
        else:
            kept.append(line)
    return "\n".join([*kept, *waiting]).strip()


def _given(name: str, value: Any) -> object:
    if isinstance(value, Result):
        return GivenJob(value.job)
    if type(value) is dict:
        return {key: _given(name, each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return [_given(name, each) for each in value]
    made = value if isinstance(value, GivenFile) else plain(value)
    _check_plain(name, made)
    return made


def _check_plain(name: str, value: Any) -> None:
    if type(value) in (dict, list, tuple, set, frozenset):
        for each in (*value, *value.values()) if type(value) is dict else value:
            _check_plain(name, each)
    elif type(value) not in SINGLE:
        problem = "unsupported argument of a job"
        found = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        expected = "what `ax.file` or `ax.build` gave, or numbers, texts, and lists or dicts of these"
        hint = "compute it in a stage, and pass that job"
        raise InputError(problem, field=name, found=found, expected=expected, hint=hint)


def _shell() -> Any:
    interactive = sys.modules.get("IPython")
    return None if interactive is None else interactive.get_ipython()


def _cells() -> list[tuple[str, str]]:
    """Name and text of executed cells; outside a notebook, the executed file."""
    if (shell := _shell()) is not None:
        texts = shell.history_manager.input_hist_parsed
        return [(f"Cell In[{number}]", text) for number, text in enumerate(texts) if text]
    file = getattr(sys.modules["__main__"], "__file__", None)
    return [(file, Path(file).read_text(encoding="utf-8"))] if file and os.path.isfile(file) else []


def _label(file: str) -> str:
    named = getattr(getattr(_shell(), "compile", None), "format_code_name", lambda name: None)(file)
    if named is not None:
        return " ".join(named)
    return file if file.startswith("Cell ") else f'File "{file}"'
