"""What was computed early outlives the run, whole or not at all."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortloop.engines.spool import Spool, clear_old

Given = list[tuple[list[bytes], bytes]]
units = st.lists(st.binary(max_size=16), max_size=5)
batches = st.lists(st.tuples(units, st.binary(max_size=200)), max_size=6)


def filled(file: Path, given: Given) -> Spool:
    spool = Spool(file)
    for units, data in given:
        spool.add(units, data)
    return spool


def read(spool: Spool) -> Given:
    return [tuple(spool.read(number)) for number in range(len(spool))]  # type: ignore[misc]


@given(batches, batches)
def test_what_is_added_is_read_also_by_the_next_run(
    tmp_path_factory: pytest.TempPathFactory,
    first: Given,
    then: Given,
) -> None:
    file = tmp_path_factory.mktemp("spool") / "job"
    assert read(filled(file, first)) == first
    again = filled(file, then)
    assert read(again) == [*first, *then]
    assert again.units() == {unit for units, _ in [*first, *then] for unit in units}
    assert again.size == (file.stat().st_size if file.exists() else 0)
    again.close()
    assert not file.exists()


@given(batches.filter(bool), st.data())
def test_nothing_damaged_is_read(
    tmp_path_factory: pytest.TempPathFactory, given: Given, data: st.DataObject
) -> None:
    """Cut off anywhere, or with one byte that is another: what was before it is read, and goes on."""
    file = tmp_path_factory.mktemp("spool") / "job"
    filled(file, given)
    whole = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        del whole[place:]
    else:
        whole[place] ^= 1 << data.draw(st.integers(0, 7))
    file.write_bytes(whole)
    spool = Spool(file)
    found = read(spool)
    assert len(found) < len(given)
    assert found == given[: len(found)]
    spool.add([b"7"], b"more")
    assert read(Spool(file)) == [*found, ([b"7"], b"more")]


@pytest.mark.parametrize("byte", range(16))
def test_sizes_that_no_memory_has_room_for(tmp_path: Path, byte: int) -> None:
    file = tmp_path / "job"
    filled(file, [([b"1"], b"x")])
    whole = bytearray(file.read_bytes())
    whole[byte] ^= 0x7F
    file.write_bytes(whole)
    assert read(Spool(file)) == []


def test_old_ones_are_deleted(tmp_path: Path) -> None:
    for name, days in {"new": 0, "old": 8}.items():
        filled(tmp_path / name, [([b"1"], b"x")])
        os.utime(tmp_path / name, (time.time() - 86400 * days,) * 2)
    clear_old(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["new"]
    clear_old(tmp_path, all_of_them=True)
    assert not [*tmp_path.iterdir()]
