"""A toy record of a settings file: a recipe, with alternatives at the top, in a list and under names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from shortloop.settings.base import Settings, false_to_none
from shortloop.settings.read import read_settings


class Gas(Settings):
    kind: Literal["gas"] = Field("gas", description="a flame")
    flame: int = Field(3, ge=1, description="its size, mm; default 3")


class Electric(Settings):
    kind: Literal["electric"] = Field("electric", description="a plate")
    watts: float | Literal["auto"] = Field("auto", description="its power, W; default 'auto'")


Stove = Annotated[Gas | Electric, Field(discriminator="kind")]


class Step(Settings):
    minutes: float | None = Field(None, gt=0, description="how long, min; default: until done; false: none")
    stove: Stove | None = Field(None, description="on which stove; default: none")

    @model_validator(mode="before")
    @classmethod
    def _false_is_none(cls, values: object) -> object:
        return false_to_none(values, "minutes")


class Recipe(Settings):
    name: str = Field(description="what it is; no default")
    servings: int = Field(4, ge=1, description="for how many; default 4")
    range: tuple[int, int] = Field((1, 8), description="fewest and most servings; default 1 to 8")
    oven: Stove = Field(Electric(), description="the oven")
    steps: tuple[Step, ...] = Field((), description="what is done; default: nothing")
    parts: dict[str, Step] = Field(default_factory=dict, description="what is made apart; default: nothing")

    @model_validator(mode="after")
    def _named(self) -> Recipe:
        if self.name == "nothing":
            raise ValueError("name: there is no such dish")
        return self


def read(file: Path, text: str) -> Recipe:
    file.write_text(text, encoding="utf-8")
    return read_settings(file, Recipe, noun="recipe", variable="RECIPE")
