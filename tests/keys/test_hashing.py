"""Hashes of files are BLAKE3, in whatever pieces they are read, and leave the other cores to others."""

from __future__ import annotations

import random
import sys
import threading
import time
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shortloop.keys.hashing import CHUNK, hash_file, hash_files

OFFICIAL = {
    0: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
    1: "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
    1023: "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11",
    1024: "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
    1025: "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
    2049: "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030",
    31744: "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47",
    102400: "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085",
}
"""Of bytes that count to 250 over and over, by their number: from the test vectors of BLAKE3's authors."""
LARGE = random.Random(0).randbytes(2 * CHUNK + 1025)


@pytest.mark.parametrize("size", OFFICIAL)
def test_hashes_are_those_of_the_authors(size: int, tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes((bytes(range(251)) * (size // 251 + 1))[:size])
    assert hash_file(file) == OFFICIAL[size]
    assert dict(hash_files({file: size})) == {file: OFFICIAL[size]}


@pytest.mark.parametrize("size", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, len(LARGE)])
def test_files_that_are_read_in_pieces_have_the_hash_of_the_whole(size: int, tmp_path: Path) -> None:
    file, read = tmp_path / "data", list[int]()
    file.write_bytes(LARGE[:size])
    assert hash_file(file, read.append) == blake3(LARGE[:size]).hexdigest()
    assert sum(read) == size


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    bit=st.integers(0, 8 * len(LARGE) - 1)
    | st.sampled_from([0, 8 * CHUNK - 1, 8 * CHUNK, 8 * len(LARGE) - 1])
)
def test_any_bit_of_a_large_file_counts(bit: int, tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(LARGE)
    before = hash_file(file)
    with file.open("r+b") as stream:
        stream.seek(bit // 8)
        stream.write(bytes([LARGE[bit // 8] ^ 1 << bit % 8]))
    assert hash_file(file) != before


def test_hashing_takes_one_core(tmp_path: Path) -> None:
    """All others compute."""
    data = bytes(300_000_000)
    own, all_ = time.thread_time(), time.process_time()
    blake3(data).hexdigest()
    own, all_ = time.thread_time() - own, time.process_time() - all_
    assert all_ - own < 0.1 * own


def test_other_threads_go_on_while_a_file_is_hashed() -> None:
    data, turns, over = bytes(100_000_000), [0], threading.Event()

    def count() -> None:
        while not over.is_set():
            turns[0] += 1
            time.sleep(0)

    def turns_meanwhile() -> int:
        before = turns[0]
        hashed.update(data)
        return turns[0] - before

    other, hashed, interval = threading.Thread(target=count), blake3(), sys.getswitchinterval()
    sys.setswitchinterval(1000)  # a thread goes on only if another one lets it
    try:
        other.start()
        assert any(turns_meanwhile() for _ in range(50))
    finally:
        sys.setswitchinterval(interval)
        over.set()
        other.join()
