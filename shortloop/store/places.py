"""The latest job in each place of each pipeline, across projects sharing workdirs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from shortloop.store.database import Database
from shortloop.store.workdir import project_at, project_name

__all__ = ["BEGUN", "Place", "Places", "Purpose"]

PUT = "insert or replace into places values (?, ?, ?, ?, ?, ?)"
HERE = "where (project, pipeline, stage, partition, sibling) is (?, ?, ?, ?, ?)"
TAKE = f"delete from places {HERE}"
BEGUN = """
insert into pipelines values (?, ?, ?, 0)
on conflict (project, name) do update set settings = excluded.settings
"""
ENDED = "insert into pipelines values (?, ?, '', 1) on conflict (project, name) do update set ended = 1"


class Place(NamedTuple):
    """Where a job stands in a pipeline, whatever it is made of.

    pipeline: the pipeline's name.
    stage: the job's stage.
    partition: which part of the data; None: all.
    sibling: what tells it from other jobs of the same stage and partition.
    """

    pipeline: str
    stage: str
    partition: str | None
    sibling: str


class Purpose(NamedTuple):
    """What a job was made for.

    pipeline: the pipeline's name: the build script and the name of its settings.
    project: folder of the project; empty: this one.
    """

    pipeline: str
    project: str = ""

    def __str__(self) -> str:
        return f"{self.pipeline} of {self.project}" if self.project else self.pipeline


class Places:
    """Places of pipelines; each is kept in the workdir of the job that is in it.

    workdirs: folders of workdirs by name.
    files: what is noted of their jobs, by name.
    """

    def __init__(self, workdirs: Mapping[str, Path], files: Mapping[str, Database]) -> None:
        self._workdirs = workdirs
        self._files = files
        self._names = {name: project_name(workdir) for name, workdir in workdirs.items()}
        self._folders: dict[tuple[str, str], str] = {}

    def in_place(self, place: Place) -> str:
        """The job that was last in a place of a pipeline of this project."""
        for file, name in self._noted(""):
            for (job,) in file.read(f"select job from places {HERE}", name, *place):
                return str(job)
        return ""

    def put_in_places(self, jobs: Mapping[Place, str]) -> None:
        """Note the job in each place of a pipeline of this project."""
        for name, file in self._files.items():
            here = {place: job for place, job in jobs.items() if job.rpartition("-")[0] == name}
            file.write(PUT, [(self._names[name], *place, job) for place, job in here.items()])
            if len(self._files) > 1:
                gone = jobs.keys() - here.keys()
                file.write(TAKE, [(self._names[name], *place) for place in gone])

    def places(self) -> dict[Place, str]:
        """The job in every place of every pipeline of this project."""
        return {place: job for project, place, job in self.all_places() if not project}

    def all_places(self) -> list[tuple[str, Place, str]]:
        """The same, of every project that uses the workdirs."""
        select = "select project, job, pipeline, stage, partition, sibling from places"
        return [
            (self.folder_of(name, project), Place(pipeline, stage, partition, sibling), job)
            for name, file in self._files.items()
            for project, job, pipeline, stage, partition, sibling in file.read(select)
        ]

    def begun(self, pipeline: str, settings: str) -> None:
        """Note that a pipeline of this project is run."""
        for file, name in self._noted(""):
            file.write(BEGUN, [(name, pipeline, settings)])

    def ended(self, pipeline: str, places: Collection[Place], project: str = "") -> None:
        """Note that a pipeline ran to its end, and drop places that it does not have any more."""
        known = {place for of, place, _ in self.all_places() if of == project and place.pipeline == pipeline}
        for file, name in self._noted(project):
            file.write(TAKE, [(name, *place) for place in known.difference(places)])
            file.write(ENDED, [(name, pipeline)])

    def ended_pipelines(self) -> set[Purpose]:
        """Pipelines that ran to their end, of every project that uses the workdirs."""
        return {each for each, _, ended in self._pipelines() if ended}

    def settings_names(self) -> dict[Purpose, str]:
        """The settings that each pipeline is run with, of every project that uses the workdirs."""
        return {each: settings for each, settings, _ in self._pipelines() if settings}

    def settings_file(self, name: str) -> str | None:
        """The file that settings of this project were last read from."""
        select = "select file from settings_files where project = ? and name = ?"
        for file, project in self._noted(""):
            for (found,) in file.read(select, project, name):
                return str(found)
        return None

    def put_settings_file(self, name: str, path: str) -> None:
        """Note the file that settings of this project are read from."""
        for file, project in self._noted(""):
            file.write("insert or replace into settings_files values (?, ?, ?)", [(project, name, path)])

    def name_for(self, job: str) -> str:
        """What the workdir of a job calls this project."""
        return self._names[job.rpartition("-")[0]]

    def folder_of(self, workdir: str, project: str) -> str:
        """The folder of a project."""
        known = self._folders.get((workdir, project))
        if known is None:  # of each of thousands of places
            mine = project in ("", self._names[workdir])
            known = "" if mine else str(project_at(self._workdirs[workdir], project))
            self._folders[workdir, project] = known
        return known

    def _pipelines(self) -> Iterator[tuple[Purpose, str, bool]]:
        for workdir, file in self._files.items():
            select = "select project, name, settings, ended from pipelines"
            for project, name, settings, ended in file.read(select):
                purpose = Purpose(str(name), self.folder_of(workdir, str(project)))
                yield purpose, str(settings), bool(ended)

    def _noted(self, project: str) -> Iterator[tuple[Database, str]]:
        """Each workdir, and what it calls a project."""
        for workdir, file in self._files.items():
            if not project:
                yield file, self._names[workdir]
            known = "select project from places union select project from pipelines"
            for (name,) in file.read(known) if project else ():
                if self.folder_of(workdir, str(name)) == project:
                    yield file, str(name)
