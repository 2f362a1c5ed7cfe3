"""One library and transformation, measured in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.worker.stage import File, Finished, Job, Outputs, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shortloop.plain import Plain

__all__ = ["FramesRun"]


class FramesRun(Stage):
    """Measure: one library and transformation. The machine is an option: another one gives other times."""

    siblings = ("library", "transformation")
    library: str
    transformation: str
    module: str  # of the runner
    workers: int
    repeats: int
    limit: float  # s
    seed: int
    machine: dict[str, str | int]
    environment: File | None  # pyvenv.cfg of the environment that the library is in; None: this one
    versions: dict[str, str]  # of what is installed there
    table: Job
    truth: Job

    @classmethod
    def modules(cls, options: Mapping[str, Plain]) -> Sequence[str]:
        """The runner, and what runs it in another process."""
        from shortloop.frames.measure import CHILD

        return [CHILD, str(options["module"])]

    def finish(self, out: Outputs) -> Finished:
        """Measure, and check what it came to."""
        from shortloop.frames.measure import measure
        from shortloop.frames.stages.measured_facts import measured_facts
        from shortloop.frames.stages.table_files import work_of

        measured = measure(
            work_of(self.table, self.library, self.workers, self.seed),
            self.module,
            self.transformation,
            self.repeats,
            self.limit,
            None if self.environment is None else self.environment.path.parent / "bin" / "python",
        )
        return Finished(measured_facts(measured, self.truth, self.workers))
