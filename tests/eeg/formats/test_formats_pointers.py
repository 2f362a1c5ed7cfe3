"""Files that a BrainVision header names."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortloop.eeg.headers.brainvision import pointed_to


@pytest.mark.parametrize("name", ["/", ".", "//"])
def test_a_header_that_names_a_folder_names_no_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / "S1.vhdr"
    file.write_text(f"[Common Infos]\nDataFile={name}\nMarkerFile=S1.vmrk\n", encoding="utf-8")
    assert pointed_to(file) == {"MarkerFile": tmp_path / "S1.vmrk"}
