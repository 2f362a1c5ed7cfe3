"""What keeps a program from its work that is no mistake in it is told as such, and a mistake is not."""

from __future__ import annotations

import errno
import os
import sqlite3
import traceback
from pathlib import Path

import pytest

from shortloop.base.errors import InputError, TransientError
from shortloop.project.system_errors import if_writable, system_error, system_error_in, unreadable


def caused(error: Exception, *, known: bool) -> Exception:
    """Another error, raised from it, or only while it was handled."""
    try:
        try:
            raise error
        except Exception:
            if known:
                raise RuntimeError("something failed") from error
            raise RuntimeError("so did cleaning up")  # noqa: B904
    except RuntimeError as found:
        return found


LACKS: list[tuple[Exception, str]] = [
    (OSError(errno.EMFILE, "Too many open files", "/x"), "ulimit -n"),
    (OSError(errno.ENFILE, "Too many open files in system"), "end other programs"),
    (OSError(errno.ENOMEM, "Cannot allocate memory"), "ulimit -v"),
    (MemoryError(), "ulimit -v"),
    (ImportError("libx.so: failed to map segment from shared object"), "ulimit -v"),
    (ImportError("libx.so: cannot allocate memory in static TLS block"), "ulimit -v"),
    (RuntimeError("can't start new thread"), "ulimit -u"),
]


@pytest.mark.parametrize(("error", "hint"), LACKS)
def test_what_the_machine_lacks_counts_wherever_it_is_in_a_chain(error: Exception, hint: str) -> None:
    for each in (error, caused(error, known=True), caused(error, known=False)):
        found = system_error(each)
        assert found is not None
        assert hint in str(found.hint)


CODES = "ENOSPC EACCES EPERM EROFS EAGAIN EIO ESTALE ELOOP EISDIR ENOTDIR ENAMETOOLONG"


@pytest.mark.parametrize("code", CODES.split())
def test_what_a_disk_does_not_allow(code: str) -> None:
    number = getattr(errno, code)
    error = OSError(number, os.strerror(number), "/x\x1by")
    found = system_error(error)
    assert found is not None
    assert r"/x\x1by" in found.message
    assert os.strerror(number) in found.message
    assert found.hint
    assert system_error(caused(error, known=False)) is None  # it was handled


def test_what_may_be_a_mistake() -> None:
    missing = OSError(errno.ENOENT, "No such file")
    for error in (ValueError("x"), OSError("x"), missing, KeyError("x"), ImportError("x")):
        assert system_error(error) is None
    for last in (
        "ValueError: MemoryError",
        "OSError: [Errno 2] No such file: 'x'",
        "x",
        "",
        "  MemoryError: x",
    ):
        assert system_error_in(f"Traceback (most recent call last):\n  x\n{last}") is None


def test_an_index_that_is_held(tmp_path: Path) -> None:
    holder = sqlite3.connect(tmp_path / "x", isolation_level=None)
    holder.execute("pragma locking_mode = exclusive")
    holder.execute("begin exclusive")
    with pytest.raises(sqlite3.OperationalError) as caught:
        sqlite3.connect(tmp_path / "x", timeout=0).execute("create table t (x)")
    found = system_error(caught.value)
    assert found is not None
    assert "held by another program" in found.problem
    with pytest.raises(sqlite3.Error) as wrong:
        sqlite3.connect(":memory:").execute("nonsense")
    assert system_error(wrong.value) is None


def test_a_current_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = FileNotFoundError(errno.ENOENT, "No such file")
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path / "x")
    assert system_error(error) is None
    (tmp_path / "x").rmdir()
    found = system_error(error)
    assert found is not None
    assert "current folder was deleted" in found.problem


@pytest.mark.parametrize("error", [each for each, _ in LACKS[:4]])
def test_the_end_of_a_job(error: Exception) -> None:
    """exax gives the text of a traceback."""
    try:
        raise error
    except Exception:
        found = system_error_in(traceback.format_exc())
    known = system_error(error)
    assert found is not None
    assert known is not None
    assert (found.problem, found.hint) == (known.problem, known.hint)


def test_the_end_of_a_job_with_a_message() -> None:
    for kind in (InputError, TransientError):
        error = kind("a file changed", file="x y", found="Cz\nFz\nValueError: x", hint="run again")
        found = system_error_in(f"Status:\n{''.join(traceback.format_exception(error))}")
        assert found is not None
        assert found.message == error.message
    head = "Traceback (most recent call last):\n"
    found = system_error_in(f"OSError: [Errno 28] No space left on device\n{head}  x\nValueError: x")
    assert found is not None
    assert found.problem == "the disk is full"  # which something else followed from
    both = 'RuntimeError: can\'t start new thread  File "a.py", line 1, in run\n'  # printed by two threads
    found = system_error_in(f"{head}{both}")
    assert found is not None
    assert found.found == "RuntimeError: can't start new thread"


def test_a_write_that_is_not_allowed_is_left_out() -> None:
    for number in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT):
        with if_writable():
            raise OSError(number, "x")
    with pytest.raises(OSError, match="broken"), if_writable():
        raise OSError(errno.EIO, "broken")


def test_what_cannot_be_read() -> None:
    assert unreadable(OSError(errno.EACCES, "Permission denied", "/x"), "it").message.splitlines() == [
        "it cannot be read (Permission denied)",
        "  file:         /x",
        "  what to do:   ask its owner for access, or run the command as its owner",
    ]
