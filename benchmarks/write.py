"""Results to JSON, one file a part, and all of them to one page of tables."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.options import Options, cores

# A place stays as it is if its part was not measured, or not all of it, or at tiny sizes.
PLACE = re.compile(r"(<!-- bench (?P<part>\w+) (?P<table>\w+) -->)\n.*?(?P<end><!-- end -->)", re.S)


def write_part(options: Options, part: str, result: dict[str, Any]) -> Path:
    """Write what a part found, with the machine and the options it was found with."""
    asked = {"participants": options.participants, "runs": options.runs, "quick": options.quick}
    content = {"part": part, "options": asked, "machine": describe(), **result}
    file = options.folder / f"{part}.json"
    temporary = file.with_suffix(".part")
    temporary.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    temporary.replace(file)
    return file


def read_part(folder: Path, part: str) -> dict[str, Any] | None:
    """What a part found when it was last run."""
    file = folder / f"{part}.json"
    if not file.exists():
        return None
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def figures(spread: dict[str, Any], unit: str = "") -> str:
    """A median with its range, as text."""
    space = f" {unit}" if unit else ""
    low, high = number(spread["min"]), number(spread["max"])
    return f"{number(spread['median'])}{space} ({low}–{high})"


def write_tables(folder: Path, parts: Sequence[str]) -> Path:
    """Write the tables of all parts that have been run into ``tables.md``."""
    lines = ["# How fast it is", "", "Medians over runs, with the smallest and the largest in brackets."]
    for part in parts:
        content = read_part(folder, part)
        if content is None:
            continue
        lines += ["", f"## {part}", "", _machine(content)]
        if "skipped" in content:
            lines += ["", content["skipped"]]
        lines += tables_text(content)
    file = folder / "tables.md"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def tables_text(content: dict[str, Any]) -> list[str]:
    """Lines of Markdown with the tables of a part, each with its title and its note."""
    lines = []
    for table in content.get("tables", []):
        lines += ["", f"### {table['title']}", "", *_table(table)]
        if table.get("note"):
            lines += ["", table["note"]]
    return lines


def write_docs(folder: Path, pages: Path) -> list[Path]:
    """Put tables into the places that pages have for them, and return the pages that changed."""

    def filled(place: re.Match[str]) -> str:
        content = read_part(folder, place["part"])
        if content is None or content["options"]["quick"] or content.get("failed"):
            return place[0]
        found = [table for table in content["tables"] if table.get("name") == place["table"]]
        return "\n".join([place[1], "", *_table(found[0]), "", place["end"]]) if found else place[0]

    changed = []
    for page in sorted(pages.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = PLACE.sub(filled, before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            changed.append(page)
    return changed


def _table(table: dict[str, Any]) -> list[str]:
    rows = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
    return [_row(row) for row in rows]


def _machine(content: dict[str, Any]) -> str:
    machine, options = content["machine"], content["options"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    blas = ", ".join(f"{each['library']} {each['version']}" for each in machine["blas"])
    caches = ", ".join(f"{level} {size}" for level, size in machine["caches"].items())
    size = " Tiny sizes: these figures say nothing about speed." if options["quick"] else ""
    return (
        f"{machine['cores']} cores ({machine['architecture']}: {', '.join(machine['cpu_flags'])}; {caches}), "
        f"{machine['memory_gb']} GB; load at the end {machine['load_1_min']:.1f}; "
        f"Python {machine['python']}, {versions}, {blas}; {options['runs']} runs.{size}"
    )


def _row(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def number(value: float) -> str:
    """A number with the digits that a reader needs."""
    if value != 0 and abs(value) < 0.001:
        return f"{value:.1e}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}"


FLAGS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "asimd", "sve")
LIBRARIES = ("accelerator", "distributed", "joblib", "mne", "numba", "numpy", "ray", "scikit-learn", "scipy")


def describe() -> dict[str, Any]:
    """Cores, instruction sets, caches, memory, and versions of what computes."""
    from threadpoolctl import threadpool_info

    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", _text("/proc/cpuinfo"), re.M)
    have = set(flags[1].split()) if flags else set()
    total = re.search(r"^MemTotal:\s*(\d+) kB", _text("/proc/meminfo"), re.M)
    return {
        "cores": cores(),
        "architecture": platform.machine(),
        "cpu_flags": [flag for flag in FLAGS if flag in have],
        "caches": _caches(),
        "memory_gb": round(int(total[1]) / 2**20, 1) if total else None,
        "load_1_min": os.getloadavg()[0],  # others at work show here
        "python": ".".join(map(str, sys.version_info[:3])),
        "versions": _versions(),
        "blas": [
            {"library": pool["internal_api"], "version": pool["version"], "threads": pool["num_threads"]}
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ],
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _caches() -> dict[str, str]:
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if _text(folder / "type").strip() != "Instruction":
            found[f"L{_text(folder / 'level').strip()}"] = _text(folder / "size").strip()
    return found


def _text(file: str | Path) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
