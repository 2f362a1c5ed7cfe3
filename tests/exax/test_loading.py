"""Code is compiled from its source; methods are kept as loaded while all that was read is as it was."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from blake3 import blake3
from jobs_project import fresh_python, write_configuration

from shortloop.exax.patches.method_loading import LOADED, _file, _is_as_loaded, forget_what_is_read

CODE = """
import json, sys
sys.path.insert(0, ".")
from shortloop.exax.patches.loading import load_from_source, loaded_modules
load_from_source()
from helper import value
print(json.dumps([value(), [*loaded_modules()["helper"]]]))
"""
Run = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def helper(tmp_path: Path) -> Path:
    write_configuration(tmp_path)
    return tmp_path / "helper.py"


@pytest.fixture
def run(helper: Path) -> Run:
    """What a new process gets from the helper, and what it says that it has loaded."""

    def one(code: str = CODE, **environment: str) -> tuple[int, list[str]]:
        environment["PYTHONDONTWRITEBYTECODE"] = ""
        value, loaded = json.loads(fresh_python(code, helper.parent, **environment))
        return value, loaded

    return one


def write(helper: Path, value: int) -> None:
    helper.write_text(f"def value():\n    return {value}\n", encoding="utf-8")
    os.utime(helper, (1_000_000_000, 1_000_000_000))


def kept(helper: Path) -> list[Path]:
    found = (helper.parent / "workdirs/.cache/bytecode").iterdir()
    return [file for file in found if b"helper.py" in file.read_bytes()]


def test_bytecode_of_a_file_of_the_same_time_and_size_is_not_run(helper: Path, run: Run) -> None:
    write(helper, 1)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(helper)], check=True)
    write(helper, 2)
    plain = (
        "import sys, json; sys.path.insert(0, '.'); import helper; print(json.dumps([helper.value(), []]))"
    )
    assert run(plain)[0] == 1  # which is what Python does
    assert run()[0] == 2
    write(helper, 3)
    value, (file, content) = run()
    assert value == 3
    assert Path(file) == helper
    assert content == blake3(helper.read_bytes()).hexdigest()


def test_what_is_kept_is_used_for_the_same_source_alone(helper: Path, run: Run) -> None:
    write(helper, 1)
    assert run()[0] == 1
    (file,) = kept(helper)
    data = file.read_bytes()
    assert run()[0] == 1
    assert file.read_bytes() == data
    write(helper, 2)
    assert run()[0] == 2
    file.write_bytes(data)
    assert run()[0] == 2
    assert len(kept(helper)) == 1


def test_damage_to_what_is_kept_is_noticed(helper: Path, run: Run) -> None:
    write(helper, 1)
    run()
    (file,) = kept(helper)
    whole = file.read_bytes()
    for place in (0, 40, 70, -1):
        data = bytearray(whole)
        data[place] ^= 1
        file.write_bytes(data)
        assert run()[0] == 1
        assert file.read_bytes() == whole
    file.write_bytes(b"")
    assert run()[0] == 1


def test_another_level_of_optimisation_is_other_code(helper: Path, run: Run) -> None:
    """Also where nothing can be kept."""
    helper.write_text("def value():\n    return 1 if __debug__ else 2\n", encoding="utf-8")
    assert [run()[0], run(PYTHONOPTIMIZE="1")[0], run()[0]] == [1, 2, 1]
    shutil.rmtree(helper.parent / "workdirs")
    (helper.parent / "workdirs").write_text("a file", encoding="utf-8")
    assert run()[0] == 1


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
    """A damaged note counts for nothing; what changed a moment before may change again unseen."""
    process = loaded()
    note = _file(LOADED).read_text(encoding="utf-8")
    assert "colorsys" not in note  # of a job
    (project / "notes.txt").touch()
    (project / "methods" / "__pycache__").mkdir(exist_ok=True)
    (project / "workdirs" / ".cache" / "code" / "x").mkdir(parents=True)
    assert _is_as_loaded([process])
    assert not _is_as_loaded([process + 1])
    assert not _is_as_loaded([process, process + 1])
    wrong = {**json.loads(note), "files": {}, "folders": 1}
    for text in ("", "[]", json.dumps(wrong), json.dumps({"process": process})):
        _file(LOADED).write_text(text, encoding="utf-8")
        assert not _is_as_loaded([process])
    _file(LOADED).unlink()
    assert not _is_as_loaded([loaded(settled=60 * 10**9)])
    assert not _file(LOADED).exists()
