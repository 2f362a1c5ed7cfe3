"""A project whose units come in any order, hold data or refer to files, and may read the same; what a process
computes of it that keeps nothing."""

from __future__ import annotations

import json
import multiprocessing
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

from live_one import unseen_edit
from live_project import PATIENCE, SHORTLOOP, EmptyProject, script

from shortloop.stages.results import open_result

ARITHMETIC = """\
PLUS = {plus}


def result(value, power, said=""):
    return {{"x": float(value) ** power + PLUS, "said": said}}
"""
ORDER = """\
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor, as_completed


def ordered(pairs, how):
    if how == "given":
        return dict(pairs)
    pairs = random.SystemRandom().sample(pairs, len(pairs))
    if how == "set":
        found = dict(pairs)
        return {name: found[name] for name in set(found)}
    if how == "threads":
        def wait(pair):
            time.sleep(random.SystemRandom().random() / 500)
            return pair

        with ThreadPoolExecutor(4) as pool:
            return dict(each.result() for each in as_completed([pool.submit(wait, each) for each in pairs]))
    return pairs


def pause():
    if os.path.exists(os.environ.get("SLOW", "")):
        time.sleep(0.03)
"""
MEASURE = """\
import functools
from pathlib import Path

from methods import arithmetic, order
from shortloop import File, stage

HERE = Path(__file__).parents[1] / "data"
MEANS = {}


class Recording:
    def __init__(self, path):
        self.path = path

    def __call__(self):
        return mean(self.path)


def mean(path):
    import numpy as np

    return float(np.loadtxt(path).mean())


def lazy(path):
    import polars as pl

    return pl.scan_csv(path, has_header=False)


def dataset(path):
    import pyarrow.dataset

    return pyarrow.dataset.dataset(path, format="csv")


def parts(files: list[File], kind: str, how: str):
    import numpy as np

    MEANS.update({file.path.parent.name: mean(file.path) for file in files} if kind == "global" else {})
    gives = {
        "path": lambda path: path,
        "text": str,
        "folder": lambda path: path.parent,
        "partial": lambda path: functools.partial(mean, path),
        "closure": lambda path: lambda: mean(path),
        "object": Recording,
        "lazy": lazy,
        "global": lambda path: ["key", path.parent.name],
        "dataset": dataset,
        **dict.fromkeys(("opened", "polars", "pattern", "arrow"), lambda path: int(path.parent.name[1:])),
        "data": np.loadtxt,
        "map": lambda path: np.memmap(path, dtype="u1", mode="r"),
    }
    pairs = [(file.path.parent.name, gives[kind](file.path)) for file in files]
    return order.ordered(pairs, how)


def read(kind, pattern):
    import polars as pl
    import pyarrow.csv

    (file,) = pattern.parent.glob("*.csv")
    if kind == "opened":
        return mean(file)
    if kind == "arrow":
        return float(pyarrow.csv.read_csv(file).column_names[0])
    return pl.read_csv(file if kind == "polars" else pattern, has_header=False).to_series().mean()


@stage(units=parts)
def measure(it, kind: str, power: int = 1):
    order.pause()
    said = ""
    if kind in ("path", "text", "folder"):
        file = next(Path(it).glob("*.csv")) if kind == "folder" else Path(it)
        value, said = mean(file), file.name
    elif kind in ("partial", "closure", "object"):
        value = it()
    elif kind == "lazy":
        value = it.collect().to_series().mean()
    elif kind == "global":
        value = MEANS[it[1]]
    elif kind == "dataset":
        value = float(it.head(1).column_names[0] if it.count_rows() else it.schema.names[0])
    elif kind in ("opened", "polars", "pattern", "arrow"):
        value = read(kind, HERE / f"s{it}" / "*.csv")
    else:
        value = it.mean() if kind == "data" else int(bytes(it).split()[0])
    return arithmetic.result(value, power, said)
"""
NUMBERS = """\
from methods import arithmetic, order
from shortloop import stage


def chosen(names: list[int], how: str):
    return order.ordered([(f"n{each}", [each // 2]) for each in names], how)


@stage(units=chosen)
def {stage}(read{unit}, power: int = 1):
    order.pause()
    return arithmetic.result(read[0], power{said})
"""
SCRIPT = script(
    """
for stage, partition, options in asked:
    if stage == "measure":
        options["files"] = run.files([Path(each) for each in options["files"]])
    job = run.build(stage, partition=partition, **options)
return job
""",
    reads="asked.json",
)
KINDS = (
    *("path", "text", "folder", "partial", "closure", "object", "lazy"),
    *("global", "opened", "data", "map", "dataset", "polars", "pattern", "arrow"),
)
ORDERS = ("shuffled", "set", "threads")
Values = list[dict[str, tuple[float, str]]]
"""Of each job what each of its units gave, by the unit's name."""


class UnitsProject(EmptyProject):
    """Files, and jobs with units, which are edited at random."""

    sources: ClassVar = {
        "methods/a_measure.py": MEASURE,
        "methods/order.py": ORDER,
        "methods/arithmetic.py": ARITHMETIC.format(plus=1),
        "build_scripts/build_x.py": SCRIPT,
    }
    run_name = "x"

    def __init__(self, folder: Path, rng: random.Random) -> None:
        super().__init__(folder)
        self.rng, self.plus = rng, 1
        self.files: dict[str, tuple[str, int]] = {}
        """Name and value of each file, by the folder that it is alone in."""
        self.jobs: list[tuple[str, str, dict[str, Any]]] = []
        for stage, (unit, said) in {"numbers": ("", ""), "named": (", unit: str", ", unit")}.items():
            text = NUMBERS.replace("{stage}", stage).replace("{unit}", unit).replace("{said}", said)
            self.write(f"methods/a_{stage}.py", text)
        for number in range(1, 6):
            self.write_file(f"s{number}", "one.csv", 100 + number // 2)
        self.jobs = [
            *(("measure", kind, {"kind": kind, "how": "shuffled"}) for kind in rng.sample(KINDS, 4)),
            ("numbers", "A", {"names": [*range(8)], "how": "set"}),
            ("named", "B", {"names": [*range(8)], "how": "threads"}),
        ]

    def environment(self, **more: str) -> dict[str, str]:
        return {**super().environment(**more), "SLOW": str(self.folder / ".slow")}

    def write_file(self, above: str, name: str, value: int) -> None:
        self.write(f"data/{above}/{name}", f"{value}\n{value}\n")
        self.files[above] = name, value

    # Edits of files.

    def any_file(self) -> str:
        return self.rng.choice(sorted(self.files))

    def change_file(self) -> None:
        above = self.any_file()
        self.write_file(above, self.files[above][0], self.rng.randrange(100, 110))

    def change_unseen(self) -> None:
        above, value = self.any_file(), self.rng.randrange(100, 110)
        name = self.files[above][0]
        unseen_edit(self.folder / "data" / above / name, f"{value}\n{value}\n")
        self.files[above] = name, value

    def make_equal(self) -> None:
        above = self.any_file()
        self.write_file(above, self.files[above][0], self.files[self.any_file()][1])

    def swap_files(self) -> None:
        one, two = self.rng.sample(sorted(self.files), 2)
        (first, value), (second, other) = self.files[one], self.files[two]
        self.write_file(one, first, other)
        self.write_file(two, second, value)

    def rename_file(self) -> None:
        above = self.any_file()
        (name, value), new = self.files[above], self.rng.choice(["one.csv", "two.csv", "3.csv"])
        (self.folder / "data" / above / name).rename(self.folder / "data" / above / new)
        self.files[above] = new, value

    def rename_folder(self) -> None:
        above, new = self.any_file(), f"s{self.rng.randrange(1, 9)}"
        if new not in self.files:
            (self.folder / "data" / above).rename(self.folder / "data" / new)
            self.files[new] = self.files.pop(above)

    def add_file(self) -> None:
        above = f"s{self.rng.randrange(1, 9)}"
        if above not in self.files:
            self.write_file(above, "one.csv", self.rng.randrange(100, 110))

    def drop_file(self) -> None:
        if len(self.files) > 2:
            above = self.any_file()
            shutil.rmtree(self.folder / "data" / above)
            del self.files[above]

    # Edits of jobs and code.

    def change_job(self) -> None:
        """Which units it has, in which order, or what they compute."""
        stage, _, options = self.rng.choice(self.jobs)
        options["how"] = self.rng.choice(ORDERS)
        if self.rng.random() < 0.4:
            options["power"] = self.rng.randint(1, 2)
        elif stage != "measure":
            options["names"] = self.rng.sample(range(12), self.rng.randint(1, 10))

    def add_job(self) -> None:
        """In a partition of its own, so that others may have its units."""
        stage, _, options = self.rng.choice(self.jobs)
        if len(self.jobs) < 12:
            self.jobs.append((stage, f"more {len(self.jobs)}", {**options}))

    def change_kind(self) -> None:
        self.rng.choice([one for one in self.jobs if one[0] == "measure"])[2]["kind"] = self.rng.choice(KINDS)

    def change_code(self) -> None:
        self.plus = self.rng.randrange(1, 4)
        self.write("methods/arithmetic.py", ARITHMETIC.format(plus=self.plus))

    # What happens to results.

    def results(self) -> list[Path]:
        return sorted(self.folder.glob("workdirs/main/main-*/units.rows"))

    def damage_rows(self) -> None:
        for file in self.rng.sample(self.results(), min(2, len(self.results()))):
            content = file.read_bytes()
            file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))

    def lose_jobs(self) -> None:
        for file in self.rng.sample(self.results(), min(2, len(self.results()))):
            shutil.rmtree(file.parent)

    def clean_up(self) -> None:
        self.works("gc", "--delete")

    def kill(self) -> None:
        """In the middle of a run, whose units take their time."""
        self.ask()
        slow = Path(self.environment()["SLOW"])
        slow.touch()
        running = self.popen(SHORTLOOP, "run", "x", SHORTLOOP_ENGINE=self.rng.choice(["slices", "joblib"]))
        time.sleep(self.rng.uniform(0.5, 5))
        running.send_signal(self.rng.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM]))
        running.communicate(timeout=PATIENCE)
        slow.unlink()

    # What is checked.

    def ask(self) -> list[tuple[str, str, dict[str, Any]]]:
        files = [f"data/{above}/{name}" for above, (name, _) in self.files.items()]
        asked = [
            (stage, part, {**options, "files": self.rng.sample(files, len(files))})
            if stage == "measure"
            else (stage, part, options)
            for stage, part, options in self.jobs
        ]
        self.write("asked.json", json.dumps(asked))
        return asked

    def found(self, engine: str) -> tuple[Values, str]:
        """What a run leaves, and says."""
        said = self.works("run", "x", SHORTLOOP_ENGINE=engine)
        jobs = [open_result(self.job_folder(each["job"])) for each in self.summary()["jobs"]]
        return [
            dict(zip(job.facts["units"], zip(job["x"].tolist(), job["said"].tolist()), strict=True))
            for job in jobs
        ], said

    def expected(self) -> Values:
        done = self.shell(
            sys.executable, __file__, PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(self.folder)
        ).ok()
        return [{name: (x, said) for name, (x, said) in each.items()} for each in json.loads(done.stdout)]


def computed(job: tuple[str, str, dict[str, Any]]) -> dict[str, tuple[float, str]]:
    """What the functions of a stage give when they are called one after the other."""
    import importlib

    from shortloop.stages.inputs import File

    stage, _, options = job
    module = importlib.import_module(f"methods.a_{stage}")
    function = getattr(module, stage)
    if stage == "measure":
        options["files"] = [File("", Path(each).resolve()) for each in options["files"]]
    units = (module.parts if stage == "measure" else module.chosen)(
        **{name: each for name, each in options.items() if name != "power"}
    )
    own = {name: each for name, each in options.items() if name in ("kind", "power")}
    found = {}
    for name, read in units.items() if isinstance(units, dict) else units:
        given = function(read, **own, **({"unit": name} if stage == "named" else {}))
        found[name] = given["x"], given["said"]
    return found


if __name__ == "__main__":  # in the folder of the project, which keeps nothing of it
    asked = json.loads(Path("asked.json").read_text(encoding="utf-8"))
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        print(json.dumps(pool.map(computed, asked, chunksize=1)))
