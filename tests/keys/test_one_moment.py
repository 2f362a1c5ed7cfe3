"""At one moment each file and folder of code is looked at once; whatever changes counts at the next."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs_project import empty_project, own_package, write

from shortloop.keys import closure as rooms
from shortloop.keys import code, file_state, source
from shortloop.keys.code import Code, code_state
from shortloop.keys.file_state import at_one_moment, states_at_moment

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)


@pytest.fixture(params=[0, 2_000_000_000], ids=["settled", "young"], autouse=True)
def settled_after(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files count as settled at once, or after two seconds."""
    monkeypatch.setattr(file_state, "SETTLED_NS", request.param)
    yield
    forget()


def forget() -> None:
    for kept in (rooms._folders, rooms._modules, rooms._libraries, rooms._steps):
        kept.clear()
    for known in (code._known, source._memory):
        known.clear()


def tick() -> None:
    """So long that times of files differ, which counts where they are settled at once."""
    time.sleep(0.015)


def now(method: Path) -> Code:
    with at_one_moment():
        return code_state(method)


def replace_alike(file: Path, text: str) -> None:
    """As many bytes, and the time of modification put back."""
    tick()
    before = file.stat()
    assert len(text) == before.st_size
    file.write_text(text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_edit_counts_at_the_next_moment(package: Path) -> None:
    helper = write(package, "tools/helper.py", "VALUE = 1\n")
    method = write(package, "methods/a_one.py", "from tools.helper import VALUE\n")
    with at_one_moment():
        before = code_state(method)
        replace_alike(helper, "VALUE = 2\n")
        assert code_state(method) == before
        other = write(package, "methods/a_two.py", "from tools.helper import VALUE\n")
        assert code_state(other).code["tools.helper"] == before.code["tools.helper"]
    assert now(method).code["tools.helper"] != before.code["tools.helper"]
    replace_alike(helper, "VALUE = 1\n")
    assert now(method).code == before.code


@pytest.mark.parametrize("how", ["edited", "replaced", "gone"])
def test_what_changes_between_look_and_reading_is_seen_next(package: Path, how: str) -> None:
    helper = write(package, "tools/helper.py", "VALUE = 1\n")
    method = write(package, "methods/a_one.py", "from tools.helper import VALUE\n")
    with at_one_moment():
        states_at_moment([str(helper)])
        tick()
        if how == "gone":
            helper.unlink()
        elif how == "edited":
            replace_alike(helper, "VALUE = 2\n")
        else:
            write(package, "tools/new.py", "VALUE = 2\n").replace(helper)
        with_edit = None if how == "gone" else code_state(method)
    if how == "gone":
        assert "tools.helper" not in now(method).code
    else:
        assert with_edit is not None
        assert now(method).code == with_edit.code
    tick()
    write(package, "tools/helper.py", "VALUE = 3\n")
    after = now(method)
    forget()
    assert now(method) == after


def test_modules_that_come_and_go_count_at_the_next_moment(package: Path) -> None:
    method = write(package, "methods/a_one.py", "from tools.helper import f\n")
    with at_one_moment():
        assert "tools.helper.f" not in code_state(method).modules
        tick()
        write(package, "tools/helper/__init__.py", "")
        write(package, "tools/helper/f.py", "VALUE = 1\n")
    assert "tools.helper.f" in now(method).modules
    tick()
    shutil.rmtree(package / "tools/helper")
    assert "tools.helper.f" not in now(method).modules


@pytest.mark.parametrize("seed", range(4))
def test_random_edits_are_seen_as_by_who_looks_for_the_first_time(package: Path, seed: int) -> None:
    draw = random.Random(seed)
    names = [f"tools.m{number}" for number in range(5)] + ["tools.deep.m5", "tools.deep.m6"]
    methods = [write(package, f"methods/a_{name}.py", "import tools.m0\n") for name in ("one", "two")]

    def text(stars: tuple[str, ...] = ("",)) -> str:
        chosen = draw.sample(names, 2)
        lines = [f"import {chosen[0]}", f"from {chosen[1].rpartition('.')[0]} import {chosen[1][-2:]}"]
        return "\n".join([*lines, draw.choice(stars), f"A = {draw.randrange(9)}"])

    for _ in range(20):
        tick()
        file = package / f"{draw.choice(names).replace('.', '/')}.py"
        if draw.random() < 0.3:
            file.unlink(missing_ok=True)
        else:
            write(package, str(file.relative_to(package)), text(("from tools.deep import *", "")))
        if draw.random() < 0.2:
            write(package, "tools/deep/__init__.py", draw.choice(["", "__all__ = ['m5']\n"]))
        write(package, f"methods/{draw.choice(methods).name}", text())
        with at_one_moment():
            seen = [code_state(method) for method in methods]
        forget()
        with at_one_moment():
            assert seen == [code_state(method) for method in methods]
