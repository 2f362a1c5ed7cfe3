"""What goes wrong on the way: a method that fails, workdirs elsewhere, a run from another folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from live_project import PATIENCE, EditedProject, LiveProject, fixture_of


class Apart(EditedProject):
    """One participant; jobs are kept outside the project, in a workdir that was there before another."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "p")
        self.edit_study('["A", "B"]', '["A"]')
        self.edit("accelerator.conf", "./workdirs/main", f"{folder}/jobs/main")


apart = fixture_of(Apart)


def test_a_failing_method_says_where_and_is_not_reused(apart: LiveProject) -> None:
    stage = apart.folder / "shortloop" / "eeg" / "stages" / "train.py"
    source = stage.read_text(encoding="utf-8")
    work = "        from shortloop.eeg.decoding.train import train_bin\n"
    assert work in source
    stage.write_text(source.replace(work, f"{work}\n        1 / 0\n"), encoding="utf-8")
    said = apart.ax("run", "build_pipeline").fails()
    assert "ZeroDivisionError" in said
    assert "train.py" in said
    assert not (apart.folder / "results" / "live").exists()
    stage.write_text(source, encoding="utf-8")
    built = apart.run()
    assert ("train", "A") in built
    assert ("amplitude", "A") not in built  # what was fine before it failed is kept


def test_a_run_from_another_folder_is_one_of_the_project(apart: LiveProject) -> None:
    apart.run()
    elsewhere = apart.folder.parent / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "shortloop", "run"],
        cwd=elsewhere,
        env=apart.environment(PYTHONPATH=str(apart.folder)),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"0 jobs built, 13 reused", done.stdout)
    assert list(elsewhere.iterdir()) == []
