"""Settings of a comparison of data frame libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from shortloop.frames.transformations import GUIDE, LIBRARIES, TRANSFORMATIONS
from shortloop.settings.base import Name, Settings, StudySettings

MOST_FILES = 100_000
if TYPE_CHECKING:
    Library = str
    Transformation = str
else:  # read where a file is checked
    Library, Transformation = Literal[tuple(LIBRARIES)], Literal[TRANSFORMATIONS]


class TableSettings(Settings):
    """The simulated table."""

    rows: Annotated[int, Field(ge=1, le=10**10)] | Literal["fit"] = Field(
        400_000,
        description="rows; fewer if the table does not fit four times into `memory`. 'fit': as many as fit, "
        "of the 25 million of the guide, which may take hours; default 400000",
    )
    columns: int = Field(50, ge=2, le=999, description="columns of 8 bytes, the key among them; default 50")
    groups: int = Field(1000, ge=1, le=10**6, description="different keys; default 1000")
    chunk: int = Field(25_000, ge=1, description="rows of each file, at most; default 25000")
    memory: float | None = Field(
        None, gt=0, description="GiB that the run may take; default: half of what this machine has"
    )

    @property
    def most(self) -> int:
        """Number of rows if all fit into the memory."""
        return GUIDE[0] if self.rows == "fit" else self.rows


class TimingSettings(Settings):
    """How work is timed."""

    repeats: int = Field(
        3, ge=1, le=1000, description="how often each work is timed, at least; quick work more; default 3"
    )
    limit: float = Field(
        300.0, gt=0, description="s that one measurement may take with all its repeats; default 300"
    )
    workers: int | None = Field(
        None, ge=1, description="cores that each library may use; default: as many as jobs have slices"
    )


class ModinSettings(Settings):
    """Environment of Modin, which needs an older pandas than the other libraries."""

    environment: str = Field(
        "",
        description="folder of a virtual environment with Modin, as `shortloop modin-environment` makes it; "
        "default: none, and Modin is left out",
    )


class Frames(StudySettings):
    """Everything that decides what is measured."""

    name: Name = Field(description="name of the comparison and of its folder of results; no default")
    seed: int = Field(0, ge=0, lt=2**32, description="seed of the table and of random numbers; default 0")
    libraries: tuple[Library, ...] = Field(
        tuple(LIBRARIES), min_length=1, description="which to measure, by name; default: all"
    )
    transformations: tuple[Transformation, ...] = Field(
        TRANSFORMATIONS, min_length=1, description="which to measure: apply, column, groups; default: all"
    )
    table: TableSettings = Field(TableSettings(), description="the table")
    timing: TimingSettings = Field(TimingSettings(), description="how work is timed")
    modin: ModinSettings = Field(ModinSettings(), description="where Modin is")

    @model_validator(mode="after")
    def _consistent(self) -> Frames:
        if self.table.most > MOST_FILES * self.table.chunk:
            raise ValueError(f"table.chunk: more than {MOST_FILES} files of so few rows")
        for field in ("libraries", "transformations"):
            names = getattr(self, field)
            if twice := sorted({each for each in names if names.count(each) > 1}):
                raise ValueError(f"{field}: {', '.join(twice)} named twice")
        return self

    def in_words(self) -> str:
        table = self.table
        rows = "as many rows as fit" if table.rows == "fit" else f"{table.rows:,} rows"
        return (
            f"frames {self.name}, {rows} × {table.columns} columns, "
            f"{', '.join(self.transformations)} on {', '.join(self.libraries)}"
        )
