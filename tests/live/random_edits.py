"""A project whose data, settings and code are edited at random, and what a run of it must leave."""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, ClassVar

from live_project import Done, EditedProject

from shortloop.stages.content import SIZE
from shortloop.stages.records import ROWS
from shortloop.stages.rows import LENGTH

ORACLE = Path(__file__).with_name("oracle.py")
FINISH = """\


def finish(run, last, seconds):
    jobs = [[job.stage, job.partition, str(job.path), job.fresh] for job in run.jobs]
    (Path(__file__).parents[1] / "jobs.json").write_text(json.dumps(jobs))
"""
NOT_RESULTS = ("manifest.json", "method.tar.gz", "post.json", "setup.json", ".modules.txt")
HOW = ("engine", "taken", "threads", "versions")  # parts of a record that say how, and not what
Found = dict[tuple[object, ...], object]


class RandomProject(EditedProject):
    """A project of one analysis, with a build script ``core`` that says which jobs it has asked for."""

    inputs: ClassVar[Sequence[str]] = ("data",)  # files and folders
    code: ClassVar[Sequence[str]]  # modules of arithmetic, where another number mostly gives another result
    script: ClassVar[str]

    def __init__(self, folder: Path, rng: random.Random) -> None:
        super().__init__(folder)
        self.rng = rng
        self.kept: dict[Path, bytes] = {}
        (folder / "dev/build_core.py").write_text(self.script + FINISH, encoding="utf-8")

    # Edits of code and of kept jobs.

    def change_number(self) -> None:
        """In code of the package; it may be too much for it."""
        file = self.rng.choice(self.arithmetic())
        found = [
            (each, each.value)
            for each in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(each, ast.Constant) and isinstance(each.value, float | int)
        ]
        if found:
            number, value = self.rng.choice(found)
            self.kept.setdefault(file, file.read_bytes())
            lines = file.read_bytes().split(b"\n")
            line, new = lines[number.lineno - 1], repr(value * 2 or 1).encode()
            lines[number.lineno - 1] = line[: number.col_offset] + new + line[number.end_col_offset :]
            file.write_bytes(b"\n".join(lines))

    def put_back(self) -> None:
        for file, content in self.kept.items():
            file.write_bytes(content)
        self.kept.clear()

    def damage_job(self) -> None:
        arrays = sorted(self.folder.glob("workdirs/main/main-[0-9]*/*.npy"))
        if arrays:
            file = self.rng.choice(arrays)
            content = bytearray(file.read_bytes())
            content[-1] ^= 1
            file.write_bytes(content)

    def remark(self) -> None:
        """Which changes nothing, as the next one."""
        for file in self.rng.sample(self.arithmetic(), 3):
            file.write_text(f"{file.read_text(encoding='utf-8')}# {self.rng.random()}\n", encoding="utf-8")

    def touch(self) -> None:
        for file in self.arithmetic():
            os.utime(file)

    def arithmetic(self) -> list[Path]:
        found = [self.folder / "shortloop" / name for name in self.code]
        files = [file for each in found for file in ([each] if each.is_file() else each.rglob("*.py"))]
        return sorted(file for file in files if file.name not in ("__init__.py", "settings.py"))

    # What is checked.

    def go(self, engine: str, **environment: str) -> Done:
        return self.shortloop("run", "core", SHORTLOOP_ENGINE=engine, **environment)

    def kill(self) -> str:
        """Begin a run, and end it on the way; by what."""
        command = [sys.executable, "-m", "shortloop", "run", "core"]
        quiet = subprocess.DEVNULL
        running = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(),
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
        )
        try:
            running.wait(self.rng.uniform(1, 10))
        except subprocess.TimeoutExpired:
            by = self.rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
            running.send_signal(by)
            running.wait(timeout=120)
            return by.name
        return "itself"

    def expected(self) -> Found | None:
        """What must come out; None if it is refused, or fails."""
        with self.clean_folder() as clean:
            for name in ("shortloop", "methods", "build_scripts", "accelerator.conf", *self.inputs):
                if (self.folder / name).is_dir():
                    without = shutil.ignore_patterns("__pycache__")
                    shutil.copytree(self.folder / name, clean / name, ignore=without, dirs_exist_ok=True)
                elif (self.folder / name).exists():
                    shutil.copy2(self.folder / name, clean)
            single = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
            command = [sys.executable, str(ORACLE), self.analyses[0], str(clean / "workdirs/main")]
            environment = self.environment(PYTHONPATH=str(clean), PYTHONDONTWRITEBYTECODE="1", **single)
            done = subprocess.run(command, cwd=clean, env=environment, stderr=subprocess.PIPE, text=True)
            if done.returncode:
                print("it fails:", *done.stderr.strip().splitlines()[-1:], flush=True)
                return None
            return contents(json.loads((clean / "jobs.json").read_text()))

    @contextmanager
    def clean_folder(self) -> Iterator[Path]:
        """Where it is computed what must come out."""
        with tempfile.TemporaryDirectory(prefix="sl-") as folder:
            yield Path(folder)

    def comparable(self, found: Found) -> Found:
        """The part of results that a run and a process must have in common; all, of most."""
        return found

    def is_right(self, engine: str, **environment: str) -> bool:
        """True if a run leaves what it must; false if it fails, as then it must."""
        must, done = self.expected(), self.go(engine, **environment)
        said = done.stdout + done.stderr
        if must is None:
            assert done.returncode, said
            return False
        assert done.returncode == 0, said
        found, must = self.comparable(contents([job for *job, _ in self.jobs()])), self.comparable(must)
        assert found.keys() == must.keys()
        assert not [name for name in must if found[name] != must[name]]
        return True

    def jobs(self) -> list[list[Any]]:
        listed: list[list[Any]] = json.loads((self.folder / "jobs.json").read_text(encoding="utf-8"))
        return listed


def contents(jobs: list[list[Any]]) -> Found:
    """All that jobs left, but for what says how: by stage, partition, number among these, and file."""
    found: Found = {}
    seen: dict[tuple[object, ...], int] = {}
    for stage, partition, folder in jobs:
        number = seen[stage, partition] = seen.get((stage, partition), 0) + 1
        for file in sorted(Path(folder).rglob("*")):
            if file.name in NOT_RESULTS or file.is_dir() or "OUTPUT" in file.parts:
                continue
            content: Any = file.read_bytes()
            if file.name == "record.json":
                record = json.loads(file.read_text(encoding="utf-8"))
                content = {name: each for name, each in record.items() if name not in HOW}
            if file.name == ROWS:
                content = given_by_units(content)
            found[stage, partition, number, str(file.relative_to(folder))] = content
    return found


def given_by_units(content: bytes) -> list[bytes]:
    """What units gave, without their keys: these hold what the oracle does not know of jobs."""
    (count,) = LENGTH.unpack_from(content)
    at = LENGTH.size + count * SIZE
    ends = [*accumulate(struct.unpack_from(f"<{count}q", content, at), initial=at + count * LENGTH.size)]
    return [content[first:last][SIZE:] for first, last in pairwise(ends)]
