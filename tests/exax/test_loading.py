"""Code is compiled from its source; what is kept of that is taken only for the very same source."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from blake3 import blake3
from jobs_project import fresh_python, write_configuration

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


@pytest.mark.parametrize("place", [0, 40, 70, -1])
def test_damage_to_what_is_kept_is_noticed(helper: Path, run: Run, place: int) -> None:
    write(helper, 1)
    run()
    (file,) = kept(helper)
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    assert run()[0] == 1
    assert file.read_bytes() != data
    file.write_bytes(b"")
    assert run()[0] == 1


def test_another_level_of_optimisation_is_other_code(helper: Path, run: Run) -> None:
    helper.write_text("def value():\n    return 1 if __debug__ else 2\n", encoding="utf-8")
    assert [run()[0], run(PYTHONOPTIMIZE="1")[0], run()[0]] == [1, 2, 1]


def test_a_folder_that_cannot_be_written_changes_nothing(helper: Path, run: Run) -> None:
    (helper.parent / "workdirs").write_text("a file", encoding="utf-8")
    write(helper, 1)
    assert run()[0] == 1
