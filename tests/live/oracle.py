"""All jobs of the study or panel of a folder, made in one process without exax, keys, kept jobs and engines:
what a run of it must leave. Run it in that folder, with its code; arguments: analysis, where jobs go."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path.cwd())]
sys.path.append(str(Path(__file__).resolve().parents[1] / "helpers"))
from in_process import InProcess  # noqa: E402

import shortloop  # noqa: E402

assert Path(shortloop.__file__).is_relative_to(Path.cwd())


def main(analysis: str, folder: Path) -> None:
    """Make them, and list them in ``jobs.json`` as a run does."""
    folder.mkdir(parents=True)
    run = InProcess(folder)
    {"eeg": eeg, "panel": panel}[analysis](run)
    jobs = [[job.stage, job.partition, str(job.path)] for job in run.jobs]
    Path("jobs.json").write_text(json.dumps(jobs), encoding="utf-8")


def eeg(run: InProcess) -> None:
    from build_scripts.build_pipeline import decode, evoked
    from shortloop.eeg.pipeline import StudyRun
    from shortloop.eeg.study.load import read_study

    file = Path("study.toml")
    study = StudyRun(run, read_study(file), file)
    decode(study)
    evoked(study)


def panel(run: InProcess) -> None:
    from build_scripts.build_panel import pipeline
    from shortloop.panel.pipeline import PanelRun, read_panel

    file = Path("panel.toml")
    pipeline(PanelRun(run, read_panel(file), file))


main(sys.argv[1], Path(sys.argv[2]))
