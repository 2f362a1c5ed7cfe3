"""``shortloop show``: print one job."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from shortloop.base.errors import InputError
from shortloop.base.text import amount, one_line
from shortloop.cli.output import moment, print_facts, print_json, print_lines, print_table
from shortloop.profile.job_speed import speed_of, speed_rows
from shortloop.profile.limits import kept_limits
from shortloop.project.project import job_directory
from shortloop.stages.records import EARLIER
from shortloop.stages.results import Result, Setup, sources_of
from shortloop.store.loaded import look_up
from shortloop.store.manifest import Manifest, read_manifest
from shortloop.store.setup import setup_of
from shortloop.store.store import Store
from shortloop.upkeep.inventory import STATES, Entry, inventory
from shortloop.upkeep.job_facts import OF_EVERY_JOB, cell, contents, files_of, made_by, made_from, made_how


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
    facts += [*made_by(setup, manifest, folder), *made_from(setup, result), *made_how(setup, result)]
    print_facts(facts)
    if (speed := speed_of(folder)) is not None:
        print_lines("", "speed", style="bold")
        print_facts([*speed_rows(speed, kept_limits())])
    for kind, rows in contents({} if result is None else result.record).items():
        if rows:
            print_lines("", kind, style="bold")
            cells = [[*map(cell, row.values())] for row in rows]
            heads = [*rows[0]]
            print_table(heads, cells, right=("rows",), wrap="columns" if kind == "tables" else heads[-1])
    listed = ", ".join(one_line(f"{name} ({amount(size)})") for name, size in files_of(folder))
    print_lines(f"files: {listed}")


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
        "cost": {name: each for name, each in manifest.cost.items() if name != "work"} if manifest else {},
        "harmless": [each.line for each in manifest.harmless] if manifest else [],
        "sources": [{"name": name, "job": source} for name, source in sources_of(setup)],
        "options": {name: value for name, value in setup["options"].items() if name not in hidden},
        "facts": record.get("facts", {}),
        "versions": record.get("versions", {}),
        "threads": record.get("threads", []),
        "engine": record.get("engine") or None,
        "speed": None if (speed := speed_of(entry.folder)) is None else speed.fields(kept_limits()),
        **contents(record),
        "files": [{"name": name, "bytes": size} for name, size in files_of(entry.folder)],
        "folder": entry.folder,
    }
