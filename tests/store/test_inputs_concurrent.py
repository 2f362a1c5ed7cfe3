"""Two runs at once: neither sees half of what the other writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from blake3 import blake3
from jobs_project import ROOT, empty_project

from shortloop.project.project import write_atomically

project = pytest.fixture(empty_project)


def expected(content: bytes) -> str:
    return blake3(content).hexdigest()


def test_a_file_is_replaced_in_one_step(project: Path) -> None:
    """Whoever reads it at that moment sees all of the old text or all of the new."""
    file = project / "a.txt"
    file.write_text("old", encoding="utf-8")
    with file.open(encoding="utf-8") as reader:
        write_atomically(file, "new and longer")
        assert reader.read() == "old"
    assert file.read_text(encoding="utf-8") == "new and longer"
    assert [each.name for each in project.glob("*a.txt*")] == ["a.txt"]


HASH_MANY = """
import sys
from pathlib import Path
from shortloop.keys import file_state
from shortloop.store.inputs import locate, register
file_state.SETTLED_NS = -1
for _ in range(5):
    for start in range(0, 40, 4):
        files = [Path(f"{number}.bin").absolute() for number in range(start, start + 4)]
        contents = register(files)
        assert [locate(content) for content in contents] == files
        print(*contents)
"""


def test_two_processes_at_once(project: Path) -> None:
    contents = [bytes([number]) * 1000 for number in range(40)]
    for number, content in enumerate(contents):
        (project / f"{number}.bin").write_bytes(content)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", HASH_MANY],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in both:
        said, problems = process.communicate(timeout=300)
        assert process.returncode == 0, problems
        assert said.split() == [expected(content) for content in contents] * 5
    hashes = project / "workdirs/.cache/inputs/blake3.json"
    stored = json.loads(hashes.read_text(encoding="utf-8"))
    assert all(entry[-1] == expected(Path(file).read_bytes()) for file, entry in stored.items())
    leftovers = [file for file in hashes.parent.iterdir() if file.name.startswith(".")]
    assert leftovers == []
