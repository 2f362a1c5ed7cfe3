"""A project reads its input over SFTP and S3: jobs are built again when the file changed there."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from live_project import PATIENCE, in_short_folder, script
from test_live_shared_cache import BODY, Remote, Sharer, Sshd, python, s3, sshd

__all__ = ["python", "s3", "sshd"]
pytestmark = pytest.mark.slow  # tests/store/test_remote_inputs.py has plain folders, and memory


class Reader(Sharer):
    """Reads its recording from an address."""

    sources: ClassVar = {
        **Sharer.sources,
        "build_scripts/build_shared.py": script(
            BODY.replace('"data/x.npy"', 'asked["address"]'), reads="asked.json"
        ),
    }


def array(last: float) -> bytes:
    np.save(written := io.BytesIO(), np.arange(1.0, last))
    return written.getvalue()


def reads_again(
    remote: Remote, put: Callable[[bytes], object], serving: AbstractContextManager[object]
) -> None:
    """Check what a run builds at first, after a change, and without the store."""
    with in_short_folder(Reader) as project, in_short_folder(Reader) as other:
        for each in (project, other):
            each.remote = Remote("", remote.variables, remote.command)
            each.ask(address=f"{remote.address}/x.npy")
        with serving:
            put(array(9))
            assert project.go()[0] == ["read", "scale", "fit"]
            before = project.results()
            assert project.go()[0] == []
            put(array(8))
            assert project.go()[0] == ["read", "scale", "fit"]
            assert project.results() != before
            put(array(9))
            assert project.go()[0] == []  # it is known by its content
            assert project.results() == before
            assert project.call("plan", "shared", "--json").ok().stdout.startswith("{")
        built, _, said = project.go()
        assert built == []
        assert "cannot be reached" in said
        assert "the copy of 20" in said
        said = other.call("run", "shared").fails()
        assert "an input file cannot be reached" in said
        assert "no copy is here" in said
        assert "Traceback" not in said


def test_an_input_over_sftp(sshd: Sshd) -> None:
    (folder := sshd.folder / "cache").mkdir()
    reads_again(sshd.remote, (folder / "x.npy").write_bytes, sshd.running())


def test_an_input_over_s3(python: Path, s3: Remote) -> None:
    code = "import sys, s3fs; s3fs.S3FileSystem().pipe_file('bucket/team/x.npy', sys.stdin.buffer.read())"
    environment = {**os.environ, **s3.variables}

    def put(content: bytes) -> None:
        command = [str(python), "-c", code]
        subprocess.run(command, input=content, env=environment, check=True, timeout=PATIENCE)

    with contextlib.ExitStack() as end:
        end.callback(s3.variables.update, AWS_ENDPOINT_URL="http://127.0.0.1:9")
        reads_again(s3, put, end)
