"""Keys: other for all that can change a result, the same for all that cannot; hashes of files are BLAKE3."""

from __future__ import annotations

import random
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st
from jobs_project import empty_project, own_package, write
from jobs_recorded import parts_with
from refusal import refusal

from shortloop.keys.hashing import CHUNK, canonical, digest, hash_file, hash_files
from shortloop.keys.key import parts_of
from shortloop.keys.methods import find_method

METHOD = '''\
"""A method."""

from shortloop.near import near

options = {"number": 0}


def synthesis():
    """What it does."""
    return near(1)  # here
'''
FILES = {
    "methods/a_toy.py": METHOD,
    "shortloop/near.py": "from shortloop.far import far\n\n\ndef near(x):\n    return far(x)\n",
    "shortloop/far.py": '"""Far."""\n\n\ndef far(x):\n    """Far."""\n    return x + 1  # one\n',
    "shortloop/apart.py": "x = 1\n",
}
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.text(max_size=2)
plain = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.fixture
def toy(package: Path) -> Path:
    for name, text in FILES.items():
        write(package, name, text)
    return package


def key_of(options: dict[str, Any] | None = None, inputs: dict[str, Any] | None = None) -> str:
    return parts_of("toy", options or {}, inputs or {}).key()


def same(one: Any, two: Any) -> bool:
    """Equal in types too, in any order of keys."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    return type(one) is type(two) and repr(one) == repr(two)


@given(plain, plain)
def test_text_is_the_same_if_and_only_if_the_data_are(one: Any, two: Any) -> None:
    assert (canonical(one) == canonical(two)) == same(one, two)
    assert (digest(one) == digest(two)) == same(one, two)


@given(st.dictionaries(st.text(max_size=3), plain, min_size=1, max_size=4), plain, st.data())
def test_another_option_is_another_key(options: dict[str, Any], value: Any, data: st.DataObject) -> None:
    names = data.draw(st.permutations(sorted(options)))
    name = names[0]
    changed = {each: value if each == name else options[each] for each in names}
    equal = same(options[name], value)
    assert (parts_with(options=changed).key() == parts_with(options=options).key()) == equal


KEYS = [
    parts_with(),
    parts_with(method="dev.toy"),
    parts_with(method="methods.toys"),
    parts_with(code={"methods.a_toy": "c2", "shortloop.a": "c1"}),
    parts_with(code={"methods.a_toy": "c1"}),
    parts_with(code={"methods.a_toy": "c1", "shortloop.a": "c2", "shortloop.b": "c2"}),
    parts_with(versions={"python": "3.12.0", "accelerator": "2.1.0"}),
    parts_with(versions={"python": "3.11.7", "accelerator": "2.1.1"}),
    parts_with(options={"number": 2, "settings": {"C": [0.1, 1]}}),
    parts_with(options={"number": 1, "settings": {"C": [1, 0.1]}}),
    parts_with(options={"number": 1, "settings": {"C": [0.1, 1.0]}}),
    parts_with(options={"number": 1, "settings": {"D": [0.1, 1]}}),
    parts_with(options={"number": 1, "settings": {"C": [0.1, 1], "D": None}}),
    parts_with(options={"number": True, "settings": {"C": [0.1, 1]}}),
    parts_with(options={"number": "1", "settings": {"C": [0.1, 1]}}),
    parts_with(options={"number": 1}),
    parts_with(inputs={"previous": "i2", "all": ["i2", "i3"]}),
    parts_with(inputs={"previous": "i1", "all": ["i3", "i2"]}),
    parts_with(inputs={"previous": "i1", "all": ["i2", "i3", "i3"]}),
    parts_with(inputs={"previous": "i1", "all": ["i2"]}),
    parts_with(inputs={"all": ["i2", "i3"]}),
    parts_with(inputs={"before": "i1", "all": ["i2", "i3"]}),
]


def test_no_two_of_many_jobs_have_the_same_key() -> None:
    """A key without an option is that of all its values, and of nothing else."""
    assert len({parts.key() for parts in KEYS}) == len(KEYS)
    assert len({parts.key(without="number") for parts in KEYS[:8]}) == 8
    more = parts_with(options={"number": 7, "settings": {"C": [0.1, 1]}})
    other = parts_with(options={"number": 7, "settings": {"C": [0.1]}})
    assert parts_with().key(without="number") == more.key(without="number")
    assert parts_with().key(without="number") != other.key(without="number")
    assert parts_with().key(without="number") != parts_with().key(without="settings")
    # A job that never had the option is not one of them.
    assert parts_with(options={}).key() != parts_with(options={"number": 1}).key(without="number")


def test_a_module_that_is_new_in_the_closure_is_another_key(toy: Path) -> None:
    """And tuples are lists, as in the records of exax."""
    before = set(parts_of("toy", {}, {}).code)
    write(toy, "shortloop/far.py", "from shortloop import apart\n\n\ndef far(x):\n    return x + 1\n")
    assert set(parts_of("toy", {}, {}).code) - before == {"shortloop.apart"}
    assert key_of({"C": (1, (2, 3)), "D": {"E": ("a",)}}) == key_of({"C": [1, [2, 3]], "D": {"E": ["a"]}})


def test_places_of_files_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        with contextmanager(own_package)(empty_project(tmp_path / name, monkeypatch), monkeypatch) as folder:
            for file, text in FILES.items():
                write(folder, file, text)
            found.append(key_of({"number": 3}))
    assert found[0] == found[1]


def test_a_method_that_is_not_there_or_not_python_is_explained(toy: Path) -> None:
    with refusal("no such method"):
        find_method("tyo")
    write(toy, "shortloop/far.py", "def far(x:\n")
    with refusal("", "far.py, line 1"):
        key_of()


LARGE = random.Random(0).randbytes(2 * CHUNK + 1025)


def test_hashes_are_those_of_blake3_in_whatever_pieces(tmp_path: Path) -> None:
    file = tmp_path / "data"
    for size in (0, 1, 1025, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, len(LARGE)):
        read: list[int] = []
        file.write_bytes(LARGE[:size])
        expected = blake3(LARGE[:size]).hexdigest()
        assert hash_file(file, read.append) == expected
        assert dict(hash_files({file: size})) == {file: expected}
        assert sum(read) == size
