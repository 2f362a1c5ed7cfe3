"""Other workflow tools, in an environment of their own: this project needs none of them."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path


def install(folder: Path, packages: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Install packages with pip, as the user has configured it, into a virtual environment."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, symlinks=True)
    left_out = {}
    there = _versions(python)
    for package in packages:
        name, _, version = package.partition("==")
        if there.get(name) == version:
            continue
        done = _pip(python, "install", package)
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
            left_out[package] = said[-1].removeprefix("ERROR: ") if said else "pip failed"
    return _versions(python), left_out


def _versions(python: Path) -> dict[str, str]:
    listed = _pip(python, "list", "--format", "json")
    listed.check_returncode()
    return {each["name"]: each["version"] for each in json.loads(listed.stdout)}


def _pip(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    return subprocess.run([*pip, *arguments], capture_output=True, text=True, check=False)
