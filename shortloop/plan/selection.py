"""Selection of jobs: up to a stage, only a stage, or forced rebuilds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.settings.paths import SETTINGS_VARIABLE

FAIL_FAST = "SHORTLOOP_FAIL_FAST"  # environment variable: start no job after a failed one
SELECTION = "SHORTLOOP_SELECTION"  # environment variable with the selection of a run or plan


@dataclass(frozen=True)
class Selection:
    """Requested part of a pipeline; empty: all of it."""

    until: str = ""  # the stage whose jobs are built, with all that they are made from
    only: str = ""  # the stage whose jobs alone are built
    partition: str = ""  # of that stage, only the jobs of this partition
    force: tuple[str, ...] = ()  # jobs and stages that are built though they are there

    def __post_init__(self) -> None:
        if self.until and self.only:
            found = f"--until {self.until} --only {self.only}"
            raise InputError("--until and --only cannot be combined", found=found, hint="give one of the two")
        if self.partition and not self.stage:
            hint = "name the stage with --until or --only"
            raise InputError("--partition needs a stage", found=f"--partition {self.partition}", hint=hint)

    @property
    def stage(self) -> str:
        return self.until or self.only

    @property
    def words(self) -> str:
        named = [("--until", self.until), ("--only", self.only), ("--partition", self.partition)]
        given = [*named, *(("--force", each) for each in self.force)]
        return " ".join(f"{name} {value}" for name, value in given if value)

    def into(self, environ: MutableMapping[str, str], settings: Path | None = None) -> None:
        """Set what a build script reads of the environment: its settings file, if one is given, and this."""
        if settings is not None:
            environ[SETTINGS_VARIABLE] = str(settings.absolute())
        environ.pop(SELECTION, None)
        if self.words:
            environ[SELECTION] = json.dumps(asdict(self))

    @classmethod
    def given(cls, environ: Mapping[str, str] = os.environ) -> Selection:
        text = environ.get(SELECTION) or "{}"
        try:
            plain = json.loads(text)
            return cls(**plain | {"force": tuple(plain.get("force", ()))})
        except InputError:
            raise
        except (ValueError, TypeError, AttributeError):
            problem, hint = "invalid selection of jobs", f"unset {SELECTION}, and use `shortloop run --until`"
            raise InputError(problem, field=SELECTION, found=text, hint=hint) from None


def prepared(script: str | None, settings: Path | None, selection: Selection) -> str:
    """The build script, after setting the environment that it reads."""
    from shortloop.keys.methods import chosen_script

    selection.into(os.environ, settings)
    return script or chosen_script(None)
