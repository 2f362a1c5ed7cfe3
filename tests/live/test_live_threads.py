"""Stages whose library starts threads before units are computed: none waits for one that is not there."""

from __future__ import annotations

from typing import ClassVar

from live_project import EmptyProject, fixture_of, script, stages

FIRMS = 40
# How each stage finds its units, and what it computes of one; the value is always the number of the firm.
STAGES = {
    "polars": (
        """
def found(file: File):
    import polars as pl
    return {name: rows for (name,), rows in pl.read_csv(file.path).group_by("firm", maintain_order=True)}
""",
        'rows.group_by("firm").agg(pl.col("x").mean())["x"][0]',
    ),
    "polars_lazy": (
        """
def found(file: File):
    rows = pl.scan_csv(file.path)
    names = rows.select("firm").unique(maintain_order=True).collect()["firm"]
    return {name: rows.filter(pl.col("firm") == name).collect() for name in names}
""",
        'rows.lazy().select(pl.col("x").mean()).collect().item()',
    ),
    "duckdb": (
        """
def found(file: File):
    import duckdb
    global opened
    opened = duckdb.connect()
    opened.execute(f"create table firms as select * from read_csv('{file.path}')")
    return {f"f{number:02}": f"f{number:02}" for number in range(40)}
""",
        'opened.execute("select avg(x) from firms where firm = ?", [rows]).fetchall()[0][0]',
    ),
    "pool": (
        """
threads = ThreadPoolExecutor(2)

def found(file: File):
    lines = Path(file.path).read_text().split()[1::3]
    return {line[:3]: line for line in threads.map(str, lines)}
""",
        'threads.submit(float, rows.partition(",")[2]).result()',
    ),
    "arrow": (
        """
def found(file: File):
    import pyarrow.csv
    global opened
    opened = pyarrow.csv.read_csv(file.path)
    return {f"f{number:02}": f"f{number:02}" for number in range(40)}
""",
        'opened.filter(pyarrow.compute.equal(opened["firm"], rows)).to_pandas()["x"].mean()',
    ),
}
METHODS = stages(
    "".join(
        f"""\
# {name}
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pyarrow.compute

{units}

@stage(units=found)
def {name}(rows, unit: str):
    return {{"x": float({value}), "process": os.getpid()}}

"""
        for name, (units, value) in STAGES.items()
    )
    + """\
# at_import
from concurrent.futures import ThreadPoolExecutor

threads = ThreadPoolExecutor(1)
threads.submit(abs, 1).result()


def found():
    return {"one": 1, "two": 2}


@stage(units=found)
def at_import(number):
    return {"x": threads.submit(abs, number).result()}
"""
)
SCRIPT = script(f"""
for name in {[*STAGES]}:
    run.build(name, file=run.file("firms.csv"))
return run.build("at_import")
""")


class ThreadsProject(EmptyProject):
    sources: ClassVar = {
        **METHODS,
        "firms.csv": "firm,x\n" + "".join(f"f{number:02},{number}\n" * 3 for number in range(FIRMS)),
        "build_scripts/build_all.py": SCRIPT,
    }
    run_name = "all"


project = fixture_of(ThreadsProject)


def test_units_are_computed_on_all_slices(project: ThreadsProject) -> None:
    """Also where threads are started as a method is imported."""
    project.works("run", "all")
    for name in STAGES:
        found = project.last_result(name)
        assert found.facts["units"] == [f"f{number:02}" for number in range(FIRMS)]
        assert found["x"].tolist() == [*range(FIRMS)]
        assert found.record["engine"]["name"] == "slices"
        # Arrow has its threads again in a fork, so that these jobs are as quick as any.
        assert ("threads" in found.record["engine"]) == (name != "arrow")
    assert project.last_result("at_import")["x"].tolist() == [1, 2]
