"""Quantities in words, and words read as quantities; tables that a pipe can read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortloop.base.errors import InputError
from shortloop.base.text import duration
from shortloop.cli.output import amount, parse_age, parse_size, print_table


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (34_000, "34 KB"), (999_900, "1.0 MB"), (2.5e13, "25 TB")],
)
def test_amounts(size: float, text: str) -> None:
    assert amount(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (42.4, "42 s"),
        (99.4, "99 s"),
        (100, "2 min"),
        (7200, "2.0 h"),
        (30 * 86_400, "30 d"),
        (-1, "-1 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(st.integers(0, 10**14))
def test_a_printed_amount_is_read_back(size: int) -> None:
    assert parse_size(amount(size)) == pytest.approx(size, rel=0.06)


def test_sizes_and_ages_are_read() -> None:
    assert parse_size("20GB") == parse_size(" 20 gb ") == 20_000_000_000
    assert parse_size("1.5MB") == 1_500_000
    assert (parse_age("12h"), parse_age("30d"), parse_age("2w")) == (43_200, 2_592_000, 1_209_600)


@pytest.mark.parametrize("text", ["", "20", "GB", "20 XB", "-1GB", "1,5GB", "nan GB"])
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(InputError, match="20GB") as caught:
        parse_size(text)
    assert caught.value.found == text


def test_what_is_no_age_is_named() -> None:
    with pytest.raises(InputError, match="30d"):
        parse_age("30 years")


def test_a_table_in_a_pipe_keeps_every_row_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "n"), [("[red]a", "1"), ("b" * 300, "10")], right=("n",))
    assert capsys.readouterr().out.splitlines() == [
        f"name{' ' * 296}   n",
        f"[red]a{' ' * 294}   1",
        f"{'b' * 300}  10",
    ]
