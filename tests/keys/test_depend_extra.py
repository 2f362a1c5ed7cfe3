"""What methods of others declare, in exax's own way, is part of their keys."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jobs_project import write
from refusal import refusal

from shortloop.keys.code import code_state
from shortloop.keys.file_state import file_state


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


def test_edits_right_after_a_file_was_read_are_seen(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a disk with coarse times, on which a file that was written twice looks the same."""
    is_settled = False

    def coarse(file: Path) -> tuple[list[int], bool]:
        return file_state(file)[0][:3], is_settled

    monkeypatch.setattr("shortloop.keys.file_state.file_state", coarse)
    file = write(package, "methods/more.txt", "one")
    method = write(package, "methods/a_one.py", 'depend_extra = ["more.txt"]\n')
    before = key(method)
    file.write_text("two", encoding="utf-8")
    is_settled = True
    assert key(method) != before
    is_settled = False
    method = write(package, "methods/a_two.py", 'depend_extra = ["more.txt"]\n')
    assert len(key(method)) == 2
    method.write_text('depend_extra = []  # "more"\n', encoding="utf-8")
    is_settled = True
    assert len(key(method)) == 1
