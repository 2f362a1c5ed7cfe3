"""Tables as text: what is written is read back."""

from __future__ import annotations

import csv
import io
import math

import pytest

from shortloop.report.page import csv_text


def test_cells_are_read_back() -> None:
    rows = [("a,b", 0.1 + 0.2, 3, None), ('say "x"', math.nan, True, "1\n2")]
    text = csv_text(["name", "value (V)", "n", "note"], rows)
    head, *found = csv.reader(io.StringIO(text))
    assert head == ["name", "value (V)", "n", "note"]
    assert found == [["a,b", "0.30000000000000004", "3", ""], ['say "x"', "", "yes", r"1\n2"]]


def test_rows_have_the_cells_of_the_table() -> None:
    with pytest.raises(ValueError, match="1 cells in a table of 2 columns"):
        csv_text(["a", "b"], [(1,)])
