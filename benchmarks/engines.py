"""Engines: what a unit costs on each of them and in plain use of the same library, and how they scale."""

from __future__ import annotations

from typing import Any

from benchmarks.engines_overhead import measure_overhead
from benchmarks.engines_project import EngineProject
from benchmarks.engines_speedup import measure_speedup
from benchmarks.engines_tables import table_of_speedup, tables_of_overhead
from benchmarks.options import Options


def run(options: Options) -> dict[str, Any]:
    """Measure engines in a project of their own."""
    with EngineProject(options.folder / "engines") as project:
        overhead = measure_overhead(options, project)
        speedup = measure_speedup(options, project)
    tables = [*tables_of_overhead(overhead), table_of_speedup(speedup)]
    return {"overhead": overhead, "speedup": speedup, "tables": tables}
