"""What a Python file says: the same for the same code, without settings that no result depends on."""

from __future__ import annotations

import ast
import io
import json
import os
import time
import tokenize
from pathlib import Path

import pytest
from jobs_project import ROOT, empty_project, forget_sources, own_package, text_of, write

from shortloop.keys import file_state as filestate
from shortloop.keys import source
from shortloop.keys.source import normalised

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)


def with_comments(text: str) -> str:
    """The same code, a remark behind every statement and above it, empty lines between."""
    lines = text.splitlines()
    ends = [
        token.end[0]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NEWLINE
    ]
    for end in reversed(ends):
        lines[end - 1] += "  # a remark"
        lines.insert(end, "\n# another\n")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "name",
    ["keys/closure.py", "eeg/decoding/solvers/svm.py", "eeg/formats/sessions.py", "eeg/study/schema.py"],
)
def test_comments_and_formatting_do_not_change_the_text(project: Path, name: str) -> None:
    text = (ROOT / "shortloop" / name).read_text(encoding="utf-8")
    variants = [text, with_comments(text), text.replace("\n", "\r\n"), ast.unparse(ast.parse(text))]
    assert len(set(variants)) == 4
    read = [source.read_source(write(project, f"v{i}.py", each), "v")[0] for i, each in enumerate(variants)]
    assert len(set(read)) == 1
    assert read[0].strip()


SAME = [
    ("x = 1\n", "x = 1  # one\n"),
    ("x = [1,2]\n", "x = [\n    1,\n    2,\n]\n"),
    ("def f():\n    return 1\n", 'def f():\n    """One."""\n    return 1\n'),
    ("class A:\n    x = 1\n", 'class A:\n    """A."""\n\n    x = 1\n    """Of A."""\n'),
    ("class A(ValueError):\n    pass\n", 'class A(ValueError):\n    """A."""\n'),
    ("", '"""What this module is."""\n'),
    ("", "# nothing\n"),
    ("x = 'a'\n", 'x = "a"\n'),
    ("async def f():\n    await g()\n", 'async def f():\n    """F."""\n    await g()\n'),
]
OTHER = [
    ("x = 1\n", "x = 2\n"),
    ("x = 1\n", "x = 1.0\n"),
    ("x = 'a'\n", "x = 'A'\n"),
    ("x = 'a'\n", "x = b'a'\n"),
    ("x = '#a'\n", "x = '#b'\n"),
    ("a = 1\nb = 2\n", "b = 2\na = 1\n"),
    ("if x:\n    f()\ng()\n", "if x:\n    f()\n    g()\n"),
    ("def f(a=1): ...\n", "def f(a=2): ...\n"),
    ("def f(): return '''a'''\n", "def f(): return '''b'''\n"),
    ("x = a - (b - c)\n", "x = a - b - c\n"),
    ("import a\n", "import a as b\n"),
    # what a module reads of its own text is a part of what it says
    ("def f():\n    'a'\nx = f.__doc__\n", "def f():\n    'b'\nx = f.__doc__\n"),
    ("def f():  # a\n    pass\ninspect.getsource(f)\n", "def f():  # b\n    pass\ninspect.getsource(f)\n"),
]


@pytest.mark.parametrize(
    ("one", "two", "texts"), [*((*each, 1) for each in SAME), *((*each, 2) for each in OTHER)]
)
def test_other_code_alone_gives_another_text(project: Path, one: str, two: str, texts: int) -> None:
    files = [write(project, f"{name}.py", text) for name, text in (("one", one), ("two", two))]
    assert len({source.read_source(file, "m")[0] for file in files}) == texts


@pytest.mark.parametrize("new_process", [False, True])
def test_edits_count_at_old_times(package: Path, monkeypatch: pytest.MonkeyPatch, new_process: bool) -> None:
    edited = write(package, "shortloop/a.py", "x = 1\n")
    method = write(package, "methods/a_one.py", "import shortloop.a\n")
    before = text_of(method)
    stat = edited.stat()
    time.sleep(0.02)  # a tick of the file system's clock
    edited.write_text("x = 2\n", encoding="utf-8")
    os.utime(edited, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (edited.stat().st_size, edited.stat().st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)
    if new_process:
        forget_sources(monkeypatch)
    assert text_of(method) == before.replace("x = 1", "x = 2")


def test_a_file_that_changed_a_moment_ago_is_not_kept(package: Path) -> None:
    """Another change at the same tick of the clock would not show in its state."""
    old, new = write(package, "shortloop/a.py", "x = 1\n"), write(package, "shortloop/b.py", "y = 1\n")
    deadline = time.monotonic() + 10
    while not filestate.file_state(old)[1] and time.monotonic() < deadline:
        time.sleep(0.1)
    new.write_text("y = 2\n", encoding="utf-8")
    text_of(write(package, "methods/a_one.py", "import shortloop.a, shortloop.b\n"))
    kept = json.loads((package / "workdirs/.cache/code/parsed.json").read_text(encoding="utf-8"))["files"]
    assert str(old) in kept
    assert str(new) not in kept


def test_a_damaged_cache_is_made_again(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method = write(package, "methods/a_one.py", "x = 1\n")
    before = text_of(method)
    for damage in ("", "{", "[]", "null", '{"parser": [], "files": {}}', '{"files": 3}', "\x00\xff"):
        forget_sources(monkeypatch)
        (package / "workdirs/.cache/code/parsed.json").write_text(damage, encoding="latin-1")
        assert text_of(method) == before


def test_another_parser_trusts_nothing_that_was_kept(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer Python, or a changed reader of imports, may say something else of the same file."""
    monkeypatch.setattr(filestate, "SETTLED_NS", -1)
    method = write(package, "methods/a_one.py", "import shortloop.a\n")
    write(package, "shortloop/a.py", "x = 1\n")
    text_of(method)
    file = package / "workdirs/.cache/code/parsed.json"
    kept = json.loads(file.read_text(encoding="utf-8"))
    for known in kept["files"].values():
        known[1][0] = "what an older one said"
    file.write_text(json.dumps(kept), encoding="utf-8")
    forget_sources(monkeypatch)
    assert "what an older one said" in text_of(method)
    forget_sources(monkeypatch)
    kept["parser"][0] = "3.0"
    file.write_text(json.dumps(kept), encoding="utf-8")
    assert "x = 1" in text_of(method)


def test_a_broken_module_is_named(package: Path) -> None:
    write(package, "shortloop/a.py", "def f(:\n")
    with pytest.raises(SyntaxError, match=r"a\.py"):
        text_of(write(package, "methods/a_one.py", "import shortloop.a\n"))


CLASS = """
from shortloop import Stage
class Fit(Stage):
    "It fits."
    {line}
    def compute(self, unit): return 1
"""
FUNCTION = """
from shortloop import stage
@stage({given})
def fit(rows): return 1
"""


def said(text: str) -> str:
    return normalised(ast.parse(text))


@pytest.mark.parametrize(
    "line",
    ["retries = 2", "timeout = '5 min'", "memory: ClassVar[int] = 30 * 10**9", "cores = 4", "timeout = None"],
)
@pytest.mark.parametrize(
    "text",
    [
        CLASS,
        CLASS.replace("from shortloop import Stage", "import shortloop").replace("Stage", "shortloop.Stage"),
        CLASS.replace("shortloop import Stage", "shortloop.stages.stage import CollectingStage as Stage"),
        CLASS.replace("(Stage)", "(Base)") + "class Base(Stage): pass\n",
    ],
)
def test_a_setting_of_a_class_is_left_out(text: str, line: str) -> None:
    """A class is known by what it imports."""
    assert said(text.format(line=line)) == said(text.format(line=""))


@pytest.mark.parametrize("given", ["retries=2", "cores=2, timeout='5 min'", "memory=30e9"])
def test_a_setting_of_a_decorator_is_left_out(given: str) -> None:
    assert said(FUNCTION.format(given=given)) == said(FUNCTION.replace("({given})", ""))
    assert said(FUNCTION.format(given=f"units=of, {given}")) == said(FUNCTION.format(given="units=of"))


@pytest.mark.parametrize(
    "text",
    [
        CLASS.replace("{line}", "on_error = '{0}'"),
        CLASS.replace("{line}", "retries = len('{0}')"),
        CLASS.replace("{line}", "retries: int = {0}"),
        CLASS.replace("{line}", "retries = {0}; seeds = retries"),
        CLASS.replace("{line}", "retries = {0}\n    seeds = vars()"),
        CLASS.replace("{line}", "retries = {0}\n    def __init_subclass__(cls): pass"),
        CLASS.replace("{line}", "retries = seeds = {0}"),
        CLASS.replace("{line}", "def compute(self, retries={0}): pass"),
        CLASS.replace("{line}", "retries = {0}").replace("(Stage)", "(Stage, Other)"),
        CLASS.replace("{line}", "retries = {0}").replace("(Stage)", "(Stage, metaclass=Other)"),
        CLASS.replace("{line}", "retries = {0}").replace("from shortloop", "from mine"),
        CLASS.replace("{line}", "retries = {0}") + "class Stage: pass",
        CLASS.replace("{line}", "retries = {0}") + "from mine import *",
        CLASS.replace("{line}", "retries = {0}").replace("class Fit", "Stage = other\nclass Fit"),
        CLASS.replace("{line}", "retries = {0}").replace("(Stage)", "(Fit)"),
        CLASS.replace("{line}", "retries = {0}").replace("(Stage)", "(Base)")
        + "class Base(Stage):\n    def __init_subclass__(cls): pass",
        "class Config:\n    retries = {0}\n",
        "retries = {0}\n",
        "fetch(retries={0})\n",
        FUNCTION.replace("{given}", "on_error='{0}'"),
        FUNCTION.replace("{given}", "units=of({0})"),
        FUNCTION.replace("{given}", "retries=Count({0})"),
        FUNCTION.replace("{given}", "retries={0}").replace("from shortloop", "from mine"),
        FUNCTION.replace("{given}", "retries={0}") + "def stage(**more): return print\n",
    ],
)
def test_all_else_is_code(text: str) -> None:
    first, second = (text.replace("{0}", each) for each in ("1", "2"))
    assert said(first) != said(second)
