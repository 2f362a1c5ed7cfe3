"""Engines: what a unit costs on each of them, and beside each what the same library costs in plain use."""

from __future__ import annotations

import shutil
from typing import Any

from benchmarks.engines_overhead import measure_overhead
from benchmarks.engines_project import EngineProject
from benchmarks.engines_tables import tables_of_overhead
from benchmarks.options import Options

__all__ = ["run"]


def run(options: Options) -> dict[str, Any]:
    """Measure engines in a project of their own.

    Parameters
    ----------
    options : Options

    Returns
    -------
    dict
        ``overhead``, as of `measure_overhead`; ``tables``.
    """
    folder = options.folder / "engines"
    if folder.exists():  # an earlier benchmark was interrupted
        shutil.rmtree(folder)
    with EngineProject(folder) as project:
        overhead = measure_overhead(options, project)
    return {"overhead": overhead, "tables": tables_of_overhead(overhead)}
