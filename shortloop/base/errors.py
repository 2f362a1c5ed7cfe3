"""The exception for user errors: what is wrong, where, and what to do."""

from __future__ import annotations

import warnings

from shortloop.base.text import one_line, printable


class InputError(ValueError):
    """Input that a later stage would trip over.

    Parameters
    ----------
    problem : str
        What is wrong, in a few words, e.g. ``"samples that are not numbers"``.
    file, field : str, optional
        Where it was found.
    found, expected : object, optional
        What was found and what was expected instead.
    hint : str, optional
        What to do about it.
    **where : str, optional
        In which part of the data, by the name that the analysis has for its parts, e.g. ``sensor="A3"``.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: object = None,
        field: str | None = None,
        found: object = None,
        expected: object = None,
        hint: str | None = None,
        **where: str | None,
    ) -> None:
        self.problem = problem
        self.where = where
        self.file = None if file is None else str(file)
        self.field = field
        self.found = found
        self.expected = expected
        self.hint = hint
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The whole story in one paragraph, a line for each fact."""
        places = {**self.where, "file": self.file, "field": self.field}
        facts: dict[str, object] = {name: one_line(each) for name, each in places.items() if each is not None}
        facts |= {"found": self.found, "expected": self.expected, "what to do": self.hint}
        said = {label: printable(value) for label, value in facts.items() if value is not None}
        lines = (f"  {label + ':':<13} {value}" for label, value in said.items())
        return "\n".join([printable(self.problem), *lines])


class TransientError(InputError):
    """One that rests on more than a job's key knows of, so that no job may keep it as its result."""


class JobFailed(InputError):
    """What a job said that failed; other jobs may be built."""


def warn(text: str) -> None:
    """Warn of what is suspicious, but no error."""
    warnings.warn(text, stacklevel=3)


def place_of(error: BaseException) -> str:
    """Where in a user's own code an error came from."""
    import sys
    import sysconfig
    import traceback

    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    lines = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith("<")]
    libraries = (*(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")), sys.base_prefix)
    own = [each for each in lines if not each.filename.startswith(libraries)] or lines
    return f"{own[-1].filename}, line {own[-1].lineno}"
