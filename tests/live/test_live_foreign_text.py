"""Names in recordings and of files that hold escape sequences: they are shown, and nothing obeys them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
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


@pytest.mark.slow
def test_a_run_and_all_that_looks_at_it(project: LiveProject) -> None:
    done = project.shortloop("run").ok()
    job = project.job("import_epochs", "A")
    said = [done.stdout + done.stderr]
    for command in (
        ("plan", "--all"),
        ("jobs",),
        ("show", job),
        ("show", project.job("import_epochs", "B")),
        ("show", project.job("report")),
        ("why", job),
        ("why", "import_epochs"),
        ("compare", job, project.job("import_epochs", "B")),
        ("verify",),
        ("gc",),
    ):
        looked = project.shortloop(*command).ok()
        said.append(looked.stdout + looked.stderr)
    for text in (*said, (project.folder / "results/live/report.html").read_text(encoding="utf-8")):
        assert not UNFIT.search(text)
    assert r"A \x1b[31m.npz" in "".join(said)
    assert r"B \udcff\n.npz" in "".join(said)


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
    try:
        failed = project.shortloop("run")
    finally:
        file.write_bytes(before)
    said = failed.stdout + failed.stderr
    assert failed.returncode == 1, said
    assert words in said
    assert r"B \udcff\n.npz" in said
    assert not UNFIT.search(said)
    assert "Traceback" not in said
