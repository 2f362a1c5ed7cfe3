"""Facts of one job: how it was made, from what, what it left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError
from shortloop.base.text import amount
from shortloop.plan.explain.reasons import option_rows
from shortloop.project.project import job_directory
from shortloop.stages.failures import failed_units
from shortloop.stages.inputs import renamed
from shortloop.stages.records import EARLIER, RETRIED
from shortloop.stages.results import Result, Setup, sources_of
from shortloop.stages.rows import number_of_rows
from shortloop.store.inputs import last_place
from shortloop.store.manifest import Manifest
from shortloop.store.setup import setup_of, title_of
from shortloop.units.messages import HERE

LISTED = 20  # units
OF_EVERY_JOB = ("partition", "modules")  # options that are shown only if they are set
CONTENTS = {  # fields of each array, table and object, by the name under which they are shown
    "arrays": {"shape": "shape", "type": "dtype", "unit": "unit", "axes": "axes", "what": "description"},
    "tables": {name: name for name in ("rows", "columns", "library")},
    "objects": {name: name for name in ("type", "text")},
}
Rows = Iterator[tuple[str, str]]


def contents(record: Mapping[str, object]) -> dict[str, list[dict[str, object]]]:
    """List the arrays, tables and objects of a record, each with its fields."""
    found: dict[str, list[dict[str, object]]] = {}
    for kind, fields in CONTENTS.items():
        described: Any = record.get(kind, {})
        found[kind] = [
            {"name": name, **{field: each[key] for field, key in fields.items()}}
            for name, each in described.items()
        ]
    return found


def cell(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{column} ({kind})" for column, kind in value.items())
    return " × ".join(map(str, value)) if isinstance(value, list) else str(value)


def files_of(folder: Path) -> list[tuple[str, int]]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return sorted((str(file.relative_to(folder)), file.stat().st_size) for file in files)


def _cost_rows(cost: Mapping[str, object]) -> Rows:
    for name, value in cost.items():
        if name == "work":  # see `profile.job_speed`
            continue
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


def made_by(setup: Setup, manifest: Manifest | None, folder: Path) -> Rows:
    yield "by", f"{setup['package']}.a_{setup['method']}, code {setup['hash']}"
    if manifest is not None:
        yield "for", manifest.pipeline
        previous = f" (in its place before: {manifest.previous})" if manifest.previous else ""
        yield "because", f"{manifest.reason or 'no reason is kept'}{previous}"
        yield "cost", ", ".join(f"{name} {value}" for name, value in _cost_rows(manifest.cost))
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


def made_from(setup: Setup, result: Result | None) -> Rows:
    for name, source in sources_of(setup):
        yield f"from {name}", _source(source)
    if result is None:
        return
    if (taken := result.record.get("taken")) is not None:
        reused = ", ".join(f"{count} from {job}" for job, count in taken.items())
        units = f"{sum(taken.values())} of {number_of_rows(result.path)}"
        yield "units", f"{units} read the same, and were not computed again: {reused}"
    yield from _failed(result)
    now: dict[str, str] = {}
    for phase, files in result.record["facts"].get("files", {}).items():
        for file in files:
            content, name = file["content"], Path(file["name"]).name
            place = last_place(content)
            now[name] = name if place is None else place.name
            yield f"file, {phase}", f"{place or file['name']} (content {content})"
    for note in result.record["facts"].get("notes", ()):
        yield "note", renamed(str(note), now)
    for name, array in result.record["arrays"].items():
        if "outside" in array:
            file, offset = array["outside"]["name"], array["outside"]["span"]["offset"]
            yield f"array {name}", f"in {file}, from byte {offset} on; no copy is kept"


def _failed(result: Result) -> Rows:
    """Units that failed, finally or at first."""
    failed = result.record.get("errors", {"failed": ()})["failed"]
    if failed:
        yield "failed", failed_units(result.record["errors"], 0).partition(":")[0]
        for unit, error in failed[:LISTED]:
            yield f"unit {unit}", str(error)
        more = f", of {len(failed) - LISTED} more" if len(failed) > LISTED else ""
        yield "", f'tracebacks{more}: `shortloop.load("{result.job}").tracebacks`; a run computes them again'
    attempts = result.record.get("attempts", ())
    retried = [(unit, errors) for unit, errors in attempts if [unit, errors[-1]] not in failed]
    for unit, errors in retried[:LISTED]:
        yield "again", f"unit {unit} failed {len(errors)} times before it succeeded: {errors[-1]}"


def made_how(setup: Setup, result: Result | None) -> Rows:
    for name, value in option_rows(setup["options"]):
        if name not in (EARLIER, RETRIED) and (name not in OF_EVERY_JOB or value):
            yield f"option {name}", str(value)
    if result is None:
        return
    yield "versions", ", ".join(f"{name} {v}" for name, v in result.record["versions"].items())
    for pool in result.record["threads"]:
        yield "threads", f"{pool['library']} {pool['version']}: {pool['threads_used']}"
    engine: Mapping[str, Any] = result.record.get("engine", {})
    if not engine:
        return
    words = [f"{engine['name']} {engine.get('version', '')}".strip()]
    words += [f"at {engine['where']}"] if engine.get("where", HERE) != HERE else []
    words += [f"{engine['workers']} workers"]
    yield "engine", ", ".join(words)
    for host, processes in engine.get("processes", {}).items():
        yield f"on {host}", f"{processes} processes"
    if engine.get("sent_bytes"):
        yield "sent", f"{engine['sent_bytes']:,} bytes to nodes that have not the project"
    for library, chosen in engine.get("kernels", {}).items():
        yield f"code of {library}", "; ".join(chosen)


def _source(job: str) -> str:
    try:
        return f"{job}: {title_of(setup_of(job_directory(job)))}"
    except InputError as error:
        return f"{job}: {error.problem}"
