"""Heavy libraries are imported once for many jobs, by the process that forks them alone."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_project import fresh_python, write_configuration

BEGIN = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, os.getcwd())
os.environ.update(BD_STATUS_FD="2", BD_TERM_FD="2")
import accelerator.runner
accelerator.runner.__file__ = sys.argv[1]
sys.modules["__main__"] = accelerator.runner
from shortloop.exax.patches import preload
from shortloop.exax.patches.processes import prepare_runner
from shortloop.keys.code import code_file, code_text
prepare_runner()

def load(method):  # as when exax loads it
    file = Path("methods", f"a_{method}.py").resolve()
    code_file(file).write_text(code_text(file))
"""
CODE = (
    BEGIN
    + """
def fork(then):
    child = os.fork()
    if not child:
        then()
        print("colorsys" in sys.modules, "sched" in sys.modules, flush=True)
        os._exit(0)
    os.waitpid(child, 0)

load("a")
load("b")
preload.announce(sys.argv[2])
if len(sys.argv) > 3:
    note = json.loads(preload._note().read_text())
    preload._note().write_text(json.dumps(note | {"pid": int(sys.argv[3])}))

def announce_and_fork():
    preload.announce("b")
    fork(lambda: None)

fork(announce_and_fork)
preload.announce("b")
fork(lambda: None)
"""
)
RUNNER = "/x/accelerator/runner.py"
SAYS_SO = """
from shortloop.keys.code import code_of

depend_extra = code_of(__file__)
"""
METHODS = {
    "a": f"{SAYS_SO}\n\ndef synthesis():\n    from colorsys import hls_to_rgb\n    import no_such_module\n",
    "b": f"{SAYS_SO}\n\ndef synthesis():\n    import sched\n",
    "silent": "def synthesis():\n    import colorsys\n",
}


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., list[str]]:
    """What a job of a job, that job, and the next one have of what methods a and b import."""
    write_configuration(tmp_path)
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "__init__.py").touch()
    for method, text in METHODS.items():
        (tmp_path / "methods" / f"a_{method}.py").write_text(text, encoding="utf-8")

    def run(*arguments: str) -> list[str]:
        return fresh_python(CODE, tmp_path, *arguments).splitlines()

    return run


@pytest.mark.parametrize(
    ("process", "method", "expected"),
    [
        # The job that announces b and forks stands for slices: these import for themselves.
        (RUNNER, "a", ["True False", "True False", "True True"]),
        ("/x/bin/ax", "a", ["False False"] * 3),  # which forks no jobs
        (RUNNER, "silent", ["False False", "False False", "False True"]),  # nobody watches its modules
    ],
)
def test_what_a_method_imports_is_there_before_its_first_job(
    imported: Callable[..., list[str]], process: str, method: str, expected: list[str]
) -> None:
    assert imported(process, method) == expected


LATER = """
preload.announce("a", (), lambda: [("b", ()), ("no_method", ())])
fork(lambda: None)
print(*preload.later, flush=True)
while preload.later:
    preload.import_next()
fork(lambda: None)
"""


def test_what_jobs_to_come_import_is_there_when_nothing_else_is_to_be_done(
    imported: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, _, _ = CODE.partition("preload.announce(sys.argv[2])")
    monkeypatch.setattr(sys.modules[__name__], "CODE", begin + LATER)
    first, waiting, second = imported(RUNNER)
    assert (first, second) == ("True False", "True True")
    assert "sched" in waiting.split()


OWN = (
    BEGIN
    + """
load("named")
preload.announce("named", ["above", "shortloop.base.types"])
child = os.fork()
if not child:
    looked_for = ("above", "below", "colorsys", "sched", "shortloop.base.types")
    print(json.dumps([name for name in looked_for if name in sys.modules]))
    beside = preload.modules_beside("named", ["above", "shortloop.base.types"])
    print(json.dumps(sorted(beside - {"shortloop"})), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
)


def test_modules_of_ones_own_are_left_to_each_job_and_what_they_import_is_not(tmp_path: Path) -> None:
    write_configuration(tmp_path)
    files = {
        "methods/__init__.py": "",
        "methods/a_named.py": f"{SAYS_SO}\n\ndef synthesis():\n    from below import X\n",
        "above.py": "import below\n",
        "below.py": "import colorsys\nX = 1\n\ndef rarely():\n    import sched\n",
    }
    (tmp_path / "methods").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert [*map(json.loads, fresh_python(OWN, tmp_path, RUNNER).splitlines())] == [
        ["colorsys", "shortloop.base.types"],
        ["shortloop.base", "shortloop.base.types"],
    ]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_forks_keep_memory_that_they_free(tmp_path: Path) -> None:
    code = """
import resource
from shortloop.exax.patches.preload import import_all
import_all(["colorsys"])
bytearray(b"x") * (16 << 20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    bytearray(b"x") * (16 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    assert int(fresh_python(code, tmp_path).split()[-1]) < 1000  # of 81920 pages
