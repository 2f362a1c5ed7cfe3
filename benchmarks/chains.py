"""What a workflow tool itself costs: chains of toy jobs, cold, unchanged, and with the last job changed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections import defaultdict
from collections.abc import Iterable
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.chains_exax import NO_SERVER, ExaxChain, ShortloopChain
from benchmarks.chains_parts import measure_parts, table_of_parts
from benchmarks.chains_project import CASES, Chain, ChainProject
from benchmarks.chains_tools import TOOLS, Tool
from benchmarks.measure import interleaved, ratio, spread
from benchmarks.options import Options
from benchmarks.write import figures

OURS, EXAX = "Shortloop", "exax"
SIZES = (10, 200, 2000)
DEEP = 1000  # from here on, only tools that can
QUICK = (10,)
SEPARATOR = ": "


def run(options: Options) -> dict[str, Any]:
    """Measure all tools that can be installed, in turn, for each length of the chain."""
    environment = options.folder / "peers"
    installed, failed = install(environment, [tool.package for tool in TOOLS.values()])
    left_out = {name: failed[tool.package] for name, tool in TOOLS.items() if tool.package in failed}
    tools = {name: tool for name, tool in TOOLS.items() if name not in left_out}
    # The smallest chain once: what cannot do that is left out, and files and compiled code are at hand.
    for name, tool in list(tools.items()):
        try:
            measure(min(SIZES), {name: tool}, environment / "bin", 1, ours=False)
        except RuntimeError as error:
            left_out[name] = str(error).strip().splitlines()[-1]
            del tools[name]
    sizes = {}
    for size in QUICK if options.quick else SIZES:
        able = {name: tool for name, tool in tools.items() if tool.deep or size < DEEP}
        sizes[str(size)] = measure(size, able, environment / "bin", options.runs)
    versions = {EXAX: version("accelerator")}
    for name, tool in tools.items():
        versions[name] = installed[tool.package.partition("==")[0]]
    parts = measure_parts(options.runs, QUICK[0]) if options.quick else measure_parts(options.runs)
    result = {"versions": versions, "left_out": left_out, "sizes": sizes, "parts": parts}
    return {**result, "tables": _tables(result)}


def measure(
    jobs: int, tools: dict[str, Tool], binaries: Path, runs: int, ours: bool = True
) -> dict[str, dict[str, Any]]:
    """Measure chains of one length, all cases of all tools in turn."""
    with ExitStack() as stack:
        # The path of a server's socket must be short.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sl-")))
        chains: list[Chain] = [
            ChainProject(folder / str(at), name, jobs, binaries, tool)
            for at, (name, tool) in enumerate(tools.items())
        ]
        if ours:
            chains = [
                ShortloopChain(folder / "ours", OURS, jobs),
                ExaxChain(folder / "exax", EXAX, jobs),
                *chains,
            ]
        works = {key: work for chain in chains for key, work in stack.enter_context(chain).works().items()}
        cold_first = sorted(works, key=lambda key: key[1] != CASES[0])
        measured = interleaved({SEPARATOR.join(key): works[key] for key in cold_first}, runs)
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for tool, case in works:
        seconds = measured[SEPARATOR.join((tool, case))]
        found[tool][case] = {"seconds": spread(seconds)}
        if ours:
            found[tool][case]["over_ours"] = ratio(seconds, measured[SEPARATOR.join((OURS, case))])
    return dict(found)


def _tables(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "title": f"A chain of {int(size):,} jobs",
            "columns": ["tool", *CASES, f"unchanged, over {OURS}'s"],
            "rows": [[name, *_cells(cases)] for name, cases in tools.items()],
            "note": _note(tools),
        }
        for size, tools in result["sizes"].items()
    ] + [
        table_of_parts(result["parts"]),
        {
            "title": "The tools",
            "columns": ["tool", "version"],
            "rows": [
                *([name, number] for name, number in result["versions"].items()),
                *([name, f"left out: {reason}"] for name, reason in result["left_out"].items()),
            ],
            "note": f"{DEEP:,} jobs and more are for those that take them in minutes.",
        },
    ]


def _cells(cases: dict[str, Any]) -> list[str]:
    seconds = [figures(cases[case]["seconds"], "s") if case in cases else "–" for case in CASES]
    return [*seconds, figures(cases[CASES[1]]["over_ours"])]


def _note(tools: dict[str, Any]) -> str:
    ours, exax = (figures(tools[name][NO_SERVER]["seconds"], "s") for name in (OURS, EXAX))
    return (
        "Seconds of the whole command, typed in a shell, with exax's server running; with `-q` exax does not "
        f"load methods anew. With no server running, an unchanged chain takes {ours} by `shortloop run`, and "
        f"{exax} by starting the server of plain exax, `ax run` and ending the server."
    )


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
