"""Which jobs of a pipeline its user asked for: up to a stage, of one stage alone, or some once more."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass

from shortloop.errors import InputError

__all__ = ["SELECTION", "Selection"]

SELECTION = "SHORTLOOP_SELECTION"
"""Variable that tells a run, and a plan, what was asked for."""


@dataclass(frozen=True)
class Selection:
    """What was asked for; nothing: the whole pipeline.

    Parameters
    ----------
    until : str
        The stage whose jobs are built, with all that they are made from.
    only : str
        The stage whose jobs alone are built.
    partition : str
        Of that stage, only the jobs of this partition.
    force : tuple of str
        Jobs and stages that are built though they are there.
    """

    until: str = ""
    only: str = ""
    partition: str = ""
    force: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.until and self.only:
            raise InputError(
                "one run is either up to a stage or of one stage alone",
                found=f"--until {self.until} --only {self.only}",
                hint="give one of the two",
            )
        if self.partition and not self.stage:
            raise InputError(
                "a partition is one of a stage",
                found=f"--partition {self.partition}",
                hint="say which stage, with --until or with --only",
            )

    @property
    def stage(self) -> str:
        """The stage that is asked for; empty: all."""
        return self.until or self.only

    @property
    def words(self) -> str:
        """As it is given on the command line; empty: the whole pipeline."""
        named = [("--until", self.until), ("--only", self.only), ("--partition", self.partition)]
        given = [*named, *(("--force", each) for each in self.force)]
        return " ".join(f"{name} {value}" for name, value in given if value)

    def into(self, environ: MutableMapping[str, str]) -> None:
        """Put it into the environment of a run, so that `given` finds it there.

        Parameters
        ----------
        environ : mutable mapping of str to str
            Environment variables.
        """
        environ.pop(SELECTION, None)
        if self.words:
            environ[SELECTION] = json.dumps(asdict(self))

    @classmethod
    def given(cls, environ: Mapping[str, str] = os.environ) -> Selection:
        """What this run was asked for.

        Parameters
        ----------
        environ : mapping of str to str
            Environment variables.

        Returns
        -------
        Selection

        Raises
        ------
        InputError
            If the variable holds something else.
        """
        text = environ.get(SELECTION)
        if not text:
            return cls()
        try:
            plain = json.loads(text)
            texts = [plain.pop("force"), list(plain.values())]
            if not all(isinstance(each, str) for of in texts for each in of):
                raise TypeError
            return cls(force=tuple(texts[0]), **plain)
        except InputError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(
                "an environment variable does not say which jobs to build",
                field=SELECTION,
                found=text,
                hint=f"unset {SELECTION}, and say it with `shortloop run --until`",
            ) from None
