"""The command as a user types it, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def shortloop(
    folder: Path, *arguments: str, library: Path | str = ROOT, columns: int = 200
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "STUDY"}
    return subprocess.run(
        [sys.executable, "-m", "shortloop", *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(library), "COLUMNS": str(columns)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def assert_one_message(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("shortloop: ")
    assert done.stderr.count("shortloop: ") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
