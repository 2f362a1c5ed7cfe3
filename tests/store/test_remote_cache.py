"""Jobs in a shared cache, in a plain folder and in memory: what is written, what is read, what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from jobs_project import ROOT, empty_project
from jobs_recorded import finished_job, manifest_for, parts_with, recorded_job
from refusal import refusal as refusing

from shortloop.keys.key import Parts
from shortloop.settings.cache import CacheSettings, cache_settings
from shortloop.store import remote_files, shared_cache
from shortloop.store.manifest import Manifest, manifest_text, write_manifest
from shortloop.store.shared_cache import SharedCache, kept_back, refusal

project = pytest.fixture(empty_project)
OLD = 2 * shared_cache.YOUNG
PUSH = """\
import sys
from pathlib import Path
from shortloop.settings.cache import CacheSettings
from shortloop.store.manifest import read_manifest
from shortloop.store.shared_cache import SharedCache

folder = Path(sys.argv[2])
print(SharedCache(CacheSettings(sys.argv[1])).push([(folder, read_manifest(folder))]))
"""


@pytest.fixture(params=["folder", "memory"])
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path / "remote") if request.param == "folder" else "memory://remote"
    MemoryFileSystem.store.clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A remote in a plain folder, whose files a test alters."""
    return tmp_path / "remote"


def job_of(project: Path, number: int = 1, left: bytes = b"a result", **parts: Any) -> tuple[Path, Manifest]:
    manifest = recorded_job(project, f"main-{number}", parts_with(**parts), left=left)
    return project / "workdirs/main" / manifest.job, manifest


def cache_at(remote: str | Path, **settings: Any) -> SharedCache:
    return SharedCache(CacheSettings(str(remote), **settings))


def fetched_from(remote: str | Path, manifest: Manifest, into: Path, **settings: Any) -> Manifest | None:
    """What somebody else finds by the key, with all files as they were."""
    cache = cache_at(remote, **settings)
    cache.look([manifest.key])
    found = cache.known(manifest.key)
    return found if found and cache.fetched(found, into) else None


def blob(folder: Path, manifest: Manifest, name: str = "x.npy") -> Path:
    content = manifest.files[name][1]
    return folder / "blobs" / content[:2] / content


def manifest_file(folder: Path, manifest: Manifest) -> Path:
    (found,) = (folder / "jobs" / manifest.key[:2] / manifest.key).glob("[!.]*")
    return found


def test_what_one_pushes_another_has(
    project: Path, remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, manifest = job_of(project)
    assert fetched_from(remote, manifest, tmp_path / "none") is None
    assert cache_at(remote).push([(job, manifest)]) == 1
    assert cache_at(remote).push([(job, manifest)]) == 0  # it is there
    found = fetched_from(remote, manifest, tmp_path / "got")
    assert found is not None
    assert (found.content, found.parts, found.files) == (manifest.content, manifest.parts, manifest.files)
    for name in manifest.files:
        assert (tmp_path / "got" / name).read_bytes() == (job / name).read_bytes()
    monkeypatch.setattr(shared_cache, "MANY", 1)
    cache = cache_at(remote)
    assert cache.look([manifest.key, "0" * 40])
    assert cache.known(manifest.key) is not None
    contents = cache.contents()
    assert contents.jobs == 1
    assert contents.bytes > sum(size for size, _ in manifest.files.values())
    names = [path.rpartition("/")[2] for path in fsspec.url_to_fs(remote)[0].find(remote)]
    assert not [name for name in names if name.startswith(".")]


def test_a_key_is_kept_for_each_version_of_libraries(project: Path, remote: str, tmp_path: Path) -> None:
    here, missing = parts_with(), {**parts_with().versions, "no_such_library": "1.0"}
    assert here.key() == parts_with(versions=missing).key()
    cache_at(remote).push([job_of(project, 1, b"other", versions=missing)])
    mine = job_of(project, 2)
    assert fetched_from(remote, mine[1], tmp_path / "none") is None
    assert cache_at(remote).push([mine]) == 1
    assert fetched_from(remote, mine[1], tmp_path / "got") == replace(mine[1], project="")


def test_another_content_of_a_key_is_not_overwritten(project: Path, remote: str, tmp_path: Path) -> None:
    first, second = job_of(project, 1, b"drawn"), job_of(project, 2, b"at random")
    assert [cache_at(remote).push([each]) for each in (first, second)] == [1, 0]
    found = fetched_from(remote, second[1], tmp_path / "got")
    assert found is not None
    assert found.content == first[1].content


def test_processes_that_push_the_same_job_at_once(project: Path, folder: Path, tmp_path: Path) -> None:
    job, manifest = job_of(project, left=os.urandom(3_000_000))
    command = [sys.executable, "-c", PUSH, str(folder), str(job)]
    writers = [
        subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    assert 1 <= sum(int(writer.communicate(timeout=60)[0]) for writer in writers) <= 4
    assert [writer.returncode for writer in writers] == [0] * 4
    assert fetched_from(folder, manifest, tmp_path / "got") is not None
    assert not [*folder.rglob(".*")]


def test_a_push_that_was_killed_is_no_job_and_is_finished_later(
    project: Path, folder: Path, tmp_path: Path
) -> None:
    job, manifest = job_of(project)
    cache_at(folder).push([(job, manifest)])
    manifest_file(folder, manifest).unlink()
    blob(folder, manifest).write_bytes(b"a re")  # as some file systems leave it
    (blob(folder, manifest).parent / f".{'0' * 64}.part").write_bytes(b"a")
    assert fetched_from(folder, manifest, tmp_path / "none") is None
    assert cache_at(folder).push([(job, manifest)]) == 1
    assert fetched_from(folder, manifest, tmp_path / "got") is not None


@pytest.mark.parametrize("left", [b"a resolt", b"a res", b"a result and more", None])
def test_files_are_used_as_their_hash_says_or_not_at_all(
    project: Path, folder: Path, tmp_path: Path, left: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    job, manifest = job_of(project)
    cache_at(folder).push([(job, manifest)])
    blob(folder, manifest).unlink()
    if left is not None:
        blob(folder, manifest).write_bytes(left)
    cache = cache_at(folder)
    cache.look([manifest.key])
    found = cache.known(manifest.key)
    assert found is not None
    assert not cache.fetched(found, tmp_path / "none")
    what = "is missing" if left is None else "is truncated, or was altered"
    said = f"not taken from the shared cache: x.npy of a job {what}; it is built here\n"
    assert capsys.readouterr().out == said
    assert cache.known(manifest.key) is None
    assert cache.push([(job, manifest)]) == 1  # by whoever has built it meanwhile
    assert fetched_from(folder, manifest, tmp_path / "got") is not None


def altered(manifest: Manifest) -> dict[str, str]:
    whole = manifest_text(manifest)
    other = replace(manifest, parts=replace(manifest.parts, options={"number": 2}))
    return {
        "empty": "",
        "truncated": whole[:-20],
        "not JSON": "[" * 100_000,
        "a number": whole.replace(manifest.content, manifest.content[::-1]),
        "of another key": manifest_text(replace(other, key=other.parts.key())),
        "another key than its parts": manifest_text(other),
    }


@pytest.mark.parametrize("how", ["empty", "truncated", "not JSON", "a number", "of another key"])
def test_an_altered_manifest_is_no_job(
    project: Path, folder: Path, tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job, manifest = job_of(project)
    cache_at(folder).push([(job, manifest)])
    manifest_file(folder, manifest).write_text(altered(manifest)[how])
    cache = cache_at(folder)
    assert not cache.look([manifest.key])
    assert f"the manifest of a job is damaged: {manifest.key}" in capsys.readouterr().out
    assert cache.push([(job, manifest)]) == 1
    assert fetched_from(folder, manifest, tmp_path / "got") is not None


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/etc/x", ".hidden", "a/.b", "a//b", "a/", "", "x\0", "OUTPUT/x"]
)
def test_no_file_lies_outside_the_folder_of_a_job(
    project: Path, folder: Path, tmp_path: Path, name: str
) -> None:
    job, manifest = job_of(project)
    cache_at(folder).push([(job, manifest)])
    files = {**manifest.files, name: manifest.files["x.npy"]}
    manifest_file(folder, manifest).write_text(manifest_text(replace(manifest, files=files)))
    assert fetched_from(folder, manifest, tmp_path / "got", trusted=True) is None
    assert not (tmp_path / "got").exists()
    content = replace(manifest, files={"x.npy": (8, f"../{'0' * 61}")})
    assert refusal(content, trusted=True) == "a file of it has an impossible name"


def test_objects_and_datasets_are_taken_only_from_whom_one_trusts(
    project: Path, remote: str, tmp_path: Path
) -> None:
    for number, name in enumerate(("model.pkl", "result.pickle", "DS/default.p")):
        file = finished_job(project, f"main-{number}") / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"")
        manifest = manifest_for(file.parents[name.count("/")], parts_with(options={"number": number}))
        cache_at(remote).push([(project / "workdirs/main" / manifest.job, manifest)])
        assert fetched_from(remote, manifest, tmp_path / "none") is None
        assert fetched_from(remote, manifest, tmp_path / name, trusted=True) is not None
    without = replace(manifest, files={"x.bin": manifest.files["x.npy"]})
    assert "which only a trusted cache may give" in refusal(without, trusted=False)


def test_what_holds_a_recording_is_kept_back(project: Path) -> None:
    def of(**options: Any) -> tuple[Path, Manifest]:
        folder, manifest = job_of(project, len([*project.rglob("main-*")]))
        return folder, replace(manifest, parts=Parts(**{**vars(manifest.parts), "options": options}))

    content = "0a" * 32
    assert kept_back(*of(number=1, text=content[1:]), inputs=False) == ""
    for options in ({"file": content}, {"files": {"A": [f"{content} A.npz"]}}):
        assert kept_back(*of(**options), inputs=False) == "it reads input files"
        assert kept_back(*of(**options), inputs=True) == ""
    folder, manifest = of(number=2)
    outside = {"name": "A.npz", "content": content, "span": {}}
    (folder / "record.json").write_text(json.dumps({"arrays": {"x": {"outside": outside}}}))
    assert kept_back(folder, manifest, inputs=False) == "it reads input files"
    for change in ({"rejected": True}, {"files": {"failed_units.json": (1, "0" * 64)}}):
        assert kept_back(folder, replace(manifest, **change), inputs=True) == "it is not complete"


def test_a_job_that_was_altered_here_is_not_pushed(
    project: Path, remote: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job, manifest = job_of(project)
    (job / "x.npy").write_bytes(b"a resolt")
    assert cache_at(remote).push([(job, manifest)]) == 0
    assert capsys.readouterr().out == "not pushed: x.npy of main-1 is not what it was\n"
    assert cache_at(remote).contents().jobs == 0


def test_a_store_that_fails_is_said_once(
    project: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job, manifest = job_of(project)
    folder.write_text("no folder")
    cache = cache_at(folder)
    for _ in range(3):
        assert not cache.look([manifest.key])
        assert cache.push([(job, manifest)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"without the shared cache {folder}: NotADirectoryError: ")
    assert said.count("\n") == 1
    assert cache.lost


def test_a_store_that_goes_away_within_a_run(project: Path, folder: Path, tmp_path: Path) -> None:
    job, manifest = job_of(project)
    cache_at(folder).push([(job, manifest)])
    cache = cache_at(folder)
    assert cache.look([manifest.key])
    found = cache.known(manifest.key)
    assert found is not None
    folder.rename(tmp_path / "away")
    folder.write_text("another disk")
    assert not cache.fetched(found, tmp_path / "got")
    assert cache.known(manifest.key) is None
    assert not cache.look(["1" * 40])
    assert cache.lost


class Silent(MemoryFileSystem):
    """A store that is not heard of any more."""

    protocol = "silent"

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:
        time.sleep(60)


def test_a_store_that_does_not_answer_is_not_waited_for(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fsspec.register_implementation("silent", Silent, clobber=True)
    monkeypatch.setattr(shared_cache, "ANSWER", 0.3)
    cache, began = cache_at("silent://user:secret@there/team"), time.monotonic()
    assert not cache.look([f"{number:040}" for number in range(20)])
    assert not cache.look(["1" * 40])
    assert time.monotonic() - began < 20
    said = "without the shared cache silent://user@there/team: no answer for 0 s\n"
    assert capsys.readouterr().out == said


def test_who_is_interrupted_waits_for_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.register_implementation("silent", Silent, clobber=True)
    cache = cache_at("silent://x")
    asking = threading.Thread(target=lambda: cache.look(["0" * 40]), daemon=True)
    asking.start()
    time.sleep(0.1)
    cache.end()
    asking.join(2)
    assert not asking.is_alive()
    assert not cache.lost


def aged(folder: Path, manifest: Manifest, days: float) -> None:
    for file in [manifest_file(folder, manifest), *(blob(folder, manifest, name) for name in manifest.files)]:
        when = time.time() - 86400 * days
        os.utime(file, (when, when))


def test_old_jobs_are_deleted_with_what_no_other_has(project: Path, folder: Path, tmp_path: Path) -> None:
    jobs = [job_of(project, n, b"%d" % n * 1000, options={"number": n}) for n in (1, 2, 3)]
    cache = cache_at(folder)
    assert cache.push(jobs) == 3
    for days, (_, manifest) in zip((30, 20, 10), jobs):
        aged(folder, manifest, days)
    (folder / "blobs/00").mkdir()
    for name, age in (("0" * 64, 0.0), ("00" + "1" * 62, OLD)):  # of somebody who pushes, and of one who has
        (folder / "blobs/00" / name).write_bytes(b"part")
        os.utime(folder / "blobs/00" / name, (time.time() - age,) * 2)
    assert cache.collect(older=86400 * 25).jobs == 1
    assert [file.name for file in (folder / "blobs/00").iterdir()] == ["0" * 64]
    assert [fetched_from(folder, each, tmp_path / each.job) is not None for _, each in jobs] == [0, 1, 1]
    second, third = ({*manifest.files.values()} for _, manifest in jobs[1:])
    assert second & third
    total = sum(size for size, _ in third)
    assert cache.collect(most=total) == (1, sum(size for size, _ in second - third))
    assert fetched_from(folder, jobs[2][1], tmp_path / "last") is not None
    assert cache.collect(older=86400) == (1, total)
    assert cache.contents() == (0, 4)


def test_who_reads_meanwhile_builds_what_is_gone(project: Path, folder: Path, tmp_path: Path) -> None:
    job, manifest = job_of(project)
    cache_at(folder).push([(job, manifest)])
    reader = cache_at(folder)
    reader.look([manifest.key])
    found = reader.known(manifest.key)
    assert found is not None
    cache_at(folder).collect()
    assert not reader.fetched(found, tmp_path / "none")
    assert not reader.lost
    assert reader.push([(job, manifest)]) == 1
    assert fetched_from(folder, manifest, tmp_path / "got") is not None


def test_nothing_is_deleted_if_the_store_fails_meanwhile(
    project: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, manifest = job_of(project)
    cache_at(folder).push([(job, manifest)])
    aged(folder, manifest, 30)
    manifest_file(folder, manifest).unlink()
    os.mkfifo(folder / "jobs" / ("0" * 40 + ".json"))  # to read it does not end
    monkeypatch.setattr(shared_cache, "STALLED", 0.3)
    cache = cache_at(folder)
    assert cache.collect(older=1.0) == (0, 0)
    assert cache.lost
    assert blob(folder, manifest).exists()


def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, none = tmp_path / "study.toml", dict[str, str]()
    assert cache_settings({}, file, none) == CacheSettings() == CacheSettings("", "never")
    found = cache_settings({"remote": "../shared", "push": "new", "trusted": True}, file, none)
    assert found == CacheSettings(str(tmp_path.parent / "shared"), "new", trusted=True)
    variables = {"SHORTLOOP_CACHE": "s3://team/cache", "SHORTLOOP_CACHE_INPUTS": "true"}
    found = cache_settings({"remote": "x", "push": "new"}, file, variables)
    assert found == CacheSettings("s3://team/cache", "new", inputs=True)
    with refusing("", "unknown setting of the shared cache", "cache.address", "one of remote, push"):
        cache_settings({"address": "x"}, file, none)
    with refusing("", "the variable SHORTLOOP_CACHE_PUSH", "cache.push", "'always'"):
        cache_settings({}, file, {"SHORTLOOP_CACHE": "x", "SHORTLOOP_CACHE_PUSH": "always"})
    monkeypatch.setitem(remote_files.LIBRARIES, "s3", "no_such_library")
    with refusing("", "the shared cache needs no_such_library", "`pip install no_such_library`"):
        cache_at("s3://bucket")
    unknown = cache_at("no_such://x")
    assert not unknown.look(["0" * 40])
    assert "Protocol not known" in unknown.lost


def test_the_manifest_names_no_folder_of_who_pushes(project: Path, folder: Path) -> None:
    job, manifest = job_of(project)
    manifest = replace(manifest, project=str(project), previous="main-0")
    write_manifest(job, manifest)
    cache_at(folder).push([(job, manifest)])
    assert str(project) not in manifest_file(folder, manifest).read_text()
