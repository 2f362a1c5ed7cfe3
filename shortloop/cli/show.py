"""``shortloop show``: print one job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError
from shortloop.base.text import amount, one_line
from shortloop.cli.output import moment, print_facts, print_json, print_lines, print_table
from shortloop.plan.explain.reasons import option_rows
from shortloop.profile.job_speed import speed_of, speed_rows
from shortloop.profile.limits import kept_limits
from shortloop.project.project import job_directory
from shortloop.stages.failures import failed_units
from shortloop.stages.inputs import renamed
from shortloop.stages.records import EARLIER, RETRIED
from shortloop.stages.results import Result, Setup, sources_of
from shortloop.stages.rows import number_of_rows
from shortloop.store.inputs import last_place
from shortloop.store.loaded import look_up
from shortloop.store.manifest import Manifest, read_manifest
from shortloop.store.setup import setup_of
from shortloop.store.store import Store
from shortloop.units.messages import HERE
from shortloop.upkeep.inventory import STATES, Entry, inventory

LISTED = 20  # units
OF_EVERY_JOB = ("partition", "modules")  # options that are shown only if they are set
CONTENTS = {  # fields of each array, table and object, by the name under which they are shown
    "arrays": {"shape": "shape", "type": "dtype", "unit": "unit", "axes": "axes", "what": "description"},
    "tables": {name: name for name in ("rows", "columns", "library")},
    "objects": {name: name for name in ("type", "text")},
}
Rows = Iterator[tuple[str, str]]


def show_job(job: str, as_json: bool = False) -> None:
    folder = job_directory(job)
    with Store() as store:
        (entry,) = [each for each in inventory(store) if each.folder == folder]
    result = None if entry.state in ("deleted", "outdated") else look_up(job)
    setup, manifest = setup_of(folder), read_manifest(folder)
    if not setup:
        hint = "check the file with `shortloop verify`"
        raise InputError("the job's setup.json cannot be read", file=folder / "setup.json", hint=hint)
    if as_json:
        print_json(**_fields(entry, setup, manifest, result))
        return
    of = f" of {entry.partition}" if entry.partition else ""
    print_lines(one_line(f"{folder.name}: {entry.stage}{of}"), style="bold")
    if result is not None and result.problem:
        print_lines(f"rejected: {result.problem}")
    made = datetime.fromtimestamp(setup["starttime"]).astimezone()
    facts = [
        ("made", f"{made:%Y-%m-%d %H:%M:%S}, in {setup['exectime']['total']:.2f} s"),
        ("state", f"{entry.state}: {STATES[entry.state]}"),
    ]
    users = [str(of) for of in entry.pipelines]
    if entry.state == "current" and users != [manifest and manifest.pipeline]:
        facts.append(("used by", ", ".join(sorted(users))))
    facts += [*_made_by(setup, manifest, folder), *_from(setup, result), *_how(setup, result)]
    print_facts(facts)
    if (speed := speed_of(folder)) is not None:
        print_lines("", "speed", style="bold")
        print_facts([*speed_rows(speed, kept_limits())])
    for kind, rows in _contents({} if result is None else result.record).items():
        if rows:
            print_lines("", kind, style="bold")
            cells = [[*map(_cell, row.values())] for row in rows]
            heads = [*rows[0]]
            print_table(heads, cells, right=("rows",), wrap="columns" if kind == "tables" else heads[-1])
    listed = ", ".join(one_line(f"{name} ({amount(size)})") for name, size in _files(folder))
    print_lines(f"files: {listed}")


def _contents(record: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {
        kind: [
            {"name": name, **{field: each[key] for field, key in fields.items()}}
            for name, each in record.get(kind, {}).items()
        ]
        for kind, fields in CONTENTS.items()
    }


def _cell(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{column} ({kind})" for column, kind in value.items())
    return " × ".join(map(str, value)) if isinstance(value, list) else str(value)


def _files(folder: Path) -> list[tuple[str, int]]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return sorted((str(file.relative_to(folder)), file.stat().st_size) for file in files)


def _fields(
    entry: Entry, setup: Setup, manifest: Manifest | None, result: Result | None
) -> dict[str, object]:
    record: Mapping[str, Any] = {} if result is None else result.record
    hidden = (EARLIER, *OF_EVERY_JOB)
    return {
        "job": entry.job,
        "stage": entry.stage,
        "partition": entry.partition or None,
        "state": entry.state,
        "rejected": None if result is None else result.problem,
        "made": moment(setup["starttime"]),
        "seconds": setup["exectime"]["total"],
        "used_by": [str(of) for of in entry.pipelines],
        "method": f"{setup['package']}.a_{setup['method']}",
        **{name: getattr(manifest, name, None) for name in ("pipeline", "reason", "key", "content")},
        "previous": (manifest and manifest.previous) or None,
        "cost": manifest.cost if manifest else {},
        "harmless": [each.line for each in manifest.harmless] if manifest else [],
        "sources": [{"name": name, "job": source} for name, source in sources_of(setup)],
        "options": {name: value for name, value in setup["options"].items() if name not in hidden},
        "facts": record.get("facts", {}),
        "versions": record.get("versions", {}),
        "threads": record.get("threads", []),
        "engine": record.get("engine") or None,
        "speed": None if (speed := speed_of(entry.folder)) is None else speed.fields(kept_limits()),
        **_contents(record),
        "files": [{"name": name, "bytes": size} for name, size in _files(entry.folder)],
        "folder": entry.folder,
    }


def cost_rows(cost: Mapping[str, object]) -> Rows:
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


def _how(setup: Setup, result: Result | None) -> Rows:
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
        source = setup_of(job_directory(job))
    except InputError as error:
        return f"{job}: {error.problem}"
    return f"{job}: {source['method']} {source['options'].get('partition') or ''}".rstrip()
