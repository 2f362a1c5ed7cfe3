"""What jobs achieved, over time and at what cost; a job with its provenance, to take along."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, ClassVar

import pytest
from live_project import EmptyProject, fixture_of, script, stages

METHODS = """\
# read
import pandas as pd

@stage
def read(file: File):
    return {"rows": pd.read_csv(file.path)}
# sleepy
def each(read: Job):
    return {f"u{n}": n for n in range(6)}

@stage(units=each)
def sleepy(n, seconds: float):
    import time
    time.sleep(seconds)
    return {"y": n}
# uneven
def each(read: Job):
    return {f"u{n}": n for n in range(4)}

@stage(units=each)
def uneven(n, read: Job):
    import time
    end = time.process_time() + (1.0 if n == 3 else 0.05)
    while time.process_time() < end:
        pass
    return {"y": n}
# products
import numpy as np

def each(side: int):
    return {f"u{n}": n for n in range(8)}

def count(side: int):
    return {"flop": 8 * 20 * 2 * side**3}

@stage(units=each, operation_counts=count)
def products(n, side: int):
    found = np.full((side, side), 1 / side)
    for _ in range(20):
        found = found @ found
    return {"y": found[0, 0]}
# last
@stage
def last(jobs: list[Job], read: Job):
    from matplotlib.figure import Figure
    figure = Figure()
    figure.add_subplot().plot([float(job["y"].sum()) for job in jobs])
    return {"picture": figure, "n": len(read["rows"])}
"""
SCRIPT = """
read = run.build("read", file=run.file("rows.csv"))
jobs = [
    run.build("sleepy", read=read, seconds=0.1),
    run.build("uneven", read=read),
    run.build("products", side=300),
]
return run.build("last", jobs=jobs, read=read)
"""
# The terms of the contexts that a crate names, as no network is needed for a test; of those in which RO-Crate
# 1.1 differs from the version that comes with the library, those that a crate of a run has.
VALIDATE = """\
import io, json, pathlib, sys, urllib.request
import rdflib.parser, requests, rocrate
from rocrate_validator import models, services
from rocrate_validator.utils.http import HttpRequester

terms = json.loads((pathlib.Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_text())
terms["@context"]["ComputationalWorkflow"] = "https://bioschemas.org/ComputationalWorkflow"
TEXTS = {"https://w3id.org/ro/crate/1.1/context": terms}
TEXTS["https://w3id.org/ro/terms/workflow-run/context"] = {"@context": {}}

class Answer(io.BytesIO):
    status = 200
    def info(self): return self.headers

def opened(request, *rest, **more):
    url = getattr(request, "full_url", request)
    answer = Answer(json.dumps(TEXTS[url]).encode())
    answer.url, answer.headers = url, {"Content-Type": "application/ld+json"}
    answer.geturl = lambda: url
    return answer

def get(self, url, **more):
    answer = requests.Response()
    answer.status_code, answer.url, answer._content = 200, url, json.dumps(TEXTS[url]).encode()
    answer.headers["Content-Type"] = "application/ld+json"
    return answer

original = urllib.request.urlopen
for module in [*sys.modules.values()]:
    if getattr(module, "urlopen", None) is original:
        module.urlopen = opened
type(HttpRequester()).get = get
settings = services.ValidationSettings(
    rocrate_uri=sys.argv[1],
    profile_identifier="provenance-run-crate-0.5",
    requirement_severity=models.Severity.REQUIRED,
)
found = services.validate(settings)
print(json.dumps([issue.message for issue in found.get_issues()]))
"""
VALIDATOR = ["--with", "roc-validator==0.13.0", "--with", "rocrate==0.16.0"]  # it asks for older libraries


class Measured(EmptyProject):
    """Stages that wait, are uneven, and count their operations."""

    sources: ClassVar = {
        **stages(METHODS),
        "build_scripts/build_measured.py": script(SCRIPT),
        "rows.csv": "a,b\n1,2\n3,4\n",
    }

    def read(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.works(*arguments, "--json"))
        return found

    def job_of(self, stage: str) -> str:
        return str(self.read("jobs", "--stage", stage)["jobs"][-1]["job"])


empty = fixture_of(Measured, server=False)


@pytest.fixture(scope="module")
def measured(empty: Measured) -> Measured:
    empty.works("run", "measured")
    return empty


def test_show_says_what_a_job_achieved_and_what_bounds_it(measured: Measured) -> None:
    found = {name: measured.read("show", measured.job_of(name))["speed"] for name in ("sleepy", "uneven")}
    others = "the machine"  # tests beside this one may have its cores
    assert found["sleepy"]["bound"].startswith(("waiting", "idle workers", others))
    assert found["sleepy"]["waiting"] > 0.3
    assert found["sleepy"]["units"] == 6
    assert found["uneven"]["bound"].startswith(("idle workers", others))
    assert found["uneven"]["imbalance"] > 1.2  # 1.7 where no other program takes a core
    said = measured.works("show", measured.job_of("uneven"))
    assert re.search(r"alone +[\d.]+% of the work", said)
    assert re.search(r"1: busy [\d.]+ s \([\d.]+ s waiting, [\d.]+ s without a core\), idle", said)


@pytest.mark.slow
def test_operations_are_set_against_limits(measured: Measured) -> None:
    job = measured.job_of("products")
    before = measured.read("show", job)["speed"]
    counted = 8 * 20 * 2 * 300**3 / _parallel(measured, job)
    assert before["achieved"]["flop"] == pytest.approx(counted, rel=0.05)
    assert before["attainable"]["flop"] is None
    limits = measured.read("limits")
    assert measured.read("limits") == limits
    assert "GFLOP/s double" in measured.works("limits")
    after = measured.read("show", job)["speed"]
    assert after["attainable"]["flop"] in limits["flop"]
    assert "% of " in measured.works("show", job)


def _parallel(project: Measured, job: str) -> float:
    setup = json.loads((project.folder / "workdirs/main" / job / "setup.json").read_text())
    return float(setup["exectime"]["analysis"])


def test_counts_that_are_none_are_refused(measured: Measured) -> None:
    for counts, expected in (('{"flops": 1}', "flop or flop32"), ('{"flop": -1}', "numbers from 0")):
        measured.edit("methods/a_products.py", '{"flop": 8 * 20 * 2 * side**3}', counts)
        assert expected in measured.shortloop("run", "measured").fails()
        measured.edit("methods/a_products.py", counts, '{"flop": 8 * 20 * 2 * side**3}')


def test_history_names_the_run_since_which_a_stage_is_slower(measured: Measured) -> None:
    for seconds in ("0.11", "0.12", "0.105", "0.4"):
        measured.write("build_scripts/build_measured.py", script(SCRIPT.replace("0.1", seconds)))
        measured.works("run", "measured")
    found = measured.read("history", "sleepy")
    assert [each["jobs"] for each in found["points"]][-1] == [measured.job_of("sleepy")]
    assert found["loss"]["since"] == found["points"][-1]["run"]
    assert 1.5 < found["loss"]["factor"] < 5
    assert "workers wait" in found["text"]
    figure = measured.folder / "history.svg"
    said = measured.works("history", "sleepy", "--output", str(figure))
    assert f"slower since run {found['loss']['since']}" in said
    assert "<svg" in figure.read_text()
    assert measured.read("history", "uneven")["loss"] is None
    assert "no run has built a job of this stage" in measured.shortloop("history", "other").fails()
    assert "cannot be written there" in measured.shortloop("history", "uneven", "-o", "x.txt").fails()


def test_timelines_of_a_job_and_a_run(measured: Measured) -> None:
    trace, picture = measured.folder / "trace.json", measured.folder / "run.png"
    found = measured.read("profile", "uneven", "--timeline", str(trace))
    assert str(trace) in found["files"]
    events = [each for each in json.loads(trace.read_text())["traceEvents"] if each["ph"] == "X"]
    units = {each["name"]: each for each in events if each["cat"] == "unit"}
    assert units.keys() == {f"u{n} of uneven" for n in range(4)}
    assert units["u3 of uneven"]["dur"] > 0.9e6
    assert {each["cat"] for each in events} == {"prepare", "unit", "finish"}
    measured.works("profile", "--run", "1", "--timeline", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "cannot be written" in measured.shortloop("profile", "--timeline", "nowhere/x.svg").fails()


def test_the_cost_of_a_run(measured: Measured) -> None:
    run = json.loads(measured.works("runs", "1", "--json", SHORTLOOP_PRICE="3.60 EUR"))
    assert run["cost"]["cost"] == pytest.approx(run["seconds"] / 1000)
    assert run["cost"]["runs_a_day"] == int(86_400 / run["seconds"])
    assert "EUR at 3.6 EUR an hour" in measured.works("runs", "1", SHORTLOOP_PRICE="3.60 EUR")
    assert measured.read("runs", "1")["cost"] is None
    assert "invalid price" in measured.shortloop("runs", "1", SHORTLOOP_PRICE="cheap").fails()


def test_a_crate_has_all_that_a_job_was_made_from(measured: Measured, tmp_path: Path) -> None:
    job = measured.job_of("last")
    measured.works("export", job, "--ro-crate", str(tmp_path / "crate"), "--inputs")
    graph = json.loads((tmp_path / "crate/ro-crate-metadata.json").read_text())["@graph"]
    entities = {each["@id"]: each for each in graph}
    actions = {name: each for name, each in entities.items() if re.fullmatch(r"#main-\d+", name)}
    assert len(actions) == 5
    (seconds,) = [each for each in graph if each.get("name") == "seconds"]
    assert float(seconds["value"]) == 0.1  # later ones gave the same
    assert (tmp_path / "crate/results/picture.png").read_bytes().startswith(b"\x89PNG")
    (rows,) = (tmp_path / "crate/inputs").glob("*/rows.csv")
    assert rows.read_text() == "a,b\n1,2\n3,4\n"
    assert "def sleepy" in (tmp_path / "crate/code/methods/a_sleepy.py").read_text()
    assert entities["code/build_scripts/build_measured.py"]["@type"][-1] == "HowTo"
    numpy = [each for each in graph if each["@type"] == "SoftwareApplication" and each["name"] == "numpy"]
    assert re.match(r"\d", numpy[0]["softwareVersion"])
    whole = "".join(each.read_text() for each in (tmp_path / "crate").rglob("*.json"))
    assert str(measured.folder) not in whole
    assert "does not replace" in measured.shortloop("export", job, "--ro-crate", str(tmp_path)).fails()


@pytest.mark.slow
def test_a_crate_is_valid(measured: Measured, tmp_path: Path) -> None:
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("uv, which installs the validator, is not there")
    run = [str(uv), "run", "--isolated", "--no-project", "--quiet", *VALIDATOR]
    tried = subprocess.run(
        [*run, "python", "-c", "import rocrate_validator"], capture_output=True, check=False
    )
    if tried.returncode:
        pytest.skip("roc-validator cannot be installed here")
    crate = tmp_path / "crate.zip"
    measured.works("export", measured.job_of("last"), "--ro-crate", str(crate))
    assert zipfile.is_zipfile(crate)
    command = [*run, "python", "-c", VALIDATE, str(crate)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert found.stdout.strip().splitlines()[-1:] == ["[]"], found.stdout + found.stderr
