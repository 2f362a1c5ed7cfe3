"""All jobs of the study of a folder, made in one process without exax, keys, kept jobs and engines: what a
run of it must leave. Run in the folder, which has the code, too; the first argument is where jobs go."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path.cwd())]
sys.path.append(str(Path(__file__).resolve().parents[1] / "helpers"))

from in_process import InProcess  # noqa: E402

import shortloop  # noqa: E402
from build_scripts.build_pipeline import decode, evoked  # noqa: E402
from shortloop.eeg.pipeline import StudyRun  # noqa: E402
from shortloop.eeg.study.load import read_study  # noqa: E402

assert Path(shortloop.__file__).is_relative_to(Path.cwd())


def main(folder: Path) -> None:
    """Make them, and list them in ``jobs.json`` as a run does."""
    folder.mkdir(parents=True)
    run, file = InProcess(folder), Path("study.toml")
    study = StudyRun(run, read_study(file), file)
    decode(study)
    evoked(study)
    jobs = [[job.stage, job.partition, str(job.path)] for job in run.jobs]
    Path("jobs.json").write_text(json.dumps(jobs), encoding="utf-8")


main(Path(sys.argv[1]))
