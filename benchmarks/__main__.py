"""``python -m benchmarks``: runs the parts asked for, writes JSON, tables and plots."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from shortloop.stages.threads import set_single_thread

PARTS = (
    "loop",
    "peers",
    "chains",
    "units",
    "cluster",
    "engines",
    "panel",
    "files",
    "ladder",
    "general",
    "diagnostics",
    "level",
)
MODULES = {part: f"benchmarks.{part}" for part in PARTS} | {
    "diagnostics": "benchmarks.panel_diagnostics",
    "files": "benchmarks.panel_files",
    "general": "benchmarks.panel_general",
}
ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str] | None = None) -> int:
    """Run the parts that the command line names; exit status."""
    parser = argparse.ArgumentParser(prog="benchmarks", description="how fast it is, on this machine")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--participants", type=int, default=18, help="of the workload; 0.7 GB of disk each")
    parser.add_argument(
        "--runs", type=int, default=3, help="every figure is a median over so many; even with --against"
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes, no word about speed")
    parser.add_argument("--folder", type=Path, help="default: results/bench (quick: results/bench/quick)")
    parser.add_argument("--against", default="", metavar="COMMIT", help="of loop: what to compare HEAD with")
    parser.add_argument("--cases", nargs="*", default=[], help="of loop: groups of cases; default: all")
    parser.add_argument("--docs", action="store_true", help="put tables into docs/; no part: measure nothing")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.parts) - set(PARTS))
    if unknown or chosen.runs < 1 or chosen.participants < 1:
        parser.error(f"no part {', '.join(unknown)}" if unknown else "at least one run and one participant")

    set_single_thread()  # before NumPy is imported
    from benchmarks.options import Options
    from benchmarks.plots import write_plots
    from benchmarks.write import tables_text, write_docs, write_part, write_tables

    folder = chosen.folder or ROOT / "results" / "bench" / ("quick" if chosen.quick else "")
    runs = chosen.runs
    if chosen.against and not chosen.quick:
        runs += runs % 2  # what comes second is slower, so each side does as often as the other
    options = Options(
        folder.resolve(), chosen.participants, runs, chosen.quick, chosen.against, tuple(chosen.cases)
    )
    folder.mkdir(parents=True, exist_ok=True)
    for part in chosen.parts or (() if chosen.docs else PARTS):
        print(f"{part} …", flush=True)
        result = importlib.import_module(MODULES[part]).run(options)
        write_part(options, part, result)
        write_plots(options.folder, part)
        write_tables(options.folder, PARTS)
        print("\n".join(tables_text(result)) if part == "loop" else "", end="", flush=True)
        print(result.get("skipped", f"\n{part} done"), flush=True)
    print(f"tables: {options.folder / 'tables.md'}")
    for page in write_docs(options.folder, ROOT / "docs") if chosen.docs else []:
        print(f"changed: {page}")
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        raise SystemExit("interrupted: finished parts are kept") from None
