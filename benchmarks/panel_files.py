"""From a Parquet file to a table on disk, each in a new process; and runs of a panel whose file changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.loop_sides import settle
from benchmarks.measure import interleaved, ratio, spread
from benchmarks.options import Options
from benchmarks.panel import FORMULA, REGRESSORS, panel_frame
from benchmarks.project import BINARIES, Project, user_environment
from benchmarks.write import figures
from shortloop.base.extras import is_installed
from shortloop.keys.file_state import SETTLED_NS

SIZES = ((2000, 500), (50_000, 20), (20, 200_000))
QUICK = ((20, 50),)
OURS, BATCHED, PLUGIN, ARRAYS = "fit_frame", "NumPy, batched", "polars-ds", "statsmodels on arrays"
MOST = 2000  # groups that statsmodels is asked to fit
READ = f"import sys; source, target = sys.argv[1:]; names = {list(REGRESSORS)}\n"
SCRIPTS = {
    OURS: f"""
import pandas as pd
from shortloop.panel.frame import fit_frame

frame = pd.read_parquet(source, columns=["g", "y", *names])
fit_frame(frame, ["g"], model="ols", formula="{FORMULA}").coefficients().to_parquet(target)
""",
    BATCHED: """
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import stdtr, stdtrit

table = pq.read_table(source, columns=["g", "y", *names])
groups, counts = np.unique(table["g"].to_numpy(), return_counts=True)
rows, size = counts[0], len(names) + 1
y = table["y"].to_numpy().reshape(-1, rows, 1)
x = np.stack([np.ones(table.num_rows), *(table[n].to_numpy() for n in names)], 1).reshape(-1, rows, size)
inverse = np.linalg.inv(x.transpose(0, 2, 1) @ x)
params = inverse @ (x.transpose(0, 2, 1) @ y)
scale = ((y - x @ params) ** 2).sum(axis=1) / (rows - size)
params, bse = params[:, :, 0], np.sqrt(inverse.diagonal(axis1=1, axis2=2) * scale)
half = bse * stdtrit(rows - size, 0.975)
found = {"params": params, "bse": bse, "tvalues": params / bse}
found |= {"pvalues": 2 * stdtr(rows - size, -np.abs(params / bse))}
found |= {"lower": params - half, "upper": params + half}
keys = {"g": np.repeat(groups, size), "term": np.tile(["Intercept", *names], len(groups))}
pq.write_table(pa.table(keys | {name: each.ravel() for name, each in found.items()}), target)
""",
    PLUGIN: """
import polars as pl
import polars_ds as pds

report = pds.lin_reg_report(*names, target="y", add_bias=True)
found = pl.read_parquet(source).group_by("g").agg(report.alias("found"))
found.explode("found").unnest("found").write_parquet(target)
""",
    ARRAYS: """
import numpy as np
import pandas as pd
from statsmodels.regression.linear_model import OLS

found = []
for group, part in pd.read_parquet(source).groupby("g"):
    fit = OLS(part["y"].to_numpy(), np.column_stack([np.ones(len(part)), part[names]])).fit()
    lower, upper = fit.conf_int().T
    rows = {"g": group, "term": ["Intercept", *names], "params": fit.params, "bse": fit.bse}
    rows |= {"tvalues": fit.tvalues, "pvalues": fit.pvalues, "lower": lower, "upper": upper}
    found.append(pd.DataFrame(rows))
pd.concat(found).to_parquet(target)
""",
}
COLD, UNCHANGED, CHANGED = "first run", "nothing changed", "one value changed"
SETTINGS = f"""\
name = "files"

[input]
format = "parquet"
file = "panel.parquet"

[groups]
by = ["g"]

[models.plain]
model = "ols"
formula = "{FORMULA}"
"""


def run(options: Options) -> dict[str, Any]:
    """Fit panels in files by new processes, and by runs of a project with a server that runs."""
    os.environ["POLARS_MAX_THREADS"] = "1"  # as of all others
    shapes = QUICK if options.quick else SIZES
    folder = options.folder / "files"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        measured = [_measured(folder, *shape, options.runs) for shape in shapes]
        runs = [_runs(folder, *shape, options.runs) for shape in shapes[:2]]
    finally:
        shutil.rmtree(folder)
    return {"files": measured, "runs": runs, "tables": [_table(measured), _table_of_runs(runs)]}


def _measured(folder: Path, groups: int, rows: int, runs: int) -> dict[str, Any]:
    source = folder / "panel.parquet"
    panel_frame(groups, rows).to_parquet(source)
    names = [name for name in SCRIPTS if _is_there(name) and (groups <= MOST or name != ARRAYS)]
    works = {name: _command(name, source, folder / f"{name}.parquet") for name in names}
    for work in works.values():  # read the file, compile and cache code
        work(-1)
    _check(folder)
    measured = interleaved(works, runs)
    seconds = {name: [found[0] for found in each] for name, each in measured.items()}
    return {
        "shape": f"{groups:,} × {rows:,}",
        "seconds": {name: spread(each) for name, each in seconds.items()},
        "over_ours": {name: ratio(each, seconds[OURS]) for name, each in seconds.items()},
        "megabytes": {name: spread([found[1] for found in each]) for name, each in measured.items()},
    }


def _is_there(name: str) -> bool:
    return is_installed({PLUGIN: "polars_ds", ARRAYS: "statsmodels"}.get(name, "pyarrow"))


def _check(folder: Path) -> None:
    """What is timed is the same."""
    import pandas as pd

    ours, batched = (pd.read_parquet(folder / f"{name}.parquet") for name in (OURS, BATCHED))
    pd.testing.assert_frame_equal(ours, batched, rtol=1e-6)


def _command(name: str, source: Path, target: Path) -> Callable[[int], tuple[float, float]]:
    """Return a process to time: seconds, and the most megabytes that it had."""
    command = [sys.executable, "-c", READ + SCRIPTS[name], str(source), str(target)]

    def work(run: int) -> tuple[float, float]:
        began = time.perf_counter()
        process = subprocess.Popen(command, env=user_environment())
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{name}: see above")
        return time.perf_counter() - began, used.ru_maxrss / 1024

    return work


def _runs(folder: Path, groups: int, rows: int, runs: int) -> dict[str, Any]:
    """Time runs of a project: the first, an unchanged one, and one after a value of the file changed."""
    frame = panel_frame(groups, rows)
    project = Project(folder / "project")
    subprocess.run(
        [BINARIES / "shortloop", "init", project.folder, "--panel"], check=True, capture_output=True
    )
    project.study = project.folder / "panel.toml"
    project.study.write_text(SETTINGS, encoding="utf-8")
    seconds: dict[str, list[float]] = {COLD: [], UNCHANGED: [], CHANGED: []}
    for run in range(runs):
        frame.to_parquet(project.folder / "panel.parquet")
        project.forget()
        time.sleep(SETTLED_NS / 1e9)  # a project whose files changed just now is read again
        with project.server(None):
            for case, found in seconds.items():
                if case == CHANGED:
                    frame["y"] += (frame.index == len(frame) // 2) * (1.0 + run)
                    frame.to_parquet(project.folder / "panel.parquet")
                settle(project.folder)
                found.append(project.run("ax", "run", "panel")["seconds"])
    shutil.rmtree(project.folder)
    return {"shape": f"{groups:,} × {rows:,}", "seconds": {case: spread(seconds[case]) for case in seconds}}


def _table(measured: list[dict[str, Any]]) -> dict[str, Any]:
    rows = []
    for name in SCRIPTS:
        cells = [name]
        for each in measured:
            found = each["seconds"].get(name)
            memory = each["megabytes"][name]["median"] if found else 0.0
            cells.append(f"{figures(found, 's')}, {memory:,.0f} MB" if found else "")
        rows.append(cells)
    note = (
        "From a Parquet file of seven columns to a Parquet file of coefficients, standard errors, tests and "
        "intervals; a new Python process each time, compiled code in its cache, one core. NumPy needs groups "
        f"of the same length. statsmodels is left out beyond {MOST:,} groups."
    )
    columns = ["", *(each["shape"] for each in measured)]
    return {"title": "From file to table in a new process", "columns": columns, "rows": rows, "note": note}


def _table_of_runs(found: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [[case, *(figures(each["seconds"][case], "s") for each in found)] for case in found[0]["seconds"]]
    note = "The whole of `ax run panel`, on a server that runs: tables, report and figures."
    columns = ["", *(each["shape"] for each in found)]
    return {"title": "Runs of a panel file", "columns": columns, "rows": rows, "note": note}
