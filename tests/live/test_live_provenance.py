"""Numbers stay in use when a job far above them is damaged and built again; a report says from where."""

from __future__ import annotations

import shutil

import pytest
from live_project import LiveProject

IMPORTED = {("import_epochs", "A")}
BELOW = {("individual", None), ("group", None), ("report", None)}


@pytest.mark.slow
def test_what_a_damaged_job_led_to_is_kept_and_reported(project: LiveProject) -> None:
    assert project.run()
    trained, first = project.job("train", "A"), project.result("import_epochs", "A")
    (first / "data_viewing.npy").write_bytes(b"")
    assert project.run().keys() == IMPORTED
    assert project.job("train", "A") == trained
    second = project.result("import_epochs", "A")
    assert second != first

    for loss in (lambda: (first / "record.json").write_bytes(b""), lambda: shutil.rmtree(first)):
        loss()
        page = (project.folder / "results/live/report.html").read_text(encoding="utf-8")
        assert first.name in page
        text = (project.folder / "study.toml").read_text(encoding="utf-8")
        smooth = 0.5 if "smooth" not in text else 0.25
        text = text.replace("[group]\nsmooth = 0.5\n", "")
        project.write_study(f"{text}\n[group]\nsmooth = {smooth}\n")
        assert project.run().keys() == BELOW
        assert trained in (project.folder / "results/live/report.html").read_text(encoding="utf-8")
    assert project.run() == {}
