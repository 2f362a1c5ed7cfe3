"""The needs of a job on a node without the project: modules, jobs and files, and where each lies."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from blake3 import blake3

from shortloop.base.errors import TransientError
from shortloop.base.plain import Plain
from shortloop.keys.code import Code
from shortloop.keys.hashing import hash_file
from shortloop.keys.own_code import PACKAGE
from shortloop.project.project import CONFIGURATION, cache_directory, configuration, project_directory
from shortloop.stages.records import RECORD
from shortloop.stages.results import bare_result, upstream
from shortloop.store.inputs import locate
from shortloop.store.integrity import data_outside, hash_outputs, output_files
from shortloop.store.loaded import here
from shortloop.store.manifest import read_manifest
from shortloop.units.messages import JobWork
from shortloop.units.node_cache import INSIDE, OUTSIDE, Files

SETUP, CODE_COPY = "setup.json", "method.tar.gz"  # exax writes them into the folder of each job
HASH = 64  # digits of one


class Listing(TypedDict):
    """The needs of a job, for nodes; paths as of `shortloop.units.node_cache.Files`."""

    project: str  # its folder on the machine of the run
    code: Files  # what the job imports, in a mirror of its own, as jobs share it
    data: Files
    inputs: dict[str, str]  # where each input file is, by its content
    folders: dict[str, str]  # where folders are that its work names
    whole: list[str]  # folders of jobs all of whose files are in `data`
    absent: list[str]  # folders that count as missing on the node


def list_needs(work: JobWork, code: Code) -> tuple[bytes, dict[str, tuple[Path | bytes, int]]]:
    """List the needs of a job as JSON, and the source and size of each content."""
    needs = _Needs()
    task: Any = work["task"]
    needs.add_modules(code.modules)
    for file in code.declared:
        content = hash_file(file)
        for files in (needs.code, needs.data):
            needs.add(files, needs.place(file), file, content)
    jobs = [*_folders(task["jobs"].values()), *_folders([task["before"]])]
    needs.add_jobs(map(Path, jobs), [each.partition("/")[0] for each in _folders(task["datasets"].values())])
    for option in _texts(task["options"]):
        needs.add_input(option)
    needs.add_configuration(work["slices"])
    # Others are no folders: Python puts names of hooks and of archives there.
    for folder in (*filter(os.path.isabs, filter(os.path.isdir, work["path"])), *jobs):
        needs.folders[folder] = needs.place_of_folder(Path(folder))
    return needs.said(), needs.sources


class _Needs:
    def __init__(self) -> None:
        self.code: dict[str, tuple[str, int]] = {}
        self.data: dict[str, tuple[str, int]] = {}
        self.folders: dict[str, str] = {}
        self.sources: dict[str, tuple[Path | bytes, int]] = {}
        self._inputs: dict[str, str] = {}
        self._whole: set[str] = set()
        self._project = os.path.realpath(project_directory())
        self._where = here()

    def said(self) -> bytes:
        absent = {self._project, str(project_directory()), configuration().get("input_directory") or ""}
        shown = os.environ.get("PWD", "")  # shells say there how they came here, be it through links
        if os.path.realpath(shown) == self._project:
            absent.add(shown)
        listing: Listing = {
            "project": self._project,
            "code": self.code,
            "data": self.data,
            "inputs": self._inputs,
            "folders": self.folders,
            "whole": sorted(self._whole),
            "absent": sorted(absent - {""}),
        }
        return json.dumps(listing, sort_keys=True).encode()

    def add(self, to: dict[str, tuple[str, int]], place: str, file: Path, content: str) -> None:
        try:
            size = file.stat().st_size
        except OSError as error:
            problem = f"a file that a job needs cannot be read ({error.strerror})"
            raise TransientError(problem, file=file, hint="run again") from None
        to[place] = content, size
        self.sources[content] = file, size

    def add_modules(self, modules: Mapping[str, Path]) -> None:
        """Add the user's modules; those of this package are installed on each node."""
        for name, file in modules.items():
            parts = name.split(".")
            if parts[0] == PACKAGE:
                continue
            # Folders below the one where it is looked for may be links, and must not be followed.
            root = file.parents[len(parts) - (file.name.partition(".")[0] != "__init__")]
            place = f"{self.place_of_folder(root)}/{file.relative_to(root).as_posix()}"
            self.add(self.code, place, file, hash_file(file))

    def add_jobs(self, folders: Iterable[Path], datasets: Iterable[str]) -> None:
        """Add the results of jobs, and the records of those that they were made from."""
        jobs = {*folders}
        for job in datasets:
            manifest = read_manifest(self._folder_of(job))
            names = {job, *(manifest.rests_on if manifest is not None else ())}
            jobs |= {self._folder_of(each) for each in names}
        for folder in jobs:
            manifest = read_manifest(folder)
            files = hash_outputs(folder, output_files(folder)) if manifest is None else manifest.files
            self._whole.add(self.place_of_folder(folder))
            self._add_files(folder, {name: each for name, (_, each) in files.items() if name != CODE_COPY})
            for _, content in data_outside(folder):
                self.add_input(content)
        for each in upstream(*(bare_result(folder, self._where) for folder in jobs)):
            if each.path not in jobs:
                records = [each.path / name for name in (SETUP, RECORD)]
                self._add_files(each.path, {file.name: hash_file(file) for file in records if file.is_file()})

    def add_input(self, option: str) -> None:
        content = option.partition(" ")[0]
        if len(content) == HASH and content.isalnum() and (cache_directory("inputs") / content).is_file():
            file = locate(option)
            self._inputs[option] = place = self.place(file)
            self.add(self.data, place, file, content)

    def add_configuration(self, slices: int) -> None:
        """Add exax's configuration, with the places in mirrors."""
        found = configuration()
        workdirs = {name: self.place_of_folder(Path(folder)) for name, folder in found.workdirs.items()}
        lines = [f"slices: {slices}", "workdirs:"]
        lines += [f"\t{name} {shlex.quote(f'../{place}')}" for name, place in workdirs.items()]
        lines += ["method packages:", *(f"\t{name} auto-discover" for name in found.method_directories)]
        if inputs := found.get("input_directory"):
            lines.append(f"input directory: {shlex.quote(f'../{self.place_of_folder(Path(inputs))}')}")
        said = "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")
        content = blake3(said).hexdigest()
        for files in (self.code, self.data):
            files[f"{INSIDE}/{CONFIGURATION}"] = content, len(said)
        self.sources[content] = said, len(said)

    def place(self, file: Path) -> str:
        """Place of a file in a mirror; a link keeps its name."""
        return f"{self.place_of_folder(file.parent)}/{file.name}"

    def place_of_folder(self, folder: Path) -> str:
        real = os.path.realpath(folder)
        if real == self._project or real.startswith(f"{self._project}/"):
            return f"{INSIDE}{real[len(self._project) :]}"
        return OUTSIDE if real == "/" else f"{OUTSIDE}{real}"

    def _folder_of(self, job: str) -> Path:
        workdir = job.rpartition("-")[0]
        return self._where.workdirs.get(workdir, Path(workdir)) / job

    def _add_files(self, folder: Path, contents: Mapping[str, str]) -> None:
        place = self.place_of_folder(folder)
        for name, content in contents.items():
            self.add(self.data, f"{place}/{name}", folder / name, content)


def _folders(given: Iterable[object]) -> list[str]:
    """Folders of jobs, one or several under each name."""
    lists = ([each] if isinstance(each, str) else each for each in given)
    return [folder for each in lists if isinstance(each, list) for folder in each]


def _texts(value: Plain) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)
