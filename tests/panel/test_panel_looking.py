"""`shortloop init --data` says which columns a table has, and writes a panel file for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import shortloop

from shortloop.errors import InputError
from shortloop.panel.frame import fit_frame
from shortloop.panel.looking import look
from shortloop.panel.settings import Panel
from shortloop.settings.read import read_settings


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


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.csv.gz", "rows.parquet"])
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
    found = panel.input.read((settings.parent / panel.input.file).resolve())  # type: ignore[union-attr]
    assert len(found) == 200


def test_what_is_no_single_table(tmp_path: Path, rows: pd.DataFrame) -> None:
    assert look(tmp_path, tmp_path / "new") is None
    rows.to_csv(tmp_path / "a.csv")
    (tmp_path / "sub-01").mkdir()  # of something larger, such as participants.tsv
    assert look(tmp_path, tmp_path / "new") is None
    (tmp_path / "sub-01").rmdir()
    rows.to_csv(tmp_path / "b.csv")
    assert look(tmp_path, tmp_path / "new") is None


def test_a_table_without_groups(tmp_path: Path, rows: pd.DataFrame) -> None:
    rows[["invest", "value"]].to_csv(tmp_path / "a.csv", index=False)
    found = look(tmp_path / "a.csv", tmp_path / "new")
    assert found is not None
    assert any("Which columns make groups?" in question for question in found.questions)


def test_a_table_as_it_is_written_elsewhere(tmp_path: Path, rows: pd.DataFrame) -> None:
    rows = rows.rename(columns={"invest": "net invest", "value": "größe.m"}).assign(firm="Ü" + rows["firm"])
    text = rows.to_csv(index=False, sep=";", decimal=",")
    (tmp_path / "a.csv").write_text(text, encoding="cp1252")
    done = shortloop(tmp_path, "init", "my-panel", "--data", "a.csv")
    assert done.returncode == 3, done.stderr
    assert 'formula = "`net invest` ~ `größe.m`"' in done.stdout
    settings = tmp_path / "my-panel/panel.toml"
    settings.write_text(
        settings.read_text(encoding="utf-8").replace("# formula", "formula"), encoding="utf-8"
    )
    panel = read_settings(settings, Panel, noun="panel", variable="STUDY")
    found = panel.input.read(tmp_path / "a.csv")  # type: ignore[union-attr]
    pd.testing.assert_frame_equal(found, rows, check_dtype=False)
    fits = fit_frame(found, ["firm"], model="ols", formula=panel.models["plain"].formula)
    assert fits.names == ("Intercept", "größe.m")
    assert (fits.arrays["path"] == 0).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": lambda d: d["value"].map("{:.1f}%".format)}, "value: taken as texts, and all of them"),
        ({"value": lambda d: d["value"].map(str).where(d["value"] > -1, "n/a")}, "but not 'n/a'"),
        ({"firm": lambda d: d["firm"].replace("F01", "F02 ")}, "firm: 'F02 ' and 'F02' look the same"),
    ],
)
def test_what_may_be_meant_otherwise_is_asked(
    tmp_path: Path, rows: pd.DataFrame, change: Any, said: str
) -> None:
    rows.assign(**change).to_csv(tmp_path / "a.csv", index=False)
    found = look(tmp_path / "a.csv", tmp_path / "new")
    assert found is not None
    assert [said in line for line in found.lines].count(True) == 1


def test_a_table_without_a_line_of_names(tmp_path: Path, rows: pd.DataFrame) -> None:
    rows.to_csv(tmp_path / "a.csv", index=False, header=False)
    found = look(tmp_path / "a.csv", tmp_path / "new")
    assert found is not None
    assert "the first line has names of columns" in found.lines[-1]
