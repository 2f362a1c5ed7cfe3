"""Files that a job reads and that its key does not see are named, however they are read; no others are."""

from __future__ import annotations

import importlib.util
import re
import sqlite3
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from live_project import EmptyProject, fixture_of, script, stages

# By name: the library, if it may be missing, how it reads, in a folder D, and what the warning must name.
READERS: dict[str, tuple[str, str, str]] = {
    "python": ("", "open(D + '/a.txt').read()", "a.txt"),
    "os_open": ("", "os.read(os.open(D + '/a.txt', os.O_RDONLY), 9)", "a.txt"),
    "numpy_load": ("", "np.load(D + '/a.npy')", "a.npy"),
    "numpy_memmap": ("", "np.memmap(D + '/a.npy', mode='r')", "a.npy"),
    "pandas_csv": ("pandas", "pd.read_csv(D + '/a.csv')", "a.csv"),
    "pandas_parquet": ("pandas", "pd.read_parquet(D + '/a.parquet')", "a.parquet"),
    "arrow_parquet": ("pyarrow", "load('pyarrow.parquet').read_table(D + '/a.parquet')", "a.parquet"),
    "arrow_dataset": ("pyarrow", "load('pyarrow.dataset').dataset(D + '/a.parquet').to_table()", "a.parquet"),
    "arrow_folder": ("pyarrow", "load('pyarrow.dataset').dataset(D + '/many').to_table()", "many/b.parquet"),
    "arrow_csv": ("pyarrow", "load('pyarrow.csv').read_csv(D + '/a.csv')", "a.csv"),
    "arrow_map": ("pyarrow", "load('pyarrow').memory_map(D + '/a.parquet').read()", "a.parquet"),
    "polars_csv": ("polars", "pl.read_csv(D + '/a.csv')", "a.csv"),
    "polars_scan": ("polars", "pl.scan_parquet(D + '/a.parquet').collect(engine='in-memory')", "a.parquet"),
    "polars_pattern": ("polars", "pl.scan_parquet(D + '/many/*.parquet').collect()", "many/b.parquet"),
    "duckdb_query": ("duckdb", 'load("duckdb").sql(f"from \'{D}/a.parquet\'").fetchall()', "a.parquet"),
    "duckdb_read": ("duckdb", "load('duckdb').read_csv(D + '/a.csv').fetchall()", "a.csv"),
    "duckdb_connection": (
        "duckdb",
        'load("duckdb").connect().execute(f"select * from read_csv(\'{D}/a.csv\')").fetchall()',
        "a.csv",
    ),
    "sqlite": ("", "load('sqlite3').connect(D + '/a.db').execute('select x from t').fetchall()", "a.db"),
    "sqlite_uri": ("", "load('sqlite3').connect(f'file:{D}/a.db?mode=ro', uri=True).cursor()", "a.db"),
    "hdf5": ("h5py", "load('h5py').File(D + '/a.h5')['x'][()]", "a.h5"),
    "xarray": ("xarray", "load('xarray').load_dataset(D + '/a.nc')", "a.nc"),
    "lxml": ("lxml", "load('lxml.etree').parse(D + '/a.xml')", "a.xml"),
    "mne": ("mne", "load('mne').read_trans(D + '/a-trans.fif')", "a-trans.fif"),
    "compiled": ("", "load('ctypes').CDLL(D + '/a.so')", "a.so"),
    "program": ("", "subprocess.run(['cat', D + '/a.txt'], check=True)", "a.txt"),
    "program_there": ("", "subprocess.run(['cat', 'a.txt'], cwd=D, check=True)", "a.txt"),
    "shell": ("", "subprocess.run('cat ' + D + '/a.txt | wc', shell=True, check=True)", "a.txt"),
    "shell_script": ("", "subprocess.run(['sh', D + '/a.sh'], check=True)", "a.sh"),
    "system": ("", "os.system('cat ' + D + '/a.txt')", "a.txt"),
    "python_program": ("", "subprocess.run([sys.executable, D + '/a.py'], check=True)", "a.py"),
    "listed": ("", "len(os.listdir(D + '/many'))", "many/"),
    "globbed": ("", "len(list(pathlib.Path(D).glob('many/*')))", "many/"),
    "walked": ("", "len(list(os.walk(D + '/many')))", "many/"),
}
METHOD = """\
from importlib import import_module as load

from shortloop import stage


@stage
def {name}():
    import os
    import pathlib
    import subprocess
    import sys

    import numpy as np
    import pandas as pd
    import polars as pl

    D = {folder!r}
    frame = pd.DataFrame({{"x": [1]}})
    {how}
    return {{"v": 1}}
"""
DECLARED = stages("""\
# variables
import os

from importlib import import_module as load
from os import environ as env

from shortloop.keys.code import python_here

LEVEL = os.environ.get("LEVEL")


def convert():
    load("pyarrow").array([1]).to_pandas()  # compiled code reads PYARROW_IGNORE_TIMEZONE


@stage
def variables():
    copied = dict(os.environ)
    python_here.__wrapped__()  # reads what is Python's own
    convert()
    return {"v": [LEVEL, os.getenv("MODE"), "DEBUG" in os.environ, env["HOME"], copied["PATH"]]}

# declared
@stage
def declared(table: File, rows: File):
    import importlib.metadata
    import os
    import pkgutil
    import subprocess
    import tempfile
    from pathlib import Path

    import duckdb
    import matplotlib.font_manager
    import pandas as pd
    import polars as pl
    import pyarrow.parquet as pq

    frame = original = sql = pd.DataFrame({"x": [1, 2]})
    connection = duckdb.connect()
    found = {
        "pandas": len(pd.read_parquet(table.path)),
        "polars": len(pl.read_parquet(table.path)),
        "arrow": pq.read_table(table.path).num_rows,
        "duckdb": duckdb.sql(f"select * from '{table.path}'").fetchall(),
        "variable": duckdb.sql("select sum(x) from frame").fetchall(),
        "of a connection": connection.sql("select sum(x) from original").fetchall(),
        "of a cursor": connection.cursor().execute("select sum(x) from sql").fetchall(),
        "program": subprocess.check_output(["cat", str(rows.path)], text=True),
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "own.txt").write_text("1")
        found["own"] = [each.read_text() for each in Path(folder).iterdir()]
    environment = {**os.environ, **dict(os.environ), **os.environ.copy(), **dict(os.environ.items())}
    subprocess.run(["true"], env=environment, check=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    os.path.expanduser("~")
    Path("left.txt").write_text("1")
    found["left"] = Path("left.txt").read_text()
    Path("left.txt").unlink()
    list(pkgutil.iter_modules([str(Path(__file__).parent)]))
    importlib.metadata.version("numpy")
    matplotlib.font_manager.findfont("DejaVu Sans")
    pd.Timestamp("2024-01-01", tz="Europe/Stockholm")
    return {name: str(each) for name, each in found.items()}
""")
SCRIPT = script("""
for name in {names}:
    run.build(name)
return run.build("declared", table=run.file("data/a.parquet"), rows=run.file("data/a.txt"))
""")
IMPORTED = """\
{statement}

from shortloop import stage


@stage
def imported():
    return {{"v": VALUE}}
"""
AT_IMPORT = {
    "the method": ("VALUE = open(__file__.replace('a_imported.py', 'cfg.json')).read()", "methods/cfg.json"),
    "a helper": ("from helper import VALUE", "data/a.txt"),
    "a library": ("import polars as pl\n\nVALUE = pl.read_csv('data/a.csv').height", "data/a.csv"),
}


def is_there(library: str) -> bool:
    return not library or importlib.util.find_spec(library) is not None


class Unseen(EmptyProject):
    """A folder of data in every format, and methods that read it."""

    sources: ClassVar = {
        "data/a.txt": "1\n",
        "data/a.sh": "echo 1\n",
        "data/a.py": "print(1)\n",
        "data/a.xml": "<a/>",
        **DECLARED,
        "methods/cfg.json": "1",
        "helper.py": "VALUE = open('data/a.txt').read()\n",
        "build_scripts/build_imported.py": SCRIPT.format(names=["imported"]),
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.data = folder / "data"
        self._write_data()
        self.names = [name for name, (library, _, _) in READERS.items() if is_there(library)]
        for name in self.names:
            text = METHOD.format(name=name, folder=str(self.data), how=READERS[name][1])
            self.write(f"methods/a_{name}.py", text)
        self.write("build_scripts/build_all.py", SCRIPT.format(names=[*self.names, "variables"]))

    def _write_data(self) -> None:
        data, frame = self.data, pd.DataFrame({"x": [1]})
        (data / "many").mkdir()
        frame.to_parquet(data / "a.parquet")
        frame.to_parquet(data / "many/b.parquet")
        frame.to_csv(data / "a.csv", index=False)
        np.save(data / "a.npy", np.arange(3))
        with sqlite3.connect(data / "a.db") as connection:
            connection.execute("create table t (x)")
        connection.close()
        if is_there("h5py"):
            import h5py

            with h5py.File(data / "a.h5", "w") as file:
                file["x"] = [1]
        if is_there("xarray"):
            import xarray

            xarray.Dataset({"x": ("y", [1])}).to_netcdf(data / "a.nc", engine="scipy")
        if is_there("mne"):
            import mne

            mne.write_trans(data / "a-trans.fif", mne.Transform("head", "mri"))
        library = Path(importlib.util.find_spec("_ctypes").origin)  # type: ignore[union-attr, arg-type]
        (data / "a.so").write_bytes(library.read_bytes())


project = fixture_of(Unseen)


@pytest.fixture(scope="module")
def warned(project: Unseen) -> dict[str, str]:
    """What a run said of each job."""
    said = project.works("run", "all")
    facts = project.read_json("results/all/summary.json")["facts"]
    assert [facts[name][2] for name in ("variable", "of a connection", "of a cursor")] == ["3", "3", "3"]
    return dict(re.findall(r"warning: main-\d+ \((\w+)\) has read (.*), which its key", said))


def test_what_is_read_unseen_is_named(warned: dict[str, str], project: Unseen) -> None:
    named = {name: re.split(r", | and ", warned.get(name, "")) for name in project.names}
    assert [name for name in project.names if f"data/{READERS[name][2]}" not in named[name]] == []


def test_variables_of_the_environment_are_named(warned: dict[str, str]) -> None:
    assert warned["variables"] == "DEBUG, HOME, LEVEL, MODE of the environment"


def test_what_is_declared_or_brought_along_is_not(warned: dict[str, str]) -> None:
    assert "declared" not in warned


@pytest.mark.parametrize("where", AT_IMPORT)
def test_a_file_that_is_read_at_import_is_refused(project: Unseen, where: str) -> None:
    statement, file = AT_IMPORT[where]
    project.write("methods/a_imported.py", IMPORTED.format(statement=statement))
    said = project.shortloop("run", "imported").fails()
    assert "a file was read while the method was imported" in said
    assert file in said
    assert "run.file" in said
