"""``python -m benchmarks``: runs the parts asked for, writes JSON, tables and plots."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from shortloop.worker.threads import set_single_thread

PARTS = (
    "workload",
    "peers",
    "mne",
    "slices",
    "growth",
    "limits",
    "chains",
    "cluster",
    "engines",
    "panel",
    "ladder",
    "general",
    "diagnostics",
    "level",
)
MODULES = {part: f"benchmarks.{part}" for part in PARTS} | {
    "mne": "benchmarks.against_mne",
    "diagnostics": "benchmarks.panel_diagnostics",
    "general": "benchmarks.panel_general",
}
ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str] | None = None) -> int:
    """Run the parts that the command line names; exit status."""
    parser = argparse.ArgumentParser(prog="benchmarks", description="how fast it is, on this machine")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--participants", type=int, default=18, help="of the workload; 0.7 GB of disk each")
    parser.add_argument("--runs", type=int, default=3, help="every figure is a median over so many")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, no word about speed")
    parser.add_argument("--folder", type=Path, help="default: results/bench (quick: results/bench/quick)")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.parts) - set(PARTS))
    if unknown or chosen.runs < 1 or chosen.participants < 1:
        parser.error(f"no part {', '.join(unknown)}" if unknown else "at least one run and one participant")

    set_single_thread()  # before NumPy is imported
    from benchmarks.options import Options
    from benchmarks.plots import write_plots
    from benchmarks.write import write_part, write_tables

    folder = chosen.folder or ROOT / "results" / "bench" / ("quick" if chosen.quick else "")
    options = Options(folder.resolve(), chosen.participants, chosen.runs, chosen.quick)
    folder.mkdir(parents=True, exist_ok=True)
    for part in chosen.parts or PARTS:
        print(f"{part} …", flush=True)
        result = importlib.import_module(MODULES[part]).run(options)
        write_part(options, part, result)
        write_plots(options.folder, part)
        write_tables(options.folder, PARTS)
        print(result.get("skipped", f"{part} done"), flush=True)
    print(f"tables: {options.folder / 'tables.md'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
