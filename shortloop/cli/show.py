"""``shortloop show``: one job in the terminal."""

from __future__ import annotations

from typing import Any

from shortloop.errors import InputError

__all__ = ["show_job"]


def show_job(job: str) -> None:
    """Print what made a job, from what, with which options, what it holds.

    Parameters
    ----------
    job : str
        Job id.

    Raises
    ------
    InputError
        If there is no such job, or it did not finish.
    """
    from rich.console import Console
    from rich.table import Table

    from shortloop.jobs.results import load

    result = load(job)
    # No markup: names of files and values of options may have brackets.
    console = Console(highlight=False, markup=False)
    who = f" of {result.participant}" if result.participant else ""
    console.print(f"{result.job}: {result.stage}{who}", style="bold", soft_wrap=True)
    if result.problem:
        console.print(f"rejected: {result.problem}", soft_wrap=True)

    facts = Table(show_header=False, box=None, pad_edge=False)
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    facts.add_row("made", f"{result.made:%Y-%m-%d %H:%M:%S}, in {result.seconds:.2f} s")
    facts.add_row("by", f"{result.setup['package']}.a_{result.method}, code {result.setup['hash']}")
    facts.add_row("folder", str(result.path))
    for name, source in result.sources():
        facts.add_row(f"from {name}", _source(source))
    for phase, files in result.facts.get("files", {}).items():
        for file in files:
            facts.add_row(f"file, {phase}", f"{file['name']} (content {file['content']})")
    for name, value in _flat(result.options):
        facts.add_row(f"option {name}", value)
    facts.add_row("versions", ", ".join(f"{name} {v}" for name, v in result.record["versions"].items()))
    for pool in result.record["threads"]:
        facts.add_row("threads", f"{pool['library']} {pool['version']}: {pool['threads_used']}")
    console.print(facts)

    if result.arrays:
        table = Table(title="arrays", title_justify="left", box=None, pad_edge=False)
        for column in ("name", "shape", "type", "unit", "axes", "what"):
            table.add_column(column, overflow="fold")
        for name, array in result.record["arrays"].items():
            shape = " × ".join(map(str, array["shape"]))
            table.add_row(name, shape, array["dtype"], array["unit"], array["axes"], array["description"])
        console.print(table)
    files = sorted(str(p.relative_to(result.path)) for p in result.path.rglob("*") if p.is_file())
    console.print(f"files: {', '.join(files)}", soft_wrap=True)


def _source(job: str) -> str:
    from shortloop.jobs.results import load

    try:
        source = load(job)
        return f"{job}: {source.stage} {source.participant or ''}".rstrip()
    except InputError as error:
        return f"{job}: {error.problem}"


def _flat(options: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows = []
    for name, value in options.items():
        if isinstance(value, dict) and value:
            rows += _flat(value, f"{prefix}{name}.")
        else:
            rows.append((f"{prefix}{name}", str(value)))
    return rows
