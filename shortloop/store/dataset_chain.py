"""Jobs whose columns other jobs' datasets still use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from shortloop.project.project import FINISHED
from shortloop.store.datasets import is_description, jobs_named
from shortloop.store.job_files import content_of_job, hash_outputs, output_files
from shortloop.store.manifest import MANIFEST, read_manifest
from shortloop.store.stored_job import StoredJob

__all__ = ["Rests"]


class Rests:
    """Knows what is in jobs that datasets of others lie in, or None of those that are not whole.

    folder: gives the folder of a job.
    whole: gives a recorded job, if it is whole.
    """

    def __init__(
        self, folder: Callable[[str], Path | None], whole: Callable[[str], StoredJob | None]
    ) -> None:
        self._folder = folder
        self._whole = whole
        self._contents: dict[str, str | None] = {}

    def note(self, job: str, content: str) -> None:
        """A job is whole."""
        self._contents[job] = content

    def of(self, folder: Path, names: Iterable[str]) -> dict[str, str]:
        """What a job rests on, for its manifest."""
        named = sorted(jobs_named(folder, names))
        return {job: "" if job == folder.name else self._content(job) or "" for job in named}

    def broken(self, folder: Path, names: Iterable[str]) -> str:
        """The first job that another rests on, and that is not what it was."""
        names = list(names)
        if names and not any(map(is_description, names)):
            return ""
        for job, content in self._named(folder).items():
            if job != folder.name and (not content or self._content(job) != content):
                return job
        return ""

    def _named(self, folder: Path | None) -> dict[str, str]:
        manifest = None if folder is None else read_manifest(folder)
        return {} if manifest is None else manifest.rests_on

    def _content(self, job: str) -> str | None:
        above: dict[str, None] = {}  # a chain may be longer than Python lets functions call themselves
        waiting = [job]
        while waiting:
            each = waiting.pop()
            if each not in above and each not in self._contents:
                above[each] = None
                waiting += self._named(self._folder(each))
        for each in reversed(above):
            if each not in self._contents:
                self._contents[each] = self._content_now(each)
        return self._contents[job]

    def _content_now(self, job: str) -> str | None:
        found = self._whole(job)
        if found is not None:
            return found.content
        folder = self._folder(job)
        if folder is None or not (folder / FINISHED).is_file() or (folder / MANIFEST).exists():
            return None
        files = hash_outputs(folder, output_files(folder))  # one that another job had exax build
        return content_of_job(folder, files, self.of(folder, files))[0]
