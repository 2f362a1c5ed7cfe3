"""Which libraries a job uses, in a process that has loaded libraries for other jobs as well."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_project import fresh_python

from shortloop.exax.libraries import HERE

PROJECT = {
    "uses_upper": "import upper\n",
    "uses_lower": "import lower\n",
    "uses_none": "",
    "uses_lazily": "def call():\n    import upper\n",
    "uses_by_name": "from importlib import import_module\nimport_module('upper')\n",
    "looks_for": "from importlib.util import find_spec\nfind_spec('upper')\n",
    "tries": "try:\n    import missing\nexcept ImportError:\n    pass\n",
    "unpickles": "import pickle\ndef call():\n    pickle.loads(b'cupper\\nUpper\\n)R.')\n",
    "uses_compiled": "import compiled\n",
}
LIBRARIES = {
    "upper": "import lower\nclass Upper: pass\n",
    "lower": "",
    "other": "",
    # As machine code imports: not through `builtins`.
    "compiled": "import importlib._bootstrap as b\nb._gcd_import('lower')\n",
}
PROGRAM = """
import sys
from pathlib import Path
from shortloop.exax.libraries import note_libraries_of, watch_imports
from shortloop.exax.patches.loading import load_from_source
from shortloop.store.process_notes import take_notes

load_from_source()
watch_imports()
folder, module, *loaded = sys.argv[1:]
for name in loaded:  # for other jobs
    __import__(name)
take_notes(Path(folder))
note_libraries_of({module})
getattr(__import__(module), "call", lambda: None)()
"""
Used = Callable[..., dict[str, str]]


@pytest.fixture
def used(tmp_path: Path) -> Used:
    """The libraries that a job of one module uses, in a process that has loaded others."""
    for name, text in PROJECT.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    site = tmp_path / "site"
    for name, text in LIBRARIES.items():
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        requires = "Requires-Dist: lower>=1\nRequires-Dist: other; extra == 'all'\n" * (name == "compiled")
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}"
        (info / "METADATA").write_text(about, encoding="utf-8")
        (info / "RECORD").write_text(f"{name}.py,,\n", encoding="utf-8")
        (site / f"{name}.py").write_text(text, encoding="utf-8")

    def of(module: str, *loaded: str) -> dict[str, str]:
        (tmp_path / ".notes").unlink(missing_ok=True)
        path = os.pathsep.join([str(tmp_path), str(site), *sys.path])
        fresh_python(PROGRAM, tmp_path, str(tmp_path), module, *loaded, PYTHONPATH=path)
        found: dict[str, str] = {}
        if (tmp_path / ".notes").exists():
            for line in map(json.loads, (tmp_path / ".notes").read_text(encoding="utf-8").splitlines()):
                assert line.get("where", HERE) == HERE
                found |= line.get("versions", {})
        names = found.keys() - {*PROJECT, "org"}  # which `pickle` looks for, as Jython has it
        return {name: found[name].partition(" ")[0] for name in names}

    return of


BOTH = {"upper": "1.0", "lower": "1.0"}


@pytest.mark.parametrize(
    ("module", "libraries"),
    [
        ("uses_upper", BOTH),
        ("uses_lower", {"lower": "1.0"}),
        ("uses_none", {}),
        ("uses_lazily", BOTH),
        ("uses_by_name", BOTH),
        ("looks_for", {"upper": "1.0"}),
        ("tries", {"missing": ""}),
        ("unpickles", BOTH),
        ("uses_compiled", {"compiled": "1.0", "lower": "1.0"}),
    ],
)
def test_a_job_uses_what_its_modules_reach(used: Used, module: str, libraries: dict[str, str]) -> None:
    assert used(module) == libraries
    with_others = used(module, "other", *(each for each in PROJECT if each != module))
    assert with_others.items() >= libraries.items()
    assert "other" not in with_others
