"""Which job was last in each place of each pipeline, for every project that uses the workdirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from shortloop.jobs.store.database import Database
from shortloop.jobs.store.workdir import project_at, project_name

__all__ = ["Places", "Purpose"]

PUT = "insert or replace into slots values (?, ?, ?)"
TAKE = "delete from slots where project = ? and slot = ?"


class Purpose(NamedTuple):
    """What a job was made for.

    Parameters
    ----------
    pipeline : str
        The build script and the study.
    project : str
        Folder of the project; empty: this one.
    """

    pipeline: str
    project: str = ""

    @property
    def study(self) -> str:
        """The study's name."""
        return self.pipeline.rpartition(" ")[2]

    def __str__(self) -> str:
        return f"{self.pipeline} of {self.project}" if self.project else self.pipeline


class Places:
    """Places of pipelines; each is kept in the workdir of the job that is in it.

    Parameters
    ----------
    workdirs : mapping of str to Path
        Folders of workdirs by name.
    files : mapping of str to Database
        What is noted of their jobs, by name.
    """

    def __init__(self, workdirs: Mapping[str, Path], files: Mapping[str, Database]) -> None:
        self._workdirs = workdirs
        self._files = files
        self._names = {name: project_name(workdir) for name, workdir in workdirs.items()}
        self._folders: dict[tuple[str, str], str] = {}

    def in_slot(self, slot: str) -> str:
        """The job that was last in a place of a pipeline of this project.

        Parameters
        ----------
        slot : str
            The place.

        Returns
        -------
        str
            Empty if there was none.
        """
        select = "select job from slots where project = ? and slot = ?"
        for file, name in self._noted(""):
            for (job,) in file.read(select, name, slot):
                return str(job)
        return ""

    def put_in_slots(self, jobs: Mapping[str, str]) -> None:
        """Note the job in each place of a pipeline of this project.

        Parameters
        ----------
        jobs : mapping of str to str
            Job id by place.
        """
        for name, file in self._files.items():
            here = {slot: job for slot, job in jobs.items() if job.rpartition("-")[0] == name}
            file.write(PUT, [(self._names[name], slot, job) for slot, job in here.items()])
            if len(self._files) > 1:
                file.write(TAKE, [(self._names[name], slot) for slot in jobs.keys() - here])

    def slots(self) -> dict[str, str]:
        """The job in every place of every pipeline of this project; of one that ran to its end, also its
        name, without a job.

        Returns
        -------
        dict of str to str
            Job id by place.
        """
        return {slot: job for project, slot, job in self.all_slots() if not project}

    def all_slots(self) -> list[tuple[str, str, str]]:
        """The same, of every project that uses the workdirs.

        Returns
        -------
        list of tuple of str
            Folder of the project, empty for this one; place; job id.
        """
        select = "select project, slot, job from slots"
        return [
            (self.folder_of(name, str(project)), str(slot), str(job))
            for name, file in self._files.items()
            for project, slot, job in file.read(select)
        ]

    def ended(self, pipeline: str, slots: Iterable[str], project: str = "") -> None:
        """Note that a pipeline ran to its end, and drop places that it does not have any more.

        Parameters
        ----------
        pipeline : str
            Its name.
        slots : iterable of str
            All its places.
        project : str
            Folder of the project; empty: this one.
        """
        known = {slot for of, slot, _ in self.all_slots() if of == project}
        gone = {slot for slot in known if slot.startswith(f"{pipeline}|")}.difference(slots)
        for file, name in self._noted(project):
            file.write(TAKE, [(name, slot) for slot in gone])
            file.write(PUT, [(name, pipeline, "")])

    def settings_file(self, name: str) -> str | None:
        """The file that a study of this project was last run from.

        Parameters
        ----------
        study : str
            Its name.

        Returns
        -------
        str or None
            As it was put; None if the study was not run yet.
        """
        select = "select file from studies where project = ? and name = ?"
        for file, name in self._noted(""):
            for (found,) in file.read(select, name, study):
                return str(found)
        return None

    def put_settings_file(self, name: str, path: str) -> None:
        """Note the file that a study of this project is run from.

        Parameters
        ----------
        study : str
            Its name.
        path : str
            The file.
        """
        for file, name in self._noted(""):
            file.write("insert or replace into studies values (?, ?, ?)", [(name, study, path)])

    def name_for(self, job: str) -> str:
        """What the workdir of a job calls this project.

        Parameters
        ----------
        job : str
            Job id.

        Returns
        -------
        str
        """
        return self._names[job.rpartition("-")[0]]

    def folder_of(self, workdir: str, project: str) -> str:
        """The folder of a project.

        Parameters
        ----------
        workdir : str
            Name of a workdir.
        project : str
            As that workdir calls it; empty: this one.

        Returns
        -------
        str
            Empty for this one.
        """
        known = self._folders.get((workdir, project))
        if known is None:  # of each of thousands of places
            mine = project in ("", self._names[workdir])
            known = "" if mine else str(project_at(self._workdirs[workdir], project))
            self._folders[workdir, project] = known
        return known

    def _noted(self, project: str) -> Iterator[tuple[Database, str]]:
        """Each workdir, and what it calls a project."""
        for workdir, file in self._files.items():
            if not project:
                yield file, self._names[workdir]
            for (name,) in file.read("select distinct project from slots") if project else ():
                if self.folder_of(workdir, str(name)) == project:
                    yield file, str(name)
