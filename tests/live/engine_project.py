"""A project of every kind of stage, whose units can be made to fail, to wait or to end their process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any, ClassVar

from live_project import AX, PATIENCE, SHORTLOOP, Done, EmptyProject, processes, script, stages

ENGINES = ("joblib", "dask", "joblib:threading", "ray")
"""All but slices."""
METHODS = stages("""\
# numbers
@stage
def numbers(file: File):
    import numpy as np

    return {"numbers": np.loadtxt(file.path)}

# factors
import numpy as np
from tools.steps import scaled


@stage
class Factors(Stage):
    numbers: Job
    count: int = 12

    def open(self):
        self.seen = 0
        self.scale = self.numbers.arrays["numbers"]

    def units(self):
        return [1.0 + unit % 5 for unit in range(self.count)]

    def outputs(self):
        return {"values": Out((self.count, 40), "f8", "matrices × values", "singular values")}

    def compute(self, unit):
        from tools.faults import meet

        meet("factors", unit)
        rng = np.random.default_rng([unit, 5])
        matrix = rng.standard_normal((60, 40)) * self.scale[unit % len(self.scale)]
        values = scaled(np.linalg.svd(matrix @ np.exp(matrix.T @ matrix / 1e4), compute_uv=False))
        print(f"unit {unit} done")
        return {"values": values, f"pages/{unit}.txt": f"{unit} {values[0]!r}\\n".encode()}

    def finish(self, out):
        return Finished({"sum": float(out["values"].sum())})

# fit
def groups(numbers: Job, groups: int = 40):
    values = numbers["numbers"]
    for group in range(groups):
        yield f"g{group}", values[group % 5 :] * (group + 1)


@stage(units=groups)
def fit(values, unit: str, degree: int = 1):
    import numpy as np

    from tools.faults import meet

    meet("fit", int(unit[1:]))
    return {"line": np.polyfit(np.arange(len(values)), values, degree), "name": unit}

# sums
from shortloop.stages.dataset import Dataset


@stage
class Sums(Stage):
    rows: Dataset

    def units(self):
        return 7

    def outputs(self):
        return {"sums": Out((7,), "i8", "remainders", "sums")}

    def compute(self, unit):
        return {"sums": sum(x for x in self.rows.iterate(None, "x") if x % 7 == unit)}

# page
@stage
def page(fit: Job, factors: list[Job], sums: Job):
    import numpy as np

    return {
        "lines": fit["line"],
        "values": np.array([each.arrays["values"] for each in factors]),
        "sums": sums.arrays["sums"],
    }
""")
ROWS = """\
datasets = ()
options = {"rows": 1000}


def prepare(job):
    writer = job.datasetwriter()
    writer.add("x", "int64")
    return writer


def analysis(sliceno, slices, prepare_res):
    for x in range(sliceno, options.rows, slices):
        prepare_res.write(x)
"""
SCRIPT = script(
    """
numbers = run.build("numbers", file=run.file("numbers.txt"))
parts = [
    run.build("factors", partition=name, numbers=numbers, **asked.get("factors", {}))
    for name in asked.get("partitions", "AB")
]
fit = run.build("fit", numbers=numbers, **asked.get("fit", {}))
sums = run.build("sums", rows=run.build("rows", rows=1000))
return run.build("page", fit=fit, factors=parts, sums=sums)
""",
    reads=".asked.json",
)
STEPS = '''\

def scaled(values):
    """Them, scaled."""
    return values * 1.5
'''
FAULTS = '''\
import os
import signal
import time
from pathlib import Path


def meet(stage, unit):
    """Note that a unit is computed, and do what the test wants of it."""
    folder = Path(os.environ["FAULTS"])
    with (folder / "computed").open("a") as stream:
        stream.write(f"{stage} {unit} {os.getpid()}\\n")
    time.sleep(float(os.environ.get("PAUSE", 0)))
    fault = folder / f"{stage}-{unit}"
    try:
        what = fault.read_text()
        if what.startswith("once "):
            fault.unlink()
            what = what.removeprefix("once ")
    except FileNotFoundError:  # the test, or the same unit of another job, has taken it away in this moment
        return
    if what == "raise":
        raise ZeroDivisionError("a fault")
    if what == "exit":
        os._exit(7)
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    while what == "hold" and fault.exists():
        time.sleep(0.01)
'''


class EngineProject(EmptyProject):
    """Stages with a class, with a function for each unit, of a dataset, and for all at once."""

    sources: ClassVar = {
        **METHODS,
        "methods/a_rows.py": ROWS,
        "build_scripts/build_x.py": SCRIPT,
        "tools/__init__.py": "",
        "tools/steps.py": STEPS,
        "tools/faults.py": FAULTS,
        "numbers.txt": "\n".join(f"{each / 7:.17g}" for each in range(1, 30)),
    }
    run_name = "x"

    def __init__(self, folder: Path, pause: float = 0.0) -> None:
        super().__init__(folder)
        self.pause = pause
        self.faults = folder / ".faults"
        self.faults.mkdir()
        self.ask()
        self.first: list[str] = []  # jobs that a test begins with
        self._sessions: set[int] = set()

    def environment(self, **more: str) -> dict[str, str]:
        return {**super().environment(**more), "FAULTS": str(self.faults), "PAUSE": str(self.pause)}

    def ask(self, **asked: Any) -> None:
        (self.folder / ".asked.json").write_text(json.dumps(asked), encoding="utf-8")

    def fault(self, stage: str, unit: int, what: str) -> None:
        (self.faults / f"{stage}-{unit}").write_text(what)

    def mend(self) -> None:
        for file in self.faults.iterdir():
            file.unlink()

    def computed(self) -> list[str]:
        """Units that were begun, as "stage unit", since `mend`."""
        file = self.faults / "computed"
        return [line.rpartition(" ")[0] for line in file.read_text().splitlines()] if file.exists() else []

    def go(self, engine: str, script: str = "x", **environment: str) -> Done:
        return self.ax("run", script, SHORTLOOP_ENGINE=engine, **environment)

    def start(self, engine: str, script: str = "x", *words: str, **environment: str) -> subprocess.Popen[str]:
        command = [str(SHORTLOOP)] if words else [str(AX)]
        return subprocess.Popen(
            [*command, "run", script, *words],
            cwd=self.folder,
            env=self.environment(SHORTLOOP_ENGINE=engine, **environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Manifests of all recorded jobs, by id."""
        files = (self.folder / "workdirs/main").glob("main-[0-9]*/manifest.json")
        return {file.parent.name: self.manifest(file.parent.name) for file in files}

    def by_place(self, jobs: Any) -> dict[tuple[str, str | None], str]:
        """Ids of jobs by method and partition."""
        known = {job: self.manifest(job) for job in jobs}
        return {(each["parts"]["method"], each["partition"]): job for job, each in known.items()}

    def same_jobs(self, job: str, other: str) -> bool:
        """True if two jobs have one key and the same content."""
        one, two = self.manifest(job), self.manifest(other)
        return (one["key"], one["content"]) == (two["key"], two["content"])

    def files(self, job: str) -> dict[str, bytes]:
        """What a job left, without what exax and the record say of how it was made."""
        made = {"method.tar.gz", "post.json", "setup.json", "record.json", "manifest.json"}
        names = [each for each in self.manifest(job)["files"] if each not in made]
        return {name: (self.job_folder(job) / name).read_bytes() for name in names}

    def processes(self) -> dict[int, str]:
        """Processes that runs of this project have started for an engine. Some write their title over what
        they were started with, so they are known by their session."""
        found = {}
        marker = f"FAULTS={self.faults}\0"
        for number, process in processes().items():
            try:
                environ = Path(f"/proc/{number}/environ").read_bytes().decode(errors="replace")
                session = os.getsid(number)
            except OSError:
                continue
            if marker in environ and "engines.engine_process" in process.command:
                self._sessions.add(session)
            started = marker in environ and "SHORTLOOP_ENGINE=" in environ
            if process.command and (started or session in self._sessions):
                found[number] = process.command
        return found

    def workers(self) -> set[int]:
        """Processes that have started a forkserver."""
        found, tree = self.processes(), processes()
        servers = {number for number, command in found.items() if "engines.forkserver" in command}
        return {tree[number].parent for number in servers & tree.keys()} & (found.keys() - servers)


def end(process: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[int, str]:
    """Exit status, and all that was said."""
    process.send_signal(number)
    return process.returncode, "".join(process.communicate(timeout=PATIENCE))
