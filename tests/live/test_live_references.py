"""Units that refer to input files in any way, and files of equal content: after an edit or a rename, results
are those of the files as they are now."""

from __future__ import annotations

from typing import ClassVar

from cases import first_cases
from live_project import EmptyProject, fixture_of, script, stages
from random_units import ARITHMETIC, KINDS, MEASURE, ORDER

from shortloop.stages.results import Result

SCRIPT = script(f"""
files = run.files(sorted(Path("data").glob("s*/*.csv")))
for kind in {KINDS}:
    run.build("measure", partition=kind, files=files, kind=kind, how="given")
return run.build("names", files=files, named={{"first": files[:1], "rest": files[1:]}})
""")
METHODS = stages("""\
# names
@stage
def names(files: list[File], named: dict[str, list[File]]):
    found = {f"{file.path.parent.name}/{file.path.name}": file.path.read_text() for file in files}
    return {"found": found, "named": {name: [each.path.name for each in of] for name, of in named.items()}}
""")
ALONE = ("path", "text", "folder", "data", "map")


class ReferencesProject(EmptyProject):
    """A stage for each kind of reference, and one that leaves names."""

    sources: ClassVar = {
        **METHODS,
        "methods/a_measure.py": MEASURE,
        "methods/order.py": ORDER,
        "methods/arithmetic.py": ARITHMETIC.format(plus=0),
        "build_scripts/build_x.py": "from pathlib import Path\n" + SCRIPT,
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


@first_cases(1, ("engine", "value"), [("slices", 10), ("joblib", 20)])
def test_the_edit_of_a_file_reaches_the_units_that_refer_to_it(
    project: ReferencesProject, engine: str, value: int
) -> None:
    project.write_values(value + 1, value + 2, value + 3)
    project.go(engine)
    project.write_values(value + 1, value + 700, value + 3)
    found = project.go(engine)
    wanted = [value + 1, value + 700, value + 3]
    assert {kind: found[kind]["x"].tolist() for kind in KINDS} == dict.fromkeys(KINDS, wanted)
    taken = {kind: sum(found[kind].record.get("taken", {}).values()) for kind in ALONE}
    assert taken == dict.fromkeys(ALONE, 2)


def test_names_are_those_that_files_have_now(project: ReferencesProject) -> None:
    project.write_values(5, 5, 6)
    found = project.go("slices")
    texts = {"s1/one1.csv": "5\n5\n", "s2/one2.csv": "5\n5\n", "s3/one3.csv": "6\n6\n"}
    assert found["names"].facts["found"] == texts
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
