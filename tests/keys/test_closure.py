"""Which files a method's key holds: those that it imports, found once, and those that it declares."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import first_cases
from jobs_project import ROOT, fresh_python, write
from refusal import refusal

from shortloop.keys import closure as rooms
from shortloop.keys import code, file_state, source
from shortloop.keys.closure import closure, closure_of
from shortloop.keys.code import Code, code_state
from shortloop.keys.file_state import at_one_moment, states_at_moment

METHODS = sorted((ROOT / "methods").glob("a_*.py"))


@pytest.mark.parametrize("settled_after", [0, 2_000_000_000])
@pytest.mark.parametrize("sooner", ["tools/other.py", "tools/later/other.py"])
def test_new_modules(package: Path, monkeypatch: pytest.MonkeyPatch, settled_after: int, sooner: str) -> None:
    """Whether what was found before is kept, or looked for again as its folders changed a moment ago."""
    monkeypatch.setattr(file_state, "SETTLED_NS", settled_after)
    write(package, sooner, "")
    method = write(package, "methods/a_one.py", "import numpy\nimport later\nfrom tools.later import f\n")
    assert closure(method) == ({}, {"numpy", "later", "tools"})
    write(package, "tools/later/__init__.py", "")
    assert closure(method)[0].keys() == {"tools.later"}
    write(package, "tools/later/f.py", "")
    assert closure(method)[0].keys() == {"tools.later", "tools.later.f"}
    write(package, "later.py", "")
    monkeypatch.syspath_prepend(package)
    assert closure(method) == (
        {
            "later": package / "later.py",
            "tools.later": package / "tools/later/__init__.py",
            "tools.later.f": package / "tools/later/f.py",
        },
        {"numpy"},
    )
    (package / "later.py").unlink()
    shutil.rmtree(package / "tools/later")
    assert not {"later", "tools.later", "tools.later.f"} & closure(method)[0].keys()


def test_what_is_no_folder_holds_no_modules(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes such entries of its path, too."""
    (package / "a.zip").write_bytes(b"")
    for what in ("a.zip", "a.zip/inside", "missing"):
        monkeypatch.syspath_prepend(package / what)
        method = write(package, "methods/a_one.py", "import numpy\nimport later\n")
        assert closure(method) == closure(method) == ({}, {"numpy", "later"})


def test_methods_that_are_installed_have_the_same_behind_them() -> None:
    """In a project of a user, they are in the package `shortloop`, behind which all of it is."""
    for method in METHODS:
        here, libraries = closure_of(f"methods.{method.stem}", method)
        installed, same = closure_of(f"shortloop.methods.{method.stem}", method)
        assert installed.keys() - {"shortloop"} == here.keys() - {"methods", "shortloop"}, method
        assert same == libraries, method


MODULES = {
    "added/__init__": "",
    "added/above": "import shortloop.base.seeds\nfrom added import maths\n",
    "added/maths": "from added import deep\n",
    "added/deep": "def f():\n    import shortloop.base.types\n",
    "added/unused": "import shortloop.base.plain\n",
    "alone": "import shortloop.base.seeds\n",
    "other": "import json\n",
}
CLOSURE = """
import json, sys
from pathlib import Path
from shortloop.keys.closure import closure_of
of = "shortloop.base.text", Path("shortloop/base/text.py")
without = closure_of(*of)
modules, libraries = closure_of(*of, [sys.argv[1]])
print(json.dumps([sorted(modules.keys() - without[0].keys()), sorted(libraries - without[1])]))
"""


@pytest.mark.parametrize(
    ("name", "modules", "library"),
    [
        ("added.above", {"shortloop.base.seeds", "shortloop.base.types"}, "added"),
        ("alone", {"shortloop.base.seeds"}, "alone"),
        ("other", set(), "other"),
        ("sklearn.naive_bayes", set(), "sklearn"),
    ],
)
def test_what_a_package_imports_of_us(tmp_path: Path, name: str, modules: set[str], library: str) -> None:
    info = tmp_path / "added-1.0.dist-info"
    (tmp_path / "added").mkdir()
    info.mkdir()
    for module, text in MODULES.items():
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    (info / "METADATA").write_text("Name: added\nVersion: 1.0\n", encoding="utf-8")
    (info / "RECORD").write_text("".join(f"{each}.py,,\n" for each in MODULES), encoding="utf-8")
    found, libraries = json.loads(fresh_python(CLOSURE, ROOT, name, PYTHONPATH=str(tmp_path)))
    assert {*found} - {"shortloop", "shortloop.base"} == modules
    assert library in libraries


@pytest.fixture(params=[0, 2_000_000_000], ids=["settled", "young"])
def settled_after(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files count as settled at once, or after two seconds."""
    monkeypatch.setattr(file_state, "SETTLED_NS", request.param)
    yield
    forget()


at_any_age = pytest.mark.usefixtures("settled_after")


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


@at_any_age
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


@at_any_age
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


@at_any_age
@first_cases(2, "seed", range(4))
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


def key(method: Path) -> dict[str, str]:
    return code_state(method).code


HEAD = """
from pathlib import Path
FILE = Path({file!r})

def found():
    return [FILE]
"""
LISTED = [
    *(
        f"{HEAD}\ndepend_extra = {listed}"
        for listed in (
            '["more.txt"]',
            '("more.txt",)',
            "[FILE]",
            "[str(FILE)]",
            '["sub/../more.txt"]',
            "found()",
        )
    ),
    "depend_extra = []\ndepend_extra += ['more.txt']",
    "depend_extra = []\ndepend_extra.append('more.txt')",
    "if True:\n    depend_extra = ['more.txt']",
    "from methods.lists import *",
    "from methods.lists import depend_extra",
    "from methods.lists import more\ndepend_extra = more()",
    "globals()['depend_' 'extra'] = ['more.txt']",
]


@pytest.mark.parametrize("listed", LISTED)
def test_a_declared_file_counts_however_it_is_declared(package: Path, listed: str) -> None:
    file = write(package, "methods/more.txt", "one")
    (package / "methods" / "sub").mkdir()
    lists = "depend_extra = ['more.txt']\n\ndef more():\n    return depend_extra\n"
    write(package, "methods/lists.py", lists)
    method = write(package, "methods/a_one.py", f"{listed.replace('{file!r}', repr(str(file)))}\n")
    before = key(method)
    assert len(before) == 2 + ("methods.lists" in listed)
    assert key(method) == before
    file.write_text("two", encoding="utf-8")
    assert key(method) != before
    file.write_text("one", encoding="utf-8")
    assert key(method) == before


def test_a_module_may_be_declared(package: Path) -> None:
    write(package, "methods/theirs.py", "x = 1\n")
    text = "import importlib.util\nfrom pathlib import Path\n"
    text += "spec = importlib.util.spec_from_file_location('t', Path(__file__).with_name('theirs.py'))\n"
    text += "module = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(module)\n"
    method = write(package, "methods/a_one.py", f"{text}depend_extra = [module]\n")
    before = key(method)
    write(package, "methods/theirs.py", "x = 2\n")
    assert key(method) != before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('depend_extra = ["gone.txt"]', "gone.txt"),
        ("depend_extra = [3]", "3"),
        ('depend_extra = "more.txt"', "a list"),
        ("import no_such_module\ndepend_extra = [no_such_module]", "no_such_module"),
    ],
)
def test_what_is_no_file_is_named(package: Path, text: str, words: str) -> None:
    with refusal(words):
        key(write(package, "methods/a_one.py", f"{text}\n"))


def test_what_code_of_writes_does_not_count_twice(package: Path) -> None:
    more = write(package, "methods/more.txt", "one")
    head = "from shortloop.keys.code import code_of\n"
    method = write(package, "methods/a_one.py", f'{head}depend_extra = [*code_of(__file__), "more.txt"]\n')
    before = key(method)
    assert set(before) == {"methods.a_one", "file more.txt"}
    more.write_text("two", encoding="utf-8")
    assert key(method) != before


FUNCTION = """\
from shortloop import stage

@stage
def one(number: int):
    return {"number": number}
"""
CLASS = """\
from methods.steps import One
from shortloop.exax.method import exax_method

globals().update(exax_method(One, __file__))
"""


@pytest.mark.parametrize("listed", ["from methods.lists import *", "depend_extra = ['more.txt']"])
@pytest.mark.parametrize("text", [FUNCTION, CLASS], ids=["function", "class"])
def test_a_stage_may_declare_too(package: Path, listed: str, text: str) -> None:
    file = write(package, "methods/more.txt", "one")
    write(package, "methods/lists.py", "depend_extra = ['more.txt']\n")
    write(package, "methods/steps.py", "from shortloop import Stage\n\nclass One(Stage):\n    number: int\n")
    method = write(package, "methods/a_one.py", f"{listed}\n{text}")
    loaded = dict(sys.modules)
    before = key(method)
    assert sys.modules.get("methods.a_one") is loaded.get("methods.a_one")
    file.write_text("two", encoding="utf-8")
    assert key(method) != before


def test_a_declared_module_that_is_imported_counts_by_what_it_says(package: Path) -> None:
    """Declared by its file or by itself, beside what is no code, above the method's folder."""
    file = write(package, "more.txt", "one")
    write(package, "methods/__init__.py", "")
    theirs = write(package, "methods/theirs.py", "x = 1\n")
    listed = "from . import theirs\ndepend_extra = [theirs, 'theirs.py', '../more.txt']\n"
    method = write(package, "methods/a_one.py", listed)
    before = key(method)
    assert set(before) == {"methods.a_one", "methods.theirs", "file ../more.txt"}
    theirs.write_text("x = 1  # a remark\n", encoding="utf-8")
    assert key(method) == before
    for each in (theirs, file):
        each.write_text("x = 2\n", encoding="utf-8")
        assert key(method) != before
        before = key(method)
