"""Machine code that numba keeps is used again only for the code of all files that it was made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jobs_project import fresh_python, write_configuration

OUTER = """
import numba

from pack.inner import g
from pack.numbers import FACTOR


@numba.njit(cache=True)
def f(x):
    return g(x) * FACTOR
"""
INNER = "import numba\n\n\n@numba.njit(cache=True)\ndef g(x):\n    return x + {}\n"
FIRST = {"shortloop first": "import shortloop", "numba first": "import numba, shortloop"}
NOTING = "import shortloop\nfrom shortloop.exax.patches.loading import load_from_source\nload_from_source()"
ASK = """
import json
from pack import outer
from shortloop.exax.patches.machine_code import load_compiled
if {loads}:
    load_compiled(outer)
loaded = len(outer.f.overloads)
print(json.dumps([loaded, outer.f(1), sum(outer.f.stats.cache_hits.values())]))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_configuration(tmp_path)
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").touch()
    (tmp_path / "pack" / "outer.py").write_text(OUTER, encoding="utf-8")
    write(tmp_path, 1, 10)
    return tmp_path


def write(project: Path, more: int, factor: int) -> None:
    (project / "pack" / "inner.py").write_text(INNER.format(more), encoding="utf-8")
    (project / "pack" / "numbers.py").write_text(f"FACTOR = {factor}\n", encoding="utf-8")


def ask(project: Path, first: str, cache: Path | None) -> list[int]:
    """How much a new process loads before it is asked, what it computes, and how much of it was kept."""
    code = first + ASK.format(loads=first == NOTING)
    found: list[int] = json.loads(fresh_python(code, project, NUMBA_CACHE_DIR=str(cache or "")))
    return found


@pytest.mark.parametrize(
    "first",
    [*(pytest.param(each, marks=pytest.mark.slow) for each in FIRST.values()), NOTING],
    ids=[*FIRST, "noting"],
)
@pytest.mark.parametrize(
    "shared",
    [pytest.param(False, id="of the project", marks=pytest.mark.slow), pytest.param(True, id="of several")],
)
def test_it_follows_every_file_that_it_is_made_of(project: Path, first: str, shared: bool) -> None:
    """And is loaded before it is asked for, where nothing need be compiled."""
    cache = project / "shared" if shared else None
    loads = int(first == NOTING)
    assert ask(project, first, cache) == [0, 20, 0]
    assert ask(project, first, cache) == [loads, 20, 1]
    write(project, 2, 10)
    assert ask(project, first, cache) == [0, 30, 0]
    write(project, 2, 100)
    assert ask(project, first, cache)[1] == 300
    with (project / "pack" / "numbers.py").open("a", encoding="utf-8") as stream:
        stream.write("# a remark\n")
    assert ask(project, first, cache) == [loads, 300, 1]


KERNEL = """
import sys, json
import numpy as np
import shortloop
from shortloop.exax.patches.loading import load_from_source
load_from_source()
from shortloop.eeg.decoding.solvers.svm_interior import _substitute as f
f(np.ones((3, 64)), np.ones((2, 64)))
print(json.dumps(sum(f.stats.cache_hits.values())))
"""


@pytest.mark.slow
def test_code_of_shortloop_is_compiled_once_for_all_projects(tmp_path: Path) -> None:
    hits = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_configuration(tmp_path / name)
        cache = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
        hits.append(json.loads(fresh_python(KERNEL, tmp_path / name, **cache)))
    assert hits == [0, 1]
    assert not list(tmp_path.glob("*/workdirs/.cache/numba/shortloop*"))


def test_two_processes_that_save_at_once_keep_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them has read the index before the other wrote it; numba would number both files alike."""
    from numba.core.caching import IndexDataCacheFile

    import shortloop.exax.patches.machine_code  # noqa: F401

    one, other, third = (IndexDataCacheFile(str(tmp_path), "f", "stamp") for _ in range(3))
    with monkeypatch.context() as patched:
        for each in (one, other):
            patched.setattr(each, "_load_index", dict)
        one.save(("int64",), "code of int64")
        other.save(("float64",), "code of float64")
    assert third.load(("float64",)) == "code of float64"
    assert third.load(("int64",)) in (None, "code of int64")
    third.save(("int64",), "code of int64")
    assert third.load(("int64",)) == "code of int64"
    assert third.load(("float64",)) == "code of float64"
