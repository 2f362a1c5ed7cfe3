"""What a node was sent is whole or not there, is kept once for all of its workers, and is removed when it is
too much; names cannot lead out of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st
from source_tree import ROOT

from shortloop.units import node_cache, process_ends
from shortloop.units.node_cache import (
    FOLDER_VARIABLE,
    LIMIT_VARIABLE,
    Files,
    Mirror,
    NodeCache,
    Piece,
    folder_of_node,
    limit_of_node,
)

SENDER = "aa"


@pytest.fixture
def cache(tmp_path: Path) -> NodeCache:
    return NodeCache(tmp_path / "cache", 1e9)


def hash_of(data: bytes) -> str:
    return blake3(data).hexdigest()


def put(cache: NodeCache, *contents: bytes, size: int = 10) -> list[str]:
    """Send contents, a few bytes at a time."""
    for data in contents:
        for start in range(0, max(len(data), 1), size):
            piece = Piece(hash_of(data), len(data), start, data[start : start + size])
            assert cache.put([piece], SENDER) == ""
    return [hash_of(data) for data in contents]


def mirror(cache: NodeCache, files: Files) -> Mirror:
    made = cache.mirror(files)
    assert made is not None
    return made


def place_of(cache: NodeCache, content: str) -> Path:
    return cache._folder / "contents" / content[:2] / content


def test_what_was_sent_is_there(cache: NodeCache) -> None:
    contents = [b"", b"one", b"more than ten bytes" * 7]
    sizes = {hash_of(data): len(data) for data in contents}
    assert cache.lacking(sizes) == [*sizes]
    assert put(cache, *contents) == [*sizes]
    assert cache.lacking(sizes) == []
    assert [cache.read(each) for each in sizes] == contents
    assert [place_of(cache, each).stat().st_size for each in sizes] == [*sizes.values()]


@pytest.mark.parametrize(
    "damage", ["cut short", "changed", "grown", "gone", "changed while the machine was off"]
)
def test_damage_is_seen_and_mended(cache: NodeCache, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"x" * 100
    (content,) = put(cache, data)
    files: Files = {"in/a": (content, len(data))}
    before = mirror(cache, files)
    place, state = place_of(cache, content), place_of(cache, content).stat()
    place.chmod(0o600)
    if damage == "gone":
        place.unlink()
    elif damage == "grown":
        place.write_bytes(data + b"x")
    else:
        place.write_bytes(data[:50] if damage == "cut short" else b"x" * 50 + b"y" * 50)
    if damage.startswith("changed while"):
        os.utime(place, ns=(state.st_atime_ns, state.st_mtime_ns))
        monkeypatch.setattr(process_ends, "BOOT", place)  # another start of the machine
    assert cache.lacking({content: len(data)}) == [content]
    assert cache.mirror(files) is None or damage == "gone"
    put(cache, data)
    after = mirror(cache, files)
    assert after.folder == before.folder
    assert (after.folder / "in/a").read_bytes() == data


def test_what_comes_again_changes_no_mirror_in_use(cache: NodeCache) -> None:
    contents = put(cache, b"one", b"two")
    files: Files = {"in/a": (contents[0], 3), "in/b/c": (contents[1], 3)}
    made = mirror(cache, files)
    before = (made.folder / "in/a").stat().st_ino, made.folder.stat().st_ino
    put(cache, b"one")
    again = mirror(cache, files)
    assert ((made.folder / "in/a").stat().st_ino, again.folder.stat().st_ino) == before
    assert [*(cache._folder / "parts").iterdir()] == []
    shutil.rmtree(made.folder / "in/b")  # one that was damaged is made again
    again = mirror(cache, files)
    assert (again.folder / "in/b/c").read_bytes() == b"two"


def test_machines_that_share_a_home_share_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caches = []
    for name in ("a", "b/../c", "a"):
        monkeypatch.setattr(os, "uname", lambda name=name: SimpleNamespace(nodename=name))
        caches.append(NodeCache(tmp_path / "home", 1e9))
    (content,) = put(caches[0], b"one")
    assert [each.lacking({content: 3}) for each in caches] == [[], [content], []]
    assert len({each.name for each in caches}) == 2
    assert len([*(tmp_path / "home").iterdir()]) == 2


def test_what_came_damaged_or_not_whole_is_not_kept(cache: NodeCache) -> None:
    assert cache.put([Piece(hash_of(b"right"), 5, 0, b"wrong")], SENDER).endswith("came damaged")
    assert cache.lacking({hash_of(b"right"): 5}) == [hash_of(b"right")]
    assert [*(cache._folder / "parts").iterdir()] == []
    data = b"0123456789"
    content = hash_of(data)
    assert cache.put([Piece(content, 10, 0, b"012")], SENDER) == ""
    assert cache.put([Piece(content, 10, 6, b"6789")], SENDER).endswith("lacks a part")
    assert cache.lacking({content: 10}) == [content]
    for start in (0, 5):  # from its begin, by several senders, which do not mix
        for sender in (SENDER, "bb"):
            assert cache.put([Piece(content, 10, start, data[start : start + 5])], sender) == ""
    assert cache.read(content) == data


def test_a_worker_that_is_killed_leaves_no_half_content(cache: NodeCache) -> None:
    data = b"x" * 1_000_000
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from shortloop.units.node_cache import NodeCache, Piece\n"
        f"cache = NodeCache(Path({str(cache._folder)!r}), 1e9)\n"
        f"print(cache.put([Piece({hash_of(data)!r}, 1_000_000, 0, b'x' * 999_999)], 'aa'), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=ROOT)
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, b"\n"), ended.stderr
    assert cache.lacking({hash_of(data): len(data)}) == [hash_of(data)]
    assert cache.mirror({"in/a": (hash_of(data), len(data))}) is None
    put(cache, data, size=400_000)
    assert cache.read(hash_of(data)) == data


def test_several_at_once(tmp_path: Path) -> None:
    caches = [NodeCache(tmp_path / "cache", 1e9) for _ in range(8)]
    assert len({each.name for each in caches}) == 1
    contents = [bytes([number]) * 1000 for number in range(20)]
    files: Files = {f"in/{number}": (hash_of(each), 1000) for number, each in enumerate(contents)}

    def one(number: int) -> Path:
        for data in contents:
            piece = Piece(hash_of(data), 1000, 0, data)
            assert caches[number].put([piece], f"{number:02x}") == ""
        return mirror(caches[number], files).folder

    with ThreadPoolExecutor(8) as pool:
        (folder,) = set(pool.map(one, range(8)))
    assert [(folder / f"in/{number}").read_bytes() for number in range(20)] == contents


NASTY = st.one_of(
    st.sampled_from(["...", " ", "-rf", "$(x)", "a\nb", "~", "*", "\udcff", "é", "e\u0301", "\\", "x.lock"]),
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40),
).filter(lambda name: name not in (".", ".."))


@given(st.lists(st.tuples(st.sampled_from(["in", "out"]), st.lists(NASTY, max_size=3), NASTY), max_size=6))
@settings(max_examples=50, deadline=None)
def test_names_of_any_kind(names: list[tuple[str, list[str], str]]) -> None:
    places = {"/".join([top, *(f"d{each}" for each in above), f"f{name}"]) for top, above, name in names}
    with tempfile.TemporaryDirectory() as folder:
        cache = NodeCache(Path(folder), 1e9)
        contents = put(cache, *(repr(each).encode() for each in places), size=10_000)
        files: Files = {
            place: (content, len(repr(place).encode())) for place, content in zip(places, contents)
        }
        made = mirror(cache, files)
        assert {
            str(file.relative_to(made.folder)): file.read_bytes()
            for file in made.folder.rglob("*")
            if file.is_file()
        } == {place: repr(place).encode() for place in places}
        os.close(made.hold)


@pytest.mark.parametrize(
    "place", ["", "in", "a", "/in/a", "../a", "in/../a", "in//a", "in/.", "in/./a", "out/..", "in/a\0", "in/"]
)
def test_no_name_leads_out(cache: NodeCache, place: str) -> None:
    (content,) = put(cache, b"x")
    with pytest.raises(ValueError, match="no path in a mirror"):
        cache.mirror({place: (content, 1)})
    assert [*(cache._folder / "mirrors").iterdir()] == []


@pytest.mark.parametrize("name", ["../../x", "", "A", "a/b", "g"])
def test_no_content_leads_out(cache: NodeCache, name: str) -> None:
    with pytest.raises(ValueError, match="no hash"):
        cache.put([Piece(name, 1, 0, b"x")], SENDER)
    with pytest.raises(ValueError, match="no hash"):
        cache.put([Piece(hash_of(b"x"), 1, 0, b"x")], name)


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_cache, "GRACE", -1e9)
    cache = NodeCache(tmp_path / "cache", 1000)
    contents = [bytes([number]) * 400 for number in range(4)]
    hashes = [*map(hash_of, contents)]
    put(cache, *contents[:2], size=400)
    made = [mirror(cache, {"in/a": (each, 400)}) for each in hashes[:2]]
    os.utime(cache._folder / "mirrors" / f"{made[1].folder.name}.lock", (1, 1))
    for each in made:
        os.close(each.hold)
    put(cache, contents[2], size=400)
    assert cache.lacking(dict.fromkeys(hashes[:3], 400)) == [hashes[1]]
    put(cache, contents[3], size=400)  # what no job has goes before what one had
    assert cache.lacking(dict.fromkeys(hashes, 400)) == hashes[1:3]
    assert (made[0].folder.exists(), made[1].folder.exists()) == (True, False)


def test_what_a_job_uses_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_cache, "GRACE", -1e9)
    cache = NodeCache(tmp_path / "cache", 1000)
    (used,) = put(cache, b"u" * 900, size=900)
    made = mirror(cache, {"in/a": (used, 900)})
    put(cache, b"v" * 900, size=900)
    assert (made.folder / "in/a").read_bytes() == b"u" * 900
    assert cache.lacking({used: 900}) == []
    os.close(made.hold)
    put(cache, b"w" * 900, size=900)
    assert cache.lacking({used: 900}) == [used]
    monkeypatch.undo()  # what came a moment ago stays
    cache = NodeCache(tmp_path / "other", 10)
    assert cache.lacking(dict.fromkeys(put(cache, *(bytes([number]) * 8 for number in range(5))), 8)) == []


def test_what_is_under_way_counts(tmp_path: Path) -> None:
    cache = NodeCache(tmp_path / "cache", 1000)
    (old,) = put(cache, b"u" * 400, size=400)
    os.utime(place_of(cache, old), (1, place_of(cache, old).stat().st_mtime))
    for start in (0, 300, 600):
        assert place_of(cache, old).exists()
        assert cache.put([Piece(hash_of(b"v" * 1000), 1000, start, b"v" * 300)], SENDER) == ""
    assert not place_of(cache, old).exists()


def test_what_workers_left_that_were_killed_goes(cache: NodeCache) -> None:
    left = cache._folder / "parts" / "aa.bb"
    left.touch()
    put(cache, b"two")
    assert left.exists()
    os.utime(left, (1, 1))
    put(cache, b"three")
    assert not left.exists()


def test_nobody_else_may_look_into_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "open"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    NodeCache(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(PermissionError):
        NodeCache(tmp_path / "link")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert folder_of_node() == tmp_path / "home/shortloop/nodes"
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "named"))
    assert folder_of_node() == tmp_path / "named"
    monkeypatch.setenv(LIMIT_VARIABLE, "0.5")
    assert limit_of_node(tmp_path) == 5e8
