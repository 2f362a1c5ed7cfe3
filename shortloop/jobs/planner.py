"""What a pipeline would do: its jobs in order, and which of them are there already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.errors import InputError
from shortloop.jobs.explain.differences import differences
from shortloop.jobs.keys.key import Parts, parts_of
from shortloop.jobs.keys.options import check_options
from shortloop.jobs.store.manifest import Manifest
from shortloop.jobs.store.store import Store
from shortloop.jobs.store.stored_job import StoredJob
from shortloop.worker.results import Result, open_result

if TYPE_CHECKING:  # a run without a study needs none of it
    from shortloop.eeg.study.schema import Study

__all__ = ["BUILD", "PERHAPS", "REUSE", "Built", "Plan", "above", "contents", "reused"]

NO_RESULT = Path()
BUILD, PERHAPS, REUSE = "build", "perhaps", "reuse"


@dataclass(frozen=True)
class Built:
    """A job as a pipeline sees it.

    Parameters
    ----------
    job : str
        Job id; empty in a plan if the job is still to be built.
    stage : str
        The stage's name.
    partition : str or None
        Whose data; None: everybody's.
    path : Path
        Folder of the job.
    fresh : bool
        Whether this run built it.
    seconds : float
        How long it took to build, now or then; in a plan, how long the job in its place took; 0: not known.
    content : str
        Hash of what it left; empty if that is not known yet.
    rejected : bool
        Whether it rejected its input.
    plan : {"", "reuse", "build", "perhaps"}
        In a plan, what would be done; perhaps: if a job above comes out different.
    reason : str
        Why it was or would be built.
    """

    job: str
    stage: str
    partition: str | None
    path: Path = NO_RESULT
    fresh: bool = False
    seconds: float = 0.0
    content: str = ""
    rejected: bool = False
    plan: str = ""
    reason: str = ""

    def result(self) -> Result:
        """Its arrays and record.

        Returns
        -------
        Result
        """
        return open_result(self.path)


@dataclass
class Plan:
    """Lists the jobs of a pipeline without running anything.

    Parameters
    ----------
    study : Study or None
        The study, if the pipeline is of one.
    study_file : Path
        Where it was read from.
    store : Store, optional
        Where jobs are looked up. Default: jobs are only counted.
    name : str
        The build script and the study.
    """

    given: Study | None
    study_file: Path
    store: Store | None = None
    name: str = ""
    jobs: list[Built] = field(default_factory=list)
    planning: bool = True
    unread: int = 0
    """How many files have a content that is not known yet."""
    note: str = ""
    """What a run would say first."""

    def __post_init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self.slots: dict[str, str] = {}
        """Job id in each place of the pipeline that has one."""

    @property
    def study(self) -> Study:
        """The study.

        Raises
        ------
        InputError
            If the pipeline is run without one.
        """
        if self.given is None:
            raise InputError("this pipeline has no study", hint="start it with `run_study`")
        return self.given

    def build(
        self,
        method: str,
        partition: str | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        jobs: Mapping[str, Any] | None = None,
        grows: str = "",
        modules: Sequence[str] = (),
    ) -> Built:
        """Note a job, and look whether it is there.

        Parameters
        ----------
        method, partition, options, jobs, grows, modules
            As of `Run.build`.

        Returns
        -------
        Built
        """
        everything = dict(options or {}) | ({} if partition is None else {"partition": partition})
        check_options(method, everything)
        built = self._get(method, partition, everything, jobs or {}, grows, tuple(modules))
        self.jobs.append(built)
        return built

    def _get(
        self,
        method: str,
        partition: str | None,
        options: dict[str, Any],
        jobs: Mapping[str, Any],
        grows: str,
        modules: tuple[str, ...],
    ) -> Built:
        if self.store is None:
            return Built("", method, partition)
        parts = parts_of(method, options, contents(jobs), modules)
        slot = self._slot(method, partition)
        found = self._find(parts, slot)
        if found is not None:
            return reused(found, method, partition)
        previous = self.store.manifest_of(self.store.index.in_slot(slot))
        found_out = [] if previous is None else differences(previous.parts, parts)
        unread = any(each.kind == "file" and not each.known for each in found_out)
        waits_for = " or ".join(sorted({each.stage for each in above(jobs) if not each.content}))
        if previous is None or any(each.known for each in found_out) or not (unread or waits_for):
            reason = self.store.why(parts, previous, jobs)
            return Built("", method, partition, seconds=_seconds(previous), plan=BUILD, reason=reason)
        reason = f"if {waits_for} comes out different"
        if unread:
            reason = "if its files, which are not read yet, hold something else"
        return Built("", method, partition, seconds=_seconds(previous), plan=PERHAPS, reason=reason)

    def _find(self, parts: Parts, slot: str) -> StoredJob | None:
        assert self.store is not None
        if not all(parts.inputs.values()):  # what is unknown is empty
            return None
        found = self.store.find(parts.key())
        if found is not None:
            self.slots[slot] = found.job
        return found

    def _slot(self, method: str, partition: str | None) -> str:
        place = f"{self.name}|{method}|{partition or ''}"
        self._seen[place] += 1
        return f"{place}|{self._seen[place]}"


def _seconds(manifest: Manifest | None) -> float:
    return 0.0 if manifest is None else float(manifest.cost.get("seconds", 0))


def reused(found: StoredJob, method: str, partition: str | None) -> Built:
    """A job that is there.

    Parameters
    ----------
    found : StoredJob
        The job.
    method : str
        Its method.
    partition : str or None
        Whose data.

    Returns
    -------
    Built
    """
    return Built(
        found.job,
        method,
        partition,
        found.path,
        seconds=found.seconds,
        content=found.content,
        rejected=found.rejected,
        plan=REUSE,
    )


def above(jobs: Mapping[str, Any]) -> list[Built]:
    """The jobs that a job is made from.

    Parameters
    ----------
    jobs : mapping of str to Built, or to a list of them
        As of `Run.build`.

    Returns
    -------
    list of Built
    """
    return [each for made in jobs.values() for each in (made if isinstance(made, list | tuple) else [made])]


def contents(jobs: Mapping[str, Any]) -> dict[str, Any]:
    """Content of the jobs that a job is made from.

    Parameters
    ----------
    jobs : mapping of str to Built, or to a list of them
        As of `Run.build`.

    Returns
    -------
    dict of str to (str or list of str)
    """
    return {
        name: [each.content for each in made] if isinstance(made, list | tuple) else made.content
        for name, made in jobs.items()
    }
