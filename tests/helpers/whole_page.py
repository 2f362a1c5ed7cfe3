"""A page with the files that it brings along, written as the stage of a report leaves them."""

from __future__ import annotations

from pathlib import Path

from shortloop.report.page import Page, files_beside, write

__all__ = ["write_whole"]


def write_whole(page: Page, folder: Path) -> list[Path]:
    """Write them, once the figures are drawn; the page is the first."""
    beside = files_beside(page)
    for name, content in beside.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return [write(page, folder), *(folder / name for name in beside)]
