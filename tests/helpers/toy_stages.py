"""Stages of toys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.stages.stage import File, Finished, Index, Job, Out, Outputs, Stage, Values
from shortloop.stages.task import Task

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Numbers(Stage):
    """Numbers of a text file; nothing to hand out."""

    file: File
    scale: float = 1.0

    def finish(self, out: Outputs) -> Finished:
        numbers = [self.scale * float(line) for line in self.file.path.read_text(encoding="utf-8").split()]
        return Finished({"names": [self.file.path.name]}, {"numbers": Values(numbers, "rows", "the numbers")})


class Powers(Stage):
    """Powers of numbers; a unit is a power of all of them."""

    siblings = ("style.name",)
    count: int
    style: dict[str, Any]
    numbers: Job
    others: list[Job]
    offset: Job | None

    def open(self) -> None:
        more = [each.arrays["numbers"] for each in self.others]
        self.base = np.concatenate([self.numbers.arrays["numbers"], *more])
        self.opened = True

    def units(self) -> int:
        return self.count

    def outputs(self) -> dict[str, Out]:
        return {
            "powers": Out((self.count, len(self.base)), "f8", "powers × rows", "n-th powers"),
            "largest": Out((1, self.count), "f4", "one × powers", "largest power", "m"),
        }

    def index(self, unit: int) -> Mapping[str, Index]:
        return {"powers": unit, "largest": (slice(None), unit)}

    def compute(self, unit: int) -> Mapping[str, ArrayLike | bytes]:
        values = self.base**unit
        page = f"{self.style['name']} {unit}: {values.tolist()}\n".encode()
        return {
            "powers": values,
            "largest": values[values.argmax() : values.argmax() + 1],
            f"pages/{unit}.txt": page,
        }

    def finish(self, out: Outputs) -> Finished:
        means = out.create("means", (self.count,), "f8")
        means[...] = out["powers"].mean(axis=1)
        said = {
            "means": Values(None, "powers", "means over rows"),
            "total": Values(out["powers"].sum(), "", ""),
        }
        return Finished({"rows": len(self.base)}, said, {"report/all.txt": b"all\n"})


class Growing(Stage):
    """Powers of numbers, which grow."""

    grows = "count"
    count: int
    numbers: Job

    def units(self) -> int:
        return self.count - self.have

    def outputs(self) -> dict[str, Out]:
        shape = self.count, len(self.numbers.arrays["numbers"])
        return {"powers": Out(shape, "f8", "powers × rows", "n-th powers")}

    def index(self, unit: int) -> int:
        return unit + self.have

    def compute(self, unit: int) -> Mapping[str, ArrayLike | bytes]:
        return {"powers": self.numbers.arrays["numbers"] ** (unit + self.have)}

    def finish(self, out: Outputs) -> Finished:
        return Finished(arrays={"total": Values(out["powers"].sum(), "", "")})


def task_of(stage: type[Stage], options: Mapping[str, Any], jobs: Mapping[str, Any], **more: Any) -> Task:
    """A job of a toy stage."""
    return Task(stage.__name__.lower(), __name__, stage.__name__, None, options, jobs, **more)
