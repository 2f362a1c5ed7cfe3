"""Results to JSON, one file a part, and all of them to one page of tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.options import Options

__all__ = ["figures", "number", "read_part", "write_part", "write_tables"]


def write_part(options: Options, part: str, result: dict[str, Any]) -> Path:
    """Write what a part found, with the machine and the options it was found with.

    Parameters
    ----------
    options : Options
    part : str
    result : dict
        JSON-able. ``tables`` are for the page of tables: ``title``, ``columns``, ``rows``, ``note``.

    Returns
    -------
    Path
    """
    asked = {"participants": options.participants, "runs": options.runs, "quick": options.quick}
    content = {"part": part, "options": asked, "machine": describe(), **result}
    file = options.folder / f"{part}.json"
    temporary = file.with_suffix(".part")
    temporary.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    temporary.replace(file)
    return file


def read_part(folder: Path, part: str) -> dict[str, Any] | None:
    """What a part found when it was last run.

    Parameters
    ----------
    folder : Path
    part : str

    Returns
    -------
    dict or None
        None if it was never run.
    """
    file = folder / f"{part}.json"
    if not file.exists():
        return None
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def figures(spread: dict[str, Any], unit: str = "") -> str:
    """A median with its range, as text.

    Parameters
    ----------
    spread : dict
        Of `measure.spread`.
    unit : str, default ""

    Returns
    -------
    str
        Such as ``1.23 s (1.20–1.31)``.
    """
    space = f" {unit}" if unit else ""
    low, high = number(spread["min"]), number(spread["max"])
    return f"{number(spread['median'])}{space} ({low}–{high})"


def write_tables(folder: Path, parts: Sequence[str]) -> Path:
    """Write the tables of all parts that have been run into ``tables.md``.

    Parameters
    ----------
    folder : Path
    parts : sequence of str
        In the order of the page.

    Returns
    -------
    Path
    """
    lines = ["# How fast it is", "", "Medians over runs, with the smallest and the largest in brackets."]
    for part in parts:
        content = read_part(folder, part)
        if content is None:
            continue
        lines += ["", f"## {part}", "", _machine(content)]
        if "skipped" in content:
            lines += ["", content["skipped"]]
        for table in content.get("tables", []):
            lines += ["", f"### {table['title']}", "", _row(table["columns"])]
            lines.append(_row(["---"] * len(table["columns"])))
            lines += [_row(row) for row in table["rows"]]
            if table.get("note"):
                lines += ["", table["note"]]
    file = folder / "tables.md"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


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
    """A number with the digits that a reader needs.

    Parameters
    ----------
    value : float

    Returns
    -------
    str
        Such as ``0.012``, ``1.23``, ``12.3`` or ``1,234``.
    """
    if value != 0 and abs(value) < 0.001:
        return f"{value:.1e}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}"
