"""Any object is a result, on a real server: it comes back equal in the next stage and in another process, and
what reads it hangs on the code and the libraries that it needs."""

from __future__ import annotations

import re
import shutil
import sys
from typing import ClassVar

from live_project import EmptyProject, fixture_of, in_short_folder, script, stages

TYPES = """\
import enum
from dataclasses import dataclass, field


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2


@dataclass
class Summary:
    side: Side
    names: set = field(default_factory=set)

    def size(self):
        return len(self.names)
"""
METHODS = stages("""\
# models
def participants(count: int):
    import numpy as np
    import pandas as pd

    for number in range(count):
        rng = np.random.default_rng(number)
        frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
        yield f"P{number}", frame.assign(y=(frame["a"] + rng.normal(size=60) > 0).astype(int))


@stage(units=participants)
def models(rows, unit: str):
    import numpy as np
    import statsmodels.formula.api as smf
    from own_types import Side, Summary
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = rows[["a", "b", "c"]].to_numpy()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, rows["y"])
    return {
        "model": model,
        "line": smf.ols("c ~ a + np.exp(b)", rows).fit(),
        "summary": Summary(Side.LEFT, {f"{unit}-{each}" for each in "abcdef"}),
        "counts": {1: "one", (2, "b"): None},
        "chances": model.predict_proba(X)[:, 1],
        "fitted": smf.ols("c ~ a + np.exp(b)", rows).fit().predict(rows).to_numpy(),
    }

# reads
@stage
def reads(models: Job):
    import numpy as np
    import pandas as pd

    again, lines, sizes = [], [], {}
    for number, unit in enumerate(models.facts["units"]):
        rng = np.random.default_rng(number)
        frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
        again.append(models["model"][unit].predict_proba(frame.to_numpy())[:, 1])
        lines.append(models["line"][unit].predict(frame).to_numpy())
        sizes[unit] = models["summary"][unit].size()
    return {"chances": np.array(again), "fitted": np.array(lines), "sizes": sizes}

# kinds
@stage
def kinds():
    import datetime
    import decimal
    import pathlib

    import numpy as np
    import pandas as pd
    from own_types import Side, Summary

    return {
        "day": datetime.date(2026, 1, 2),
        "sets": {"a": {"x", "y", "z"}, "b": frozenset([1, 2])},
        "price": decimal.Decimal("1.10"),
        "place": pathlib.Path("a/b"),
        "short": b"bytes",
        "by_number": {1: 0.5, 2: float("nan")},
        "stamp": pd.Timestamp("2026-01-02", tz="Europe/Berlin"),
        "series": pd.Series([1.0, None], index=["a", "b"], name="s"),
        "objects": np.array(["a", None, {1}], dtype=object),
        "summary": Summary(Side.RIGHT, {"q", "r"}),
    }
""")
SCRIPT = script(
    """
kinds = run.build("kinds")
models = run.build("models", count=asked.get("count", 3))
return run.build("reads", models=models)
""",
    reads="asked.json",
)


class ObjectsProject(EmptyProject):
    """Stages that leave objects, and one that reads them."""

    sources: ClassVar = {
        **METHODS,
        "own_types.py": TYPES,
        "build_scripts/build_objects.py": SCRIPT,
        "asked.json": "{}",
    }
    run_name = "objects"

    def go(self, *more: str) -> str:
        """Run it, which must work; what it said."""
        return self.works("run", "objects", *more)


project = fixture_of(ObjectsProject)


def test_models_of_units_are_read_by_the_next_stage_and_predict_the_same(project: ObjectsProject) -> None:
    """The stage that reads them has the module of the project in its key, and the libraries."""
    project.go()
    models, reads = project.last_result("models"), project.last_result("reads")
    assert (reads["chances"] == models["chances"]).all()
    assert (reads["fitted"] == models["fitted"]).all()
    assert reads["sizes"] == {"P0": 6, "P1": 6, "P2": 6}
    parts = project.manifest(reads.job)["parts"]
    assert {"sklearn", "statsmodels", "pandas"} <= parts["versions"].keys()
    assert "own_types" in parts["code"]
    assert "methods.a_models" not in parts["code"]
    shown = project.shortloop("show", models.job, COLUMNS="160").stdout
    assert re.search(r"model +sklearn.pipeline.Pipeline +3 units; the first: Pipeline\(", shown), shown
    assert "all 3 jobs are cached" in project.works("plan", "objects")


def test_an_edit_of_the_class_of_an_object_builds_what_reads_it(project: ObjectsProject) -> None:
    project.go()
    project.edit("own_types.py", "return len(self.names)", "return 10 * len(self.names)")
    said = project.go()
    assert project.last_result("reads")["sizes"] == {"P0": 60, "P1": 60, "P2": 60}
    assert "built reads" in re.sub(" +", " ", said)
    project.restore()


def test_a_later_process_reads_all_kinds_of_objects(project: ObjectsProject) -> None:
    """Also from a folder below, where nothing but the project says where its modules are."""
    project.go()
    kinds, models = project.last_result("kinds").job, project.last_result("models").job
    code = f"""
import shortloop, datetime, decimal, pathlib, math
kinds = shortloop.load({kinds!r})
facts = kinds.facts
assert facts["day"] == datetime.date(2026, 1, 2)
assert facts["sets"] == {{"a": {{"x", "y", "z"}}, "b": frozenset([1, 2])}}
assert repr(facts["price"]) == "Decimal('1.10')" and facts["place"] == pathlib.Path("a/b")
assert facts["short"] == b"bytes" and facts["by_number"][1] == 0.5 and math.isnan(facts["by_number"][2])
import pandas as pd
assert facts["stamp"] == pd.Timestamp("2026-01-02", tz="Europe/Berlin")
pd.testing.assert_series_equal(kinds["series"], pd.Series([1.0, None], index=["a", "b"], name="s"))
assert kinds["objects"].tolist() == ["a", None, {{1}}]
summary = kinds["summary"]
assert (type(summary).__module__, summary.side.name, summary.names) == ("own_types", "RIGHT", {{"q", "r"}})
models = shortloop.load({models!r})
assert [*models["model"]] == ["P0", "P1", "P2"] and models["counts"]["P1"] == {{1: "one", (2, "b"): None}}
print(type(models["model"]["P2"]).__name__, models["line"]["P0"].params.round(3).to_dict())
"""
    done = project.shell(sys.executable, "-c", code, below="methods").ok()
    assert done.stdout.startswith("Pipeline {'Intercept': ")
    assert "Warning" not in done.stderr


def test_objects_of_another_project_are_read_only_if_told(project: ObjectsProject) -> None:
    """All else of its jobs is read as ever."""
    project.go()
    models = project.last_result("models")
    job = models.job.replace("main", "foreign")
    folder = project.folder / "elsewhere"
    shutil.copytree(models.path, folder / job)
    with in_short_folder(EmptyProject) as other:
        other.edit("accelerator.conf", "workdirs:\n", f"workdirs:\n\tforeign {folder}\n")
        load = f"import shortloop; job = shortloop.load({job!r}); print(job['chances'].shape)"
        assert other.python(load) == "(3, 60)\n"
        load += "; print(job['counts']['P0'])"
        refused = other.shell(sys.executable, "-c", load).fails()
        assert "is not read, as somebody else may have written it" in refused
        assert f"not in this project, {other.folder}" in refused
        said = other.python(load.replace(f"{job!r}", f"{job!r}, trusted=True"))
        assert said.endswith("{1: 'one', (2, 'b'): None}\n")
