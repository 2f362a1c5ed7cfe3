"""Twenty thousand small fits that are kept: cold, unchanged, and with one in a hundred new; time and disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.chains import install
from benchmarks.measure import interleaved, ratio, seconds_of, spread
from benchmarks.options import Options, cores
from benchmarks.project import BINARIES, user_environment
from benchmarks.write import figures, number

OURS, MEMORY, PIPEFUNC, PLAIN = "Shortloop", "joblib.Memory", "pipefunc", "joblib, nothing kept"
COLD, UNCHANGED, SOME = "cold", "unchanged", "1 % new"
METHODS = {COLD: "cold", UNCHANGED: "unchanged", SOME: "some"}
CASES = tuple(METHODS)
UNITS, QUICK, SHARE = 20_000, 200, 100
PACKAGES = ("joblib==1.6.0", "pipefunc==0.93.2", "numpy")
FIT = """\
import numpy as np


def slope(group):
    values = np.random.default_rng(group).standard_normal((40, 4))
    return float(np.linalg.lstsq(values[:, 1:], values[:, 0])[0][0])
"""
SETTINGS = """\
import json
import os
from pathlib import Path

{imports}
from fits import slope

asked = json.loads(Path("settings.json").read_text())
groups = range(asked["first"], asked["first"] + asked["count"])
cores = len(os.sched_getaffinity(0))
{work}
print(sum(slopes))
"""
SCRIPTS = {
    PLAIN: SETTINGS.format(
        imports="from joblib import Parallel, delayed\n",
        work="slopes = Parallel(cores)(delayed(slope)(group) for group in groups)",
    ),
    MEMORY: SETTINGS.format(
        imports="from joblib import Memory, Parallel, delayed\n",
        work='kept = Memory("kept", verbose=0).cache(slope)\n'
        "slopes = Parallel(cores)(delayed(kept)(group) for group in groups)",
    ),
    PIPEFUNC: SETTINGS.format(
        imports="from pipefunc import PipeFunc, Pipeline\n",
        work='pipeline = Pipeline([PipeFunc(slope, "slope", mapspec="group[i] -> slope[i]")])\n'
        "# It keeps what it has for the same inputs only: with others it begins anew.\n"
        'again = Path("kept").exists() and not asked["first"]\n'
        'ran = pipeline.map({"group": list(groups)}, run_folder="kept", resume=again)\n'
        'slopes = ran["slope"].output',
    ),
}
STAGE = '''\
"""A regression for each of many groups."""

from fits import slope

from shortloop import stage


def groups(first: int, count: int):
    """The units: numbers of groups."""
    return {str(group): group for group in range(first, first + count)}


@stage(units=groups)
def fit(group):
    """Least squares of one group."""
    return {"slope": slope(group)}
'''
TOTAL = '''\
"""The sum of all slopes."""

from shortloop import Job, stage


@stage
def total(fit: Job):
    """One number, printed as the others print theirs."""
    print(sum(fit["slope"].tolist()))
    return {"total": sum(fit["slope"].tolist())}
'''
BUILD = '''\
"""All fits, and their sum."""

from shortloop import Settings, pipeline


class Asked(Settings):
    """What settings.toml says."""

    first: int
    count: int


@pipeline(settings="settings.toml")
def main(run, settings: Asked):
    """Build both."""
    return run.build("total", fit=run.build("fit", first=settings.first, count=settings.count))
'''


class Tool:
    """One tool in a folder of its own, run from the shell as its user runs it."""

    def __init__(self, folder: Path, name: str, units: int, python: Path) -> None:
        self.folder, self.name, self.units, self._python = folder, name, units, python
        self._first = 0
        folder.mkdir(parents=True)
        if name == OURS:
            folder.rmdir()
            self._shell([str(BINARIES / "shortloop"), "init", str(folder)], folder.parent)
            for each in (*folder.glob("methods/a_*.py"), *folder.glob("build_scripts/build_*.py")):
                each.unlink()
            files = {
                "methods/a_fit.py": STAGE,
                "methods/a_total.py": TOTAL,
                "build_scripts/build_fits.py": BUILD,
            }
        else:
            files = {"units.py": SCRIPTS[name]}
        for place, text in {"fits.py": FIT, **files}.items():
            (folder / place).write_text(text, encoding="utf-8")

    def cold(self, run: int) -> float:
        """Everything anew."""
        for kept in ("kept", "workdirs/main", "results", "urd.db"):
            shutil.rmtree(self.folder / kept, ignore_errors=True)
        if self.name == OURS:
            (self.folder / "workdirs/main").mkdir(parents=True)
        self._first = 0
        return self._run()

    def unchanged(self, run: int) -> float:
        """The same once more."""
        return self._run()

    def some(self, run: int) -> float:
        """One group in a hundred is another one."""
        self._first += self.units // SHARE
        return self._run()

    def disk(self) -> dict[str, int]:
        """Bytes on disk and number of files that are kept."""
        kept = [self.folder / name for name in ("kept", "workdirs/main", ".shortloop")]
        files = [Path(above, name) for each in kept for above, _, names in os.walk(each) for name in names]
        return {"bytes": sum(file.lstat().st_blocks * 512 for file in files), "files": len(files)}

    def _run(self) -> float:
        asked = {"first": self._first, "count": self.units}
        toml = "".join(f"{name} = {value}\n" for name, value in asked.items())
        (self.folder / "settings.json").write_text(json.dumps(asked), encoding="utf-8")
        (self.folder / "settings.toml").write_text(toml, encoding="utf-8")
        ours = [str(BINARIES / "shortloop"), "run", "fits"]
        command = ours if self.name == OURS else [str(self._python), "units.py"]
        return seconds_of(partial(self._shell, command, self.folder))

    def _shell(self, command: list[str], folder: Path) -> None:
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        environment = {**user_environment(), **single}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{self.name}: {done.stdout}{done.stderr}")


def run(options: Options) -> dict[str, Any]:
    """Measure all tools in turn, each from the shell, on all cores."""
    units = QUICK if options.quick else UNITS
    environment = options.folder / "units"
    _, failed = install(environment, PACKAGES)
    if failed:
        return {"skipped": "; ".join(failed.values())}
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:  # the path of a server's socket must be short
        names = (OURS, MEMORY, PIPEFUNC, PLAIN)
        tools = [
            Tool(Path(folder, str(place)), name, units, environment / "bin/python")
            for place, name in enumerate(names)
        ]
        works: dict[str, Callable[[int], float]] = {}
        measured: dict[str, dict[str, list[float]]] = {name: {} for name in names}
        disk: dict[str, dict[str, int]] = {}
        for case in CASES:
            works = {
                tool.name: getattr(tool, case if case in (COLD, UNCHANGED) else "some") for tool in tools
            }
            for name, seconds in interleaved(works, options.runs).items():
                measured[name][case] = seconds
            if case == COLD:
                disk = {tool.name: tool.disk() for tool in tools}
    found = {
        name: {
            "seconds": {case: spread(each) for case, each in cases.items()},
            "over_ours": {case: ratio(each, measured[OURS][case]) for case, each in cases.items()},
            **disk[name],
        }
        for name, cases in measured.items()
    }
    return {"units": units, "cores": cores(), "tools": found, "tables": [_table(units, found)]}


def _table(units: int, found: dict[str, Any]) -> dict[str, Any]:
    rows = [
        [
            name,
            *(figures(each["seconds"][case], "s") for case in CASES),
            f"{number(1e6 * each['seconds'][COLD]['median'] / units)} µs",
            f"{number(each['bytes'] / 1e6)} MB in {each['files']:,} files" if each["files"] else "–",
        ]
        for name, each in found.items()
    ]
    return {
        "name": "kept",
        "title": f"{units:,} small fits",
        "columns": ["", *CASES, "cold, each fit", "kept on disk"],
        "rows": rows,
        "note": f"Least squares of 40 × 3 numbers on {cores()} cores; seconds of the whole command; "
        "Shortloop starts and ends its server in each.",
    }
