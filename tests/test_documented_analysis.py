"""The code in docs/your-own-analysis.md is that of the projects which `shortloop init` writes."""

from __future__ import annotations

import ast
import re

import pytest
from source_tree import ROOT, TEMPLATES

from shortloop.keys.source import normalised

PAGE = (ROOT / "docs" / "your-own-analysis.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.S))


ANOTHER = "build_scripts/build_market.py"
"""It is run by tests/live/test_live_documented.py."""


def test_there_are_blocks() -> None:
    written = {"methods/a_panel.py", "methods/a_fit.py", "build_scripts/build_analysis.py"}
    assert BLOCKS.keys() == {*written, ANOTHER}


@pytest.mark.parametrize("file", sorted(BLOCKS.keys() - {ANOTHER}))
def test_the_code_is_that_of_a_new_project(file: str) -> None:
    written = (TEMPLATES / "analysis" / file).read_text(encoding="utf-8")
    assert _said(BLOCKS[file]) == _said(written)


def _said(text: str) -> str:
    """Without docstrings and comments; how rows are sorted is left out of the page."""
    return normalised(ast.parse(text)).replace(".sort_values(['firm', 'year'])", "")
