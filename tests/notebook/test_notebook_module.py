"""What of a notebook a stage takes with it: what it uses, as it is now, nothing that its key does not say."""

from __future__ import annotations

import ast
import linecache
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.exax.declare import stage
from shortloop.keys.source import normalised
from shortloop.notebook.definitions import Notebook
from shortloop.notebook.module import Module, module_of_stage

WRAPPING = """\
import functools
def twice(f):
    @functools.wraps(f)
    def g(x):
        return 2 * f(x)
    return g
"""
FIT = "@ax.stage\ndef fit(x: int):\n    return {'y': helper(x)}"


class Session:
    """Declares stages."""

    stage = staticmethod(stage)

    def build(self) -> None:
        """Never called."""


class Cells:
    """A notebook of which cells are run one after the other."""

    def __init__(self, *texts: str) -> None:
        self.module = types.ModuleType("__main__")
        self.space: dict[str, Any] = vars(self.module)
        self.run_cells: list[tuple[str, str]] = []
        self.space["ax"] = Session()
        self.run("from shortloop import File, Job", *texts)

    def run(self, *texts: str) -> None:
        for text in texts:
            name = f"<cell {len(self.run_cells) + 1}>"
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            self.run_cells.append((name, text))
            exec(compile(text, name, "exec", dont_inherit=True), self.space)

    def written(self, stage: str = "fit") -> Module:
        notebook = Notebook(self.space, self.run_cells, lambda value: isinstance(value, Session))
        return module_of_stage(self.space[stage], notebook)

    def called(self, *arguments: Any, stage: str = "fit", **named: Any) -> Any:
        """What the stage gives as its module has it."""
        made = types.ModuleType("notebook_cells.a_fit")
        sys.modules[made.__name__] = made
        exec(compile(self.written(stage).text, "<written>", "exec", dont_inherit=True), vars(made))
        return vars(made)[stage](*arguments, **named)


def said(cells: Cells) -> str:
    return normalised(ast.parse(cells.written().text))


def refused(*texts: str) -> str:
    with pytest.raises(InputError) as caught:
        Cells(*texts).written()
    return caught.value.message


def test_all_that_it_uses_comes_with_it_and_nothing_else() -> None:
    cells = Cells(
        "import math\nimport json, re\nfrom os.path import join as put",
        "K = 2\nUNUSED = 3\nTABLE = {'a': [1, (2,)], 'b': {3, 1}}",
        "def other(): return UNUSED\ndef helper(x):\n    return deeper(x) + K",
        "def deeper(x):\n    return math.floor(x) * len(TABLE['a']) + len(put('a', 'b'))",
        FIT,
    )
    text = cells.written().text
    assert not [word for word in ("UNUSED", "json", "other") if word in text]
    assert "from os.path import join as put" in text
    assert cells.called(5) == cells.space["fit"](5) == {"y": 15}
    # To load a method must stay quick: libraries are imported where they are used.
    alone = "@ax.stage\ndef fit(x: int):\n    'What.'\n    return np.sum(x)"
    text = Cells("import numpy as np", alone).written().text
    assert text.splitlines()[-2:] == ["    import numpy as np", "    return np.sum(x)"]
    assert "\nimport" not in text


@pytest.mark.parametrize(
    "fit",
    [
        "@ax.stage\ndef fit(x: int): return {'y': np.sum(x)}",
        "@ax.stage\ndef fit(x: int):\n\treturn {'y': np.sum(x)}",
        "@ax.stage\ndef fit(x: int): \\\n  return {'y': np.sum(x)}",
        "if True:\n    @ax.stage\n    def fit(x: int):\n        return {'y': np.sum(x)}",
        "@ax.stage\ndef fit(x: int):\n    class A:\n        y = np.sum(x)\n    return {'y': A.y}",
        "@ax.stage\ndef fit(x: int):\n    def f():\n        return np.sum(x)\n    return {'y': f()}",
        "@ax.stage\ndef fit(x: int):\n    return {'y': [np.sum(each) for each in [x]][0]}",
        "@ax.stage\ndef fit(x: int):\n    return {'y': (lambda: np.sum(x))()}",
        "@ax.stage\ndef fit(x: int, größe: int = 1):\n    'ä'; return {'y': np.sum(x * größe)}",
        "@ax . stage\n\n# c\ndef fit(\n  x: int,  # ä\n  *,\n  y: int = -1,\n):\n  return {'y': np.sum(x)}",
        "@ax.stage\ndef fit(x: 'int') -> dict:\n    s = '''\n  @ax.stage\n'''\n    return {'y': np.sum(x)}",
    ],
)
def test_a_function_is_written_as_it_stands(fit: str) -> None:
    assert Cells("import numpy as np", fit).called(3) == {"y": 3}


def test_comments_and_other_cells_change_nothing() -> None:
    texts = ["import math", "K = 2", "def helper(x):\n    return x + K", FIT]
    first = said(Cells(*texts))
    helper = texts[2].replace("x + K", "x  +  K # k")
    assert said(Cells("import math # used\nother = 1", "K = 1 + 1", helper, FIT)) == first
    assert said(Cells(FIT, texts[2], "K = 2")) == first
    assert said(Cells("K = 3", texts[2], FIT)) != first
    assert said(Cells("K = 2", texts[2].replace("+", "-"), FIT)) != first
    assert said(Cells(texts[1], texts[2], FIT, "def helper(x):\n    return x")) != first


def test_the_text_is_the_same_in_every_process() -> None:
    values = {"a", "b", "c", "long enough"}
    cells = Cells("def helper(x):\n    return x in K", FIT)
    cells.space["K"] = values
    assert "frozenset" not in cells.written().text
    assert "set(['a', 'b', 'c', 'long enough'])" in cells.written().text
    cells.space["K"] = [float("nan"), float("-inf"), 1e-300]
    assert "float('nan')" in cells.written().text
    assert cells.called(1e-300) == {"y": True}


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("big", "import numpy as np\nbig = np.zeros(3)", "numpy.ndarray"),
        ("big", "import numpy as np\nbig = np.float64(3)", "numpy.float64"),
        ("big", "import pandas as pd\nbig = pd.DataFrame({'a': [1]})", "pandas"),
        ("big", "big = list(range(10_000))", "a list"),
        ("big", "big = open(__import__('os').devnull)", "TextIOWrapper"),
        ("big", "import re\nbig = re.compile('a')", "Pattern"),
        ("big", "from functools import partial\nbig = partial(int, base=2)", "partial"),
        ("big", "class A: pass\nbig = A()", "a A"),
        ("big", "class A(int): pass\nbig = [A(3)]", "a list"),
        ("big", "big = []\nbig.append(big)", "a list"),
        ("ax", "", "the session"),
        ("get_ipython", "get_ipython = len", "magics"),
        ("_", "_ = 3", "IPython"),
        ("Out", "Out = {}", "IPython"),
    ],
)
def test_a_value_that_is_no_constant_is_refused_by_name(name: str, value: str, found: str) -> None:
    message = refused(value, f"def helper(x):\n    return {name}", FIT)
    assert f"{name}, " in message
    assert found in message
    assert "field:        helper" in message
    assert "what to do:" in message


BIG = "import numpy as np\nbig = np.zeros(3)"
REFUSED = [
    # A value that only a default or a nested function uses.
    ("big", BIG, "def helper(x, y=big):\n    return x"),
    ("big", BIG, "def helper(x):\n    def f():\n        return [big for _ in x]\n    return f"),
    ("big", BIG, "class helper:\n    y = big\n    def __init__(self, x): pass"),
    ("big", BIG, "helper = lambda x: big"),
    ("found:        gone", "def helper(x):\n    return gone"),
    # Closures, and functions that are not what their text says.
    ("its own k", "def make(k):\n    def f(x):\n        return x * k\n    return f\nhelper = make(3)"),
    ("its own k", "helper = [lambda x: x * k for k in (1, 2)][0]"),
    ("not available", "helper, other = lambda x: x, lambda x: -x"),
    ("", WRAPPING, "def helper(x):\n    return x\nhelper = twice(helper)"),
    ("", WRAPPING.replace("    @functools.wraps(f)\n", ""), "@twice\ndef helper(x):\n    return x"),
    ("", "from functools import singledispatch as d", "@d\ndef helper(x):\n    return x",
     "@helper.register\ndef _(x: int):\n    return -x"),
    ("", "def helper(x):\n    return helper.k\nhelper.k = 3"),
    ("", "import functools\nN = 3", "@functools.lru_cache(maxsize=N)\ndef helper(x):\n    return x"),
    ("", "import numpy as np", "helper = np.vectorize(lambda x: x)"),
    # What was changed from outside.
    ("", "class A:\n    v = 1\nclass B(A): pass", "class A:\n    v = 2\ndef helper(x): return B.v"),
    ("", "class A:\n    v = 1\n", "A.v = 5\ndef helper(x): return A.v"),
    ("", "class A:\n    def f(self): return 1\n", "A.v = 5\ndef helper(x): return A.v"),
    ("", "class A:\n    def f(self): return 1\n", "A.f = lambda self: 9\ndef helper(x): return A().f()"),
    ("", "count = 0\ndef helper(x):\n    global count\n    count += 1\n    return count"),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_job_could_not_repeat_is_refused(case: tuple[str, ...]) -> None:
    found, *texts = case
    assert found in refused(*texts, FIT)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (("def fit(x: int):\n    return {}",), "@ax.stage"),
        ((WRAPPING, "@twice\n@ax.stage\ndef fit(x: int):\n    return {}"), "@ax.stage"),
        (("@ax.stage\nasync def fit(x: int):\n    return {}",), "async"),
        (("@ax.stage\ndef größe(x: int):\n    return {}\nfit = größe",), "ASCII letters"),
        (("fit = ax.stage(lambda: {})",), "ASCII letters"),
    ],
)  # fmt: skip
def test_what_is_no_stage_is_refused(texts: tuple[str, ...], found: str) -> None:
    assert found in refused(*texts)


def test_a_function_that_is_gone_or_without_a_text_is_refused() -> None:
    cells = Cells("def helper(x):\n    return x", FIT)
    del cells.space["helper"]
    with refusal("helper"):
        cells.written()
    exec("def helper(x):\n    return x", cells.space)
    with refusal("not available"):
        cells.written()


def test_a_decorator_that_was_edited_after_it_was_used() -> None:
    cells = Cells(WRAPPING, "@twice\ndef helper(x):\n    return x", FIT)
    cells.run(WRAPPING.replace("2 *", "3 *"))
    with refusal("edited after it was used"):
        cells.written()
    cells.run("@twice\ndef helper(x):\n    return x")
    assert cells.called(3) == {"y": 9}


def test_classes() -> None:
    point = "@dataclass\nclass Point:\n    x: int\n    y: int = 2"
    cells = Cells("from dataclasses import dataclass", point, "def helper(x):\n    return Point(x).y", FIT)
    assert cells.called(3) == {"y": 2}
    cells = Cells(
        "class A:\n    def f(self, x):\n        return x",
        "class B(A):\n    def f(self, x):\n        return super().f(x) + K",
        "K = 2",
        "def helper(x):\n    return B().f(x)",
        FIT,
    )
    assert cells.called(3) == {"y": 5}
    cells.run("class A:\n    def f(self, x):\n        return 10 * x")
    with refusal("source of a notebook class"):  # B is still made from the other A
        cells.written()
    cells.run(cells.run_cells[2][1])
    assert cells.called(3) == {"y": 32}
    first = cells.written().text
    cells.run("K = 3")
    assert cells.written().text != first
    for name in "kK":
        texts = f"K = 2\nclass A:\n    {name} = K", f"def helper(x):\n    return A.{name}", FIT
        assert "may have been different then" in refused(*texts)


MANY = "\n".join(f"def f{number}(x):\n    return x + {number}" for number in range(3000))
ONE = "def f(x):\n    return x + 1\n"
SAME = [
    # Shadowed names are those of the notebook; names of its own are none of it.
    (9, "import numpy as np\nsum = np.prod", "def helper(x):\n    return sum([x, x])"),
    (-3, "def max(x): return -x", "def helper(x):\n    return max(x)"),
    (3, "import numpy as np\nx = np.zeros(2)", "def helper(x):\n    return x"),
    # Loops, lambdas, functions that call each other, that are made by others or have other names.
    (6, "for k in (1, 2):\n    def helper(x):\n        return x * k"),
    (15, "for k in (1, 2):\n    def helper(x):\n        return x * k", "k = 5"),
    (6, "for k in (1, 2):\n    def helper(x, k=k):\n        return x * k\nk = 7"),
    (6, "K = 2\nhelper = lambda x, k=K: x * k\nK = 5"),
    (-1, "def helper(x):\n    return x if x < 1 else odd(x - 1)", "def odd(x):\n    return helper(x - 1)"),
    (6, "def make():\n    def f(x):\n        return x * 2\n    return f\nhelper = make()"),
    (40, f"{ONE}old = f", "def f(x):\n    return old(x) * 10", "def helper(x):\n    return f(x)"),
    (5, f"{ONE}z_old = f", "def f(x):\n    return 1", "def helper(x):\n    return f(x) + z_old(x)"),
    (6, WRAPPING, "@twice\ndef helper(x):\n    return x"),
    (3, "import functools", "@functools.lru_cache(maxsize=2)\ndef helper(x):\n    return x"),
    (3002, MANY, "def helper(x):\n    return f2999(x)"),
    # Classes, and what is set later.
    (2, "from enum import Enum\nclass A(Enum):\n    a = 1\n    b = 2\ndef helper(x): return A.b.value"),
    (2, "from typing import NamedTuple\nclass A(NamedTuple):\n b: int = 2\ndef helper(x): return A().b"),
    (2, "from pydantic import BaseModel\nclass A(BaseModel):\n b: int = 2\ndef helper(x): return A().b"),
    (4, "class A:\n    @property\n    def y(self): return K\nK = 4\ndef helper(x): return A().y"),
    (4, "class A:\n    @staticmethod\n    def f(x): return x + 1\ndef helper(x): return A.f(x)"),
    (3, "from __future__ import annotations\ndef helper(x: nothing): return x"),
    (5, "def helper(x, k=1): return k\nhelper.__defaults__ = (5,)"),
    (5, "def helper(x, *, k=1): return k\nhelper.__kwdefaults__ = {'k': 5}"),
    (1, "def helper(x, known={}):\n    known[x] = 1\n    return len(known)"),
]


@pytest.mark.parametrize("case", SAME)
def test_what_it_is_now_is_what_it_is_in_a_job(case: tuple[int, ...]) -> None:
    given, *texts = case
    cells = Cells(*map(str, texts), FIT)
    assert cells.called(3) == cells.space["fit"](3) == {"y": given}


def test_a_class_of_a_cell_that_failed_is_not_taken() -> None:
    cells = Cells("class A:\n    k = 1", "def helper(x):\n    return A.k", FIT)
    with pytest.raises(ZeroDivisionError):
        cells.run("1 / 0\nclass A:\n    k = 2")
    assert cells.called(3) == {"y": 1}


def test_imports_that_name_less_than_they_use() -> None:
    tag = "def helper(x):\n    return xml.etree.ElementTree.fromstring('<a/>').tag"
    assert "import xml.etree.ElementTree as" in Cells("import xml.etree.ElementTree", tag, FIT).written().text
    assert Cells("from math import *", "def helper(x):\n    return floor(x + pi)", FIT).called(3) == {"y": 6}
    helper = "def helper(x):\n    return pi"
    assert "from math import pi" in Cells("from math import pi", helper, FIT).written().text
    assert "pi = 3" in Cells("from math import pi", "pi = 3", helper, FIT).written().text


def test_a_module_is_used_as_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant of a module stays a name of it, so that an edit there is seen."""
    (tmp_path / "own_module.py").write_text("K = 2\ndef f(x):\n    return x\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    cells = Cells("from own_module import K, f", "def helper(x):\n    return f(x) + K", FIT)
    assert "    from own_module import K\n    from own_module import f\n" in cells.written().text
    cells.run("import importlib, own_module\nimportlib.reload(own_module)")
    assert "    from own_module import K\n    from own_module import f\n" in cells.written().text
    monkeypatch.delitem(sys.modules, "own_module")


def test_modules_beside_the_notebook_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "accelerator.conf").touch()
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "beside_module.py").write_text("def f(x):\n    return x\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "deep")
    monkeypatch.syspath_prepend(tmp_path / "deep")
    message = refused("import beside_module", "def helper(x):\n    return beside_module.f(x)", FIT)
    assert "do not look for modules beside a notebook" in message
    monkeypatch.delitem(sys.modules, "beside_module")


def test_two_stages_in_a_cell_and_stages_that_call_each_other() -> None:
    cells = Cells("@ax.stage\ndef helper(x: int):\n    return x + 1\n\n" + FIT)
    assert cells.called(3) == {"y": 4}
    assert cells.written("helper").name == "helper"
    assert cells.written().text.count("_shortloop_stage") == 2  # the import, and one stage


def test_units() -> None:
    firms = "def firms(panel: Job):\n    return {K: [1]}"
    fit = "@ax.stage(\n    units=firms,\n)\ndef fit(rows, degree: int = 1):\n    return {'y': degree}"
    cells = Cells("K = 'a'", firms, fit)
    assert "@_shortloop_stage(units=firms)" in cells.written().text
    before = cells.written().text
    cells.run(firms.replace("[1]", "[2]"))  # as of any other helper, the one that it is now
    assert cells.written().text != before
    cells.run("del firms")
    assert "units_of_fit" in cells.written().text


def test_settings_of_a_stage_are_written_and_are_in_no_key() -> None:
    firms = "def firms(panel: Job):\n    return {'a': [1]}"
    fit = "@ax.stage(units=firms, on_error='keep'{0})\ndef fit(rows):\n    return {{'y': 1.0}}"
    plain, more = (Cells(firms, fit.format(given)) for given in ("", ", retries=2, timeout='5 min', cores=2"))
    assert "(units=firms, cores=2, retries=2, timeout=300.0, on_error='keep')" in more.written().text
    assert said(plain) == said(more)
    alone = Cells("@ax.stage(cores=2)\ndef fit(x: int):\n    return {'y': x}")
    assert "@_shortloop_stage(cores=2)" in alone.written().text


def test_types_of_parameters() -> None:
    cells = Cells(
        "from typing import Literal\nKind = Literal['fast', 'slow']\nfast = object()",
        "@ax.stage\ndef fit(x: int, kind: Kind = 'fast', job: 'Job | None' = None,\n"
        "        more: \"Literal['fast']\" = 'fast'):\n    return {'y': x}",
    )
    assert "Kind = Literal['fast', 'slow']" in cells.written().text
    assert cells.called(3) == {"y": 3}
    future = Cells(
        "from __future__ import annotations\n@ax.stage\ndef fit(x: int, job: Job | None = None):\n  return {}"
    )
    assert "from __future__ import annotations" in future.written().text
    assert "from shortloop import Job" in future.written().text


def test_lines_are_those_of_cells() -> None:
    cells = Cells("import math\n\ndef helper(x):\n    return math.sqrt(x)", "# first\n" + FIT)
    module = cells.written()
    text = module.text.splitlines()
    found = {place: text[number - 1].strip() for number, place in module.lines.items()}
    assert found["<cell 2>", 4] == "return math.sqrt(x)"
    assert found["<cell 3>", 4] == "return {'y': helper(x)}"
