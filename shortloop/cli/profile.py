"""``shortloop profile``: show where the time or memory of a job, or the time of a run, goes."""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.base.terminal import Waiting
from shortloop.base.text import counted, duration
from shortloop.cli.lookup.logs import jobs_named
from shortloop.cli.output import check_file, print_facts, print_json, print_lines, print_table
from shortloop.profile.job_times import JobTimes
from shortloop.profile.profilers import PROFILERS, Report
from shortloop.profile.repeat import Repeated, repeat
from shortloop.profile.run_times import BuiltJob, RunTimes, times_of
from shortloop.profile.timeline import ENDINGS, timeline_of_job, timeline_of_run, write_timeline
from shortloop.project.project import FINISHED, configuration, job_directory
from shortloop.run.runs import read_run, read_runs, run_numbers
from shortloop.settings.engine import engine_settings
from shortloop.store.setup import setup_of

RESULTS = {
    True: "the same as the kept one, bit for bit",
    False: "another than the kept one: code, libraries or files have changed since, or it is random",
    None: "not compared: the kept job has no manifest",
}
MOST = 25  # jobs of the critical path that are listed
FEW = 0.01  # s; shorter pauses are not worth a word


def chosen_profiler(asked: Mapping[str, bool], functions: Sequence[str] | None) -> str:
    """The profiler that is asked for; empty if none is."""
    names = [name for name, is_asked in asked.items() if is_asked]
    if functions and not names:
        names = ["lines"]
    if len(names) > 1 or (functions and names != ["lines"]):
        found = " ".join(f"--{name}" for name in [*names, *(["function"] if functions else [])])
        hint = "profile the job once with each; --function belongs to --lines"
        raise InputError("a job is profiled with one profiler at a time", found=found, hint=hint)
    return names[0] if names else ""


def chosen_job(what: str | None, is_last: bool, run: int | None) -> str:
    """A job by its id; of a stage, or of the latest run, the one that took longest."""
    if what is not None and (is_last or run is not None):
        raise InputError("a job and a run are named", found=what, hint="leave out --last, or the job")
    if what is not None:
        whole = [each for each in jobs_named(what, finished=True) if (each / FINISHED).exists()]
        found = {each.name: setup_of(each)["exectime"]["total"] for each in whole}
    else:
        found = {job.job: job.seconds for job in _times_of_run(run)[1].jobs.values()}
    if not found:
        hint = "`shortloop jobs` lists finished jobs"
        raise InputError("no finished job to repeat", found=what or "nothing built by the run", hint=hint)
    return max(found, key=lambda job: found[job])


def _times_of_run(number: int | None) -> tuple[int, RunTimes]:
    """A run and its times; by default the latest one that built something."""
    if number is not None:
        return number, times_of(read_run(number)[0])
    for latest in reversed(run_numbers()):
        for _, record, _ in read_runs([latest]):
            if record.built and (times := times_of(record)).jobs:
                return latest, times
    raise InputError("no run has built a job yet", hint="`shortloop run` runs the project's build script")


def print_run_times(number: int | None, how: str, timeline: Path | None, as_json: bool) -> None:
    """Print which jobs decide how long a run took, which waited, and when no job ran."""
    if how:
        hint = f"name one, e.g. `shortloop profile --last --{how}`"
        raise InputError("a profiler needs a job to repeat", found=f"--{how}", hint=hint)
    check_file(timeline, "timeline", ENDINGS)
    number, times = _times_of_run(number)
    if not times.jobs:
        hint = "`shortloop runs` lists how many jobs each built"
        raise InputError("the run built no job that is still there", found=number, hint=hint)
    if timeline is not None:
        write_timeline(timeline_of_run(number, times), timeline)
    path = times.critical_path
    waiting = defaultdict[str, float](float)
    for job in times.jobs.values():
        waiting[job.stage] += times.waited(job)
    if as_json:
        steps = [{**step.job._asdict(), "waited": step.waited} for step in path]
        took, idle = times.seconds, times.idle
        print_json(run=number, seconds=took, critical_path=steps, idle=idle, waited={**waiting})
        return
    jobs, on_path = times.jobs.values(), sum(step.job.seconds for step in path)
    print_lines(f"run {number}: {counted(len(jobs), 'job')} built in {duration(times.seconds)}", style="bold")
    busy, cpu = sum(job.seconds for job in jobs), sum(job.cpu for job in jobs)
    pauses = sum(end - begin for begin, end in times.idle)
    longest_waits = sorted(waiting.items(), key=lambda each: -each[1])[:3]
    most = [f"{stage} {duration(seconds)}" for stage, seconds in longest_waits if seconds >= FEW]
    shorter = "no number of cores makes the run shorter than that"
    print_facts(
        [
            ("critical path", f"{counted(len(path), 'job')}, {duration(on_path)}: {shorter}"),
            ("at a time", f"{busy / times.seconds:.1f} jobs on {cpu / times.seconds:.1f} cores, on average"),
            ("no job ran", f"for {duration(pauses)}{_longest(times.idle)}"),
            ("jobs waited", f"for a core, with their inputs there: {', '.join(most) or 'none'}"),
        ]
    )
    shown = sorted(sorted(path, key=lambda step: -step.job.seconds - step.waited)[:MOST], key=path.index)
    rows = [
        (*(f"{each:.2f}" for each in (job.began, waited, job.seconds)), job.job, _name(job))
        for job, waited in shown
    ]
    columns = ("began", "waited", "seconds", "job", "stage")
    print_lines("")
    print_table(columns, rows, right=columns[:3])
    longest = max(times.jobs.values(), key=lambda job: job.seconds)
    more = f"the {MOST} longest of {len(path)} jobs on the critical path; " if len(path) > MOST else ""
    print_lines("", f"{more}`shortloop profile {longest.job}` repeats the longest job, {_name(longest)}")


def _longest(idle: Sequence[tuple[float, float]]) -> str:
    begin, end = max(idle, key=lambda each: each[1] - each[0], default=(0.0, 0.0))
    return f", the longest {end - begin:.2f} s from {begin:.2f} s on" if end - begin >= FEW else ""


def _name(job: BuiltJob) -> str:
    return f"{job.stage} {job.partition}".strip()


def profile_job(
    job: str, how: str, functions: Sequence[str], timeline: Path | None, output: Path | None, as_json: bool
) -> None:
    """Repeat a job in a scratch folder under a profiler, and print what it found."""
    check_file(timeline, "timeline", ENDINGS)
    place = output or Path(configuration().result_directory) / "profile" / job
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("results cannot be written there", file=place, found=error.strerror) from None
    kind = PROFILERS[how]
    profiler = kind(job_directory(job), place, job, functions)
    with (
        tempfile.TemporaryDirectory(prefix="shortloop-profile-") as folder,
        Waiting("computed", lambda part: f"{part} %" if part < 100 else "the units") as waiting,
    ):
        repeated = repeat(
            job,
            profiler.order(),
            Path(folder),
            engine_settings(None),
            lambda share: waiting.tell(int(100 * share), 100),
            profiler.prefix(),
            profiler.prefix(of="engine"),
        )
        times = JobTimes(repeated.times)
        report = profiler.report(Path(folder), times)
    if timeline is not None:
        write_timeline(timeline_of_job(job, times), timeline)
        report.files.append(timeline)
    if as_json:
        print_json(**_fields(how, repeated, times, report))
    else:
        _print(profiler.what, repeated, times, report)


def _print(what: str, repeated: Repeated, times: JobTimes, report: Report) -> None:
    name = " of ".join(filter(None, (repeated.stage, repeated.partition)))
    print_lines(f"{repeated.job}: {name}, repeated with {what}", style="bold")
    took, before = times.seconds, repeated.seconds_before
    factor = f", {took / before:.2f} × as long" if before > FEW else ""
    facts = [
        ("time", f"{duration(took)}; the kept job took {duration(before)}{factor}"),
        ("result", RESULTS[repeated.same_result]),
        ("phases", ", ".join(f"{phase} {duration(seconds)}" for phase, seconds in times.phases.items())),
    ]
    if times.workers:
        busy = sorted(map(sum, times.workers.values()))
        span = " to ".join(dict.fromkeys(map(duration, (busy[0], busy[-1]))))
        facts.append(("workers", f"{len(busy)}, busy for {span}"))
    if units := times.longest_units():
        longest = ", ".join(f"{each.name} {duration(each.seconds)}" for each in units)
        facts.append(("longest units", longest))
    print_facts([*facts, ("bottleneck", report.bottleneck)])
    if report.rows:
        print_lines("")
        print_table(report.columns, report.rows, right=report.columns[:-1], wrap=report.columns[-1])
    print_lines("", f"written: {', '.join(map(os.path.relpath, report.files))}")


def _fields(how: str, repeated: Repeated, times: JobTimes, report: Report) -> dict[str, object]:
    told = {name: each for name, each in vars(repeated).items() if name != "times"}
    return {
        **told,
        "partition": repeated.partition or None,
        "profiler": how,
        "seconds": times.seconds,
        "phases": times.phases,
        "workers": [{"units": len(each), "busy": sum(each)} for each in times.workers.values()],
        "longest_units": [{"unit": each.name, "seconds": each.seconds} for each in times.longest_units()],
        "bottleneck": report.bottleneck,
        "rows": [dict(zip(report.columns, row, strict=True)) for row in report.rows],
        "files": [str(each) for each in report.files],
    }
