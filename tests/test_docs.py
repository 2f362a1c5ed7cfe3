"""The pages are built as `make docs` builds them: every link resolves, every docstring can be read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml
from source_tree import ROOT


def test_pages_are_built_without_a_warning_and_without_a_network(tmp_path: Path) -> None:
    (recipe,) = re.findall(r"^docs: .*\n\t(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    command = recipe.replace("$(BIN)/python", sys.executable).replace("docs/_build", str(tmp_path / "built"))
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    done = subprocess.run(
        [*command.split(), "--doctree-dir", str(tmp_path / "doctrees")],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), **nowhere},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    built = tmp_path / "built"
    for page in ROOT.glob("docs/*.md"):
        assert (built / "docs" / f"{page.stem}.html").is_file()
    book = (built / "docs/numbers.html").read_text(encoding="utf-8")
    assert "The numbers behind a report" in book
    # What cells drew, as nothing is run, with words for those who do not see it.
    pictures = re.findall(r'<img alt="([^"]*)" src="\.\./_images/', book)
    assert [each[:9] for each in pictures] == ["Decoding ", "Map of sc"]
    assert "numbers.html" in (built / "docs/looking-up.html").read_text(encoding="utf-8")
    assert "docs/index.html" in (built / "index.html").read_text(encoding="utf-8")
    assert "group_statistics" in (built / "docs/api.html").read_text(encoding="utf-8")
    for page in built.rglob("*.html"):
        fetched = re.findall(
            r'<(?:script|link)[^>]*(?:src|href)="(https?:[^"]+)"', page.read_text(encoding="utf-8")
        )
        assert fetched == [], page.name


def test_public_ci_calls_make() -> None:
    said = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    steps = {
        name: [step["run"] for step in job["steps"] if "run" in step] for name, job in said["jobs"].items()
    }
    for name, target in {"test": "test", "docs": "docs", "build": "dist"}.items():
        assert steps[name][0] == f"make {target} PYTHON=python"
    assert {"push", "pull_request"} == said[True].keys()  # YAML 1.1 reads `on` as true
