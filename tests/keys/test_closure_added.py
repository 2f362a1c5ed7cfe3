"""What an installed package imports of this one is in keys, as its version says nothing of that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from source_tree import ROOT

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
def test_what_a_package_imports_of_this_one(
    tmp_path: Path, name: str, modules: set[str], library: str
) -> None:
    info = tmp_path / "added-1.0.dist-info"
    (tmp_path / "added").mkdir()
    info.mkdir()
    for module, text in MODULES.items():
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    (info / "METADATA").write_text("Name: added\nVersion: 1.0\n", encoding="utf-8")
    (info / "RECORD").write_text("".join(f"{each}.py,,\n" for each in MODULES), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", CLOSURE, name],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, libraries = json.loads(done.stdout)
    assert {*found} - {"shortloop", "shortloop.base"} == modules
    assert library in libraries
