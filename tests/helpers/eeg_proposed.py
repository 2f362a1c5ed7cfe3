"""Studies that are proposed for folders of recordings."""

from __future__ import annotations

from pathlib import Path

from eeg_folders import proposed, silent

from shortloop.analyses import Look
from shortloop.eeg.inspect.check_study import open_all
from shortloop.eeg.study.load import read_study
from shortloop.eeg.study.schema import Study


def proposed_study(folder: Path, **answers: str) -> tuple[Look, Path]:
    """What is made of a folder; the study beside it, with these answers in place of lines that ask."""
    project = folder.parent / "my-study"
    found = proposed(folder, project)
    lines = found.settings.splitlines()
    for key, value in answers.items():
        (at,) = (n for n, line in enumerate(lines) if line.removeprefix("# ").startswith(f"{key} = "))
        lines[at] = f"{key} = {value}"
    project.mkdir(exist_ok=True)
    (project / "study.toml").write_text("\n".join(lines), encoding="utf-8")
    return found, project / "study.toml"


def runnable(file: Path, **expected: object) -> Study:
    """A study that is as expected, and whose recordings pass all that a run checks."""
    study = read_study(file)
    known = study.model_dump()
    for name, value in expected.items():
        assert known[name] == value, name
    assert open_all(file, silent).problems == ()
    return study
