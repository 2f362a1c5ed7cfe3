"""`shortloop init --data` says which columns a table has, and writes a panel file for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import shortloop

from shortloop.errors import InputError
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
    assert done.returncode == 0, done.stderr
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
