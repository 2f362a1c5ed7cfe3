"""``shortloop history``: how fast a stage was in past runs."""

from __future__ import annotations

import time
from pathlib import Path

from shortloop.base.text import duration
from shortloop.cli.output import check_file, moment, print_json, print_lines, print_table
from shortloop.profile.history import History, draw, history_of, loss_in_words

LAST = 30  # runs that are listed
BAR = 24  # characters
ENDINGS = (".svg", ".png", ".pdf")


def print_history(stage: str, partition: str | None, figure: Path | None, as_json: bool) -> None:
    """Print the rate of a stage in each run, and since when it is slower; or draw it."""
    check_file(figure, "figure", ENDINGS)
    history = history_of(stage, partition)
    if figure is not None:
        from shortloop.report.style import styled

        with styled():
            draw(history).savefig(figure)
    if as_json:
        print_json(**_fields(history))
        return
    if figure is not None:
        print_lines(f"written: {figure}")
    _print(history)


def _print(history: History) -> None:
    what = "units" if history.has_units else "jobs"
    shown, loss = history.points[-LAST:], history.loss
    most = max(each.rate for each in shown)
    rows, styles = [], []
    for each in shown:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.began))
        relative = "" if each.relative is None else f"{each.relative:.2f}"
        bar = "█" * max(round(BAR * each.rate / most), 1)
        jobs, took, rate = str(len(each.jobs)), duration(each.seconds), f"{each.rate:,.4g}"
        rows.append((str(each.run), when, jobs, took, rate, relative, bar))
        styles.append("red" if loss is not None and each.run >= loss.since.run else "")
    columns = ("run", "when", "jobs", "time", f"{what}/s", "× usual", "")
    print_table(columns, rows, right=("run", "jobs", "time", columns[4], "× usual"), styles=styles)
    more = len(history.points) - len(shown)
    earlier = f"{more} earlier runs are not listed; " if more else ""
    print_lines("", f"{earlier}{loss_in_words(history)}")


def _fields(history: History) -> dict[str, object]:
    loss = history.loss
    return {
        "stage": history.stage,
        "unit": "units" if history.has_units else "jobs",
        "points": [{**each._asdict(), "began": moment(each.began)} for each in history.points],
        "loss": loss
        and {
            "since": loss.since.run,
            "factor": loss.factor,
            "noise": loss.noise,
            "cpu": loss.cpu,
            "jobs": [loss.last.jobs[0], loss.since.jobs[0]],
        },
        "text": loss_in_words(history),
    }
