"""Jobs that leave links, pipes, sockets and devices: that is said, and nothing is read from them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_project import empty_project
from jobs_recorded import finished_job, manifest_for

from shortloop.base.errors import InputError
from shortloop.store.integrity import damage, hash_outputs, output_files
from shortloop.store.manifest import write_manifest

project = pytest.fixture(empty_project)


def bound_socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(file))  # whose path must be short


def device(file: Path) -> None:
    try:
        os.mknod(file, 0o600 | 0o020000, os.makedev(1, 5))  # as /dev/zero, which never ends
    except PermissionError:
        pytest.skip("only root can make a device")


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "link": (lambda file: file.symlink_to("record.json"), "a link"),
    "link to a folder": (lambda file: file.symlink_to("/"), "a link"),
    "link to nothing": (lambda file: file.symlink_to("nowhere"), "a link"),
    "link to itself": (lambda file: file.symlink_to(file.name), "a link"),
    "pipe": (os.mkfifo, "a pipe"),
    "socket": (bound_socket, "a socket"),
    "device": (device, "a device"),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_leaves_one(project: Path, kind: str) -> None:
    make, words = KINDS[kind]
    folder = finished_job(project, "main-3")
    (folder / "more").mkdir()
    make(folder / "more" / "x\x1b")
    with pytest.raises(InputError) as caught:
        hash_outputs(folder, output_files(folder))
    assert caught.value.found == words
    assert r"main-3/more/x\x1b" in caught.value.message
    assert caught.value.hint


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_became_one(project: Path, kind: str) -> None:
    make, words = KINDS[kind]
    folder = finished_job(project, "main-3", left=b"")  # of the size that a pipe has
    manifest = manifest_for(folder)
    write_manifest(folder, manifest)
    (folder / "x.npy").unlink()
    make(folder / "x.npy")
    assert damage(folder, manifest) == f"x.npy is {words} now"
