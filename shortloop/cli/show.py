"""``shortloop show``: one job in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from shortloop.cli.tables import amount
from shortloop.engines.messages import HERE
from shortloop.errors import InputError
from shortloop.jobs.explain.differences import option_rows
from shortloop.jobs.project import job_directory
from shortloop.jobs.store.inputs import last_place
from shortloop.jobs.store.lookup import look_up
from shortloop.jobs.store.manifest import Manifest, read_manifest
from shortloop.jobs.store.setup import setup_of, sources_of
from shortloop.jobs.store.store import Store
from shortloop.text import one_line, printable
from shortloop.upkeep.inventory import STATES, inventory
from shortloop.worker.records import EARLIER
from shortloop.worker.renamed import renamed
from shortloop.worker.results import Result, Setup
from shortloop.worker.rows import number_of_rows

__all__ = ["cost_rows", "show_job"]

OF_EVERY_JOB = ("partition", "modules")
"""Options that are worth a line only where they are given."""
Rows = Iterator[tuple[str, str]]


def show_job(job: str) -> None:
    """Print what made a job, why, from what, with which options, what it cost and what it holds.

    Parameters
    ----------
    job : str
        Job id.

    Raises
    ------
    InputError
        If there is no such job, or it did not finish.
    """
    from rich.console import Console
    from rich.table import Table

    folder = job_directory(job)
    with Store() as store:
        (entry,) = [each for each in inventory(store) if each.folder == folder]
    state = entry.state
    result = None if state in ("deleted", "outdated") else look_up(job)
    setup, manifest = setup_of(folder), read_manifest(folder)
    if not setup:
        raise InputError("exax's record of the job cannot be read", file=folder / "setup.json")
    # No markup: names of files and values of options may have brackets.
    console = Console(highlight=False, markup=False)
    who = setup.get("options", {}).get("partition") if result is None else result.partition
    stage = setup.get("method") if result is None else result.stage
    heading = one_line(f"{folder.name}: {stage}{f' of {who}' if who else ''}")
    console.print(heading, style="bold", soft_wrap=True)
    if result is not None and result.problem:
        console.print(printable(f"rejected: {result.problem}"), soft_wrap=True)

    facts = Table(show_header=False, box=None, pad_edge=False)
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    made = datetime.fromtimestamp(setup["starttime"]).astimezone()
    facts.add_row("made", f"{made:%Y-%m-%d %H:%M:%S}, in {setup['exectime']['total']:.2f} s")
    facts.add_row("state", f"{state}: {STATES[state]}")
    users = [str(of) for of in entry.pipelines]
    if state == "current" and users != [manifest and manifest.pipeline]:
        facts.add_row("used by", one_line(", ".join(sorted(users))))
    for rows in (_made_by(setup, manifest, folder), _from(setup, result), _how(setup, result)):
        for row in rows:
            facts.add_row(*map(one_line, row))
    console.print(facts)

    if result is not None and result.arrays:
        table = Table(title="arrays", title_justify="left", box=None, pad_edge=False)
        for column in ("name", "shape", "type", "unit", "axes", "what"):
            table.add_column(column, overflow="fold")
        for name, array in result.record["arrays"].items():
            shape = " × ".join(map(str, array["shape"]))
            cells = (name, shape, array["dtype"], array["unit"], array["axes"], array["description"])
            table.add_row(*map(one_line, cells))
        console.print(table)
    if result is not None and result.tables:
        table = Table(title="tables", title_justify="left", box=None, pad_edge=False)
        for column in ("name", "rows", "columns", "of"):
            table.add_column(column, overflow="fold")
        for name, each in result.record.get("tables", {}).items():
            columns = ", ".join(f"{column} ({kind})" for column, kind in each["columns"].items())
            table.add_row(*map(one_line, (name, str(each["rows"]), columns, each["library"])))
        console.print(table)
    files = sorted((str(p.relative_to(folder)), p.stat().st_size) for p in folder.rglob("*") if p.is_file())
    listed = ", ".join(one_line(f"{name} ({amount(size)})") for name, size in files)
    console.print(f"files: {listed}", soft_wrap=True)


def cost_rows(cost: Mapping[str, object]) -> Rows:
    """What a job took, with units.

    Parameters
    ----------
    cost : dict
        As of its manifest.

    Yields
    ------
    name : str
    amount : str
    """
    for name, value in cost.items():
        words = name.replace("_", " ")
        if not isinstance(value, int | float):
            yield words, str(value)
        elif name == "bytes":
            yield "left", amount(value)
        elif name.endswith("bytes"):
            yield words.removesuffix(" bytes"), amount(value)
        elif name.endswith("seconds"):
            yield words.removesuffix(" seconds").replace("seconds", "time"), f"{value:.2f} s"
        elif name == "utilisation":
            yield words, f"{100 * value:.0f} %"
        else:
            yield words, f"{value:g}"


def _made_by(setup: Setup, manifest: Manifest | None, folder: Path) -> Rows:
    yield "by", f"{setup['package']}.a_{setup['method']}, code {setup['hash']}"
    if manifest is not None:
        yield "for", manifest.pipeline
        previous = f" (in its place before: {manifest.previous})" if manifest.previous else ""
        yield "because", f"{manifest.reason or 'no reason is kept'}{previous}"
        yield "cost", ", ".join(f"{name} {value}" for name, value in cost_rows(manifest.cost))
        parts = manifest.parts
        yield "key", f"{manifest.key}, of {len(parts.code)} modules and {len(parts.versions)} versions"
        yield "content", manifest.content
        for each in manifest.harmless:
            yield "harmless", each.line
            for name, (old, new) in [*each.code.items(), *each.versions.items()]:
                yield "", f"{name}: {old or 'none'} → {new or 'none'}"
        if manifest.opened:
            yield "has read", f"{', '.join(manifest.opened)}, which its key does not see"
    yield "folder", str(folder)


def _from(setup: Setup, result: Result | None) -> Rows:
    for name, source in sources_of(setup):
        yield f"from {name}", _source(source)
    if result is None:
        return
    if (taken := result.record.get("taken")) is not None:
        units = number_of_rows(result.path)
        of = ", ".join(f"{count} from {job}" for job, count in taken.items())
        yield "units", f"{sum(taken.values())} of {units} read the same, and were not computed again: {of}"
    now: dict[str, str] = {}
    for phase, files in result.facts.get("files", {}).items():
        for file in files:
            content, name = file["content"], Path(file["name"]).name
            place = last_place(content)
            now[name] = name if place is None else place.name
            yield f"file, {phase}", f"{place or file['name']} (content {content})"
    for note in result.facts.get("notes", ()):
        yield "note", renamed(str(note), now)
    for name, array in result.record["arrays"].items():
        if "outside" in array:
            outside = array["outside"]
            where = f"in {outside['name']}, from byte {outside['span']['offset']} on; no copy is kept"
            yield f"array {name}", where


def _how(setup: Setup, result: Result | None) -> Rows:
    for name, value in option_rows(setup["options"]):
        if name != EARLIER and (name not in OF_EVERY_JOB or value):
            yield f"option {name}", str(value)
    if result is not None:
        yield "versions", ", ".join(f"{name} {v}" for name, v in result.record["versions"].items())
        for pool in result.record["threads"]:
            yield "threads", f"{pool['library']} {pool['version']}: {pool['threads_used']}"
        yield from _engine(result.record.get("engine") or {})


def _engine(engine: Mapping[str, Any]) -> Rows:
    """What computed the units, and on which machines."""
    if not engine:
        return
    words = [f"{engine['name']} {engine.get('version', '')}".strip()]
    words += [f"at {engine['where']}"] if engine.get("where", HERE) != HERE else []
    words += [f"{engine['workers']} workers"]
    words += [f"{engine['early']} units before the job began"] if engine.get("early") else []
    yield "engine", ", ".join(words)
    for host, processes in engine.get("processes", {}).items():
        yield f"on {host}", f"{processes} processes"
    if engine.get("sent_bytes"):
        yield "sent", f"{engine['sent_bytes']:,} bytes to nodes that have not the project"
    for library, chosen in engine.get("kernels", {}).items():
        yield f"code of {library}", "; ".join(chosen)


def _source(job: str) -> str:
    try:
        source = setup_of(job_directory(job))
    except InputError as error:
        return f"{job}: {error.problem}"
    return f"{job}: {source['method']} {source['options'].get('partition') or ''}".rstrip()
