"""What a job really imports is part of its key, in whichever of its processes and however late."""

from __future__ import annotations

import ast
import json

import pytest
from live_project import EditedProject, LiveProject, fixture_of

from shortloop.exax.evidence import watchers

# In the process that forks jobs, so in every process of every job: what is found for the first time.
NOTE_IMPORTS = """
import os
import sys


def note(event, arguments):
    if event == "import" and arguments[0].partition(".")[0] in ("shortloop", "methods", "dev"):
        job = getattr(sys.modules.get("accelerator.g"), "job", None)
        if job is not None:
            note = os.open(os.path.join(job.path, ".imported"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(note, f"{arguments[0]}\\n".encode())
            os.close(note)


sys.addaudithook(note)
"""


project = fixture_of(EditedProject)


@pytest.mark.slow
def test_everything_that_jobs_import_is_in_their_keys(project: LiveProject) -> None:
    methods = project.folder / "methods" / "__init__.py"
    methods.write_text(methods.read_text(encoding="utf-8") + NOTE_IMPORTS, encoding="utf-8")
    # Loaded early: imports would not show.
    warm = project.folder / "shortloop" / "exax" / "patches" / "preload.py"
    text = warm.read_text(encoding="utf-8")
    warm.write_text(f"{text}\n\ndef announce(method, modules=()):\n    pass\n", encoding="utf-8")
    project.run()
    package = project.folder / "shortloop"
    nothing = {  # packages without code
        ".".join(file.parent.relative_to(project.folder).parts)
        for file in package.rglob("__init__.py")
        if all(isinstance(each, ast.Expr) for each in ast.parse(file.read_text(encoding="utf-8")).body)
    }
    seen: dict[str, set[str]] = {}
    for job in project.summary()["jobs"]:
        folder = project.folder / "workdirs/main" / job["job"]
        note = folder / ".imported"
        if note.is_file():
            imported = set(note.read_text(encoding="utf-8").split())
            seen.setdefault(job["stage"], set()).update(imported)
            parts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["parts"]
            assert imported - set(parts["code"]) - watchers() - nothing == set(), job["stage"]
    of_all = {"check", "individual", "group", "report"}
    stages = {"import_epochs", "evoked", "amplitude", "train", "apply", "permute", "intervals", "patterns"}
    assert set(seen) == stages | of_all
    assert "shortloop.eeg.decoding.train" in seen["train"]
