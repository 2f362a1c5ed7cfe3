"""The base of all records of a settings file."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["NAME", "Name", "Settings", "StudySettings", "false_to_none"]

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$"
Name = Annotated[str, Field(pattern=NAME)]


class Settings(BaseModel):
    """Base of every record: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class StudySettings(Settings):
    """Base of the record of a whole file: what a run is of."""

    name: Name

    @abstractmethod
    def in_words(self) -> str:
        """What is asked for.

        Returns
        -------
        str
            A line.
        """


def false_to_none(values: object, *fields: str) -> object:
    """Read ``lowpass = false`` as "none", which TOML cannot say.

    Parameters
    ----------
    values : object
        A table of the file, as it was read.
    *fields : str
        Keys for which false means none.

    Returns
    -------
    object
        A copy of the table, with None for false in those keys; what is no table comes back as it is.
    """
    if not isinstance(values, dict):
        return values
    return {key: None if key in fields and value is False else value for key, value in values.items()}
