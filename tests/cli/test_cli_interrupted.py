"""Ctrl-C while the command is being imported, or imports what it needs: it ends at once, and quietly."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from python_process import ended
from source_tree import PROJECT, ROOT
from toy_jobs import project_of_two_jobs

# As some libraries do that are interrupted while they are imported. A signal just before a sleep ends none.
SLOW = """\
import pathlib, time
pathlib.Path({reached!r}).touch()
try:
    for _ in range(6000):
        time.sleep(0.01)
except KeyboardInterrupt:
    raise {error}
"""
folder = pytest.fixture(project_of_two_jobs)


@pytest.mark.parametrize(
    ("library", "command", "error"),
    [
        ("typer", ("jobs",), ""),
        ("shortloop/cli/main", ("jobs",), ""),
        ("numpy", ("compare", "main-0", "main-1"), "ImportError('broken')"),
        ("numpy", ("compare", "main-0", "main-1"), "SystemError('unreported')"),
        ("rich", ("--help",), ""),
        ("pydantic", ("study",), "ImportError('broken')"),
    ],
)
def test_an_interrupt(
    folder: Path, tmp_path: Path, library: str, command: tuple[str, ...], error: str
) -> None:
    slow, reached = tmp_path / "slow", tmp_path / "reached"
    path = [str(slow), str(ROOT)]
    file = slow / f"{library}.py"
    if "/" in library:  # a copy of the package, of which one module is slow
        shutil.copytree(ROOT / "shortloop", slow / "shortloop", ignore=shutil.ignore_patterns("__pycache__"))
        path = [str(slow)]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SLOW.format(reached=str(reached), error=error), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "shortloop", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not reached.exists():
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert said == ""
    assert process.returncode == 130


def test_one_who_ignores_interrupts_goes_on_ignoring_them(folder: Path) -> None:
    """As programs do that a shell started in the background."""
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import sys;"
    code += "sys.argv = ['shortloop', 'jobs']; from shortloop.__main__ import main\n"
    code += "try: main()\nfinally: print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    done = ended(["-c", code], folder)
    assert done.stdout.endswith("True\n"), done.stderr
    assert PROJECT["scripts"] == {"shortloop": "shortloop.__main__:main"}  # what is installed is quiet too
