from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_project import LiveProject


@pytest.fixture(scope="module")
def project() -> Iterator[LiveProject]:
    # Not tmp_path: the path of a Unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        made = LiveProject(Path(folder))
        made.start_server()
        try:
            yield made
        finally:
            made.stop_server()
