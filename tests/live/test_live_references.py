"""Units that refer to input files by path, and files of equal content: after an edit or a rename, results are
those of the files as they are now, on slices and on joblib."""

from __future__ import annotations

from typing import ClassVar

import pytest
from live_project import EmptyProject, fixture_of

from shortloop.stages.results import Result

MEASURE = """\
import functools
from pathlib import Path

from shortloop import File, stage

HERE = Path(__file__).parents[1] / "data"
MEANS = {}


class Recording:
    def __init__(self, path):
        self.path = path

    def __call__(self):
        return mean(self.path)


def mean(path):
    import numpy as np

    return float(np.loadtxt(path).mean())


def dataset(path):
    import pyarrow.dataset

    return pyarrow.dataset.dataset(path, format="csv")


def parts(files: list[File], kind: str):
    import numpy as np

    MEANS.update({file.path.stem: mean(file.path) for file in files} if kind == "global" else {})
    gives = {
        "path": lambda path: path,
        "text": str,
        "folder": lambda path: path.parent,
        "partial": lambda path: functools.partial(mean, path),
        "closure": lambda path: lambda: mean(path),
        "object": Recording,
        "dataset": dataset,
        "global": lambda path: ["key", path.stem],
        **dict.fromkeys(("opened", "polars", "pattern", "arrow"), lambda path: int(path.parent.name[1:])),
        "data": lambda path: np.loadtxt(path),
        "map": lambda path: np.memmap(path, dtype="u1", mode="r"),
    }
    return {file.path.parent.name: gives[kind](file.path) for file in files}


@stage(units=parts)
def measure(it, kind: str):
    if kind in ("path", "text"):
        return {"x": mean(it)}
    if kind in ("partial", "closure", "object"):
        return {"x": it()}
    if kind == "folder":
        (file,) = it.glob("*.csv")
        return {"x": mean(file)}
    if kind == "dataset":
        return {"x": float(it.head(1).column_names[0] if it.count_rows() else it.schema.names[0])}
    if kind == "global":
        return {"x": MEANS[it[1]]}
    if kind == "opened":
        (file,) = (HERE / f"s{it}").glob("*.csv")
        return {"x": mean(file)}
    if kind in ("polars", "pattern", "arrow"):
        import polars as pl
        import pyarrow.csv

        pattern = HERE / f"s{it}" / "*.csv"
        (file,) = pattern.parent.glob("*.csv")
        if kind == "arrow":
            return {"x": float(pyarrow.csv.read_csv(file).column_names[0])}
        return {"x": pl.read_csv(file if kind == "polars" else pattern, has_header=False).to_series().mean()}
    return {"x": float(it.mean()) if kind == "data" else float(bytes(it).split()[0])}
"""
NAMES = """\
from shortloop import File, stage


@stage
def names(files: list[File], named: dict[str, list[File]]):
    found = {f"{file.path.parent.name}/{file.path.name}": file.path.read_text() for file in files}
    return {"found": found, "named": {name: [each.path.name for each in of] for name, of in named.items()}}
"""
SCRIPT = """\
from pathlib import Path

from shortloop import pipeline

KINDS = {kinds}


@pipeline
def main(run):
    files = run.files(sorted((Path(__file__).parents[1] / "data").glob("s*/*.csv")))
    for kind in KINDS:
        run.build("measure", partition=kind, files=files, kind=kind)
    return run.build("names", files=files, named={{"first": files[:1], "rest": files[1:]}})
"""
ALONE = ("path", "text", "folder", "data", "map")
READ = ("polars", "pattern", "arrow")
KINDS = (*ALONE, "partial", "closure", "object", "dataset", "global", "opened", *READ)


class ReferencesProject(EmptyProject):
    """A stage for each kind of reference, and one that leaves names."""

    sources: ClassVar = {
        "methods/a_measure.py": MEASURE,
        "methods/a_names.py": NAMES,
        "build_scripts/build_x.py": SCRIPT.format(kinds=KINDS),
    }
    run_name = "x"

    def write_values(self, *values: int) -> None:
        for number, value in enumerate(values, 1):
            self.write(f"data/s{number}/one{number}.csv", f"{value}\n{value}\n")

    def go(self, engine: str) -> dict[str, Result]:
        """The jobs of a run, by kind of reference."""
        self.works("run", "x", SHORTLOOP_ENGINE=engine)
        return self.last_results()


project = fixture_of(ReferencesProject)


@pytest.mark.parametrize(
    ("engine", "value"), [("slices", 10), pytest.param("joblib", 20, marks=pytest.mark.slow)]
)
def test_the_edit_of_a_file_reaches_the_units_that_refer_to_it(
    project: ReferencesProject, engine: str, value: int
) -> None:
    project.write_values(value + 1, value + 2, value + 3)
    project.go(engine)
    project.write_values(value + 1, value + 700, value + 3)
    found = project.go(engine)
    assert {kind: found[kind]["x"].tolist() for kind in KINDS} == {
        kind: [value + 1, value + 700, value + 3] for kind in KINDS
    }
    taken = {kind: sum(found[kind].record.get("taken", {}).values()) for kind in ALONE}
    assert taken == dict.fromkeys(ALONE, 2)


def test_names_are_those_that_files_have_now(project: ReferencesProject) -> None:
    project.write_values(5, 5, 6)
    found = project.go("slices")
    assert found["names"].facts["found"] == {
        "s1/one1.csv": "5\n5\n",
        "s2/one2.csv": "5\n5\n",
        "s3/one3.csv": "6\n6\n",
    }
    assert found["path"]["x"].tolist() == [5, 5, 6]
    data = project.folder / "data"
    (data / "s3" / "one3.csv").rename(data / "s3" / "new.csv")
    (data / "s2").rename(data / "s7")
    found = project.go("slices")
    assert sorted(found["names"].facts["found"]) == ["s1/one1.csv", "s3/new.csv", "s7/one2.csv"]
    assert found["names"].facts["named"] == {"first": ["one1.csv"], "rest": ["new.csv", "one2.csv"]}
    assert found["path"].facts["units"] == ["s1", "s3", "s7"]
    assert found["path"]["x"].tolist() == [5, 6, 5]
    assert [*found["data"].record["taken"].values()] == [3]  # what they read has no name
