"""Index of finished jobs, by key and place in a pipeline; rebuilt from their folders if lost or damaged."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from shortloop.stages.records import FORMAT
from shortloop.store.database import Database, Values
from shortloop.store.manifest import Manifest, States, StoredJob
from shortloop.store.workdir import hidden_folder, project_at, project_name

LAYOUT = f"""
-- of jobs of format {FORMAT}
begin immediate;
create table if not exists jobs (
    job text primary key, key text, base text, content text, method text, partition text,
    pipeline text, project text, seconds real, rejected integer, states text, libraries text
);
create index if not exists by_key on jobs (key);
create index if not exists by_base on jobs (base);
create index if not exists by_method on jobs (method);
create table if not exists places (
    project text, pipeline text, stage text, partition text, sibling text, job text
);
create unique index if not exists one_job on places (
    project, pipeline, stage, sibling, ifnull(partition, x'')  -- no null is a duplicate of another
);
create table if not exists pipelines (
    project text, name text, settings text, ended integer, primary key (project, name)
);
create table if not exists declared (job text, key text, base text, primary key (job, key));
create index if not exists by_declared_key on declared (key);
create index if not exists by_declared_base on declared (base);
create table if not exists outdated (job text primary key);
create table if not exists settings_files (project text, name text, file text, primary key (project, name));
"""
INSERT = """
insert into jobs values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (job) do update set
    key = excluded.key, base = excluded.base, content = excluded.content, method = excluded.method,
    partition = excluded.partition, pipeline = excluded.pipeline, project = excluded.project,
    seconds = excluded.seconds, rejected = excluded.rejected, states = excluded.states,
    libraries = excluded.libraries
"""
DECLARED = "insert or replace into declared values (?, ?, ?)"
OUTDATED = "insert or ignore into outdated values (?)"
RECENT = """
select method, avg(seconds) from (
    select method, seconds, row_number() over (partition by method order by rowid desc) as age from jobs
) where age <= 40 group by method
"""
PUT = "insert or replace into places values (?, ?, ?, ?, ?, ?)"
HERE = "where (project, pipeline, stage, partition, sibling) is (?, ?, ?, ?, ?)"
TAKE = f"delete from places {HERE}"
BEGUN = """
insert into pipelines values (?, ?, ?, 0)
on conflict (project, name) do update set settings = excluded.settings
"""
ENDED = "insert into pipelines values (?, ?, '', 1) on conflict (project, name) do update set ended = 1"


class Place(NamedTuple):
    """Position of a job in a pipeline, whatever it is made of."""

    pipeline: str
    stage: str
    partition: str | None  # None: all of the data
    sibling: str  # difference to other jobs of the stage and partition


class Purpose(NamedTuple):
    """Pipeline that a job was built for."""

    pipeline: str  # the pipeline's name: the build script and the name of its settings
    project: str = ""  # folder of the project; empty: this one

    def __str__(self) -> str:
        return f"{self.pipeline} of {self.project}" if self.project else self.pipeline


class Index:
    """Finished jobs of some workdirs, and those in places of pipelines; made anew from `manifests`."""

    def __init__(
        self, workdirs: Mapping[str, Path], manifests: Callable[[str], Iterable[Manifest | str]]
    ) -> None:
        def fill(name: str) -> list[tuple[str, Iterable[Values]]]:
            jobs, declared, settings_of, outdated = [], list[Values](), {}, []
            for each in manifests(name):
                if isinstance(each, str):
                    outdated.append((each,))
                    continue
                jobs.append(_row(each, []))
                declared += _declared_rows(each)
                if each.settings:
                    settings_of[each.project, each.pipeline] = each.settings
            pipelines = [(*pipeline, settings) for pipeline, settings in settings_of.items()]
            return [(INSERT, jobs), (DECLARED, declared), (BEGUN, pipelines), (OUTDATED, outdated)]

        self._workdirs = workdirs
        self._names = {name: project_name(workdir) for name, workdir in workdirs.items()}
        self.folder_of = cache(self._folder_of)  # asked for each of thousands of places
        self._files = {
            name: Database(hidden_folder(workdir) / f"{name}.sqlite", LAYOUT, partial(fill, name))
            for name, workdir in workdirs.items()
        }

    @property
    def kept(self) -> bool:
        """True if it is written to disk, and not forgotten at the end."""
        return all(file.kept for file in self._files.values())

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def by_key(self, key: str) -> list[StoredJob]:
        """List jobs with a key: those without failed units first, then the newest."""
        return sorted(self._jobs("key = ?", key), key=lambda found: found.incomplete)

    def by_id(self, job: str) -> list[StoredJob]:
        return self._jobs("job = ?", job)

    def by_content(self, content: str) -> list[StoredJob]:
        return self._jobs("content = ?", content)

    def by_base(self, base: str, first: str, partition: str | None, most: int) -> list[StoredJob]:
        """List jobs with a base: the given one first, then those of a partition, then the newest."""
        return self._jobs(
            "base = ?1 or job in (select job from declared where base = ?1)",
            *(base, first, partition),
            order=f"job = ?2 desc, partition is ?3 desc, rowid desc limit {most}",
        )

    def by_declared(self, key: str) -> list[StoredJob]:
        """List jobs with a key by a change declared harmless, the newest first."""
        return self._jobs("job in (select job from declared where key = ?)", key)

    def insert(self, manifest: Manifest, states: States) -> None:
        file = self._files[manifest.job.rpartition("-")[0]]
        file.write(INSERT, [_row(manifest, states)])
        if manifest.harmless:
            file.write(DECLARED, _declared_rows(manifest))

    def forget(self, job: str) -> None:
        for file in self._files.values():
            file.write("delete from jobs where job = ?", [(job,)])
        self.forget_declared(job)

    def forget_declared(self, job: str) -> None:
        """Delete the declarations of a job from the index."""
        for file in self._files.values():
            file.write("delete from declared where job = ?", [(job,)])

    def note_outdated(self, job: str) -> None:
        """Delete a job of another format from the index, and record that."""
        self.forget(job)
        self._files[job.rpartition("-")[0]].write(OUTDATED, [(job,)])

    def take_outdated(self) -> list[str]:
        """Return and clear the jobs of another format found since the last call."""
        found = [str(job) for (job,) in self._all("select job from outdated")]
        for file in self._files.values():
            file.write("delete from outdated where job = ?", [(job,) for job in found])
        return found

    def sizes(self) -> dict[str, tuple[Purpose, int]]:
        """Map each job to its pipeline and its size in bytes."""
        found = {}
        for name, file in self._files.items():
            select = "select job, pipeline, project, states from jobs"
            for job, pipeline, project, states in file.read(select):
                purpose = Purpose(str(pipeline), self.folder_of(name, str(project)))
                found[str(job)] = purpose, sum(int(each[3]) for each in _loaded(states))
        return found

    def of_method(self, method: str, partition: str | None) -> list[str]:
        """List jobs of a method, the newest first."""
        select = "select job from jobs where method = ? and partition is ? order by rowid desc"
        return [str(job) for (job,) in self._all(select, method, partition)]

    def seconds(self) -> dict[str, float]:
        """Mean duration of the latest jobs of each method."""
        return {str(method).rpartition(".")[2]: float(mean) for method, mean in reversed(self._all(RECENT))}

    def in_place(self, place: Place) -> str:
        """Return the latest job in a place of this project, or an empty string."""
        for file, name in self._noted(""):
            for (job,) in file.read(f"select job from places {HERE}", name, *place):
                return str(job)
        return ""

    def put_in_places(self, jobs: Mapping[Place, str]) -> None:
        """Record the job in each place of a pipeline of this project."""
        for name, file in self._files.items():
            here = {place: job for place, job in jobs.items() if job.rpartition("-")[0] == name}
            file.write(PUT, [(self._names[name], *place, job) for place, job in here.items()])
            if len(self._files) > 1:
                file.write(TAKE, [(self._names[name], *place) for place in jobs.keys() - here.keys()])

    def places(self) -> dict[Place, str]:
        """Map each place of this project's pipelines to its job."""
        return {place: job for project, place, job in self.all_places() if not project}

    def all_places(self) -> list[tuple[str, Place, str]]:
        """List the places of every project that uses the workdirs, with their jobs."""
        select = "select project, job, pipeline, stage, partition, sibling from places"
        return [
            (self.folder_of(name, project), Place(pipeline, stage, partition, sibling), job)
            for name, file in self._files.items()
            for project, job, pipeline, stage, partition, sibling in file.read(select)
        ]

    def start_pipeline(self, pipeline: str, settings: str) -> None:
        """Record that a pipeline of this project starts."""
        for file, name in self._noted(""):
            file.write(BEGUN, [(name, pipeline, settings)])

    def finish_pipeline(self, pipeline: str, places: Collection[Place], project: str = "") -> None:
        """Record that a pipeline finished, and drop places that it no longer has."""
        known = {place for of, place, _ in self.all_places() if (of, place.pipeline) == (project, pipeline)}
        for file, name in self._noted(project):
            file.write(TAKE, [(name, *place) for place in known.difference(places)])
            file.write(ENDED, [(name, pipeline)])

    def ended_pipelines(self) -> set[Purpose]:
        """Return pipelines that finished, of every project that uses the workdirs."""
        return {each for each, _, ended in self._pipelines() if ended}

    def settings_names(self) -> dict[Purpose, str]:
        """Map each pipeline of every project that uses the workdirs to the name of its settings."""
        return {each: settings for each, settings, _ in self._pipelines() if settings}

    def settings_file(self, name: str) -> str | None:
        """Return the file that settings of this project were last read from."""
        select = "select file from settings_files where project = ? and name = ?"
        for file, project in self._noted(""):
            for (found,) in file.read(select, project, name):
                return str(found)
        return None

    def put_settings_file(self, name: str, path: str) -> None:
        """Record the file that settings of this project are read from."""
        for file, project in self._noted(""):
            file.write("insert or replace into settings_files values (?, ?, ?)", [(project, name, path)])

    def name_for(self, job: str) -> str:
        """Name of this project in the workdir of a job."""
        return self._names[job.rpartition("-")[0]]

    def _folder_of(self, workdir: str, project: str) -> str:
        """Folder of a project; empty for this one."""
        mine = project in ("", self._names[workdir])
        return "" if mine else str(project_at(self._workdirs[workdir], project))

    def _pipelines(self) -> Iterator[tuple[Purpose, str, bool]]:
        for workdir, file in self._files.items():
            select = "select project, name, settings, ended from pipelines"
            for project, name, settings, ended in file.read(select):
                yield Purpose(str(name), self.folder_of(workdir, str(project))), str(settings), bool(ended)

    def _noted(self, project: str) -> Iterator[tuple[Database, str]]:
        """Yield each workdir that knows a project, with the project's name there."""
        for workdir, file in self._files.items():
            if not project:
                yield file, self._names[workdir]
            known = "select project from places union select project from pipelines"
            for (name,) in file.read(known) if project else ():
                if self.folder_of(workdir, str(name)) == project:
                    yield file, str(name)

    def _jobs(self, where: str, *values: str | None, order: str = "rowid desc") -> list[StoredJob]:
        columns = "job, key, content, seconds, rejected, partition, libraries, states"
        select = f"select {columns} from jobs where {where} order by {order}"
        found = []
        for workdir, file in self._files.items():
            for job, key, content, seconds, rejected, *what, states in file.read(select, *values):
                known = _loaded(states)
                files = tuple(str(state[0]) for state in known)
                about = self._workdirs[workdir] / job, content, seconds, bool(rejected), *what, files, known
                found.append(StoredJob(job, key, *about))
        return found

    def _all(self, statement: str, *values: str | None) -> list[tuple[Any, ...]]:
        return [row for file in self._files.values() for row in file.read(statement, *values)]


def _row(manifest: Manifest, states: States) -> Values:
    names = manifest.job, manifest.key, manifest.base, manifest.content, manifest.parts.method
    purpose = manifest.partition, manifest.pipeline, manifest.project, manifest.seconds, manifest.rejected
    return *names, *purpose, json.dumps(states), manifest.parts.libraries_text


def _declared_rows(manifest: Manifest) -> list[Values]:
    return [(manifest.job, parts.key(), base) for parts, base, _ in manifest.declared()]


def _loaded(states: str) -> States:
    try:
        loaded: States = json.loads(states)
    except ValueError:  # then its files are read again
        return []
    return loaded
