"""Random edits of a small panel, its file, its settings and the package's code, with kills: all that a run
leaves is what a process leaves that knows no exax, no keys, no kept jobs, and a plan says what it builds.

EDITS says how many runs, SEED which edits; ``make soak`` asks for many.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from random_edits import Found, RandomProject

pytestmark = [pytest.mark.skipif("EDITS" not in os.environ, reason="takes minutes: `make soak` does it")]
RUNS = max(int(os.environ.get("EDITS", "0")) // 10, 1)
SEED = int(os.environ.get("SEED") or 0)
SCRIPT = """\
import json
from pathlib import Path

from build_scripts.build_panel import pipeline
from shortloop.panel.pipeline import run_panel


def main(urd):
    return run_panel(urd, pipeline, finish)
"""
PLANNED = """\
import json
from shortloop.plan.dry_run import dry_run

jobs = [job for plan in dry_run("core").plans for job in plan.jobs]
print(json.dumps([[job.stage, job.partition, job.plan] for job in jobs]))
"""
TEXTS = ("a", "b", "c", "d e", "É", "E\u0301", "z]", "[T.b]", "x:y", " a", "a first")
FORMULAS = (
    *("y ~ x + k", "y ~ x", "y ~ k + C(year)", "y ~ C(year) + x", "y ~ scale(x) + k", "y ~ x*s", "b ~ x + k"),
    *("y ~ C(k, contr.sum)", "y ~ C(k, contr.treatment('b')) + x", "np.log(w) ~ k:x", "y ~ I(k == 'a') + x"),
    *("y ~ extra + x", "y ~ `x` + np.abs(w)", "y ~ 1", "y ~ x - 1"),
)
PLAIN = {"model": "ols", "formula": "y ~ x + k", "covariance": "HC1"}
COLUMNS = ("y", "x", "k", "firm", "s", "year", "w", "b")
IMPORTS = ("csvimport", "dataset_type", "import_dataset", "import_panel")
FORMATS = ("csv", "semicolon", "parquet", "csvimport")
TWIN = "imported.parquet"
"""What the panel is of which exax imports a text file."""
OF_A_REPORT = ("findings.json",)  # the page also says which jobs its numbers are from, and how long they took


class PanelProject(RandomProject):
    """A panel of six firms, and models that read some of its columns."""

    analyses = ("panel",)
    settings_file = "panel.toml"
    inputs = ("firms.csv", "firms.parquet", TWIN, "panel.toml")
    # Numbers of compiled code are places in memory for the most part.
    code = (
        *(
            "panel/diagnostics",
            "panel/results.py",
            "panel/statistics.py",
            "panel/data.py",
        ),
        *("panel/fitting/statsmodels_fit.py", "panel/formulas/equation.py", "panel/report", "panel/stages"),
    )
    script = SCRIPT

    def __init__(self, folder: Path, rng: random.Random) -> None:
        super().__init__(folder, rng)
        self.numbers = np.random.default_rng(rng.randrange(2**32))
        self.put_all_back()

    def put_all_back(self) -> None:
        self.put_back()
        draw, rows = self.numbers, 6 * 14
        self.frame = pd.DataFrame({"firm": np.repeat([f"F{n}" for n in range(6)], 14)})
        self.frame["x"] = draw.standard_normal(rows).round(3)
        self.frame["w"] = draw.uniform(0.5, 2, rows).round(3)
        self.frame["k"] = np.array(["a", "b", "c"])[draw.integers(0, 3, rows)]
        self.frame["s"] = np.array(["u", "v"])[draw.integers(0, 2, rows)]
        self.frame["year"] = draw.integers(2000, 2004, rows)
        self.frame["y"] = (self.frame["x"] + draw.standard_normal(rows)).round(3)
        self.frame["b"] = draw.integers(0, 2, rows)
        self.form = "csv"
        self.order: list[str] | None = None  # of the categories of k
        self.columns: tuple[str, ...] = ()
        self.models: dict[str, dict[str, Any]] = {"plain": PLAIN}
        self.blocks, self.level, self.correction, self.worst, self.by = 2, 0.95, "fdr_bh", 1, "outliers"
        self.groups: list[str] = []
        self.write_file()

    # The file and the settings.

    def write_file(self) -> None:
        """Often so that the times of the files stay the same."""
        file = self.folder / ("firms.parquet" if self.form == "parquet" else "firms.csv")
        before = file.stat() if file.exists() else None
        if self.form == "parquet":
            frame = self.frame
            if self.order is not None:
                order = [*self.order, *sorted({*frame["k"].dropna()} - {*self.order})]
                frame = frame.assign(k=pd.Categorical(frame["k"], categories=order))
            frame.to_parquet(file)
        else:
            marks: Any = {"sep": ";", "decimal": ","} if self.form == "semicolon" else {}
            self.frame.to_csv(file, index=False, **marks)
        if self.form == "csvimport":  # which exax alone can read
            numbers = self.frame[self.names_of_numbers()].astype(float)
            texts = self.frame.drop(columns=numbers.columns)
            pd.concat([numbers, texts.astype(str).where(texts.notna(), None)], axis=1).to_parquet(
                self.folder / TWIN
            )
        if before is not None and self.rng.random() < 0.5:
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.write_settings()

    def write_settings(self) -> None:
        lines = ['name = "firms"', "[input]"]
        lines += [f'format = "{"csv" if self.form == "semicolon" else self.form}"']
        lines += [f'file = "firms.{"parquet" if self.form == "parquet" else "csv"}"']
        if self.form == "semicolon":
            lines += ['separator = ";"', 'decimal = ","']
        if self.form == "csvimport":
            numbers = self.names_of_numbers()
            texts = [name for name in self.frame.columns if name not in numbers]
            lines += [f"numbers = {json.dumps(numbers)}", f"texts = {json.dumps(texts)}"]
        elif self.columns:
            lines += [f"columns = {json.dumps([*self.columns])}"]
        lines += ["[groups]", 'by = ["firm"]', f"blocks = {self.blocks}"]
        for name, model in self.models.items():
            lines += [f"[models.{name}]", *(f"{each} = {json.dumps(value)}" for each, value in model.items())]
        lines += ["[inference]", f"level = {self.level}", f'correction = "{self.correction}"']
        lines += ["[diagnostics]", f"worst = {self.worst}", f'worst_by = "{self.by}"']
        lines += [f"groups = {json.dumps(self.groups)}"]
        (self.folder / "panel.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def names_of_numbers(self) -> list[str]:
        types = self.frame.dtypes
        return [name for name in self.frame.columns if types[name].kind in "iuf"]

    def row(self) -> Any:
        return self.rng.choice(list(self.frame.index))

    def firm(self) -> str:
        return self.rng.choice(sorted({*self.frame["firm"].dropna()}))

    # Edits of rows.

    def change_value(self) -> None:
        self.frame.loc[self.row(), self.rng.choice(["x", "y", "w"])] = round(self.rng.uniform(0.5, 1.5), 3)

    def lose_value(self) -> None:
        self.frame.loc[self.row(), self.rng.choice(["x", "y", "w"])] = np.nan

    def change_texts(self) -> None:
        rows = self.frame.index[self.frame["firm"] == self.firm()]
        some = self.rng.sample(list(rows), min(self.rng.choice([1, 4, 14]), len(rows)))
        self.frame.loc[some, "k"] = self.rng.choice([*TEXTS, None])

    def rename_text(self) -> None:
        known = sorted({*self.frame["k"].dropna()})
        self.frame["k"] = self.frame["k"].replace({self.rng.choice(known): self.rng.choice(TEXTS)})

    def swap_values(self) -> None:
        one, two = self.row(), self.row()
        self.frame.loc[[one, two], "y"] = self.frame.loc[[two, one], "y"].to_numpy()

    def move_row(self) -> None:
        self.frame.loc[self.row(), "firm"] = self.rng.choice([self.firm(), "A0", None])

    def add_row(self) -> None:
        self.frame = pd.concat([self.frame, self.frame.loc[[self.row()]]], ignore_index=True)

    def drop_row(self) -> None:
        self.frame = self.frame.drop(self.row()).reset_index(drop=True)

    def add_group(self) -> None:
        more = self.frame[self.frame["firm"] == self.firm()].assign(firm=self.rng.choice(["A1", "G5", "Z9"]))
        more["k"] = more["k"].replace({"a": self.rng.choice(TEXTS)})
        self.frame = pd.concat([self.frame, more], ignore_index=True)

    def drop_group(self) -> None:
        if self.frame["firm"].nunique() > 4:
            self.frame = self.frame[self.frame["firm"] != self.firm()].reset_index(drop=True)

    def rename_group(self) -> None:
        self.frame["firm"] = self.frame["firm"].replace({self.firm(): self.rng.choice(["A2", "R3"])})

    def shuffle(self) -> None:
        order = self.rng.sample(list(self.frame.index), len(self.frame))
        self.frame = self.frame.loc[order].reset_index(drop=True)

    def sort(self) -> None:
        up = self.rng.random() < 0.5
        self.frame = self.frame.sort_values("firm", kind="stable", ascending=up, ignore_index=True)

    # Edits of columns.

    def move_columns(self) -> None:
        self.frame = self.frame[self.rng.sample(list(self.frame.columns), len(self.frame.columns))]

    def add_column(self) -> None:
        """Also one that has the name of what formulas call."""
        name = self.rng.choice(["extra", "aside", "np", "C", "scale"])
        self.frame[name] = self.numbers.integers(0, 3, len(self.frame))

    def drop_column(self) -> None:
        self.frame = self.frame.drop(columns=[name for name in self.frame.columns if name not in COLUMNS][:1])

    def swap_columns(self) -> None:
        self.frame = self.frame.rename(columns={"x": "w", "w": "x"})

    def retype_column(self) -> None:
        name, kinds = self.rng.choice([("year", ["int64", "float64", "str"]), ("b", ["bool", "int64"])])
        retyped: Any = self.frame[name].astype(self.rng.choice(kinds))  # type: ignore[call-overload]
        self.frame[name] = retyped

    def change_format(self) -> None:
        self.form = self.rng.choice([each for each in FORMATS if each != self.form])

    def order_categories(self) -> None:
        self.form = "parquet"
        self.order = self.rng.choice([None, ["c", "b", "a"], ["a", "unused", "b", "c"]])

    # Edits of settings.

    def change_model(self) -> None:
        rng, formula = self.rng, self.rng.choice(FORMULAS)
        ols = {"model": "ols", "formula": formula}
        clusters = rng.choice(["s", "k", "year"])
        self.models[rng.choice(["plain", "other"])] = rng.choice(
            [
                {**ols, "covariance": rng.choice(["nonrobust", "HC0", "HC3"])},
                {**ols, "covariance": "cluster", "clusters": clusters},
                {**ols, "missing": "raise"},
                {**ols, "formula": "~ x + k", "outcomes": rng.choice([["y"], ["y", "w"], ["w", "y"]])},
                {"model": "wls", "formula": formula, "weights": rng.choice(["w", "x"])},
                {"model": "rlm", "formula": formula},
                {"model": "logit", "formula": "b ~ x + k"},
                {"model": "quantreg", "formula": formula, "quantile": rng.choice([0.3, 0.5])},
            ]
        )

    def drop_model(self) -> None:
        if len(self.models) > 1:
            self.models.pop(self.rng.choice(list(self.models)))

    def change_setting(self) -> None:
        self.blocks, self.level = self.rng.choice([1, 2, 3, 5]), self.rng.choice([0.9, 0.95])
        self.correction = self.rng.choice(["none", "holm", "fdr_bh"])

    def change_pages(self) -> None:
        self.worst = self.rng.choice([0, 1, 3])
        self.by = self.rng.choice(["outliers", "leverage", "fit", "influence", "normality"])
        self.groups = self.rng.choice([[], ["F1"], ["F1", "F2"]])

    def change_columns(self) -> None:
        self.columns = self.rng.choice([(), COLUMNS])

    # What is checked.

    @contextmanager
    def clean_folder(self) -> Iterator[Path]:
        """The same each time, as what is compiled is known by its path."""
        clean = self.folder / "cold"
        shutil.rmtree(clean / "workdirs", ignore_errors=True)
        for name in self.inputs:
            (clean / name).unlink(missing_ok=True)
        clean.mkdir(exist_ok=True)
        yield clean

    def expected(self) -> Found | None:
        if self.form != "csvimport":
            return super().expected()
        settings = (self.folder / "panel.toml").read_text(encoding="utf-8")
        lines = [each for each in settings.splitlines() if not each.startswith(("numbers", "texts", "file"))]
        text = "\n".join(lines).replace('"csvimport"', f'"parquet"\nfile = "{TWIN}"')
        (self.folder / "panel.toml").write_text(text, encoding="utf-8")
        try:
            return super().expected()
        finally:
            (self.folder / "panel.toml").write_text(settings, encoding="utf-8")

    def comparable(self, found: Found) -> Found:
        """What hangs neither on what brought the rows in, nor on names of jobs."""
        return {
            name: content
            for name, content in found.items()
            if name[0] not in IMPORTS and (name[0] != "panel_report" or name[-1] in OF_A_REPORT)
        }

    def planned(self) -> list[list[str]] | None:
        """Stage, partition and what is said of each job; None if there is no plan."""
        done = self.shell(sys.executable, "-c", PLANNED)
        return None if done.returncode else json.loads(done.stdout.splitlines()[-1])


OFTEN = {
    **dict.fromkeys(["change_number", "change_texts", "change_value"], 4),
    **dict.fromkeys(["add_column", "change_format", "move_row", "put_back"], 3),
    **dict.fromkeys(["add_group", "change_pages", "change_setting", "damage_job", "drop_column"], 2),
    **dict.fromkeys(["move_columns", "retype_column"], 2),
    "change_model": 6,
}
ONCE = (
    *("add_row", "change_columns", "drop_group", "drop_model", "drop_row", "lose_value", "order_categories"),
    *("remark", "rename_group", "rename_text", "shuffle", "sort", "swap_columns", "swap_values", "touch"),
)
WEIGHTS = {**OFTEN, **dict.fromkeys(ONCE, 1)}


def test_random_edits_of_a_panel() -> None:
    print(f"SEED={SEED}")
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        project = PanelProject(Path(folder), rng)
        assert is_right(project)
        for _ in range(RUNS):
            edits = rng.choices([*WEIGHTS], [*WEIGHTS.values()], k=rng.choice([1, 1, 1, 2, 4]))
            for name in edits:
                getattr(project, name)()
            project.write_file()
            print(*edits, flush=True)
            if rng.random() < 0.15:
                print("ended on the way by", project.kill(), flush=True)
            if not is_right(project):
                project.put_all_back()
                assert is_right(project)
    print(f"{RUNS} runs")


def is_right(project: PanelProject) -> bool:
    """True if a run leaves what it must, and builds what its plan said; false if it fails, as it must."""
    engine = project.rng.choice(["slices", "slices", "slices", "joblib", "dask"])
    slices = project.rng.choice("123")
    planned = project.planned()
    if not project.is_right(engine, SHORTLOOP_SLICES=slices):
        return False
    jobs = project.jobs()
    assert planned is not None
    told = [(plan, fresh) for (*_, plan), (*_, fresh) in zip(planned, jobs, strict=True)]
    assert not [said for said in told if said in (("reuse", True), ("build", False))], planned
    print(f"{engine} {slices}: {sum(fresh for *_, fresh in jobs)} of {len(jobs)} built", flush=True)
    return True
