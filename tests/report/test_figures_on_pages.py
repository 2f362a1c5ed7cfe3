"""Every figure that an analysis draws is on its page."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_reader import Page
from report_pages import PAGES_OF


@pytest.mark.parametrize("analysis", PAGES_OF)
def test_all_are_there(tmp_path: Path, analysis: str) -> None:
    PAGES_OF[analysis](tmp_path)
    drawn = {f"figures/{file.name}" for file in (tmp_path / "figures").glob("*.png")}
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert drawn
    assert {link["href"] for link in page.all("a")} >= drawn
    assert len(page.all("img")) == len(drawn)
