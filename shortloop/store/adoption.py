"""Make a job of a shared cache one of this project's: with its id here, made from the jobs here."""

from __future__ import annotations

import json
import os
import pickle
import re
import sys
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shortloop.base.plain import Plain
from shortloop.keys.hashing import hash_file
from shortloop.project.project import FINISHED, configuration
from shortloop.stages.records import EARLIER, RECORD, RETRIED, ROWS, json_lines
from shortloop.stages.rows import BEGIN, FOR_OTHERS, FOR_THIS_JOB, LENGTH, read_rows
from shortloop.store.integrity import DescriptionReader, forged, is_description, move_dataset
from shortloop.store.manifest import Manifest, StoredJob
from shortloop.store.setup import json_object
from shortloop.store.shared_cache import NotTaken
from shortloop.store.store import Store

Ids = Mapping[str, str | list[str]]


@dataclass(frozen=True)
class Asked:
    """What exax would be given to build a job here."""

    pipeline: str
    reason: str  # why it is not built here
    partition: str | None
    options: Mapping[str, Plain]
    jobs: Ids
    datasets: Ids


def adopt(
    store: Store, shared: Manifest, fetched: Path, folder: Path, asked: Asked, trusted: bool
) -> StoredJob:
    """Move the files of a job to a folder that does not exist yet, and record it."""
    if not trusted and ROWS in shared.files and _holds_objects(fetched / ROWS):
        raise NotTaken("its units hold objects, which only a trusted cache may give")
    if not store.slices.are_as_now(fetched, shared.key, [*shared.files]):
        raise NotTaken("its files are split by another number of slices")
    ids = _ids(store, shared, folder.name)
    changed = ["setup.json", FINISHED]
    _rewrite_setup(fetched / "setup.json", folder.name, asked)
    post = _read(fetched / FINISHED)
    (fetched / FINISHED).write_text(json.dumps(post | {"subjobs": {}}, indent=4), encoding="utf-8")
    if RECORD in shared.files and "taken" in (record := _read(fetched / RECORD)):
        changed.append(RECORD)  # of units that were of jobs elsewhere
        text = json_lines({name: each for name, each in record.items() if name != "taken"})
        (fetched / RECORD).write_text(text, encoding="utf-8")
    for name in filter(is_description, shared.files):
        changed.append(name)
        _rewrite_dataset(fetched / name, ids)
    now = {name: ((fetched / name).stat().st_size, hash_file(fetched / name)) for name in changed}
    manifest = replace(
        shared,
        job=folder.name,
        files={**shared.files, **now},
        pipeline=asked.pipeline,
        reason=asked.reason,
        partition=asked.partition,
        previous="",
        rests_on={ids[job]: content for job, content in shared.rests_on.items()},
        harmless=[],
    )
    if wrong := forged(fetched, manifest, manifest.files):
        raise NotTaken(wrong)
    folder.mkdir()
    for name in sorted(os.listdir(fetched), key=lambda name: name == FINISHED):  # which says that it is done
        os.replace(fetched / name, folder / name)
    return store.add(folder, manifest)


def _ids(store: Store, shared: Manifest, job: str) -> dict[str, str]:
    """Jobs here with the content of those whose datasets a job needs."""
    found = {shared.job: job}
    if shared.rests_on:
        store.written()  # as the index has jobs that were taken just now
    for other, content in shared.rests_on.items():
        here = next(iter(store.index.by_content(content)), None) if content else None
        if other != shared.job and here is None:
            raise NotTaken("a dataset that it needs is not here")
        found |= {other: here.job} if other != shared.job and here else {}
    return found


def _rewrite_setup(file: Path, job: str, asked: Asked) -> None:
    """Write exax's record of a job as if it had been built here."""
    from accelerator import g
    from accelerator.setupfile import encode_setup

    setup = _read(file)
    options = {name: each for name, each in setup["options"].items() if name not in (EARLIER, RETRIED)}
    # Of files, exax is given paths, and of files of jobs their ids, which are others here.
    options |= {name: each for name, each in asked.options.items() if name in options}
    for kind, given in (("jobs", asked.jobs), ("datasets", asked.datasets)):
        setup[kind] = {
            name: given.get(name, [] if isinstance(each, list) else None)
            for name, each in setup[kind].items()
        }
    setup |= {"jobid": job, "parent": getattr(g, "job", None), "options": OrderedDict(options)}
    setup["input_directory"] = configuration().get("input_directory")
    setup["versions"]["python_path"] = sys.executable
    file.write_bytes(encode_setup(setup))


def _rewrite_dataset(file: Path, ids: Mapping[str, str]) -> None:
    """Write the description of a dataset with the ids of the jobs here."""
    with file.open("rb") as stream:
        data = _ExactReader(stream).load()
    move_dataset(data, lambda job, inside: "/".join(filter(None, (ids[job], inside))))
    data.pop("cache", None)  # copies of what the datasets before it say
    if isinstance(data.get("caption"), str):
        names = "|".join(map(re.escape, ids))
        data["caption"] = re.sub(rf"\b(?:{names})\b", lambda found: ids[found[0]], data["caption"])
    file.write_bytes(pickle.dumps(data, 2))


class _ExactReader(DescriptionReader):
    """Reads a description as exax has it, and nothing else."""

    def find_class(self, module: str, name: str) -> object:
        super().find_class(module, name)  # which refuses all else
        return pickle.Unpickler.find_class(self, module, name)


def _holds_objects(file: Path) -> bool:
    """True if a value of a unit is a pickle, or may be one."""
    try:
        for row in read_rows(file, _All(), (FOR_OTHERS, FOR_THIS_JOB)).values():
            values = row[BEGIN:]
            head = json.loads(values[LENGTH.size : LENGTH.size + LENGTH.unpack_from(values)[0]])
            if any(isinstance(kind, dict) for _, kind, _, _ in head):
                return True
    except Exception:  # whatever is in it
        return True
    return False


class _All:
    """Contains everything."""

    def __contains__(self, key: object) -> bool:
        return True


def _read(file: Path) -> dict[str, Any]:
    if not (loaded := json_object(file)):
        raise NotTaken(f"{file.name} is damaged")
    return loaded
