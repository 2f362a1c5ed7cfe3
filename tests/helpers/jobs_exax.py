"""exax as a run sees it, without a server: folders of finished jobs, the same for the same arguments."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from blake3 import blake3
from jobs_project import make_job

from shortloop.keys.code import code_state, code_text
from shortloop.keys.installed import as_installed
from shortloop.keys.methods import find_method
from shortloop.stages.records import FORMAT
from shortloop.store.process_notes import NOTED


class FakeJob(str):
    """A job id with the path of its folder, as exax gives it."""

    path: str


class Exax:
    """Answers `urd.build`; it has loaded the methods as they are, until it is told to keep what it has."""

    def __init__(self, project: Path, problems: dict[str, str] | None = None) -> None:
        self.project = project
        self.problems = problems or {}
        self.asked: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.made: dict[str, FakeJob] = {}
        self.while_running: Callable[[], object] = lambda: None
        self.numbers = 0
        self.notes: dict[Path, str] = {}

    def build(
        self,
        method: str,
        *,
        options: Mapping[str, Any],
        jobs: Mapping[str, Any],
        datasets: Mapping[str, Any],
        caption: str,
        **more: int | None,
    ) -> FakeJob:
        options, jobs = dict(options), dict(jobs)
        self.asked.append((method, options, jobs))
        loaded = exax_hash(method)
        key = json.dumps([method, loaded, options, jobs], sort_keys=True)
        if key not in self.made or more.get("force_build"):
            self.made[key] = self._job(method, loaded, options, jobs, caption)
        return self.made[key]

    def loaded(self, method: str) -> list[tuple[str, Path]]:
        """Modules of a job, as its processes note them."""
        return list(code_state(find_method(method)[1]).modules.items())

    def _left(self, job: str) -> str:
        record = self.project / "workdirs/main" / job / "record.json"
        return blake3(record.read_bytes()).hexdigest()

    def _job(
        self, method: str, loaded: str, options: dict[str, Any], jobs: dict[str, Any], caption: str
    ) -> FakeJob:
        job = FakeJob(f"main-{self.numbers}")
        self.numbers += 1
        started = time.time()
        folder = make_job(self.project, job, method=method, options=options, jobs=jobs, finished=False)
        setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
        (folder / "setup.json").write_text(json.dumps({**setup, "hash": loaded}), encoding="utf-8")
        record: dict[str, Any] = {
            "format": FORMAT,
            "stage": method,
            "partition": options.get("partition"),
            "arrays": {},
            "facts": {"recordings": [], "options": options, "of": [self._left(each) for each in _ids(jobs)]},
            "problem": self.problems.get(caption),
        }
        (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
        loaded_now = {
            name: (str(file), blake3(file.read_bytes()).hexdigest()) for name, file in self.loaded(method)
        }
        libraries = code_state(find_method(method)[1]).libraries
        line = {"loaded": loaded_now, "versions": {name: as_installed(name) for name in libraries}}
        self.notes[folder] = f"{json.dumps(line)}\n"
        (folder / NOTED).write_text(self.notes[folder], encoding="utf-8")
        self.while_running()
        post = {"starttime": started, "exectime": {"total": 0.25}}
        (folder / "post.json").write_text(json.dumps(post), encoding="utf-8")
        job.path = str(folder)
        return job


def _ids(jobs: dict[str, Any]) -> list[str]:
    return [id_ for each in jobs.values() for id_ in (each if isinstance(each, list) else [each])]


def exax_hash(method: str) -> str:
    """As exax computes it when it loads a method: of its file, and of what `depend_extra` names."""
    file = find_method(method)[1]
    parts = [file.read_bytes(), code_text(file).encode()]
    own, more = (int(hashlib.sha1(part).hexdigest(), 16) for part in parts)
    return f"{own ^ more:040x}"
