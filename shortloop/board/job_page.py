"""What the page of a job shows, and that of a stage."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from shortloop.base.errors import InputError
from shortloop.base.extras import is_installed
from shortloop.base.text import short
from shortloop.board.files import open_inside
from shortloop.board.graph import BUILT, FAILED, RUNNING
from shortloop.board.run_jobs import JobFacts, facts_of, folder_of
from shortloop.exax.job_output import is_running
from shortloop.profile.history import draw, history_of
from shortloop.profile.job_speed import speed_of, speed_rows
from shortloop.profile.limits import kept_limits
from shortloop.project.project import FINISHED, SET_ASIDE, job_directory, job_folders
from shortloop.report.style import encoded, styled
from shortloop.stages.results import Result
from shortloop.stages.tables import ENDING
from shortloop.store.loaded import look_up
from shortloop.store.manifest import read_manifest
from shortloop.store.setup import setup_of
from shortloop.upkeep.inventory import STATES
from shortloop.upkeep.job_facts import cell, contents, files_of, made_by, made_from, made_how

FACTS, FILES, IMAGES, TABLES, ROWS, COLUMNS = 200, 200, 12, 4, 8, 12  # that are shown
JOBS = 300  # of a stage
_DRAWING = threading.Lock()  # the style of figures is one for all threads
PICTURES = (".png", ".svg", ".jpg", ".jpeg", ".gif", ".webp")
NO_TABLES = "`pip install 'shortloop[tables]'` shows its first rows"


class Preview(NamedTuple):
    """First rows of a table."""

    name: str
    columns: list[str]
    rows: list[list[str]]
    note: str  # why there are none, or that there are more


def job_page(job: str) -> dict[str, object]:
    """Describe a job, finished or not."""
    folder = job_directory(job)
    facts = facts_of(folder)
    if facts is None:
        hint = "check the file with `shortloop verify`"
        raise InputError("the job's setup.json cannot be read", file=folder / "setup.json", hint=hint)
    result, problem = None, ""
    state, words = state_of(facts, folder)
    if (folder / FINISHED).exists():
        try:
            result = look_up(job)
            problem = result.problem or ""
        except InputError as error:  # of another version, or damaged
            problem = error.message
    files = files_of(folder)
    names = [name for name, _ in files]
    return {
        "job": facts,
        "state": state,
        "words": words,
        "problem": problem,
        "facts": [*_facts(folder, result)],
        "speed": [*_speed(folder)],
        "contents": [*_contents(result)],
        "previews": [*_previews(folder, result)],
        "files": files[:FILES],
        "more_files": len(files) - FILES,
        "images": [name for name in names if name.lower().endswith(PICTURES)][:IMAGES],
        "pages": [name for name in names if name.lower().endswith((".html", ".htm"))][:IMAGES],
    }


def state_of(job: JobFacts, folder: Path) -> tuple[str, str]:
    """State of a job, as a graph has it, and in words."""
    if (folder / SET_ASIDE).exists() and not (folder / FINISHED).exists():
        return FAILED, f"damaged: {STATES['damaged']}"
    if job.state != RUNNING:
        return (BUILT, "built") if job.state == BUILT else ("left", f"deleted: {STATES['deleted']}")
    return (RUNNING, "running") if is_running(folder) else (FAILED, "failed, or was interrupted")


def _facts(folder: Path, result: Result | None) -> Iterator[tuple[str, str]]:
    setup, manifest = setup_of(folder), read_manifest(folder)
    # What exax has not written yet, or somebody has damaged, is left out.
    for rows in (made_by(setup, manifest, folder), made_from(setup, result), made_how(setup, result)):
        with suppress(KeyError, TypeError, ValueError, AttributeError, OSError):
            yield from islice(rows, FACTS)
            if next(rows, None) is not None:
                yield "…", f"`shortloop show {folder.name}` lists all"


def _speed(folder: Path) -> Iterator[tuple[str, str]]:
    with suppress(KeyError, TypeError, ValueError, AttributeError, OSError):
        if (speed := speed_of(folder)) is not None:
            yield from speed_rows(speed, kept_limits())


def _contents(result: Result | None) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    with suppress(KeyError, TypeError, AttributeError):
        for kind, rows in contents({} if result is None else result.record).items():
            if rows:
                yield kind, [*rows[0]], [[short(cell(each), 400) for each in row.values()] for row in rows]


def _previews(folder: Path, result: Result | None) -> Iterator[Preview]:
    described = {} if result is None else result.record.get("tables", {})
    for name, table in [*described.items()][:TABLES]:
        if not is_installed("pyarrow"):
            yield Preview(name, [], [], NO_TABLES)
            continue
        try:
            yield _preview(folder, name, table["rows"])
        except Exception as error:  # whatever the library makes of a damaged file
            yield Preview(name, [], [], f"it cannot be read: {type(error).__name__}")


def _preview(folder: Path, name: str, length: int) -> Preview:
    from pyarrow.parquet import ParquetFile

    with open_inside(folder, f"{name}{ENDING}") as stream:
        file: Any = ParquetFile(stream)
        columns = file.schema_arrow.names[:COLUMNS]
        batches = file.iter_batches(batch_size=ROWS, columns=columns, use_threads=False)
        first = next(batches, None)
    rows = [] if first is None else [[short(str(row[each])) for each in columns] for row in first.to_pylist()]
    more = len(file.schema_arrow.names) - len(columns)
    note = f"{len(rows)} of {length:,} rows" if length > len(rows) else ""
    return Preview(
        name, columns, rows, ", ".join(filter(None, [note, f"{more} more columns" if more > 0 else ""]))
    )


def history_picture(stage: str) -> bytes:
    """Draw how fast a stage was in past runs, as PNG."""
    with _DRAWING, styled():
        return encoded(draw(history_of(stage)), ["png"])["png"]


def stage_page(stage: str) -> dict[str, object]:
    """List the jobs of a stage, the newest first."""
    found = [facts for facts in map(facts_of, job_folders()) if facts is not None and facts.stage == stage]
    if not found:
        raise InputError("no job of this stage", found=stage, hint="`shortloop jobs` lists all jobs")
    shown = nlargest(JOBS, found, key=lambda job: job.began)
    states = [state_of(job, folder_of(job.job)) for job in shown]
    return {"stage": stage, "jobs": [*zip(shown, states, strict=True)], "more": len(found) - len(shown)}
