"""Databases that are open elsewhere: what they hold is not all in their file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from shortloop.base.errors import InputError
from shortloop.store.inputs import content_of


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "accelerator.conf").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "my data.sqlite"


def opened(file: Path, mode: str) -> sqlite3.Connection:
    found = sqlite3.connect(file)
    found.execute(f"pragma journal_mode = {mode}")
    found.execute("create table numbers (x)")
    found.commit()
    return found


def test_rows_in_the_log_of_sqlite(database: Path) -> None:
    writer = opened(database, "wal")
    writer.execute("insert into numbers values (1)")
    writer.commit()
    with pytest.raises(InputError, match="changes that are not in its file") as raised:
        content_of([database])
    assert raised.value.file == str(database)
    assert "my data.sqlite-wal" in str(raised.value)
    writer.close()  # as the hint says
    before = content_of([database])
    again = sqlite3.connect(database)  # one that only reads is in nobody's way
    assert again.execute("select x from numbers").fetchall() == [(1,)]
    assert content_of([database]) == before
    again.close()


@pytest.mark.parametrize("mode", ["delete", "persist", "truncate"])
def test_a_change_that_is_not_committed(database: Path, mode: str) -> None:
    writer = opened(database, mode)
    content_of([database])  # what is left of a journal is none
    writer.execute("pragma cache_size = 1")
    writer.execute("pragma cache_spill = 1")
    writer.executemany("insert into numbers values (?)", [("x" * 1000,)] * 1000)  # some of it is written
    with pytest.raises(InputError, match="changes that are not in its file"):
        content_of([database])
    writer.rollback()
    content_of([database])
    writer.close()


def test_rows_in_the_log_of_duckdb(database: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    file = database.with_suffix(".duckdb")
    writer = duckdb.connect(str(file))
    writer.execute("create table numbers as select 1 as x")
    writer.execute("checkpoint")
    content_of([file])
    writer.execute("insert into numbers values (2)")
    with pytest.raises(InputError, match="changes that are not in its file"):
        content_of([file])
    writer.close()
    content_of([file])


def test_names_alone_say_nothing(database: Path) -> None:
    database.write_bytes(b"no database")
    database.with_name(f"{database.name}-wal").write_bytes(b"of somebody else")
    content_of([database])


def test_a_folder_is_no_database(database: Path) -> None:
    database.mkdir()
    database.with_name(f"{database.name}-wal").write_bytes(b"of somebody else")
    with pytest.raises(InputError, match="Is a directory"):
        content_of([database])
