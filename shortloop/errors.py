"""The one exception that is a user's to read: what is wrong, where, and what to do about it."""

from __future__ import annotations

__all__ = ["InputError"]


class InputError(ValueError):
    """Input that a later stage would trip over.

    Parameters
    ----------
    problem : str
        What is wrong, in a few words, e.g. ``"samples that are not numbers"``.
    participant, file, field : str, optional
        Where it was found.
    found, expected : object, optional
        What was found and what was expected instead.
    hint : str, optional
        What to do about it.
    """

    def __init__(
        self,
        problem: str,
        *,
        participant: str | None = None,
        file: object = None,
        field: str | None = None,
        found: object = None,
        expected: object = None,
        hint: str | None = None,
    ) -> None:
        self.problem = problem
        self.participant = participant
        self.file = None if file is None else str(file)
        self.field = field
        self.found = found
        self.expected = expected
        self.hint = hint
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The whole story in one paragraph, a line for each fact."""
        lines = [self.problem]
        for label, value in [
            ("participant", self.participant),
            ("file", self.file),
            ("field", self.field),
            ("found", self.found),
            ("expected", self.expected),
            ("what to do", self.hint),
        ]:
            if value is not None:
                lines.append(f"  {label + ':':<13} {value}")
        return "\n".join(lines)
