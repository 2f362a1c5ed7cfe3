"""Finished jobs of two small stages, as runs of a pipeline leave them, made without a server."""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortloop.keys.hashing import digest
from shortloop.keys.key import Parts
from shortloop.project.project import DELETED, FINISHED
from shortloop.stages.records import FORMAT, RECORD
from shortloop.store.index import Place
from shortloop.store.integrity import content_of_job, hash_outputs, output_files, states_of
from shortloop.store.manifest import MANIFEST, Manifest, write_manifest
from shortloop.store.store import Store

PIPELINE = "build_toy small"
CONFIGURATION = """\
slices: 2
workdirs:
	main ./workdirs/main
method packages:
	shortloop.prepare auto-discover
	methods auto-discover
listen: .socket.dir/server
result directory: ./results
"""
CODE = {"methods.a_scores": "import shortloop.steps", "shortloop.steps": "def step(x):\n    return x + 1"}


def toy_project(folder: Path) -> Path:
    """A project without jobs."""
    (folder / "workdirs" / "main").mkdir(parents=True)
    (folder / "accelerator.conf").write_text(CONFIGURATION, encoding="utf-8")
    return folder


def jobs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    """A fixture: a project without jobs, in the folder of which the test runs."""
    monkeypatch.chdir(toy_project(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    return ToyJobs(tmp_path)


def project_of_two_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fixture: a project of two jobs, in the folder of which the test runs."""
    made = toy_project(tmp_path / "project")
    monkeypatch.chdir(made)
    jobs = ToyJobs(made)
    for left in (1.0, 2.0):
        jobs.make("A", options={"left": left}, left=left)
    return made


def beside(project: Path, name: str) -> Path:
    """Another project without jobs, on the workdir of a project."""
    folder = project.with_name(name)
    folder.mkdir()
    elsewhere = CONFIGURATION.replace("./workdirs/main", str(project / "workdirs/main"))
    (folder / "accelerator.conf").write_text(elsewhere, encoding="utf-8")
    return folder


class ToyJobs:
    """Makes jobs of the project in the current folder; each is numbered after the one before."""

    def __init__(self, project: Path, number: int = 0) -> None:
        self.project, self.number = project, number
        self.places: dict[Place, str] = {}

    def folder(self, job: str) -> Path:
        return self.project / "workdirs" / "main" / job

    def make(
        self,
        partition: str | None = "A",
        *,
        method: str = "scores",
        options: Mapping[str, Any] | None = None,
        above: Mapping[str, Manifest | list[Manifest]] | None = None,
        code: Mapping[str, str] = CODE,
        left: float = 0.0,
        age: float = 0.0,
        previous: str = "",
        reason: str = "new",
        pipeline: str = PIPELINE,
        settings: str = "small",
        facts: Mapping[str, Any] | None = None,
        arrays: Mapping[str, Any] | None = None,
        large: int = 0,
    ) -> Manifest:
        """A recorded job, which the index knows, in its place in the pipeline's last run."""
        job, above = f"main-{self.number}", above or {}
        options = {**(options or {}), **({} if partition is None else {"partition": partition})}
        folder = self._folder(job, method, options, above, age)
        self._results(folder, method, partition, left, facts or {}, arrays or {})
        (folder / "large.bin").write_bytes(bytes(large))
        keep_code(folder, method, code)
        parts = Parts(
            f"methods.{method}",
            {name: digest(text) for name, text in code.items()},
            {"python": "3.11.7"},
            options,
            {name: _each(made, "content") for name, made in above.items()},
        )
        files = hash_outputs(folder, output_files(folder))
        content, _ = content_of_job(folder, files)
        manifest = Manifest(
            job=job,
            key=parts.key(),
            parts=parts,
            content=content,
            files=files,
            partition=partition,
            pipeline=pipeline,
            settings=settings,
            reason=reason,
            previous=previous,
            cost={"seconds": 1.5, "cpu_seconds": 2.25, "peak_bytes": 3_400_000, "utilisation": 0.75},
        )
        self.places[Place(pipeline, method, partition, "1")] = job
        with Store() as store:
            store.index.start_pipeline(pipeline, settings)
            manifest = replace(manifest, project=store.index.name_for(job))
            write_manifest(folder, manifest)
            store.index.insert(manifest, states_of(folder, [*manifest.files, MANIFEST]))
        return manifest

    def ended(self, pipeline: str = PIPELINE) -> None:
        """The last jobs made are those of the last run."""
        with Store() as store:
            store.index.put_in_places(self.places)
            store.index.finish_pipeline(pipeline, self.places)

    def unrecorded(self, *, finished: bool, script: bool = False) -> str:
        """A job that exax knows, and nobody recorded; perhaps of a build script."""
        job = f"main-{self.number}"
        folder = self._folder(job, "build_scripts.build_toy" if script else "scores", {}, {}, 0)
        if script:
            setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
            (folder / "setup.json").write_text(json.dumps({**setup, "is_build": True}), encoding="utf-8")
        if not finished:
            (folder / FINISHED).unlink()
        return job

    def damage(self, job: str) -> None:
        """Change a byte of its results, and nothing that shows."""
        file = self.folder(job) / "scores.npy"
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)

    def _folder(
        self,
        job: str,
        method: str,
        options: Mapping[str, Any],
        above: Mapping[str, Manifest | list[Manifest]],
        age: float,
    ) -> Path:
        folder = self.folder(job)
        folder.mkdir()
        setup = {
            "method": method,
            "package": "methods",
            "hash": "0123abcd",
            "starttime": time.time() - age,
            "exectime": {"total": 1.5},
            "options": dict(options),
            "jobs": {name: _each(made, "job") for name, made in above.items()},
        }
        (folder / "setup.json").write_text(json.dumps(setup), encoding="utf-8")
        (folder / FINISHED).write_text(json.dumps({"starttime": setup["starttime"]}), encoding="utf-8")
        self.number += 1
        return folder

    @staticmethod
    def _results(
        folder: Path,
        method: str,
        partition: str | None,
        left: float,
        facts: Mapping[str, Any],
        arrays: Mapping[str, Any],
    ) -> None:
        times = np.arange(4) / 10
        np.save(folder / "scores.npy", 50 + left + 10 * times)
        np.save(folder / "times.npy", times)
        array = {"axes": "bins", "description": "", "shape": [4], "dtype": "float64"}
        record: dict[str, Any] = {
            "format": FORMAT,
            "stage": method,
            "partition": partition,
            "arrays": {"scores": {**array, "unit": "%"}, "times": {**array, "unit": "s"}, **arrays},
            "facts": dict(facts),
            "threads": [],
            "versions": {"numpy": "2.0"},
            "problem": None,
        }
        (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")


def keep_code(folder: Path, method: str, code: Mapping[str, str]) -> None:
    """What exax keeps of the code of a job: its method, and the text of the other modules."""
    own = f"methods.a_{method}"
    others = "".join(f"\n# module {name}\n{text}\n" for name, text in code.items() if name != own)
    texts = {f"methods/a_{method}.py": code.get(own, ""), f"methods.a_{method}.txt": f"# numpy 2.0\n{others}"}
    with tarfile.open(folder / "method.tar.gz", "w:gz") as archive:
        for name, text in texts.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))


def is_deleted(folder: Path) -> bool:
    return {file.name for file in folder.iterdir()} == {"setup.json", MANIFEST, DELETED}


def with_code(**texts: str) -> dict[str, str]:
    """The usual code, and other text of some modules of the package."""
    return {**CODE, **{f"shortloop.{name}": text for name, text in texts.items()}}


def _each(made: Manifest | list[Manifest], what: str) -> Any:
    return [getattr(each, what) for each in made] if isinstance(made, list) else getattr(made, what)


def make_outdated(folder: Path, how: str) -> None:
    """Make a job one that another version of Shortloop kept, and that is whole to that version.

    `how` says which of "manifest" and "record" has another number.
    """
    plain = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    del plain["hash"]
    if how == "manifest":
        plain["format"] = FORMAT + 1
    else:
        record["format"] = FORMAT + 1
    (folder / RECORD).write_text(json.dumps(record), encoding="utf-8")
    plain["files"] = files = hash_outputs(folder, output_files(folder))
    plain["content"], _ = content_of_job(folder, files)
    (folder / MANIFEST).write_text(json.dumps({**plain, "hash": digest(plain)}), encoding="utf-8")
