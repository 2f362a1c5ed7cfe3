"""A project in which a run builds one job of any method, and the ways to edit files that leave no trace."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from live_toy import ToyProject

SCRIPT = """\
import json
from pathlib import Path

from shortloop.run.executor import run_pipeline

FOLDER = Path(__file__).parents[1]


def main(urd):
    return run_pipeline(urd, pipeline, finish, name="one")


def pipeline(run):
    one = json.loads((FOLDER / "one.json").read_text())
    files = {name: run.file(FOLDER / file) for name, file in one["files"].items()}
    return run.build(one["method"], modules=one["modules"], **one["options"], **files)


def finish(run, last, seconds):
    (FOLDER / "last.json").write_text(json.dumps([last.job, last.fresh]))
"""
# What every method here begins with; it leaves one number, `value()`.
HEAD = '''\
"""A method of a test."""

import os
import time
from pathlib import Path

from shortloop.keys.code import code_of

depend_extra = code_of(__file__)
options = {"file": "", "name": ""}
FOLDER = Path(os.environ["FOLDER"])


def wait(what):
    while (FOLDER / f"hold-{what}").exists():
        (FOLDER / f"held-{what}").touch()
        time.sleep(0.005)


def synthesis():
    from shortloop.stages.records import Values, save_array, write_record

    save_array("x", [value()])
    write_record("one", None, {"x": Values(None, "values", "x")})


def value():
'''


class OneProject(ToyProject):
    """One job of any method."""

    sources: ClassVar = {**ToyProject.sources, "build_scripts/build_one.py": SCRIPT}

    def write_method(self, name: str, body: str, above: str = "") -> None:
        """A method whose `value()` is this."""
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        self.write(f"methods/a_{name}.py", HEAD.replace('"""\n\n', f'"""\n\n{above}\n', 1) + lines)

    def order(
        self, method: str, files: dict[str, str] | None = None, modules: Sequence[str] = (), **options: Any
    ) -> None:
        """What the next run builds."""
        one = {"method": method, "files": files or {}, "modules": list(modules), "options": options}
        self.write("one.json", json.dumps(one))

    def one(self, *flags: str) -> tuple[int, bool, str]:
        """Run it: what the job left, whether it was built, and what was said."""
        done = self.ax("run", *flags, "one").ok()
        return *self.last(), done.stdout + done.stderr

    def last(self) -> tuple[int, bool]:
        """What the last job left, and whether it was built."""
        job, fresh = json.loads((self.folder / "last.json").read_text(encoding="utf-8"))
        return int(np.load(self.job_folder(job) / "x.npy")[0]), fresh

    def refused(self) -> str:
        """What a run says that does not work."""
        return self.ax("run", "one").fails()


def unseen_edit(file: Path, text: str) -> None:
    """Other content of the same size and time, as of an edit within a second, or a file that is put back."""
    stat = file.stat()
    assert len(text.encode()) == stat.st_size
    time.sleep(0.02)  # a tick of the file system's clock, so that the change time is another one
    with file.open("r+", encoding="utf-8") as edited:  # which is at no moment empty
        edited.write(text)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
