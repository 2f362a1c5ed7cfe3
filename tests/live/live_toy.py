"""A project whose pipeline is a chain of toy jobs, each made from the one before it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import numpy as np
from live_project import AX, EmptyProject, wait_for

METHOD = '''\
"""Adds to what the job before left."""

import os
import time
from pathlib import Path

from methods.steps import step
from shortloop.keys.code import code_of

depend_extra = code_of(__file__)
options = {"number": 0, "add": 1, "many": 0}
jobs = ("previous", "before")
grows = "many"


def synthesis():
    import numpy as np

    from shortloop.stages.records import Values, save_array, write_record
    from shortloop.stages.results import open_result

    value = 0
    if jobs.previous:
        value = int(open_result(jobs.previous.path).arrays["x"][0])
    grown = len(open_result(jobs.before.path).arrays["x"]) if jobs.before else 0
    save_array("x", np.repeat(step(value) + options["add"], 1 + options["many"]))
    write_record("toy", None, {"x": Values(None, "values", "x")})
    print(f"grown from {grown}")
    wait = Path(os.environ["FOLDER"])
    while (wait / f"hold-{options['number']}").exists():
        (wait / f"held-{options['number']}").touch()
        time.sleep(0.01)
'''
STEPS = '''\
"""What a toy job does."""


def step(value):
    """The next value."""
    return value
'''
SCRIPT = """\
import json
import time
from pathlib import Path

from shortloop.run.executor import run_pipeline

CHAIN = Path(__file__).parents[1] / "chain.json"


def main(urd):
    return run_pipeline(urd, pipeline, name="chain")


def pipeline(run):
    while CHAIN.with_name("hold-script").exists():
        CHAIN.with_name("held-script").touch()
        time.sleep(0.01)
    previous = None
    for number, options in enumerate(json.loads(CHAIN.read_text())):
        previous = run.build("toy", number=number, previous=previous, **options)
    return previous
"""


class ToyProject(EmptyProject):
    """Toy jobs; what it says of them is read from what `ax run chain` prints."""

    sources: ClassVar = {
        "methods/a_toy.py": METHOD,
        "methods/steps.py": STEPS,
        "build_scripts/build_chain.py": SCRIPT,
        "chain.json": "[{}, {}, {}]",
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._newest = 100

    def write_chain(self, *options: str) -> None:
        """Options of each job, as JSON."""
        self.write("chain.json", f"[{', '.join(options)}]")

    def new_chain(self) -> int:
        """Three jobs that were never built, and what the first will leave."""
        self._newest += 100
        self.write_chain(f'{{"add": {self._newest}}}', "{}", "{}")
        return self._newest

    @contextmanager
    def held(self, what: str) -> Iterator[None]:
        """Keep what is started within from ending: a job by its number, or the script."""
        hold, held = self.folder / f"hold-{what}", self.folder / f"held-{what}"
        hold.touch()
        try:
            yield
        finally:
            hold.unlink()
            held.unlink(missing_ok=True)

    def wait_until_held(self, what: str, running: subprocess.Popen[str] | None = None) -> None:
        """Wait until it is as far as that; a run that ends before says why."""
        held = self.folder / f"held-{what}"
        held.unlink(missing_ok=True)

        def has_come() -> bool:
            assert running is None or running.poll() is None, running.communicate()[0]
            return held.exists()

        wait_for(has_come)

    def chain(self, *flags: str) -> tuple[list[str], str]:
        """Run it; the jobs it built and all that it said."""
        done = self.ax("run", *flags, "chain").ok()
        return re.findall(r"\] built toy +(main-\d+)", done.stdout), done.stdout + done.stderr

    def start_chain(self, *flags: str) -> subprocess.Popen[str]:
        """Start it, without waiting for its end."""
        return self.popen(AX, "run", *flags, "chain")

    def value(self, job: str) -> int:
        """What a toy job left."""
        return int(np.load(self.job_folder(job) / "x.npy")[0])

    def forget_index(self) -> None:
        shutil.rmtree(self.folder / "workdirs" / "main" / ".shortloop")
