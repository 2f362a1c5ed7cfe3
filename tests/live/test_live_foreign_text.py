"""Names in recordings and of files that hold escape sequences are shown in messages, and nothing obeys them.

What looks at jobs with such names is in tests/cli/test_cli_foreign_text.py, pages are in tests/report.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from cases import first_cases
from live_project import LiveProject, fixture_of, write_recording

ESCAPE = "\x1b[31m"
CHANNELS = [f"{ESCAPE}Cz", "b\u202e", "c\x9b2J"]
# One that a terminal obeys, one that is no UTF-8, one that would end a line.
FILES = {"A": f"A {ESCAPE}.npz".encode(), "B": b"B \xff\n.npz"}
UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class ForeignProject(LiveProject):
    """A study of recordings with such names."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for seed, (name, file) in enumerate(FILES.items()):
            (folder / "data" / f"{name}.npz").unlink()
            write_recording(recording(self, file), seed, ch=CHANNELS)
        self.edit_study("{participant}.npz", "{participant}*.npz")


project = fixture_of(ForeignProject)


def recording(project: LiveProject, file: bytes) -> Path:
    return project.folder / "data" / os.fsdecode(file)


@first_cases(
    1,
    ("changes", "words"),
    [
        ({"ch": [f"{ESCAPE}Pz", f"{ESCAPE}Pz", "c"]}, r"\x1b[31mPz"),
        ({"ch": [f"{ESCAPE}Pz", *CHANNELS[1:]]}, r"\x1b[31mPz"),
        ({"y": np.array([f"{ESCAPE}left", "right"])[np.arange(32) % 2]}, r"\x1b[31mleft"),
    ],
    ids=["a channel twice", "another channel", "another event"],
)
def test_a_message(project: LiveProject, changes: dict[str, Any], words: str) -> None:
    file = recording(project, FILES["B"])
    before = file.read_bytes()
    write_recording(file, 1, **{"ch": CHANNELS, **changes})
    said = project.shortloop("run").fails()
    file.write_bytes(before)
    assert words in said
    assert r"B \udcff\n.npz" in said
    assert not UNFIT.search(said)
    assert "Traceback" not in said
