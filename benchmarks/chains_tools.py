"""A chain of toy jobs in each workflow tool, written as its users would.

Every job adds a step to what the job before it made, the last one its own step, and says so in a file
``ran``, by which the benchmark knows what really ran. Settings are in ``settings.json``, which users edit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Tool:
    """A workflow tool.

    package: what pip installs, with its version.
    command: what its user types.
    files: the project's files, by name.
    stages: more of them for a number of jobs, where a tool has no loops.
    setup: what its user types once, before.
    deep: whether it can do chains of thousands of jobs in reasonable time; the others recurse, or take hours.
    """

    package: str
    command: tuple[str, ...]
    files: Mapping[str, str]
    stages: Callable[[int], Mapping[str, str]] = lambda jobs: {}
    setup: tuple[str, ...] = ()
    deep: bool = False


SNAKEFILE = """\
configfile: "settings.json"

LAST = config["jobs"] - 1

rule all:
    input: f"out/{LAST}"

rule toy:
    input: lambda wildcards: f"out/{int(wildcards.number) - 1}" if wildcards.number != "0" else "start"
    output: "out/{number}"
    params: step=lambda wildcards: config["last"] if int(wildcards.number) == LAST else 1
    shell: "expr $(cat {input}) + {params.step} | tee -a ran > {output}"
"""

DODO = """\
import json
from pathlib import Path

from doit.tools import config_changed

SETTINGS = json.loads(Path("settings.json").read_text())


def toy(source, target, step):
    value = int(Path(source).read_text()) + step
    with open("ran", "a") as ran:
        print(value, file=ran)
    Path(target).write_text(str(value))


def task_toy():
    for number in range(SETTINGS["jobs"]):
        step = SETTINGS["last"] if number == SETTINGS["jobs"] - 1 else 1
        source, target = f"out/{number - 1}" if number else "start", f"out/{number}"
        yield {
            "name": str(number),
            "actions": [(toy, [source, target, step])],
            "file_dep": [source],
            "targets": [target],
            "uptodate": [config_changed({"step": step})],
        }
"""

TOY = """\
def toy(previous, step):
    value = previous + step
    with open("ran", "a") as ran:
        print(value, file=ran)
    return value
"""
SETTINGS = """\
settings = json.loads(Path("settings.json").read_text())
last = settings["jobs"] - 1
"""

JOBLIB = f"""\
import json
from pathlib import Path

from joblib import Memory

memory = Memory("cache", verbose=0)


@memory.cache
{TOY}

{SETTINGS}
value = 0
for number in range(settings["jobs"]):
    value = toy(value, settings["last"] if number == last else 1)
print(value)
"""

# A chain is one expression to redun; Python's limit allows it a hundred or so.
REDUN = """\
import json
import sys

from redun import File, task

redun_namespace = "chain"
sys.setrecursionlimit(100_000)


@task()
def toy(previous: int, step: int) -> int:
    value = previous + step
    with open("ran", "a") as ran:
        print(value, file=ran)
    return value


@task()
def main(file: File = File("settings.json")) -> int:
    settings = json.loads(file.read())
    value = 0
    for number in range(settings["jobs"]):
        value = toy(value, settings["last"] if number == settings["jobs"] - 1 else 1)
    return value
"""

HAMILTON_TOYS = """\
import json
from pathlib import Path

from hamilton.function_modifiers import parameterize, source, value

JOBS = json.loads(Path("settings.json").read_text())["jobs"]
CHAIN = {
    f"x{number}": {
        "previous": source(f"x{number - 1}" if number else "start"),
        "step": source("last") if number == JOBS - 1 else value(1),
    }
    for number in range(JOBS)
}


@parameterize(**CHAIN)
def toy(previous: int, step: int) -> int:
    total = previous + step
    with open("ran", "a") as ran:
        print(total, file=ran)
    return total
"""

HAMILTON = f"""\
import json
from pathlib import Path

from hamilton import driver

import toys

{SETTINGS}
chain = driver.Builder().with_modules(toys).with_cache().build()
print(chain.execute([f"x{{last}}"], inputs={{"start": 0, "last": settings["last"]}}))
"""

PIPEFUNC = f"""\
import json
from pathlib import Path

from pipefunc import PipeFunc, Pipeline


{TOY}

{SETTINGS}
toys = [
    PipeFunc(
        toy,
        f"x{{number}}",
        renames={{"previous": f"x{{number - 1}}" if number else "start", "step": f"step{{number}}"}},
        bound={{}} if number == last else {{f"step{{number}}": 1}},
        cache=True,
    )
    for number in range(settings["jobs"])
]
chain = Pipeline(toys, cache_type="disk", cache_kwargs={{"cache_dir": "cache"}})
print(chain(f"x{{last}}", **{{"start": 0, f"step{{last}}": settings["last"]}}))
"""


def _dvc_stages(jobs: int) -> dict[str, str]:
    stages = {}
    for number in range(jobs):
        source, target = f"out/{number - 1}" if number else "start", f"out/{number}"
        step = "${last}" if number == jobs - 1 else "1"
        stages[f"toy{number}"] = {
            "cmd": f"expr $(cat {source}) + {step} | tee -a ran > {target}",
            "deps": [source],
            "outs": [target],
            **({"params": [{"settings.json": ["last"]}]} if number == jobs - 1 else {}),
        }
    return {"dvc.yaml": json.dumps({"vars": ["settings.json"], "stages": stages}, indent=1)}  # JSON is YAML


PYTHON = ("python", "chain.py")
TOOLS = {
    "doit": Tool("doit==0.37.0", ("doit",), {"dodo.py": DODO}, deep=True),
    "joblib.Memory": Tool("joblib==1.6.0", PYTHON, {"chain.py": JOBLIB}, deep=True),
    "Hamilton": Tool("sf-hamilton==1.90.0", PYTHON, {"chain.py": HAMILTON, "toys.py": HAMILTON_TOYS}),
    "pipefunc": Tool("pipefunc==0.93.2", PYTHON, {"chain.py": PIPEFUNC}),
    "Snakemake": Tool("snakemake==9.27.1", ("snakemake", "--cores", "1"), {"Snakefile": SNAKEFILE}),
    "redun": Tool("redun==0.44.1", ("redun", "run", "chain.py", "main"), {"chain.py": REDUN}),
    "DVC": Tool("dvc==3.67.1", ("dvc", "repro"), {}, _dvc_stages, ("dvc", "init", "--no-scm", "--quiet")),
}
