"""Jobs of a run and their states: from its record, or while it goes on from what it planned and began."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from shortloop.board.graph import BUILT, FAILED, LEFT, RUNNING, WAITING, Key, Node
from shortloop.exax.cost import progress_of
from shortloop.exax.job_output import working_folders
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built
from shortloop.project.project import DELETED, FINISHED, SET_ASIDE, configuration
from shortloop.run.runs import RUNNING as RUN_GOES_ON
from shortloop.run.runs import RunPlan, RunRecord, read_plan
from shortloop.stages.results import sources_of
from shortloop.store.setup import setup_of

STARTING = 3.0  # s that a job may take until a process works in its folder
SLACK = 0.1  # s between the clock of a run and the time of a file
KEPT = 50_000  # facts of finished jobs that stay in memory


class JobFacts(NamedTuple):
    """The part of exax's record of a job that is shown in lists."""

    job: str
    stage: str
    partition: str
    parent: str  # job of the build script
    began: float  # seconds since 1970
    seconds: float
    sources: tuple[str, ...]
    same: int  # equal for two attempts to build the same job
    state: str  # BUILT; DELETED, if only its record is left; or RUNNING, if it did not end well


class RunJob(NamedTuple):
    """A job of a run; its id is empty if it has not begun."""

    stage: str
    partition: str
    job: str
    state: str  # one of `graph.STATES`
    reason: str
    seconds: float
    share: float | None = None  # of its units that are done


class RunJobs(NamedTuple):
    jobs: list[RunJob]
    edges: set[tuple[str, str]]  # pairs of stages of which the second reads the first

    def nodes(self) -> dict[Key, Node]:
        """Group them by stage, in the order of their first jobs."""
        nodes: dict[Key, Node] = {}
        for job in self.jobs:
            node = nodes.setdefault((job.stage, ""), Node(job.stage, ""))
            node.states[job.state] += 1
            node.seconds += job.seconds if job.job else 0.0  # else that is only expected
            if job.reason:
                node.reasons[job.reason] += 1
        for (stage, _), node in nodes.items():
            node.above = [above for above in nodes if (above[0], stage) in self.edges]
        return nodes


_known: dict[str, tuple[tuple[str, int], JobFacts]] = {}


def facts_of(folder: Path | str) -> JobFacts | None:
    """Read a job's facts; None if it has no readable record."""
    folder = str(folder)  # a `Path` takes its time for thousands
    end = _end_of(folder)
    known = _known.get(folder)
    if known is not None and known[0] == end:
        return known[1]
    state = DELETED if end[0] == DELETED else BUILT if end[0] else RUNNING
    setup = setup_of(Path(folder))
    try:
        began = setup.get("starttime") or os.stat(f"{folder}/setup.json").st_mtime
        options = setup["options"]
        facts = JobFacts(
            os.path.basename(folder),
            str(setup["method"]),
            str(options.get("partition") or ""),
            str(setup.get("parent") or ""),
            float(began),
            float(setup.get("exectime", {}).get("total", 0.0)),
            tuple(dict.fromkeys(job for _, job in sources_of(setup))),
            hash(json.dumps([setup["method"], options, setup.get("jobs"), setup.get("datasets")])),
            state,
        )
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        return None
    if state != RUNNING:
        if len(_known) > KEPT:
            _known.clear()
        _known[folder] = end, facts
    return facts


def _end_of(folder: str) -> tuple[str, int]:
    """Name of the file that says how a job ended, and when that changed; empty if it did not end well."""
    for name in (FINISHED, SET_ASIDE, DELETED):
        with suppress(OSError):
            return name, os.stat(f"{folder}/{name}").st_mtime_ns
    return "", 0


def jobs_of(number: int, record: RunRecord, end: str) -> RunJobs:
    """List the jobs of a run: what is built, and what else it was going to build."""
    recorded = [
        RunJob(job.stage, job.partition or "", job.job, BUILT if job.built else REUSE, job.reason, 0.0)
        for job in record.jobs
    ]
    plan = RunPlan([], []) if end == "0" else read_plan(number)
    known = {job.job for job in recorded}
    begun = [] if end == "0" else [each for each in _begun(record) if each.job not in known]
    goes_on = end == RUN_GOES_ON
    working = working_folders() if goes_on else set()
    jobs = [*_merged(plan.jobs, recorded, begun, working, goes_on)]
    workdirs, facts = configuration().workdirs, {each.job: each for each in begun}
    for name in {job.job for job in jobs} - facts.keys():
        above = workdirs.get(name.rpartition("-")[0])
        if above and (found := facts_of(f"{above}/{name}")) is not None:
            facts[name] = found
    stage_of = {job.job: job.stage for job in jobs if job.job}
    read = ((job, above) for job, found in facts.items() if job in stage_of for above in found.sources)
    edges = {(stage_of[above], stage_of[job]) for job, above in read if above in stage_of}
    for place, job in enumerate(jobs):
        if (found := facts.get(job.job)) is not None:
            seconds = time.time() - found.began if job.state == RUNNING else found.seconds
            jobs[place] = job._replace(seconds=seconds)
    return RunJobs(jobs, edges.union(plan.edges))


def _merged(
    planned: Iterable[Built],
    recorded: Iterable[RunJob],
    begun: Iterable[JobFacts],
    working: set[str],
    goes_on: bool,
) -> Iterator[RunJob]:
    """Put each recorded or begun job in the place that the plan has for it; others follow."""
    places: dict[tuple[str, str], list[RunJob]] = {}
    for job in recorded:
        places.setdefault((job.stage, job.partition), []).append(job)
    for each in begun:
        state, share = each.state, None
        if state == RUNNING:
            folder = folder_of(each.job)
            state = RUNNING if goes_on and _is_working(folder, each.began, working) else FAILED
            progress = progress_of(folder) if state == RUNNING else None
            share = progress.share if progress else None
        state = BUILT if state == DELETED else state
        found = RunJob(each.stage, each.partition, each.job, state, "", each.seconds, share)
        places.setdefault((each.stage, each.partition), []).append(found)
    not_begun = {BUILD: WAITING, PERHAPS: PERHAPS} if goes_on else {BUILD: LEFT, PERHAPS: LEFT}
    for plan in planned:
        here = places.get((plan.stage, plan.partition or ""), [])
        if here:
            job = here.pop(0)
            yield job._replace(reason=job.reason or plan.reason)
        elif goes_on or plan.plan != REUSE:
            state = not_begun.get(plan.plan, REUSE)
            yield RunJob(plan.stage, plan.partition or "", plan.job, state, plan.reason, plan.seconds)
    for jobs in places.values():
        yield from jobs


def _begun(record: RunRecord) -> list[JobFacts]:
    """List the jobs that a run had exax begin, without attempts that another one followed."""
    until = record.began + record.seconds if record.exit is not None else float("inf")
    workdir, _, script = record.script_job.rpartition("-")
    first = int(script) if script.isdecimal() else -1
    workdir = workdir or configuration().target_workdir
    found: dict[int, JobFacts] = {}
    above = f"{configuration().workdirs.get(workdir, '')}/{workdir}"
    for number in _numbers(workdir):
        facts = facts_of(f"{above}-{number}") if number > first else None
        if facts is None or facts.began < record.began - SLACK:
            continue
        if facts.began > until + SLACK:
            break
        if facts.parent == record.script_job and facts.state != DELETED:
            found.pop(facts.same, None)
            found[facts.same] = facts
    return [*found.values()]


def _numbers(workdir: str) -> list[int]:
    with suppress(OSError, KeyError):
        names = (name.removeprefix(f"{workdir}-") for name in os.listdir(configuration().workdirs[workdir]))
        return sorted(int(name) for name in names if name.isdecimal())
    return []


def _is_working(folder: Path, began: float, working: set[str]) -> bool:
    """True if a process has a job's folder as its own, or may have."""
    if time.time() - began < STARTING or os.path.realpath(folder) in working:
        return True
    with suppress(OSError):  # the folders of other users' processes cannot be read
        return os.geteuid() not in (0, folder.stat().st_uid)
    return False


def folder_of(job: str) -> Path:
    """Folder of a job, there or not."""
    return Path(configuration().workdirs[job.rpartition("-")[0]]) / job
