"""A timeline: what each worker of a job, or each place of a run, did when; as a picture or a Chrome trace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from shortloop.profile.job_times import JobTimes
from shortloop.profile.run_times import RunTimes
from shortloop.units.recording import UNIT

ENDINGS = (".json", ".svg", ".png", ".pdf")
PHASES = {"prepare": "prepare", "analysis": "worker", "synthesis": "finish"}
NARROW = 0.004  # of the whole width: no narrower bar is parted from the next by a line


class Bar(NamedTuple):
    """Something that took time; seconds since the job or run began."""

    row: int
    kind: str  # phase, or stage
    name: str
    began: float
    seconds: float


class Timeline(NamedTuple):
    title: str
    what: str  # a row is
    rows: Sequence[str]  # names of the rows
    bars: Sequence[Bar]


def timeline_of_job(job: str, times: JobTimes) -> Timeline:
    """A row for each process: its phases, and the units that it computed."""
    ordered = sorted(times.times, key=lambda each: each.began)
    begin = ordered[0].began if ordered else 0.0
    processes = [*dict.fromkeys(each.process for each in ordered)]
    with_units = {each.process for each in ordered if each.phase == UNIT}
    bars = [
        Bar(
            processes.index(each.process),
            UNIT if each.phase == UNIT else PHASES[each.phase],
            each.name,
            each.began - begin,
            each.seconds,
        )
        for each in ordered
        if not (each.phase == "analysis" and each.process in with_units)
    ]
    return Timeline(job, "process", [str(number) for number in range(len(processes))], bars)


def timeline_of_run(run: int, times: RunTimes) -> Timeline:
    """Jobs in as few rows as they need: each in the first that is free when it begins."""
    ends: list[float] = []
    bars = []
    for job in sorted(times.jobs.values(), key=lambda each: each.began):
        row = next((number for number, end in enumerate(ends) if end <= job.began), len(ends))
        ends[row : row + 1] = [job.ended]
        name = " ".join(filter(None, (job.job, job.partition)))
        bars.append(Bar(row, job.stage, name, job.began, job.seconds))
    return Timeline(f"run {run}", "jobs at a time", [str(number + 1) for number in range(len(ends))], bars)


def write_timeline(timeline: Timeline, file: Path) -> None:
    """Write a picture, or a trace for chrome://tracing and Perfetto, by the file's ending."""
    if file.suffix == ".json":
        file.write_text(json.dumps({"traceEvents": [*_events(timeline)]}), encoding="utf-8")
        return
    from shortloop.report.style import styled

    with styled():
        _draw(timeline, file)


def _events(timeline: Timeline) -> Iterator[dict[str, object]]:
    # The Trace Event Format: times in microseconds; "X" is an event with a duration, "M" a name.
    for number, name in enumerate(timeline.rows):
        named = {"name": f"{timeline.what} {name}"}
        yield {"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": named}
    for bar in timeline.bars:
        yield {
            "ph": "X",
            "name": bar.name or bar.kind,
            "cat": bar.kind,
            "pid": 1,
            "tid": bar.row,
            "ts": round(1e6 * bar.began, 1),
            "dur": round(1e6 * bar.seconds, 1),
        }


def _draw(timeline: Timeline, file: Path) -> None:
    from shortloop.report.style import COLOURS, GREY, new_figure

    figure = new_figure(min(1.4 + 0.28 * len(timeline.rows), 9.0), f"{timeline.title}: what ran when")
    axes = figure.add_subplot()
    colours = dict(zip(_most(timeline.bars, len(COLOURS)), COLOURS))
    end = max((bar.began + bar.seconds for bar in timeline.bars), default=1.0)
    for kind, colour in (colours | {"other": colours.get("other", GREY)}).items():
        bars = [bar for bar in timeline.bars if (bar.kind if bar.kind in colours else "other") == kind]
        for row in sorted({bar.row for bar in bars}):
            spans = [(bar.began, bar.seconds) for bar in bars if bar.row == row]
            width = 0.5 if min(seconds for _, seconds in spans) > NARROW * end else 0.0
            axes.broken_barh(spans, (row - 0.4, 0.8), facecolor=colour, edgecolor="white", linewidth=width)
        if bars:
            axes.barh(0, 0, color=colour, label=kind)
    axes.set_yticks(range(len(timeline.rows)), timeline.rows)
    axes.set_ylim(len(timeline.rows) - 0.5, -0.5)
    axes.set_xlim(0, 1.01 * end)
    axes.set_ylabel(timeline.what)
    axes.set_xlabel("seconds")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(file)


def _most(bars: Iterable[Bar], number: int) -> list[str]:
    """The kinds that take most time, in the order in which they begin."""
    listed = [*bars]
    seconds: dict[str, float] = {}
    for bar in listed:
        seconds[bar.kind] = seconds.get(bar.kind, 0.0) + bar.seconds
    kinds = sorted(seconds, key=lambda each: -seconds[each])[:number]
    return [kind for kind in seconds if kind in kinds]
