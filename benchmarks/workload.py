"""The thesis workload from .mat files to the report, as a user runs it: cold, and after changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import ratio, spread
from benchmarks.options import Options, cores
from benchmarks.project import ROOT, ProjectCopy
from benchmarks.thesis_data import QUICK, THESIS, write_study
from benchmarks.write import figures

__all__ = ["run", "study_text"]

MANY_SLICES = 32
MANY = f"cold, {MANY_SLICES} slices"
ALONE = "unchanged, no server"
GRID = "[0.0001, 0.001, 0.01]"
SETTINGS = f"""

[estimator]
kind = "linear-svm"
C = {GRID}

[permutations]
count = 100

[group]
smooth = 1.0
"""
# One change after the other, each to the study that the one before left.
CHANGES = {
    "unchanged": ("", ""),
    "group: smooth 1 → 2": ("smooth = 1.0", "smooth = 2.0"),
    "permutations: 100 → 500": ("count = 100", "count = 500"),
    "grid of C: 3 values → 4": (GRID, GRID.replace("]", ", 0.1]")),
}


def run(options: Options) -> dict[str, Any]:
    """Run the workload in a copy of the project whose workdir is emptied again and again.

    Parameters
    ----------
    options : Options

    Returns
    -------
    dict
        ``cases``: for each change and for many slices the spread of its measurements; ``memory``: peaks of
        runs that were watched, on their own, as sampling takes time; ``tables``.
    """
    size = QUICK if options.quick else THESIS
    data = options.folder / ("data-quick" if options.quick else "data")
    participants = 3 if options.quick else options.participants
    names = write_study(data, participants, size)
    measured: dict[str, list[dict[str, float]]] = defaultdict(list)
    memory = {}
    with ProjectCopy(options.folder / "work") as project:
        project.warm_up()
        for _ in range(options.runs):
            _fresh(project, data, names)
            with project.server(None):
                measured["cold"].append(_figures(project.ax_run()))
                for change, (old, new) in CHANGES.items():
                    _edit(project.study, old, new)
                    measured[change].append(_figures(project.ax_run()))
            measured[ALONE].append(_figures(project.run(None)))
            _fresh(project, data, names)
            with project.server(MANY_SLICES):
                measured[MANY].append(_figures(project.ax_run()))
        for slices in (None, MANY_SLICES):
            _fresh(project, data, names)
            memory[str(slices or cores())] = project.run(slices, watch=True)["memory"]
    cases = {case: _spread(each) for case, each in measured.items()}
    result = {
        "participants": participants,
        "megabytes_per_participant": size.megabytes,
        "cases": cases,
        "cold_over_unchanged": ratio(
            [each["command"] for each in measured["cold"]],
            [each["command"] for each in measured["unchanged"]],
        ),
        "memory": memory,
    }
    return {**result, "tables": _tables(result)}


def study_text(data: Path, names: list[str]) -> str:
    """The thesis's study with all settings that the benchmark changes written out.

    Parameters
    ----------
    data : Path
        Folder of the participants.
    names : list of str
        The participants.

    Returns
    -------
    str
        TOML.
    """
    kept = []
    for line in (ROOT / "studies" / "thesis.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("participants ="):
            line = f"participants = {names}".replace("'", '"')
        elif line.startswith("folder ="):
            line = f"folder = '{data}'"
        kept.append(line)
    return "\n".join(kept) + SETTINGS


def _fresh(project: ProjectCopy, data: Path, names: list[str]) -> None:
    """Nothing computed yet, the study as it begins, its recordings in the page cache."""
    project.forget()
    project.study.write_text(study_text(data, names), encoding="utf-8")
    _read_all(data, names)


def _read_all(data: Path, names: list[str]) -> None:
    """Read the recordings, so that they are in the page cache if they fit there."""
    for name in names:
        for file in sorted((data / name).rglob("*.mat")):
            with file.open("rb", buffering=0) as stream:
                while stream.read(2**24):
                    pass


def _edit(study: Path, old: str, new: str) -> None:
    text = study.read_text(encoding="utf-8")
    if old not in text:
        raise ValueError(f"the study has no {old!r}")
    if old:
        study.write_text(text.replace(old, new), encoding="utf-8")


def _figures(found: dict[str, Any]) -> dict[str, float]:
    """What one run says: seconds of the command, of jobs by stage, and what was not computing."""
    stages: dict[str, float] = defaultdict(float)
    computing = 0.0
    for job in found["phases"]:
        stages[f"stage {job['stage']}"] += job["total"]
        # A stage with workers computes in them; what it prepares and sums up is imports and files.
        computing += job["analysis"] or job["total"]
    jobs = sum(stages.values())
    return {
        "command": found["command_seconds"],
        "run": found["seconds"],
        "jobs": jobs,
        "around jobs": found["command_seconds"] - jobs,
        "computing": computing,
        "not computing": found["command_seconds"] - computing,
        "built": float(found["built"]),
        **stages,
    }


def _spread(runs: list[dict[str, float]]) -> dict[str, Any]:
    names = {name: None for each in runs for name in each}
    return {name: spread([each.get(name, 0.0) for each in runs]) for name in names}


def _tables(result: dict[str, Any]) -> list[dict[str, Any]]:
    cases = result["cases"]
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "whole command": lambda case: figures(case["command"], "s"),
        "jobs built": lambda case: f"{case['built']['median']:.0f}",
        "sum of jobs": lambda case: figures(case["jobs"], "s"),
        "around jobs": lambda case: figures(case["around jobs"], "s"),
        "not computing": lambda case: figures(case["not computing"], "s"),
    }
    stages = [name for name in cases["cold"] if name.startswith("stage ")]
    return [
        {
            "title": f"{result['participants']} participants, from .mat files to the report",
            "columns": ["case", *columns],
            "rows": [[name, *(show(case) for show in columns.values())] for name, case in cases.items()],
            "note": "`ax run build_pipeline` on a running server. "
            f"{ALONE}: `shortloop run`, which starts one and ends it. "
            "A job's analysis in its workers counts as computing, all of it where there are no workers "
            "(import, group, few permutations). "
            f"Of {MANY_SLICES} slices asked for, the server takes as many as there are cores.",
        },
        {
            "title": "Seconds of the stages, all participants",
            "columns": ["stage", "cold", MANY],
            "rows": [
                [name.removeprefix("stage "), *(figures(cases[case][name], "s") for case in ("cold", MANY))]
                for name in stages
            ],
        },
        {
            "title": "Peak memory of all processes of a cold run",
            "columns": ["slices", "PSS", "PSS without pages of files", "processes"],
            "rows": [
                [slices, f"{m['pss_mb']:.0f} MB", f"{m['private_mb']:.0f} MB", f"{m['processes']:.0f}"]
                for slices, m in result["memory"].items()
            ],
            "note": "Proportional set size, summed over the processes, sampled in a run of its own; one "
            f"participant's features are {result['megabytes_per_participant']:.0f} MB.",
        },
    ]
