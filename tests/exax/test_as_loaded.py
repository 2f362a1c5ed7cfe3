"""Methods are kept as they are loaded only while all that was read on the way is as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_project import fresh_python, write_configuration

from shortloop.exax.patches.method_loading import LOADED, _file, _is_as_loaded, forget_what_is_read

# A process that loads a method, as exax's does, and is asked for the next thing.
RUNNER = """
import os, sys, types
from pathlib import Path
from shortloop.exax.patches import method_loading

method_loading.SETTLED_NS = int(sys.argv[1])
asked = types.SimpleNamespace(recvall=lambda: None)
main, sys.modules["__main__"] = sys.modules["__main__"], asked
method_loading.note_what_is_read()
sys.modules["__main__"] = main
sys.path.insert(0, os.getcwd())
sys.dont_write_bytecode = True
import methods.a_one
asked.recvall()
if not os.fork():
    import colorsys
    asked.recvall()
    os._exit(0)
os.wait()
print(os.getpid())
"""
METHOD = """
import os
from pathlib import Path
from helper import value

table = Path(__file__).with_name("table.txt").read_text()
names = os.listdir("data")
try:
    more = open("more.txt").read()
except FileNotFoundError:
    more = ""
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_configuration(tmp_path)
    (tmp_path / "methods").mkdir(exist_ok=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "methods" / "__init__.py").touch()
    (tmp_path / "methods" / "a_one.py").write_text(METHOD, encoding="utf-8")
    (tmp_path / "methods" / "table.txt").write_text("1\n", encoding="utf-8")
    (tmp_path / "helper.py").write_text("value = 1\n", encoding="utf-8")
    return tmp_path


def loaded(settled: int = -(10**12)) -> int:
    """The process that has loaded the method."""
    return int(fresh_python(RUNNER, Path.cwd(), str(settled)))


def written(name: str, text: str = "2\n") -> Callable[[], object]:
    def write() -> None:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")

    return write


def put_back() -> None:
    """Another text of the same size, with the times of the first."""
    before = os.stat("helper.py")
    Path("helper.py").write_text("value = 2\n", encoding="utf-8")
    os.utime("helper.py", ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[], object]] = {
    "a module": written("helper.py"),
    "a module whose times are put back": put_back,
    "a module that is gone": lambda: Path("helper.py").unlink(),
    "a package in its place": written("helper/__init__.py"),
    "a module in place of a library": written("json.py"),
    "the method": written("methods/a_one.py"),
    "another method": written("methods/a_two.py"),
    "a file that it read": written("methods/table.txt"),
    "a file in a folder that it listed": written("data/x"),
    "a file that it looked for": written("more.txt"),
    "asked to forget": forget_what_is_read,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_is_seen(project: Path, change: Callable[[], object]) -> None:
    process = loaded()
    assert _is_as_loaded([process])
    change()
    assert not _is_as_loaded([process])


def test_what_is_of_no_interest_changes_nothing(project: Path) -> None:
    process = loaded()
    assert "colorsys" not in _file(LOADED).read_text(encoding="utf-8")  # of a job
    (project / "notes.txt").touch()
    (project / "methods" / "__pycache__").mkdir(exist_ok=True)
    (project / "workdirs" / ".cache" / "code" / "x").mkdir(parents=True)
    assert _is_as_loaded([process])
    assert not _is_as_loaded([process + 1])
    assert not _is_as_loaded([process, process + 1])


def test_what_changed_a_moment_before_may_change_again_unseen(project: Path) -> None:
    assert not _is_as_loaded([loaded(settled=60 * 10**9)])
    assert not _file(LOADED).exists()


def test_a_damaged_note_counts_for_nothing(project: Path) -> None:
    process = loaded()
    note = json.loads(_file(LOADED).read_text(encoding="utf-8"))
    for text in ("", "[]", json.dumps({**note, "files": {}, "folders": 1}), json.dumps({"process": process})):
        _file(LOADED).write_text(text, encoding="utf-8")
        assert not _is_as_loaded([process])
