"""What of the code is part of a method's key: everything that can change its results, and no more."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest
from jobs_project import ROOT, empty_project, fresh_python, own_package, text_of, write

from shortloop.exax.evidence import watchers
from shortloop.keys import code
from shortloop.keys.closure import closure
from shortloop.keys.code import declares_code

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)
METHODS = sorted([*(ROOT / "methods").glob("a_*.py"), *(ROOT / "dev").glob("a_*.py")])


def modules_of(project: Path, method: str) -> set[str]:
    return set(closure(write(project, "methods/a_one.py", method))[0])


# Runs every import of a method but that of what finds its code, and then those inside the functions of all
# modules that this loads, until nothing new comes; only imports of own code, as libraries cannot
# import those.
IMPORT_EVERYTHING = """
import ast, json, sys
from pathlib import Path

def run_imports(file, package):
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            ours = node.level or node.module.partition(".")[0] == "shortloop"
        else:
            ours = isinstance(node, ast.Import) and any(a.name.startswith("shortloop") for a in node.names)
        if ours and getattr(node, "module", None) != "shortloop.keys.code":
            exec(ast.unparse(node), {"__package__": package, "__name__": package + ".x"})

def loaded():
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "shortloop"}

run_imports(METHOD, "methods")
done = set()
while loaded().keys() - done:
    for name, module in loaded().items():
        if name not in done:
            done.add(name)
            run_imports(module.__file__, module.__package__)
print(json.dumps(sorted(done)))
"""


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(file, id=file.stem, marks=[pytest.mark.slow] * bool(number % 24))
        for number, file in enumerate(METHODS)
    ],
)
def test_the_closure_is_what_python_imports(method: Path) -> None:
    imported = set(json.loads(fresh_python(f"METHOD = {str(method)!r}\n{IMPORT_EVERYTHING}", ROOT)))
    modules = closure(method)[0]
    assert set(modules) - {method.parent.name} == imported - (watchers() - set(modules))
    assert method.parent.name in modules
    assert all(file.is_file() for file in modules.values())


def test_only_what_a_method_uses_is_part_of_its_key() -> None:
    closures = {method.stem: set(closure(method)[0]) for method in METHODS}
    assert "shortloop.eeg.decoding.selection.anova" in closures["a_train"]
    assert not any(module.startswith("shortloop.eeg.decoding.solvers") for module in closures["a_train"])
    assert "shortloop.eeg.formats.read" in closures["a_import_epochs"]
    for name in ("a_amplitude", "a_power", "a_group", "a_report", "a_import_epochs"):
        assert not any(module.startswith("shortloop.eeg.decoding") for module in closures[name])
    assert not any(module.startswith("shortloop.eeg.report") for module in closures["a_train"])
    for modules in closures.values():
        # What runs jobs, shows progress or is a command cannot change a result.
        assert not modules & {"shortloop.run.executor", "shortloop.run.progress", "shortloop.cli.main"}


IMPORTS: list[tuple[str, str]] = [
    ("import shortloop.a", "a"),
    ("import shortloop.sub.b", "sub sub.b"),
    ("import shortloop.sub.b as other", "sub sub.b"),
    ("import os, shortloop.a, shortloop.sub", "a sub"),
    ("from shortloop import a", "a"),
    ("from shortloop.a import f", "a"),
    ("from shortloop.sub import b, g", "sub sub.b"),
    ("from shortloop.sub import *", "sub"),
    ("from shortloop.sub.b import *", "sub sub.b"),
    ("def f():\n    from shortloop import a", "a"),
    ("class C:\n    def f(self):\n        if True:\n            import shortloop.a", "a"),
    ("async def f():\n    try:\n        import shortloop.a\n    finally:\n        pass", "a"),
    ("import shortloop.bare.c", "bare.c"),  # a folder without __init__.py
    ("text = 'import shortloop.a'  # import shortloop.sub", ""),
    # By a name.
    ('import importlib\nimportlib.import_module("shortloop.a")', "a"),
    ('from importlib import import_module\nx = import_module("shortloop.a").f()', "a"),
    ('__import__("shortloop.a")', "a"),
    ('def f():\n    return __import__("shortloop.a", fromlist=["x"])', "a"),
    # Like that of the reader of code, which is in no key.
    ("from shortloop.keys.code import code_of\nimport shortloop.keys.codec", "keys.codec"),
]


@pytest.mark.parametrize(("statement", "expected"), IMPORTS)
def test_every_form_of_import_counts(package: Path, statement: str, expected: str) -> None:
    for name in ("a", "sub/__init__", "sub/b", "bare/c", "keys/code", "keys/codec"):
        write(package, f"shortloop/{name}.py", "def f(): ...\ndef g(): ...\n")
    wanted = {f"shortloop.{name}" for name in expected.split()}
    assert modules_of(package, statement) == wanted | ({"shortloop"} if expected else set())


@pytest.mark.parametrize(
    ("place", "statement", "expected"),
    [
        *(
            (place, statement, expected)
            for place in ("sub/b", "sub/__init__")
            for statement, expected in (
                ("from . import c", "sub.c"),
                ("from .c import f", "sub.c"),
                ("from .. import a", "a"),
                ("from ..a import f", "a"),
                ("from ..other.d import f", "other other.d"),
                ("def f():\n    from ..other import d", "other other.d"),
            )
        ),
        # What a star brings: of the last ones, it may be any.
        ("other/__init__", '__all__ = ["d"]\n', "other.d"),
        ("other/__init__", '__all__ = ["d"]\n__all__ += ["e"]\n', "other.d other.e"),
        ("other/__init__", '__all__: list[str] = ["d", "VALUE"]\nVALUE = 1\n', "other.d"),
        ("other/__init__", "", ""),
        ("other/__init__", '__all__ = ["pa" + "rt"]\n', "other.d other.e"),
        ("other/__init__", '__all__ = []\n__all__.append("d")\n', "other.d other.e"),
        ("other/__init__", "import os\n__all__ = sorted(os.listdir())\n", "other.d other.e"),
        ("other/__init__", '__all__ = ["d"]\ndel __all__\n', "other.d other.e"),
    ],
)
def test_what_packages_import_and_offer(package: Path, place: str, statement: str, expected: str) -> None:
    for name in ("a", "sub/__init__", "sub/b", "sub/c", "other/__init__", "other/d", "other/e"):
        write(package, f"shortloop/{name}.py", "")
    write(package, f"shortloop/{place}.py", statement)
    own, method = {"sub", "sub.b"}, "import shortloop.sub.b"
    if place == "other/__init__":
        own, method = {"other"}, "from shortloop.other import *"
        assert modules_of(package, "import shortloop.other") == {"shortloop", "shortloop.other"}
    found = modules_of(package, method)
    assert found == {"shortloop", *(f"shortloop.{name}" for name in own | {*expected.split()})}


def test_the_package_of_a_method_counts(package: Path) -> None:
    """It runs before the method; what prepares processes there does not."""
    text = "import shortloop.a\nfrom shortloop.exax.patches.processes import x\n"
    write(package, "methods/__init__.py", text)
    write(package, "shortloop/a.py", "")
    write(package, "shortloop/exax/patches/processes.py", "")
    assert modules_of(package, "x = 1") == {"methods", "shortloop", "shortloop.a"}


def test_libraries_that_types_of_options_are_made_of_count(package: Path) -> None:
    """They are imported when the options of a job are checked."""
    write(package, "shortloop/a.py", "def f(): ...\n")
    statement = "if TYPE_CHECKING:\n    import pydantic\n    from shortloop.a import f"
    modules, libraries = closure(write(package, "methods/a_try.py", statement))
    assert "shortloop.a" in modules
    assert libraries == {"pydantic"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from shortloop import stage\n@stage\ndef f(): ...", True),
        ("from shortloop.exax.declare import stage as s\n@s\ndef f(): ...", True),
        ("import shortloop\n@shortloop.stage\ndef f(): ...", True),
        ("import shortloop as sl\n@sl.stage(units=f)\ndef g(): ...", True),
        ("import shortloop.exax.declare as d\n@d.stage\nclass C: ...", True),
        ("import shortloop.exax.declare\n@shortloop.exax.declare.stage\nclass C: ...", True),
        ("import shortloop\ndef synthesis(): return shortloop.load('main-1').stage", False),
        ("import other\n@other.stage\ndef f(): ...", False),
        ("def synthesis(): ...", False),
    ],
)
def test_a_method_that_is_made_of_a_stage_says_its_code(package: Path, code: str, expected: bool) -> None:
    assert declares_code(write(package, "methods/a_try.py", code)) is expected


def test_cycles_and_chains_are_followed_to_their_end(package: Path) -> None:
    """And a folder of data does not hide a library."""
    write(package, "mne/recording.txt", "not a module")
    for number in range(30):
        following = (number + 1) % 30
        write(
            package, f"shortloop/m{number}.py", f"import shortloop.m{following}\nimport scipy.linalg, mne\n"
        )
    modules, libraries = closure(write(package, "methods/a_one.py", "from shortloop.m17 import x\n"))
    assert set(modules) == {"shortloop", *(f"shortloop.m{number}" for number in range(30))}
    assert libraries == {"scipy", "mne"}


@pytest.mark.parametrize(
    "statement", ["from dev.helpers import f", "from .helpers import f", "from . import helpers"]
)
def test_a_users_own_module_beside_a_method_counts(package: Path, statement: str) -> None:
    write(package, "dev/__init__.py", "")
    write(package, "dev/helpers.py", "from shortloop.a import f\n")
    write(package, "shortloop/a.py", "import numpy\n")
    method = write(package, "dev/a_two.py", statement)
    modules, libraries = closure(method)
    assert set(modules) == {"dev", "dev.helpers", "shortloop", "shortloop.a"}
    assert libraries == {"numpy"}
    before = text_of(method)
    write(package, "dev/helpers.py", "from shortloop.a import f\nfactor = 3\n")
    assert text_of(method) != before


def test_a_project_may_lie_apart_from_the_package(project: Path) -> None:
    """As when the package is installed: its modules are its own_code, the rest is the project's."""
    write(project, "tools/measure.py", "import scipy.signal\nfrom shortloop.base.errors import InputError\n")
    method = write(project, "dev/a_two.py", "from tools.measure import f\nimport shortloop.base.seeds\n")
    own = {
        f"shortloop.base.{name}": ROOT / f"shortloop/base/{name}.py" for name in ("errors", "seeds", "text")
    }
    own |= {name: ROOT / name.replace(".", "/") / "__init__.py" for name in ("shortloop", "shortloop.base")}
    assert closure(method) == ({**own, "tools.measure": project / "tools" / "measure.py"}, {"scipy", "numpy"})


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("from shortloop import load", {"shortloop.stages.results"}),
        ("from shortloop import InputError", {"shortloop.base.errors"}),
        ("import shortloop\nshortloop.load", {"shortloop.stages.results", "shortloop.eeg.study.load"}),
        ("from shortloop import *", {"shortloop.stages.results", "shortloop.eeg.study.load"}),
    ],
)
def test_names_that_the_package_looks_up_count(project: Path, statement: str, expected: set[str]) -> None:
    found = set(closure(write(project, "methods/a_one.py", statement))[0])
    assert expected <= found
    if "import load" in statement:
        assert "shortloop.eeg.study.load" not in found


def test_modules_of_the_same_content_do_not_cancel_out(package: Path) -> None:
    """Exax combines hashes of files by XOR, in which two equal files are as good as none."""
    method = write(package, "methods/a_one.py", "import shortloop.a, shortloop.b\n")
    texts = []
    for number in range(2):
        for name in "ab":
            write(package, f"shortloop/{name}.py", f"factor = {number}\n")
        texts.append(text_of(method))
    assert texts[0] != texts[1]
    assert texts[0].count("factor = 0") == 2
    assert len(code.code_of(str(method))) == 1


def test_what_exax_has_loaded_is_said_by_exax_alone(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who plans or runs a pipeline imports methods as well, and they may have been edited since."""
    method = write(package, "methods/a_one.py", "x = 1\n")
    (file,) = map(Path, code.code_of(str(method)))
    assert not file.exists()
    for runs, expected in ((True, "x = 1"), (False, "x = 1"), (True, "x = 2")):
        monkeypatch.setattr(code, "runs_jobs", lambda runs=runs: runs)
        code.code_of(str(method))
        assert expected in file.read_text(encoding="utf-8")
        write(package, "methods/a_one.py", "x = 2\n")


def test_libraries_that_code_names_are_known_with_their_versions() -> None:
    libraries = code.code_state(ROOT / "methods" / "a_train.py").libraries
    for name in ("numpy", "scipy", "numba"):
        assert libraries[name] == metadata.version(name)
    assert "mne" not in libraries
    more = code.code_state(ROOT / "methods" / "a_train.py", ["sklearn.linear_model"])
    assert more.libraries["sklearn"] == metadata.version("scikit-learn")
    assert "mne" in code.code_state(ROOT / "methods" / "a_amplitude.py").libraries


def test_modules_that_a_build_script_names_count(package: Path) -> None:
    write(package, "shortloop/a.py", "import shortloop.b\n")
    write(package, "shortloop/b.py", "x = 1\n")
    method = write(package, "methods/a_one.py", "x = 1\n")
    before = code.code_state(method, ("shortloop.a",))
    assert set(before.code) == {"methods.a_one", "shortloop.a", "shortloop.b"}  # no package without code
    assert set(code.code_state(method).code) == {"methods.a_one"}
    write(package, "shortloop/b.py", "x = 22\n")
    assert code.code_state(method, ("shortloop.a",)).code != before.code
    assert set(code.code_state(method, ("no_such_module", "")).code) == {"methods.a_one"}


def test_a_compiled_module_counts_by_its_bytes(package: Path) -> None:
    file = package / "methods" / "fast.abi3.so"
    method = write(package, "methods/a_one.py", "from methods import fast\n")
    found = []
    for data in (b"\x7fELF one", b"\x7fELF two"):
        file.write_bytes(data)
        found.append(text_of(method))
    assert "# module methods.fast" in found[0]
    assert found[0] != found[1]
