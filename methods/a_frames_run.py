"""One data frame library and one transformation, timed in a process of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from shortloop.exax.method import exax_method
from shortloop.stages.dataset import Dataset
from shortloop.stages.stage import File, Finished, Job, Outputs, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shortloop.base.plain import Plain


class FramesRun(Stage):
    """Measure: one library and transformation. The machine is an option, because times depend on it."""

    siblings = ("library", "transformation")
    library: str
    transformation: str
    runner: str  # module:function
    needs: list[str]  # libraries, by the names of their modules
    workers: int
    repeats: int
    limit: float  # s
    seed: int
    machine: dict[str, str | int]
    environment: File | None  # pyvenv.cfg of the library's environment; None: this one
    versions: dict[str, str]  # installed there
    table: Job
    truth: Job
    rows: Dataset | None  # the table, for exax

    @classmethod
    def modules(cls, options: Mapping[str, Plain]) -> Sequence[str]:
        """The runner, and the libraries that it imports by name."""
        return [str(options["runner"]).partition(":")[0], *cast("list[str]", options["needs"])]

    def finish(self, out: Outputs) -> Finished:
        """Measure, and check the result."""
        from shortloop.frames.measure import facts_of, measure
        from shortloop.frames.transformations import Work

        work = Work.on(self.table, self.library, self.workers, self.seed)
        if self.rows is not None:
            work = replace(work, folder=cast("Any", self.rows).job.path)
        python = None if self.environment is None else self.environment.path.parent / "bin" / "python"
        measured = measure(work, self.runner, self.transformation, self.repeats, self.limit, python)
        return Finished(facts_of(measured, self.truth, self.workers))


globals().update(exax_method(FramesRun, __file__))
