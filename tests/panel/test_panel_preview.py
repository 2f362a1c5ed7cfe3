"""`shortloop init --data` says which columns a table has, and writes a panel file for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import first_cases
from command_line import shortloop
from panel_real import real_table

from shortloop.base.errors import InputError
from shortloop.panel.frame import fit_frame
from shortloop.panel.panel_file import open_panel
from shortloop.panel.pipeline import DEFAULT_PANEL
from shortloop.panel.preview import look
from shortloop.panel.settings import Panel
from shortloop.settings.read import read_settings

MODELS = {"good": "y ~ x + C(k)", "lacks": "y ~ nosuch", "parts": "y ~ x | g | k", "texts": "y ~ I(k - 1)"}
SAID = {"lacks": "nosuch", "parts": "several parts", "texts": "cannot be computed", "large": "digits"}


def written(folder: Path, models: dict[str, str], kind: str = "csv", by: str = "g") -> Path:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"g": np.repeat([1, 2], 20), "x": rng.standard_normal(40), "k": list("ab") * 20})
    rows["y"], rows["large"] = rows["x"] + rng.standard_normal(40), 2**53 + 1 + np.arange(40)
    rows.to_csv(folder / "rows.csv", index=False)
    columns = 'numbers = ["x", "y", "large"]\ntexts = ["g", "k"]\n' if kind == "csvimport" else ""
    lines = [f'name = "p"\n[input]\nformat = "{kind}"\nfile = "rows.csv"\n{columns}[groups]\nby = ["{by}"]\n']
    lines += [f'[models.{name}]\nmodel = "ols"\nformula = "{each}"\n' for name, each in models.items()]
    file = folder / "panel.toml"
    file.write_text("".join(lines), encoding="utf-8")
    return file


@pytest.mark.parametrize("kind", ["csv", "csvimport"])
def test_every_formula_is_checked(tmp_path: Path, kind: str) -> None:
    models = MODELS | ({"large": "y ~ large"} if kind == "csv" else {})
    file = written(tmp_path, models, kind)
    opened = open_panel(file, lambda *_: None)
    wrong = [name for name in models if name in SAID and not (name == "texts" and kind == "csvimport")]
    assert [str(each.field) for each in opened.problems] == [f"models.{name}.formula" for name in wrong]
    for name, problem in zip(wrong, opened.problems, strict=True):
        assert SAID[name] in problem.message
        assert str(file) in problem.message
    assert ("40 rows in 2 groups" in opened.said) == (kind == "csv")


def test_rows_that_cannot_be_read_and_those_that_are_fine(tmp_path: Path) -> None:
    (problem,) = open_panel(written(tmp_path, MODELS, by="firm"), lambda *_: None).problems
    assert "firm" in problem.message
    file = written(tmp_path, {"good": MODELS["good"]})
    assert not open_panel(file, lambda *_: None).problems
    (tmp_path / "rows.csv").unlink()
    (problem,) = open_panel(file, lambda *_: None).problems
    assert "rows.csv" in problem.message
    assert "simulated" in open_panel(DEFAULT_PANEL, lambda *_: None).said


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "firm": np.repeat([f"F{number:02}" for number in range(20)], 10),
            "year": np.tile(np.arange(2000, 2010), 20),
            "invest": rng.standard_normal(200),
            "value": rng.standard_normal(200),
        }
    )


@first_cases(2, "name", ["rows.csv.gz", "rows.parquet", "rows.csv", "rows.tsv"])
def test_a_panel_file_that_lacks_the_formula_alone(tmp_path: Path, rows: pd.DataFrame, name: str) -> None:
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / name
    if name.endswith("parquet"):
        rows.to_parquet(file)
    else:
        rows.to_csv(file, index=False, sep="\t" if "tsv" in name else ",")
    done = shortloop(tmp_path, "init", "my-panel", "--data", "data")
    assert done.returncode == 3, done.stderr  # a question is left
    assert "200 rows of 4 columns" in done.stdout
    assert "firm: 20 texts" in done.stdout
    settings = tmp_path / "my-panel/panel.toml"
    line = int(done.stdout.split("Line ")[1].split()[0])
    lines = settings.read_text(encoding="utf-8").splitlines()
    with pytest.raises(InputError):
        read_settings(settings, Panel, noun="panel", variable="STUDY")
    lines[line - 1] = 'formula = "invest ~ value"'
    settings.write_text("\n".join(lines), encoding="utf-8")
    panel = read_settings(settings, Panel, noun="panel", variable="STUDY")
    assert panel.groups.by == ("firm",)
    assert 'by = ["firm"]  # 20 groups of 10 rows; others that could be: year' in lines
    found = panel.input.read((settings.parent / panel.input.file).resolve())  # type: ignore[attr-defined]
    assert len(found) == 200


def test_what_is_no_single_table_or_has_no_groups(tmp_path: Path, rows: pd.DataFrame) -> None:
    assert look(tmp_path, tmp_path / "new") is None
    rows.to_csv(tmp_path / "a.csv")
    (tmp_path / "sub-01").mkdir()  # of something larger, such as participants.tsv
    assert look(tmp_path, tmp_path / "new") is None
    (tmp_path / "sub-01").rmdir()
    rows.to_csv(tmp_path / "b.csv")
    assert look(tmp_path, tmp_path / "new") is None
    rows[["invest", "value"]].to_csv(tmp_path / "a.csv", index=False)
    found = look(tmp_path / "a.csv", tmp_path / "new")
    assert found is not None
    assert any("Which columns make groups?" in question for question in found.questions)


@pytest.mark.parametrize(
    ("source", "by"),
    [
        ("statsmodels.datasets.grunfeld", "firm"),
        ("statsmodels.datasets.modechoice", "individual"),
        ("statsmodels.datasets.fair", ""),  # nothing but ratings
        ("statsmodels.datasets.randhie", ""),
        ("statsmodels.datasets.macrodata", ""),  # years and quarters alone
        ("linearmodels.datasets.wage_panel", "nr"),
        ("linearmodels.datasets.jobtraining", "fcode"),
        ("linearmodels.datasets.munnell", "STATE"),
        ("linearmodels.datasets.mroz", ""),  # whether it is a city
        ("linearmodels.datasets.wage", ""),
    ],
)
def test_the_column_that_makes_groups_in_real_tables(tmp_path: Path, source: str, by: str) -> None:
    real_table(source).to_csv(tmp_path / "a.csv", index=False)
    found = look(tmp_path / "a.csv", tmp_path / "new")
    assert found is not None
    assert f"by = [{json.dumps(by) if by else ''}]  # " in found.settings
    asked = [question for question in found.questions if "Which columns make groups?" in question]
    assert len(asked) == (not by)


@pytest.mark.parametrize("name", ["firm_id", "firmID", "Firm.Id", "x"])
def test_codes_that_are_floats_as_some_are_missing(tmp_path: Path, rows: pd.DataFrame, name: str) -> None:
    """By its name, or as each is there once a year."""
    codes = (rows.pop("firm").str[1:].astype(float) + 1).where(rows.index != 3)
    rows[name], rows["kids"] = codes, np.resize([0.0, 1.0, 2.0, 3.0, np.nan], 200)
    rows.to_csv(tmp_path / "a.csv", index=False)
    found = look(tmp_path / "a.csv", tmp_path / "new")
    assert found is not None
    right = f'by = ["{name}"]  # 20 groups of 9.95 rows; others that could be: kids, year'
    assert right in found.settings
    assert 'formula = "invest ~ value"' in found.settings


def test_a_table_as_it_is_written_elsewhere(tmp_path: Path, rows: pd.DataFrame) -> None:
    rows = rows.rename(columns={"invest": "net invest", "value": "größe.m"}).assign(firm="Ü" + rows["firm"])
    (tmp_path / "a.csv").write_text(rows.to_csv(index=False, sep=";", decimal=","), encoding="cp1252")
    done = shortloop(tmp_path, "init", "my-panel", "--data", "a.csv")
    assert done.returncode == 3, done.stderr
    assert 'formula = "`net invest` ~ `größe.m`"' in done.stdout
    settings = tmp_path / "my-panel/panel.toml"
    settings.write_text(
        settings.read_text(encoding="utf-8").replace("# formula", "formula"), encoding="utf-8"
    )
    panel = read_settings(settings, Panel, noun="panel", variable="STUDY")
    found = panel.input.read(tmp_path / "a.csv")  # type: ignore[attr-defined]
    pd.testing.assert_frame_equal(found, rows, check_dtype=False)
    fits = fit_frame(found, ["firm"], model="ols", formula=panel.models["plain"].formula)
    assert fits.names == ("Intercept", "größe.m")
    assert (fits.arrays["path"] == 0).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": lambda d: d["value"].map("{:.1f}%".format)}, "value: read as text, although all values"),
        ({"value": lambda d: d["value"].map(str).where(d["value"] > -1, "n/a")}, "but not 'n/a'"),
        ({"firm": lambda d: d["firm"].replace("F01", "F02 ")}, "firm: 'F02 ' and 'F02' look the same"),
        (None, "the first line should hold column names"),
    ],
)
def test_what_is_ambiguous_is_asked(tmp_path: Path, rows: pd.DataFrame, change: Any, said: str) -> None:
    rows.assign(**change or {}).to_csv(tmp_path / "a.csv", index=False, header=change is not None)
    found = look(tmp_path / "a.csv", tmp_path / "new")
    assert found is not None
    assert [said in line for line in found.lines].count(True) == 1


def test_of_several_the_one_with_the_most_groups(tmp_path: Path, rows: pd.DataFrame) -> None:
    firms = rows["firm"].str[1:].astype(int)
    rows = rows.assign(
        industry=firms.map(lambda firm: "ABCD"[firm % 4]),
        sex=firms.map(lambda firm: "mf"[firm % 2]),
        region=firms.map(lambda firm: "NSW"[firm % 3]),
    )
    rows.to_csv(tmp_path / "a.csv", index=False)
    found = look(tmp_path / "a.csv", tmp_path / "new")
    assert found is not None
    assert 'by = ["firm"]  # 20 groups of 10 rows; others that could be: region, industry, sex, year' in (
        found.settings
    )
